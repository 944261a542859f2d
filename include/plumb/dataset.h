// SPDX-License-Identifier: MIT
// Datasets: trajectories in files, whatever the file: .h5, .npz, .tfrecord, and the published
// folders of TFRecords [Botev21].
#ifndef PLUMB_DATASET_H
#define PLUMB_DATASET_H

#include "plumb/file.h"
#include "plumb/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An open dataset. Arrays have the names of plumb's data files whatever the file has: frames,
/// state, canonical, derivative, energy, time, and one per parameter. What is the same for all
/// items is there too: world (the name, as bytes), upright (1 if row 0 of a frame is the top), dt,
/// seed and first.
typedef struct plumb_dataset plumb_dataset;

/// Opens x.h5, x.npz, x.tfrecord (plain or GZIP, with features.txt beside it) or a published
/// folder, of which `split` ("train", "test"; NULL: train, or what there is) is taken. Records of
/// Physical Concepts [Piloto22] need no features.txt; their shards, x.tfrecord-00000-of-00020, are
/// opened alone or as a folder, and have the fields frames, mask and camera_pose, of probes with
/// four clips an item. A file of records may hold none.
PLUMB_API plumb_status plumb_dataset_open(plumb_dataset **out, const char *path, const char *split);
/// NULL is allowed.
PLUMB_API void plumb_dataset_close(plumb_dataset *dataset);

PLUMB_API int64_t plumb_dataset_item_count(const plumb_dataset *dataset);
/// Files it is in; more than one only for a folder of shards.
PLUMB_API int64_t plumb_dataset_shards(const plumb_dataset *dataset);
PLUMB_API int64_t plumb_dataset_field_count(const plumb_dataset *dataset);
PLUMB_API const char *plumb_dataset_field_name(const plumb_dataset *dataset, int64_t index);
PLUMB_API bool plumb_dataset_has_field(const plumb_dataset *dataset, const char *field);

/// Is this field the same for all items?
PLUMB_API bool plumb_dataset_is_shared(const plumb_dataset *dataset, const char *field);

/// One array of one item, without the items axis. The memory is the dataset's, valid until the next
/// read of the same field or the close. A damaged record fails naming file and record.
PLUMB_API plumb_status plumb_dataset_read_field(plumb_array *out, plumb_dataset *dataset,
                                                int64_t item, const char *field);

/// The name of the world, if the file or its folder says it, else "". `text` has room for 64 bytes
/// and is returned.
PLUMB_API const char *plumb_dataset_world_name(char text[64], plumb_dataset *dataset);

/// How a dataset is written.
typedef struct plumb_dataset_write_options {
    size_t size;
    bool compress; ///< deflate arrays (.npz, .h5), GZIP the file (.tfrecord)
    /// .tfrecord: only what the published files have (x, dx_dt, image, other/...); rooms in the
    /// layout of Physical Concepts, GZIP, also to names like x.tfrecord-00000-of-00001
    bool published;
    bool narrow;  ///< .tfrecord: real numbers as float32, two numbers a stored integer
    bool replace; ///< a file of this name may be overwritten
} plumb_dataset_write_options;
/// Sets the first `size` bytes of `options` to the defaults. plumb_dataset_write_defaults() calls
/// it.
PLUMB_API void plumb_dataset_write_options_init(plumb_dataset_write_options *options, size_t size);

/// The defaults.
static inline plumb_dataset_write_options plumb_dataset_write_defaults(void)
{
    plumb_dataset_write_options options;
    plumb_dataset_write_options_init(&options, sizeof options);
    return options;
}

/// Makes `count` items of a world, from `first` on, and writes them to `path`, by suffix .h5, .npz
/// or .tfrecord (then features.txt stands beside it, which must be free or say the same). The file
/// appears whole or not at all; memory does not grow with `count`. Both options may be NULL;
/// `threads` 0 means plumb_system_threads(), and changes no bit. Progress is reported.
/// Fails with PLUMB_ESTOPPED if somebody called plumb_set_stop.
PLUMB_API plumb_status plumb_dataset_simulate(const char *path, const plumb_world *world,
                                              int64_t count, int64_t steps, uint64_t seed,
                                              int64_t first, const plumb_world_options *world_opt,
                                              const plumb_dataset_write_options *opt, int threads);

/// Copies a dataset into another kind of file, as plumb_dataset_simulate writes it; `*records` is
/// how many. Every number keeps its bits, unless `opt` narrows them.
PLUMB_API plumb_status plumb_dataset_convert(int64_t *records, const char *to, const char *from,
                                             const char *split,
                                             const plumb_dataset_write_options *opt);

#ifdef __cplusplus
}
#endif
#endif
