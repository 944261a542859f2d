// SPDX-License-Identifier: MIT
// Datasets: items of a world in a file, .h5, .npz or .tfrecord, or in a folder of TFRecords of the
// DeepMind Hamiltonian suite [Botev21] or of Physical Concepts [Piloto22].
#ifndef PLUMB_DATASET_H
#define PLUMB_DATASET_H

#include "plumb/file.h"
#include "plumb/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- reading ----

/// An open dataset. Arrays have the names of plumb's data files for every kind of file: frames,
/// state, canonical, derivative, energy, time, and one per parameter; in rooms frames, mask,
/// camera_pose, objects, and cut and concept or blocks. Arrays that are the same for all items are
/// shared: world (the name, as bytes), upright (1 if row 0 of a frame is the top), dt, seed, first.
typedef struct plumb_dataset plumb_dataset;

/// Opens x.h5, x.npz, x.tfrecord (plain or gzip, with features.txt next to it), or a folder, of
/// which `split` is taken ("train", "test"). Records of Physical Concepts need no features.txt.
/// Their shards, x.tfrecord-00000-of-00020, are opened alone or as a folder; they have the fields
/// frames, mask and camera_pose, and probes have four clips per item. A file of records may be
/// empty. A folder without records may hold videos as PNG sequences: a folder for each video, or
/// the frames of one; they are read in natural order, as many as the shortest video has. May be
/// NULL: split, for train, or test if there is no train.
PLUMB_API plumb_status plumb_dataset_open(plumb_dataset **out, const char *path, const char *split);
/// May be NULL: dataset.
PLUMB_API void plumb_dataset_close(plumb_dataset *dataset);

/// Number of items: trajectories, clips or tuples.
PLUMB_API int64_t plumb_dataset_item_count(const plumb_dataset *dataset);
/// Number of arrays, and their names.
PLUMB_API int64_t plumb_dataset_field_count(const plumb_dataset *dataset);
PLUMB_API const char *plumb_dataset_field_name(const plumb_dataset *dataset, int64_t index);
/// Returns true if the dataset has an array of this name.
PLUMB_API bool plumb_dataset_has_field(const plumb_dataset *dataset, const char *field);

/// Returns true if the field is the same for all items.
PLUMB_API bool plumb_dataset_is_shared(const plumb_dataset *dataset, const char *field);

/// Reads one array of one item, without the items axis. The memory belongs to the dataset and is
/// valid until the next read of the same field, or the close. If a record is damaged, the message
/// names file and record.
PLUMB_API plumb_status plumb_dataset_read_field(plumb_array *out, plumb_dataset *dataset,
                                                int64_t item, const char *field);

/// Writes the name of the world to `text`, or "" if neither the file nor its folder has it, and
/// returns `text`.
PLUMB_API const char *plumb_dataset_world_name(char text[64], plumb_dataset *dataset);

// ---- writing ----

/// How a dataset is written.
typedef struct plumb_dataset_write_options {
    size_t size;   ///< sizeof(plumb_dataset_write_options).
    bool compress; ///< Compress arrays (.npz, .h5) or the file (.tfrecord). Default false.
    /// .tfrecord: write only what [Botev21] has (x, dx_dt, image, other/...). Rooms are written in
    /// the layout of Physical Concepts, with gzip, also to names like x.tfrecord-00000-of-00001.
    /// Default false.
    bool published;
    bool narrow;  ///< .tfrecord: store real numbers as float32, two per integer. Default false.
    bool replace; ///< Replace an existing file. Default false: fail with PLUMB_EFILE.
} plumb_dataset_write_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_dataset_write_defaults() calls
/// it.
PLUMB_API void plumb_dataset_write_options_init(plumb_dataset_write_options *options, size_t size);

/// Returns the defaults.
static inline plumb_dataset_write_options plumb_dataset_write_defaults(void)
{
    plumb_dataset_write_options options;
    plumb_dataset_write_options_init(&options, sizeof options);
    return options;
}

/// Which items of a world are simulated, and how they are written.
typedef struct plumb_dataset_simulate_options {
    size_t size;   ///< sizeof(plumb_dataset_simulate_options).
    int64_t count; ///< Number of items, at least 1. Default 100.
    int64_t steps; ///< Frames per item. Default 0: 256, in rooms 15.
    uint64_t seed; ///< Seed of the items. Default 1.
    int64_t first; ///< Index of the first item, 0 to 2^48 - count. Default 0.
    int threads;   ///< Does not affect the result. Default 0: plumb_system_threads().
    /// Write closed loops of states: `loops` of them, each of `loop_states` items whose first
    /// states are equally spaced in the loop's angle. `count` is ignored; the array `loop` (items)
    /// has the number of the loop. Default 0: no loops.
    int64_t loops;
    int64_t loop_states;                      ///< At least 8. Default 0: 64.
    const plumb_world_options *world;         ///< Options of the world. May be NULL. Default NULL.
    const plumb_dataset_write_options *write; ///< May be NULL. Default NULL.
} plumb_dataset_simulate_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_dataset_simulate_defaults()
/// calls it.
PLUMB_API void plumb_dataset_simulate_options_init(plumb_dataset_simulate_options *options,
                                                   size_t size);

/// Returns the defaults.
static inline plumb_dataset_simulate_options plumb_dataset_simulate_defaults(void)
{
    plumb_dataset_simulate_options options;
    plumb_dataset_simulate_options_init(&options, sizeof options);
    return options;
}

/// Simulates items of a world and writes them to `path`, by its suffix .h5, .npz or .tfrecord; next
/// to a .tfrecord a features.txt, which must not exist with other contents. The file is written
/// atomically, and memory does not grow with its size. Reports progress. Fails with PLUMB_ESTOPPED
/// after plumb_set_stop(). May be NULL: options.
PLUMB_API plumb_status plumb_dataset_simulate(const char *path, const plumb_world *world,
                                              const plumb_dataset_simulate_options *options);

/// Copies a dataset into a file of another kind, written as by plumb_dataset_simulate().
/// `*item_count` is the number of items. All values keep their bits unless `options` narrows them.
/// May be NULL: item_count, split, options.
PLUMB_API plumb_status plumb_dataset_convert(int64_t *item_count, const char *to, const char *from,
                                             const char *split,
                                             const plumb_dataset_write_options *options);

#ifdef __cplusplus
}
#endif
#endif
