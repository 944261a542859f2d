// SPDX-License-Identifier: MIT
// Two kinds of file behind one face. In a file of arrays every field has the items as its first
// axis; where the numbers lie in the file as they do in memory, one item at a time is read from
// there. In a file of records every item is a record, and its fields are decoded when asked for.
#define _GNU_SOURCE
#include "plumb/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "dataset/dm_hamiltonian.h"
#include "dataset/physical_concepts.h"
#include "dataset/tf_decode.h"
#include "io/array_file.h"
#include "io/tfrecord_shards.h"

typedef struct field {
    const char *name;
    plumb_array array; // of one item, or of all of a shared one
    bool shared;
    buffer held; // the item read last

    int64_t index;        // file of arrays: which
    uint64_t offset;      // and where, or 0
    const input_file *in; // and in what
    bool known;           // `array.data` is all of it; of a shared record field, `held`

    const feature_spec *feature; // records with a list of features
    int which;                   // records of Physical Concepts: number of the field
} field;

struct plumb_dataset {
    arena mem;
    const char *path;
    int64_t items;
    field *field;
    int64_t fields;

    plumb_file *file; // file of arrays
    bool is_records;
    tfrecord_shards records;
    feature_specs list;
    bool is_physical;
    physical_concepts_layout layout;
    char concept[32];
};

static size_t bytes_of(const plumb_array *array)
{
    return (size_t)plumb_array_count(array) * plumb_dtype_size(array->dtype);
}

// ---- files of arrays ----

// What is one for the whole file: plain numbers, and the name of the world.
static bool is_shared(const char *name, const plumb_array *whole)
{
    return whole->ndim == 0 ||
           (!strcmp(name, "world") && whole->ndim == 1 && whole->dtype == PLUMB_UINT8);
}

// How many items: what the frames, the states or else the first array say.
static plumb_status count_items(plumb_dataset *d)
{
    static const char *const leaders[] = {"frames", "state"};
    const field *leader = NULL;
    for (int k = 0; k < 2 && !leader; k++)
        for (int64_t i = 0; i < d->fields; i++)
            if (!strcmp(d->field[i].name, leaders[k]) && d->field[i].array.ndim)
                leader = &d->field[i];
    for (int64_t i = 0; i < d->fields && !leader; i++)
        if (!is_shared(d->field[i].name, &d->field[i].array)) leader = &d->field[i];
    if (!leader) return fail(PLUMB_EFORMAT, "%s: no array has an axis of items", d->path);
    d->items = leader->array.shape[0];
    return d->items > 0 ? PLUMB_OK
                        : fail(PLUMB_EFORMAT, "%s: \"%s\" holds no item", d->path, leader->name);
}

static plumb_status open_arrays(plumb_dataset *d)
{
    plumb_status st = plumb_file_open(&d->file, d->path);
    if (st) return st;
    d->fields = plumb_file_array_count(d->file);
    d->field = ARENA_ALLOC(&d->mem, field, d->fields);
    if (!d->field) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < d->fields && !st; i++) {
        field *f = &d->field[i];
        const char *name = plumb_file_array_name(d->file, i);
        *f = (field){.name = name + (name[0] == '/'), .index = i};
        st = array_file_info(&f->array, &f->offset, &f->in, d->file, i);
        f->known = !st && f->array.data;
    }
    if (!st) st = count_items(d);
    for (int64_t i = 0; i < d->fields && !st; i++) {
        field *f = &d->field[i];
        f->shared = is_shared(f->name, &f->array) || f->array.shape[0] != d->items;
        if (f->shared) continue;
        f->array.ndim--;
        memmove(f->array.shape, f->array.shape + 1, (size_t)f->array.ndim * sizeof *f->array.shape);
    }
    return st;
}

static plumb_status read_array(plumb_dataset *d, field *f, int64_t item)
{
    const size_t bytes = bytes_of(&f->array);
    const size_t before = f->shared ? 0 : (size_t)item * bytes;
    buffer_reset(&f->held);
    unsigned char *place = buffer_grow(&f->held, bytes);
    if (!place) return fail(PLUMB_EMEMORY, "%s: no memory for \"%s\"", d->path, f->name);
    if (f->offset) return input_file_read(place, f->in, f->offset + before, bytes);
    if (!f->known) {
        plumb_array whole;
        const plumb_status st =
            plumb_file_read_array(&whole, d->file, plumb_file_array_name(d->file, f->index));
        if (st) return st;
        f->array.data = whole.data;
        f->known = true;
    }
    memcpy(place, (const unsigned char *)f->array.data + before, bytes);
    return PLUMB_OK;
}

// ---- files of records ----

static bool name_is_taken(const plumb_dataset *d, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(d->field[i].name, name)) return true;
    return false;
}

