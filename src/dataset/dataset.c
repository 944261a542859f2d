// SPDX-License-Identifier: MIT
// Reads datasets from two kinds of file, and from folders of PNG sequences. In a file of arrays
// every field has the items as its first axis; if its bytes are stored as in memory, single items
// are read from the file. In a file of records every item is a record, and its fields are decoded
// when they are read.
#define _GNU_SOURCE
#include "dataset/dataset.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/status.h"
#include "dataset/dm_hamiltonian.h"
#include "dataset/image_folder.h"
#include "dataset/physical_concepts.h"
#include "dataset/tf_decode.h"
#include "io/array_file.h"
#include "io/tfrecord_shards.h"

typedef struct dataset_field {
    const char *name;
    plumb_array array; // type and shape of one item, or of the shared array
    bool shared;
    buffer item; // the value read last

    int64_t index;          // file of arrays: index of the array
    uint64_t offset;        // file of arrays: position of its bytes, or 0
    const input_file *file; // file of arrays: where `offset` points to
    bool is_read;           // `array.data` has the whole array; shared field of records: `item`

    const feature_spec *feature; // records with features.txt
    int number;                  // records of Physical Concepts: number of the field
} dataset_field;

struct plumb_dataset {
    arena mem;
    const char *path;
    int64_t items;
    dataset_field *field;
    int64_t field_count;

    plumb_file *file;     // file of arrays
    image_folder *images; // PNG sequences; or NULL
    bool is_records;      // file of records
    tfrecord_shards records;
    feature_specs specs; // features.txt
    bool is_physical;    // Physical Concepts
    physical_concepts_layout layout;
    char concept[32];
};

static size_t get_bytes(const plumb_array *array)
{
    return (size_t)plumb_array_count(array) * plumb_dtype_size(array->dtype);
}

// ---- files of arrays ----

// True for arrays that belong to the whole file: scalars, and the name of the world.
static bool is_shared(const char *name, const plumb_array *whole)
{
    return whole->ndim == 0 ||
           (!strcmp(name, "world") && whole->ndim == 1 && whole->dtype == PLUMB_UINT8);
}

// The number of items is the first axis of frames, of state, or else of the first array.
static plumb_status count_items(plumb_dataset *dataset)
{
    static const char *const leaders[] = {"frames", "state"};
    // A file without frames and state has no fixed leader: its first array that is not shared
    // decides.
    const dataset_field *leader = NULL;
    for (int k = 0; k < 2 && !leader; k++)
        for (int64_t i = 0; i < dataset->field_count; i++)
            if (!strcmp(dataset->field[i].name, leaders[k]) && dataset->field[i].array.ndim)
                leader = &dataset->field[i];
    for (int64_t i = 0; i < dataset->field_count && !leader; i++)
        if (!is_shared(dataset->field[i].name, &dataset->field[i].array))
            leader = &dataset->field[i];
    if (!leader) return fail(PLUMB_EFORMAT, "%s: no array has an axis of items", dataset->path);
    dataset->items = leader->array.shape[0];
    return dataset->items > 0
               ? PLUMB_OK
               : fail(PLUMB_EFORMAT, "%s: \"%s\" holds no item", dataset->path, leader->name);
}

// Lists the arrays. All whose first axis has the length of the items are per item.
static plumb_status open_arrays(plumb_dataset *dataset)
{
    plumb_status st = plumb_file_open(&dataset->file, dataset->path);
    if (st) return st;
    dataset->field_count = plumb_file_array_count(dataset->file);
    dataset->field = ARENA_ALLOC(&dataset->mem, dataset_field, dataset->field_count);
    if (!dataset->field) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < dataset->field_count && !st; i++) {
        dataset_field *field = &dataset->field[i];
        const char *name = plumb_file_array_name(dataset->file, i);
        *field = (dataset_field){.name = name + (name[0] == '/'), .index = i};
        st = array_file_info(&field->array, &field->offset, &field->file, dataset->file, i);
        field->is_read = !st && field->array.data;
    }
    if (!st) st = count_items(dataset);
    for (int64_t i = 0; i < dataset->field_count && !st; i++) {
        dataset_field *field = &dataset->field[i];
        field->shared =
            is_shared(field->name, &field->array) || field->array.shape[0] != dataset->items;
        if (field->shared) continue;
        field->array.ndim--;
        memmove(field->array.shape, field->array.shape + 1,
                (size_t)field->array.ndim * sizeof *field->array.shape);
    }
    return st;
}

