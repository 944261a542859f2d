// SPDX-License-Identifier: MIT
// Writes a dataset: all threads make and pack a few items at a time, which are then written in
// order. The file has the same bytes for any number of threads.
#ifndef DATASET_ITEM_PIPELINE_H
#define DATASET_ITEM_PIPELINE_H

#include "base/arena.h"
#include "dataset/writer.h"

enum { ITEM_PIPELINE_MAX_FIELDS = 64 };

/// One item in flight.
typedef struct pipeline_item {
    const void *data[ITEM_PIPELINE_MAX_FIELDS]; ///< One pointer per field, NULL if it is shared.
    buffer packed;
} pipeline_item;

typedef struct item_pipeline {
    dataset_writer *writer;
    writer_field field[ITEM_PIPELINE_MAX_FIELDS];
    int64_t field_count;
    arena mem;
    pipeline_item *items;  ///< Items in flight.
    int64_t item_capacity; ///< Number of items in flight at a time.
    int64_t next;          ///< Index of the first item in flight.
    /// Makes item `item` in place `place` of the items in flight. Called on any thread.
    plumb_status (*make)(void *context, int64_t place, int64_t item);
    void *context;
    int64_t origin[3]; ///< upright, seed, first.
    double dt;
} item_pipeline;

/// Adds an array that every item has, with this type and shape.
void item_pipeline_add_field(item_pipeline *pipeline, const char *name, plumb_dtype dtype, int ndim,
                             const int64_t *shape);
/// Adds the shared fields world, upright, seed, first and dt. `world` must stay valid until
/// item_pipeline_open() returns.
void item_pipeline_add_origin(item_pipeline *pipeline, const char *world, bool upright,
                              uint64_t seed, int64_t first, double dt);
/// Bytes of one item.
size_t item_pipeline_bytes(const item_pipeline *pipeline);

/// Starts the file, with at most `capacity` items in flight. The caller then sets their data
/// pointers. May be NULL: options.
plumb_status item_pipeline_open(item_pipeline *pipeline, const char *path, int64_t count,
                                int64_t capacity, const plumb_dataset_write_options *options);
/// Makes and writes all items.
plumb_status item_pipeline_run(item_pipeline *pipeline, int64_t count, int threads);
/// Ends the file, or removes it if `st` is a failure. Returns the final status.
plumb_status item_pipeline_close(item_pipeline *pipeline, plumb_status st);

#endif