static plumb_status open_listed(plumb_dataset *d, const char *beside)
{
    const plumb_status st = features_txt_read(&d->list, &d->mem, arena_strdup(&d->mem, beside));
    if (st) return st;
    d->fields = d->list.count;
    d->field = ARENA_ALLOC(&d->mem, field, d->fields);
    if (!d->field) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < d->fields; i++) {
        field *f = &d->field[i];
        f->feature = &d->list.row[i];
        dm_hamiltonian_to_plumb(&f->name, &f->array, &f->shared, f->feature);
        if (!name_is_taken(d, i, f->name)) continue;
        f->name = f->feature->key; // as it stands, then
        f->array = plumb_array_view(NULL, f->feature->dtype, f->feature->ndim, f->feature->shape);
    }
    return PLUMB_OK;
}

// Records of Physical Concepts need no list: their keys say what they are. The concept is the name
// of a folder.
static plumb_status open_physical(plumb_dataset *d)
{
    const unsigned char *data;
    size_t bytes;
    char what[512], world[64];
    snprintf(what, sizeof what, "%.400s: record 0", tfrecord_shards_path(&d->records, 0));
    plumb_status st = tfrecord_shards_read(&data, &bytes, &d->records, 0);
    if (!st) st = physical_concepts_detect(&d->layout, &d->is_physical, data, bytes, what);
    if (st) return st;
    if (!d->is_physical)
        return fail(PLUMB_EFILE,
                    "%s: features.txt, which says what is in it, is not beside it, and its keys "
                    "are not those of Physical Concepts",
                    d->path);
    physical_concepts_world(world, d->concept, tfrecord_shards_path(&d->records, 0));
    d->fields = PHYSICAL_CONCEPTS_FIELDS + (d->layout.probe && d->concept[0]) + (world[0] != 0);
    d->field = ARENA_ALLOC(&d->mem, field, d->fields);
    if (!d->field) return PLUMB_EMEMORY;
    int64_t at = 0;
    for (; at < PHYSICAL_CONCEPTS_FIELDS; at++)
        d->field[at] = (field){.name = physical_concepts_name((int)at),
                               .array = physical_concepts_array(&d->layout, (int)at),
                               .which = (int)at};
    const int64_t letters = (int64_t)sizeof d->concept, length = (int64_t)strlen(world);
    if (d->layout.probe && d->concept[0])
        d->field[at++] = (field){.name = "concept",
                                 .array = plumb_array_view(NULL, PLUMB_UINT8, 1, &letters),
                                 .which = PHYSICAL_CONCEPTS_FIELDS};
    if (!world[0]) return PLUMB_OK;
    field *f = &d->field[at];
    *f = (field){.name = "world", .array = plumb_array_view(NULL, PLUMB_UINT8, 1, &length)};
    f->shared = f->known = true;
    buffer_put(&f->held, world, (size_t)length);
    return f->held.failed ? fail(PLUMB_EMEMORY, "%s: no memory to open it", d->path) : PLUMB_OK;
}

static plumb_status open_records(plumb_dataset *d)
{
    char beside[4096];
    const char *slash = strrchr(d->path, '/');
    const int folder = slash ? (int)(slash - d->path) + 1 : 0;
    if ((size_t)snprintf(beside, sizeof beside, "%.*sfeatures.txt", folder, d->path) >=
        sizeof beside)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", d->path);
    plumb_status st = tfrecord_shards_open(&d->records, &d->mem, d->path);
    if (st) return st;
    d->is_records = true;
    d->items = d->records.items;
    if (!access(beside, F_OK)) return open_listed(d, beside);
    return d->items ? open_physical(d) : PLUMB_OK;
}

static plumb_status read_record(plumb_dataset *d, field *f, int64_t item)
{
    const unsigned char *data;
    size_t bytes;
    if (f->shared && f->known) return PLUMB_OK; // a step back to record 0 may be dear
    if (d->is_physical && f->which == PHYSICAL_CONCEPTS_FIELDS) {
        buffer_reset(&f->held);
        buffer_put(&f->held, d->concept, sizeof d->concept);
        return f->held.failed ? fail(PLUMB_EMEMORY, "%s: no memory for it", d->path) : PLUMB_OK;
    }
    const int64_t record = f->shared ? 0 : item;
    plumb_status st = tfrecord_shards_read(&data, &bytes, &d->records, record);
    if (st) return st;
    char what[512];
    snprintf(what, sizeof what, "%.400s: record %lld", tfrecord_shards_path(&d->records, record),
             (long long)tfrecord_shards_local_index(&d->records, record));
    if (d->is_physical)
        st = physical_concepts_read(&f->held, &d->layout, f->which, data, bytes, what);
    else st = tf_decode_feature(&f->held, f->array.dtype, f->feature, data, bytes, what);
    f->known = !st;
    return st;
}

// ---- both ----

static bool ends_with(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && !strcasecmp(path + length - end, suffix);
}