// Reads one item of an array: from its position in the file, or from the whole array in memory.
static plumb_status read_array(plumb_dataset *dataset, dataset_field *field, int64_t item)
{
    const size_t bytes = get_bytes(&field->array);
    const size_t before = field->shared ? 0 : (size_t)item * bytes;
    buffer_reset(&field->item);
    unsigned char *place = buffer_grow(&field->item, bytes);
    if (!place) return fail(PLUMB_EMEMORY, "%s: no memory for \"%s\"", dataset->path, field->name);
    // Stored as in memory: read one item. Else the whole array is read once, at first use.
    if (field->offset) return input_file_read(place, field->file, field->offset + before, bytes);
    if (!field->is_read) {
        plumb_array whole;
        const plumb_status st = plumb_file_read_array(
            &whole, dataset->file, plumb_file_array_name(dataset->file, field->index));
        if (st) return st;
        field->array.data = whole.data;
        field->is_read = true;
    }
    memcpy(place, (const unsigned char *)field->array.data + before, bytes);
    return PLUMB_OK;
}

// ---- files of records ----

// Two features may have the same name in plumb; then the second keeps its key.
static bool is_name_taken(const plumb_dataset *dataset, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(dataset->field[i].name, name)) return true;
    return false;
}

// Lists the features of features.txt under the names of plumb.
static plumb_status open_with_features(plumb_dataset *dataset, const char *text_path)
{
    const plumb_status st =
        features_txt_read(&dataset->specs, &dataset->mem, arena_strdup(&dataset->mem, text_path));
    if (st) return st;
    dataset->field_count = dataset->specs.count;
    dataset->field = ARENA_ALLOC(&dataset->mem, dataset_field, dataset->field_count);
    if (!dataset->field) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < dataset->field_count; i++) {
        dataset_field *field = &dataset->field[i];
        field->feature = &dataset->specs.spec[i];
        dm_hamiltonian_to_plumb(&field->name, &field->array, &field->shared, field->feature);
        if (!is_name_taken(dataset, i, field->name)) continue;
        field->name = field->feature->key; // use the key itself
        field->array = plumb_array_view(NULL, field->feature->dtype, field->feature->ndim,
                                        field->feature->shape);
    }
    return PLUMB_OK;
}

