// SPDX-License-Identifier: MIT
// A dataset into another kind of file, item by item.

#include "base/status.h"
#include "dataset/writer.h"
#include "plumb/dataset.h"

typedef struct convert_job {
    plumb_dataset *from;
    arena mem;
    writer_field *field;
    const void **data;
    int64_t fields;
    writer *to;
    buffer packed;
} convert_job;

// Types and shapes are those of the first item; a file that is open has them the same for all.
static plumb_status list_fields(convert_job *c)
{
    c->fields = plumb_dataset_field_count(c->from);
    c->field = ARENA_ALLOC(&c->mem, writer_field, c->fields);
    c->data = ARENA_ALLOC(&c->mem, const void *, c->fields);
    if (!c->field || !c->data) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < c->fields; i++) {
        writer_field *f = &c->field[i];
        f->name = plumb_dataset_field_name(c->from, i);
        f->shared = plumb_dataset_is_shared(c->from, f->name);
        const plumb_status st = plumb_dataset_read_field(&f->array, c->from, 0, f->name);
        if (st) return st;
    }
    return PLUMB_OK;
}

static plumb_status copy_item(convert_job *c, int64_t item)
{
    plumb_status st = status_check_stop();
    for (int64_t i = 0; i < c->fields && !st; i++) {
        plumb_array array;
        if (c->field[i].shared) continue;
        st = plumb_dataset_read_field(&array, c->from, item, c->field[i].name);
        c->data[i] = array.data;
    }
    if (!st) st = writer_pack(&c->packed, c->to, c->data);
    return st ? st : writer_append(c->to, c->data, &c->packed);
}

plumb_status plumb_dataset_convert(int64_t *records, const char *to, const char *from,
                                   const char *split, const plumb_dataset_write_options *opt)
{
    convert_job c = {0};
    plumb_status st = plumb_dataset_open(&c.from, from, split);
    const int64_t items = st ? 0 : plumb_dataset_item_count(c.from);
    if (!st && !items) st = fail(PLUMB_EFORMAT, "%s: holds no record", from);
    // The published sets have been taken for as many records as they have shards.
    if (!st && plumb_dataset_shards(c.from) > 1)
        status_log("%s: %lld records in %lld shards", from, (long long)items,
                   (long long)plumb_dataset_shards(c.from));
    if (!st) st = list_fields(&c);
    if (!st) st = writer_open(&c.to, to, c.field, c.fields, items, opt);
    for (int64_t i = 0; i < items && !st; i++) {
        st = copy_item(&c, i);
        if (!st && (i % 16 == 15 || i == items - 1))
            status_progress((double)(i + 1) / (double)items);
    }
    if (st) writer_discard(c.to);
    else st = writer_commit(c.to);
    buffer_clear(&c.packed);
    arena_clear(&c.mem);
    plumb_dataset_close(c.from);
    if (!st && records) *records = items;
    return st;
}
