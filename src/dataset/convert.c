// SPDX-License-Identifier: MIT
// Copies a dataset into a file of another format, item by item.

#include "base/argument.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "dataset/dataset.h"
#include "dataset/writer.h"
#include "plumb/dataset.h"

typedef struct convert_job {
    plumb_dataset *from;
    arena mem;
    writer_field *field;
    const void **data; // of the current item, one pointer per field
    int64_t field_count;
    dataset_writer *to;
    buffer packed;
} convert_job;

// Types and shapes are those of the first item; in an open dataset they are the same for all.
static plumb_status list_fields(convert_job *job)
{
    job->field_count = plumb_dataset_field_count(job->from);
    job->field = ARENA_ALLOC(&job->mem, writer_field, job->field_count);
    job->data = ARENA_ALLOC(&job->mem, const void *, job->field_count);
    if (!job->field || !job->data) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < job->field_count; i++) {
        writer_field *field = &job->field[i];
        field->name = plumb_dataset_field_name(job->from, i);
        field->shared = plumb_dataset_is_shared(job->from, field->name);
        const plumb_status st = plumb_dataset_read_field(&field->array, job->from, 0, field->name);
        if (st) return st;
    }
    return PLUMB_OK;
}

// Reads all fields of an item and appends it.
static plumb_status copy_item(convert_job *job, int64_t item)
{
    plumb_status st = status_check_stop();
    for (int64_t i = 0; i < job->field_count && !st; i++) {
        plumb_array array;
        if (job->field[i].shared) continue;
        st = plumb_dataset_read_field(&array, job->from, item, job->field[i].name);
        job->data[i] = array.data;
    }
    // One item is in memory at a time.
    if (!st) st = writer_pack(&job->packed, job->to, job->data);
    return st ? st : writer_append(job->to, job->data, &job->packed);
}

plumb_status plumb_dataset_convert(int64_t *item_count, const char *to, const char *from,
                                   const char *split, const plumb_dataset_write_options *options)
{
    REQUIRE_ARGUMENT(to);
    REQUIRE_ARGUMENT(from);
    convert_job job = {0};
    plumb_dataset_write_options write = plumb_dataset_write_defaults();
    plumb_status st = options_resolve(&write, sizeof write, options, "plumb_dataset_write_options");
    if (!st) st = plumb_dataset_open(&job.from, from, split);
    const int64_t items = st ? 0 : plumb_dataset_item_count(job.from);
    if (!st && !items) st = fail(PLUMB_EFORMAT, "%s: holds no record", from);
    // Say how many records there are; the number of shards is easily mistaken for it.
    if (!st && dataset_shard_count(job.from) > 1)
        status_log("%s: %lld records in %lld shards", from, (long long)items,
                   (long long)dataset_shard_count(job.from));
    if (!st) st = list_fields(&job);
    if (!st) st = writer_open(&job.to, to, job.field, job.field_count, items, &write);
    for (int64_t i = 0; i < items && !st; i++) {
        st = copy_item(&job, i);
        if (!st && (i % 16 == 15 || i == items - 1))
            status_progress((double)(i + 1) / (double)items);
    }
    if (st) writer_discard(job.to);
    else st = writer_commit(job.to);
    buffer_clear(&job.packed);
    arena_clear(&job.mem);
    plumb_dataset_close(job.from);
    if (!st && item_count) *item_count = items;
    return st;
}