// The file of a published folder, what was asked for, or train, or test; or the shards in it.
static plumb_status choose_split(plumb_dataset *d, const char *folder, const char *split)
{
    const char *const wishes[] = {split ? split : "train", split ? split : "test"};
    char path[4096];
    const size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    for (int i = 0; i < 2; i++) {
        if ((size_t)snprintf(path, sizeof path, "%s%s%s.tfrecord", folder, slash, wishes[i]) >=
            sizeof path)
            return fail(PLUMB_EFILE, "%.80s...: the path is too long", folder);
        bool found = !access(path, F_OK);
        if (!found) {
            snprintf(path, sizeof path, "%s%s%s/", folder, slash, wishes[i]);
            found = tfrecord_shards_in_folder(path);
        }
        if (!found && !split) {
            snprintf(path, sizeof path, "%s%s", folder, slash);
            found = tfrecord_shards_in_folder(path);
        }
        if (!found) continue;
        d->path = arena_strdup(&d->mem, path);
        return d->path ? PLUMB_OK : PLUMB_EMEMORY;
    }
    return split ? fail(PLUMB_EFILE, "%s: has no %s.tfrecord", folder, split)
                 : fail(PLUMB_EFILE, "%s: has neither train.tfrecord nor test.tfrecord", folder);
}

static plumb_status open_any(plumb_dataset *d, const char *path, const char *split)
{
    struct stat about;
    const bool folder = !stat(path, &about) && S_ISDIR(about.st_mode);
    d->path = arena_strdup(&d->mem, path);
    if (!d->path) return PLUMB_EMEMORY;
    if (folder) {
        const plumb_status st = choose_split(d, path, split);
        if (st) return st;
    } else if (split) {
        return fail(PLUMB_EVALUE, "%s: a split is for a folder, and this is none", path);
    }
    if (ends_with(d->path, ".tfrecord") || ends_with(d->path, "/") ||
        tfrecord_shards_is_name(d->path))
        return open_records(d);
    if (ends_with(d->path, ".npz") || ends_with(d->path, ".h5") || ends_with(d->path, ".hdf5"))
        return open_arrays(d);
    return fail(PLUMB_EFILE,
                "%s: neither a folder nor a name that ends in .npz, .h5, .hdf5 or .tfrecord", path);
}

plumb_status plumb_dataset_open(plumb_dataset **out, const char *path, const char *split)
{
    plumb_dataset *d = calloc(1, sizeof *d);
    if (!d) return fail(PLUMB_EMEMORY, "%s: no memory to open it", path);
    const plumb_status st = open_any(d, path, split);
    if (st) plumb_dataset_close(d);
    else *out = d;
    return st;
}

void plumb_dataset_close(plumb_dataset *d)
{
    if (!d) return;
    for (int64_t i = 0; d->field && i < d->fields; i++) buffer_clear(&d->field[i].held);
    if (d->is_records) tfrecord_shards_close(&d->records);
    plumb_file_close(d->file);
    arena mem = d->mem;
    arena_clear(&mem);
    free(d);
}

int64_t plumb_dataset_item_count(const plumb_dataset *dataset)
{
    return dataset->items;
}

int64_t plumb_dataset_shards(const plumb_dataset *dataset)
{
    return dataset->is_records ? dataset->records.count : 1;
}

int64_t plumb_dataset_field_count(const plumb_dataset *dataset)
{
    return dataset->fields;
}

const char *plumb_dataset_field_name(const plumb_dataset *dataset, int64_t index)
{
    assert(index >= 0 && index < dataset->fields);
    return dataset->field[index].name;
}

static field *find(const plumb_dataset *d, const char *name)
{
    for (int64_t i = 0; i < d->fields; i++)
        if (!strcmp(d->field[i].name, name)) return &d->field[i];
    return NULL;
}

bool plumb_dataset_has_field(const plumb_dataset *dataset, const char *name)
{
    return find(dataset, name);
}

bool plumb_dataset_is_shared(const plumb_dataset *dataset, const char *name)
{
    const field *f = find(dataset, name);
    return f && f->shared;
}

plumb_status plumb_dataset_read_field(plumb_array *out, plumb_dataset *d, int64_t item,
                                      const char *name)
{
    field *f = find(d, name);
    if (!d->items) return fail(PLUMB_EFORMAT, "%s: holds no record", d->path);
    if (!f) return fail(PLUMB_EFILE, "%s: has no array \"%s\"", d->path, name);
    if (item < 0 || item >= d->items)
        return fail(PLUMB_EVALUE, "%s: there is no item %lld, only 0 to %lld", d->path,
                    (long long)item, (long long)d->items - 1);
    const plumb_status st = d->is_records ? read_record(d, f, item) : read_array(d, f, item);
    if (st) return st;
    *out = f->array;
    out->data = f->held.data;
    return PLUMB_OK;
}

const char *plumb_dataset_world_name(char text[64], plumb_dataset *d)
{
    plumb_array name;
    text[0] = 0;
    const field *f = find(d, "world");
    if (f && f->array.dtype == PLUMB_UINT8 && plumb_array_count(&f->array) < 64 &&
        !plumb_dataset_read_field(&name, d, 0, "world")) {
        memcpy(text, name.data, (size_t)plumb_array_count(&name));
        text[plumb_array_count(&name)] = 0;
        return text;
    }
    // A published folder has the name of its world.
    const char *end = strrchr(d->path, '/');
    if (!d->is_records || !end) return text;
    const char *start = end;
    while (start > d->path && start[-1] != '/') start--;
    char folder[64];
    snprintf(folder, sizeof folder, "%.*s", (int)(end - start), start);
    dm_hamiltonian_world(text, folder);
    return text;
}
