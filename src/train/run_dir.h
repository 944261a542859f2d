// SPDX-License-Identifier: MIT
// A run directory: config.json, weights.safetensors, optimizer.safetensors, log.jsonl,
// results.json and TensorBoard events. See checkpoint.h and run_log.h for what is in them.
#ifndef TRAIN_RUN_DIR_H
#define TRAIN_RUN_DIR_H

#include "base/arena.h"
#include "plumb/record.h"
#include "train/run_config.h"
#include "train/run_log.h"

#define RUN_DIR_EVENTS "events.out.tfevents.plumb" ///< file of TensorBoard events
#define RUN_DIR_BEST "best.safetensors"            ///< weights with the least validation error

typedef char run_dir_filename[4096];

typedef struct run_dir {
    char path[3800];
    int lock;           ///< file descriptor of the lock; -1: none
    bool created;       ///< by this process; removed again if it holds no run in the end
    int64_t saved_step; ///< step of the checkpoint on disk; -1: none
    /// Of the settings: the first is in the metadata of checkpoints, all are accepted when reading.
    run_config_hashes config_hashes;
    char data_hash[33];     ///< of the training videos; in the metadata of checkpoints
    int64_t frame_shape[3]; ///< their height, width and channels; likewise
    run_log log;
} run_dir;

typedef enum run_dir_mode {
    RUN_DIR_NEW,    ///< fails if there is a run
    RUN_DIR_FORCE,  ///< may overwrite a run
    RUN_DIR_RESUME, ///< needs a run
} run_dir_mode;

/// Creates or finds the directory and locks it: no other process can train into it until the close.
plumb_status run_dir_open(run_dir *run, const char *path, run_dir_mode mode);
void run_dir_close(run_dir *run);

/// Removes the files of a run, and no others; the lock stays.
plumb_status run_dir_remove_files(const run_dir *run);

/// "PATH/FILE". Returns `name`.
const char *run_dir_file(run_dir_filename name, const char *path, const char *file);

/// Reads config.json into `mem`, terminated by a zero. Fails with PLUMB_EFILE if there is none.
plumb_status run_dir_read_config(char **text, size_t *size, arena *mem, const char *path);
plumb_status run_dir_write_config(const run_dir *run, plumb_record *config);

/// Reads results.json into `mem`, terminated by a zero. `*text` is NULL if there is none.
plumb_status run_dir_read_results(char **text, size_t *size, arena *mem, const char *path);
/// Puts `record` into results.json as `section`; other sections are kept, also those that other
/// processes write at the same time. An atomic write.
plumb_status run_dir_write_results(const char *path, const char *section, plumb_record *record);

#endif