// Records of Physical Concepts need no features.txt: they are recognised by their keys. The concept
// is the name of a folder.
static plumb_status open_physical(plumb_dataset *dataset)
{
    const unsigned char *data;
    size_t bytes;
    // The first record gives the layout of all.
    char what[512], world[64];
    snprintf(what, sizeof what, "%.400s: record 0", tfrecord_shards_path(&dataset->records, 0));
    plumb_status st = tfrecord_shards_read(&data, &bytes, &dataset->records, 0);
    if (!st)
        st = physical_concepts_detect(&dataset->layout, &dataset->is_physical, data, bytes, what);
    if (st) return st;
    if (!dataset->is_physical)
        return fail(PLUMB_EFILE,
                    "%s: features.txt, which says what is in it, is not beside it, and its keys "
                    "are not those of Physical Concepts",
                    dataset->path);
    physical_concepts_world(world, dataset->concept, tfrecord_shards_path(&dataset->records, 0));
    dataset->field_count =
        PHYSICAL_CONCEPTS_FIELDS + (dataset->layout.probe && dataset->concept[0]) + (world[0] != 0);
    dataset->field = ARENA_ALLOC(&dataset->mem, dataset_field, dataset->field_count);
    if (!dataset->field) return PLUMB_EMEMORY;
    int64_t at = 0;
    for (; at < PHYSICAL_CONCEPTS_FIELDS; at++)
        dataset->field[at] =
            (dataset_field){.name = physical_concepts_name((int)at),
                            .array = physical_concepts_array(&dataset->layout, (int)at),
                            .number = (int)at};
    // Fields that no record has: the concept of a probe and the world come from the names of
    // folders.
    const int64_t letters = (int64_t)sizeof dataset->concept, length = (int64_t)strlen(world);
    if (dataset->layout.probe && dataset->concept[0])
        dataset->field[at++] =
            (dataset_field){.name = "concept",
                            .array = plumb_array_view(NULL, PLUMB_UINT8, 1, &letters),
                            .number = PHYSICAL_CONCEPTS_FIELDS};
    if (!world[0]) return PLUMB_OK;
    dataset_field *field = &dataset->field[at];
    *field =
        (dataset_field){.name = "world", .array = plumb_array_view(NULL, PLUMB_UINT8, 1, &length)};
    field->shared = field->is_read = true;
    buffer_put(&field->item, world, (size_t)length);
    return field->item.failed ? fail(PLUMB_EMEMORY, "%s: no memory to open it", dataset->path)
                              : PLUMB_OK;
}

// Opens a TFRecord file or folder, with features.txt if it exists.
static plumb_status open_records(plumb_dataset *dataset)
{
    char text_path[4096];
    // features.txt is in the folder of the file.
    const char *slash = strrchr(dataset->path, '/');
    const int folder = slash ? (int)(slash - dataset->path) + 1 : 0;
    if ((size_t)snprintf(text_path, sizeof text_path, "%.*sfeatures.txt", folder, dataset->path) >=
        sizeof text_path)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", dataset->path);
    plumb_status st = tfrecord_shards_open(&dataset->records, &dataset->mem, dataset->path);
    if (st) return st;
    dataset->is_records = true;
    dataset->items = dataset->records.items;
    if (!access(text_path, F_OK)) return open_with_features(dataset, text_path);
    return dataset->items ? open_physical(dataset) : PLUMB_OK;
}

// Decodes a field of a record into `item`.
static plumb_status read_record(plumb_dataset *dataset, dataset_field *field, int64_t item)
{
    const unsigned char *data;
    size_t bytes;
    if (field->shared && field->is_read)
        return PLUMB_OK; // a step back to record 0 may be expensive
    if (dataset->is_physical && field->number == PHYSICAL_CONCEPTS_FIELDS) {
        buffer_reset(&field->item);
        buffer_put(&field->item, dataset->concept, sizeof dataset->concept);
        return field->item.failed ? fail(PLUMB_EMEMORY, "%s: no memory for it", dataset->path)
                                  : PLUMB_OK;
    }
    // A value that all items share is taken from the first record.
    const int64_t record = field->shared ? 0 : item;
    plumb_status st = tfrecord_shards_read(&data, &bytes, &dataset->records, record);
    if (st) return st;
    char what[512];
    snprintf(what, sizeof what, "%.400s: record %lld",
             tfrecord_shards_path(&dataset->records, record),
             (long long)tfrecord_shards_local_index(&dataset->records, record));
    if (dataset->is_physical)
        st = physical_concepts_read(&field->item, &dataset->layout, field->number, data, bytes,
                                    what);
    else
        st = tf_decode_feature(&field->item, field->array.dtype, field->feature, data, bytes, what);
    field->is_read = !st;
    return st;
}

// ---- both ----

static bool ends_with(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && !strcasecmp(path + length - end, suffix);
}

