// SPDX-License-Identifier: MIT
// Datasets: trajectories in files, whatever the file: .h5, .npz, .tfrecord, and the published
// folders of TFRecords.
#ifndef PLUMB_DATASET_H
#define PLUMB_DATASET_H

#include "plumb/file.h"
#include "plumb/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An open dataset. Arrays have the names of plumb's data files whatever the file has: frames,
/// state, canonical, derivative, energy, time, and one per parameter.
typedef struct plumb_dataset plumb_dataset;

/// Opens x.h5, x.npz, x.tfrecord (with features.txt beside it) or a published folder, of which
/// `split` ("train", "test"; NULL: the only or the first one) is taken.
PLUMB_API plumb_status plumb_dataset_open(plumb_dataset **out, const char *path, const char *split);
PLUMB_API void plumb_dataset_close(plumb_dataset *dataset);

PLUMB_API int64_t plumb_dataset_items(const plumb_dataset *dataset);
PLUMB_API int64_t plumb_dataset_fields(const plumb_dataset *dataset);
PLUMB_API const char *plumb_dataset_field(const plumb_dataset *dataset, int64_t index);

/// One array of one item, without the items axis. The memory is the dataset's, valid until the next
/// read of the same field or the close. A damaged record fails naming file and record.
PLUMB_API plumb_status plumb_dataset_read(plumb_array *out, plumb_dataset *dataset, int64_t item,
                                          const char *field);

/// How a dataset is written.
typedef struct plumb_dataset_options {
    size_t size;
    bool compress;   ///< deflate arrays (.npz, .h5), GZIP the file (.tfrecord)
    bool published;  ///< .tfrecord: the published keys and types (x, dx_dt, image, other/...)
    bool narrow;     ///< .tfrecord: states as float32, two numbers a stored integer
} plumb_dataset_options;
PLUMB_API plumb_dataset_options plumb_dataset_defaults(void);

/// Makes `count` items of a world, from `first` on, and writes them to `path`, by suffix .h5, .npz or
/// .tfrecord. The file appears whole or not at all. Progress is reported; `*seconds` may be NULL.
PLUMB_API plumb_status plumb_dataset_simulate(const char *path, const plumb_world *world,
                                              int64_t count, int64_t steps, uint64_t seed,
                                              int64_t first, const plumb_world_options *world_opt,
                                              const plumb_dataset_options *opt, int threads);

/// Copies a dataset into another kind of file; `*records` is how many.
PLUMB_API plumb_status plumb_dataset_convert(int64_t *records, const char *to, const char *from,
                                             const char *split, const plumb_dataset_options *opt);

#ifdef __cplusplus
}
#endif
#endif
