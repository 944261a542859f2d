// SPDX-License-Identifier: MIT
// Items into a file: made, and packed where the format needs it, a handful at a time by all
// threads, and then written in order. The file has the same bytes for any number of threads.
#ifndef DATASET_ITEM_PIPELINE_H
#define DATASET_ITEM_PIPELINE_H

#include "base/arena.h"
#include "dataset/writer.h"

enum { ITEM_PIPELINE_FIELDS = 64 };

/// One item on its way.
typedef struct pipeline_item {
    const void *data[ITEM_PIPELINE_FIELDS]; ///< one place a field that is not shared
    buffer packed;
} pipeline_item;

typedef struct item_pipeline {
    writer *out;
    writer_field field[ITEM_PIPELINE_FIELDS];
    int64_t fields;
    arena mem;
    pipeline_item *slot;
    int64_t slots, next;
    plumb_status (*make)(void *context, int64_t slot, int64_t item); ///< on any thread
    void *context;
    int64_t origin[3];
    double dt;
} item_pipeline;

/// An array of every item, of this shape.
void item_pipeline_add_field(item_pipeline *a, const char *name, plumb_dtype dtype, int ndim,
                             const int64_t *shape);
/// Where items come from, once for the whole file; `world` is needed until item_pipeline_open
/// returns.
void item_pipeline_add_origin(item_pipeline *a, const char *world, bool upright, uint64_t seed,
                              int64_t first, double dt);
/// Bytes of one item.
size_t item_pipeline_bytes(const item_pipeline *a);

/// Begins the file. At most `slots` items are on their way at a time; their places are still to be
/// filled in.
plumb_status item_pipeline_open(item_pipeline *a, const char *path, int64_t count, int64_t slots,
                                const plumb_dataset_write_options *opt);
plumb_status item_pipeline_run(item_pipeline *a, int64_t count, int threads);
/// Ends the file, or leaves none if `st` is a failure; returns what became of it.
plumb_status item_pipeline_close(item_pipeline *a, plumb_status st);

#endif