// Chooses the file of a folder: the split that was asked for, or train, or test; or its shards.
static plumb_status choose_split(plumb_dataset *dataset, const char *folder, const char *split)
{
    const char *const names[] = {split ? split : "train", split ? split : "test"};
    char path[4096];
    const size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    for (int i = 0; i < 2; i++) {
        if ((size_t)snprintf(path, sizeof path, "%s%s%s.tfrecord", folder, slash, names[i]) >=
            sizeof path)
            return fail(PLUMB_EFILE, "%.80s...: the path is too long", folder);
        // In order: FOLDER/train.tfrecord, the shards in FOLDER/train/, the shards in FOLDER
        // itself.
        bool found = !access(path, F_OK);
        if (!found) {
            snprintf(path, sizeof path, "%s%s%s/", folder, slash, names[i]);
            found = tfrecord_shards_in_folder(path);
        }
        if (!found && !split) {
            snprintf(path, sizeof path, "%s%s", folder, slash);
            found = tfrecord_shards_in_folder(path);
        }
        if (!found) continue;
        dataset->path = arena_strdup(&dataset->mem, path);
        return dataset->path ? PLUMB_OK : PLUMB_EMEMORY;
    }
    return split ? fail(PLUMB_EFILE, "%s: has no %s.tfrecord", folder, split)
                 : fail(PLUMB_EFILE,
                        "%s: has neither train.tfrecord nor test.tfrecord, nor folders of PNGs",
                        folder);
}

// The only field of PNG sequences is frames.
static plumb_status open_images(plumb_dataset *dataset, const char *path)
{
    dataset->images = ARENA_ALLOC(&dataset->mem, image_folder, 1);
    dataset->field = ARENA_ALLOC(&dataset->mem, dataset_field, 1);
    if (!dataset->images || !dataset->field) return PLUMB_EMEMORY;
    const plumb_status st = image_folder_open(dataset->images, &dataset->mem, path);
    if (st) return st;
    const png_shape shape = dataset->images->shape;
    dataset->items = dataset->images->videos;
    dataset->field_count = 1;
    dataset->field[0] =
        (dataset_field){.name = "frames",
                        .array = plumb_array_view(NULL, PLUMB_UINT8, 4,
                                                  (int64_t[]){dataset->images->steps, shape.height,
                                                              shape.width, shape.channels})};
    return PLUMB_OK;
}

static plumb_status read_images(plumb_dataset *dataset, dataset_field *field, int64_t item)
{
    buffer_reset(&field->item);
    unsigned char *place = buffer_grow(&field->item, get_bytes(&field->array));
    if (!place) return fail(PLUMB_EMEMORY, "%s: no memory for a video", dataset->path);
    return image_folder_read(place, dataset->images, item);
}

// Chooses arrays or records by the suffix.
static plumb_status open_any(plumb_dataset *dataset, const char *path, const char *split)
{
    // A folder is resolved to one of its files; a path that ends in a slash then means shards.
    struct stat info;
    const bool exists = !stat(path, &info), folder = exists && S_ISDIR(info.st_mode);
    const int error = exists ? 0 : errno;
    dataset->path = arena_strdup(&dataset->mem, path);
    if (!dataset->path) return PLUMB_EMEMORY;
    if (folder) {
        const plumb_status st = choose_split(dataset, path, split);
        if (st && !split && image_folder_is(path)) return open_images(dataset, path);
        if (st) return st;
    } else if (split) {
        return fail(PLUMB_EVALUE, "%s: a split is for a folder, and this is none", path);
    }
    if (ends_with(dataset->path, ".tfrecord") || ends_with(dataset->path, "/") ||
        tfrecord_shards_is_name(dataset->path))
        return open_records(dataset);
    if (ends_with(dataset->path, ".npz") || ends_with(dataset->path, ".h5") ||
        ends_with(dataset->path, ".hdf5"))
        return open_arrays(dataset);
    if (!exists) return fail(PLUMB_EFILE, "%s: %s", path, strerror(error));
    return fail(PLUMB_EFILE,
                "%s: neither a folder nor a name that ends in .npz, .h5, .hdf5 or .tfrecord", path);
}

plumb_status plumb_dataset_open(plumb_dataset **out, const char *path, const char *split)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(path);
    plumb_dataset *dataset = calloc(1, sizeof *dataset);
    if (!dataset) return fail(PLUMB_EMEMORY, "%s: no memory to open it", path);
    const plumb_status st = open_any(dataset, path, split);
    if (st) plumb_dataset_close(dataset);
    else *out = dataset;
    return st;
}

void plumb_dataset_close(plumb_dataset *dataset)
{
    if (!dataset) return;
    for (int64_t i = 0; dataset->field && i < dataset->field_count; i++)
        buffer_clear(&dataset->field[i].item);
    if (dataset->is_records) tfrecord_shards_close(&dataset->records);
    plumb_file_close(dataset->file);
    arena mem = dataset->mem;
    arena_clear(&mem);
    free(dataset);
}

int64_t plumb_dataset_item_count(const plumb_dataset *dataset)
{
    if (!dataset) return 0;
    return dataset->items;
}

// Files that hold the records; a file of arrays counts as one.
int64_t dataset_shard_count(const plumb_dataset *dataset)
{
    if (!dataset) return 0;
    return dataset->is_records ? dataset->records.count : 1;
}

int64_t plumb_dataset_field_count(const plumb_dataset *dataset)
{
    if (!dataset) return 0;
    return dataset->field_count;
}

const char *plumb_dataset_field_name(const plumb_dataset *dataset, int64_t index)
{
    if (!dataset) return NULL;
    assert(index >= 0 && index < dataset->field_count);
    return dataset->field[index].name;
}

static dataset_field *find_field(const plumb_dataset *dataset, const char *name)
{
    for (int64_t i = 0; i < dataset->field_count; i++)
        if (!strcmp(dataset->field[i].name, name)) return &dataset->field[i];
    return NULL;
}

bool plumb_dataset_has_field(const plumb_dataset *dataset, const char *name)
{
    if (!dataset || !name) return false;
    return find_field(dataset, name);
}

bool plumb_dataset_is_shared(const plumb_dataset *dataset, const char *name)
{
    if (!dataset || !name) return false;
    const dataset_field *field = find_field(dataset, name);
    return field && field->shared;
}

// The value is valid until the same field is read again.
plumb_status plumb_dataset_read_field(plumb_array *out, plumb_dataset *dataset, int64_t item,
                                      const char *name)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(dataset);
    REQUIRE_ARGUMENT(name);
    dataset_field *field = find_field(dataset, name);
    if (!dataset->items) return fail(PLUMB_EFORMAT, "%s: holds no record", dataset->path);
    if (!field) return fail(PLUMB_EFILE, "%s: has no array \"%s\"", dataset->path, name);
    if (item < 0 || item >= dataset->items)
        return fail(PLUMB_EVALUE, "%s: there is no item %lld, only 0 to %lld", dataset->path,
                    (long long)item, (long long)dataset->items - 1);
    const plumb_status st = dataset->images       ? read_images(dataset, field, item)
                            : dataset->is_records ? read_record(dataset, field, item)
                                                  : read_array(dataset, field, item);
    if (st) return st;
    *out = field->array;
    out->data = field->item.data;
    return PLUMB_OK;
}

const char *plumb_dataset_world_name(char text[64], plumb_dataset *dataset)
{
    if (!text || !dataset) return NULL;
    plumb_array name;
    text[0] = 0;
    const dataset_field *field = find_field(dataset, "world");
    if (field && field->array.dtype == PLUMB_UINT8 && plumb_array_count(&field->array) < 64 &&
        !plumb_dataset_read_field(&name, dataset, 0, "world")) {
        memcpy(text, name.data, (size_t)plumb_array_count(&name));
        text[plumb_array_count(&name)] = 0;
        return text;
    }
    // In [Botev21] the folder has the name of the world.
    const char *end = strrchr(dataset->path, '/');
    if (!dataset->is_records || !end) return text;
    const char *start = end;
    while (start > dataset->path && start[-1] != '/') start--;
    char folder[64];
    snprintf(folder, sizeof folder, "%.*s", (int)(end - start), start);
    dm_hamiltonian_world(text, folder);
    return text;
}
