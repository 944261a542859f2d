// SPDX-License-Identifier: MIT
// plumb_file: opens a file of arrays in one of several formats. One table lists the formats; the
// suffix of the path selects the entry. The arena of the file owns everything that was read.
#define _GNU_SOURCE
#include "io/array_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/name_index.h"
#include "base/status.h"
#include "io/csv.h"
#include "io/folder.h"
#include "io/hdf5/client.h"
#include "io/join.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/pth.h"
#include "io/safetensors.h"

// One row per suffix: open, read, close, save, info. NULL: the format cannot tell shapes without
// reading.
static const array_file_format formats[] = {
    {".npy", npy_open, npy_read, npy_close, npy_save, NULL},
    {".npz", npz_open, npz_read, npz_close, npz_save, npz_info},
    {".h5", hdf5_client_open, hdf5_client_read, hdf5_client_close, hdf5_client_save,
     hdf5_client_info},
    {".hdf5", hdf5_client_open, hdf5_client_read, hdf5_client_close, hdf5_client_save,
     hdf5_client_info},
    {".pth", pth_open, pth_read, pth_close, pth_save, NULL},
    {".pt", pth_open, pth_read, pth_close, pth_save, NULL},
    {".safetensors", safetensors_open, safetensors_read, safetensors_close, safetensors_save, NULL},
    {".csv", csv_open, csv_read, csv_close, csv_save, NULL},
    {".tsv", csv_open, csv_read, csv_close, csv_save, NULL},
};
// A folder has no suffix.
static const array_file_format folder_format = {"",           folder_open, folder_read,
                                                folder_close, folder_save, NULL};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

// An open file. Arrays are read at first use and stay in memory until the file is closed.
struct plumb_file {
    arena mem;
    const array_file_format *format;
    const char *path;
    void *state;
    array_file_names names;
    name_index index;    // of the names
    plumb_array *arrays; // valid where is_read is true
    bool *is_read;
};

// Compares the end of the first `length` characters with all suffixes. NULL if none matches.
static const array_file_format *find_format(const char *path, size_t length)
{
    for (int i = 0; i < FORMAT_COUNT; i++) {
        const size_t suffix = strlen(formats[i].suffix);
        if (length > suffix && strncasecmp(path + length - suffix, formats[i].suffix, suffix) == 0)
            return &formats[i];
    }
    return NULL;
}

static plumb_status reject_format(const char *path)
{
    return fail(PLUMB_EFILE,
                "%s: the name ends in none of .npy, .npz, .h5, .hdf5, .pth, .safetensors, .csv",
                path);
}

// A path that cannot be read: it does not exist, or it is in no known format. What follows a colon
// may be the name of an array.
static plumb_status reject_path(const char *path)
{
    if (!path[0] || !access(path, F_OK)) return reject_format(path);
    const int error = errno;
    const char *colon = strrchr(path, ':');
    char file[4096];
    if (colon && (size_t)(colon - path) < sizeof file) {
        memcpy(file, path, (size_t)(colon - path));
        file[colon - path] = 0;
        if (!access(file, F_OK)) return reject_format(path);
    }
    return fail(PLUMB_EFILE, "%s: %s", path, strerror(error));
}

plumb_status plumb_file_open(plumb_file **out, const char *path)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(path);
    const array_file_format *format = find_format(path, strlen(path));
    if (!format && folder_is(path)) format = &folder_format;
    if (!format) return reject_path(path);
    plumb_file *file = calloc(1, sizeof *file);
    if (!file) return fail(PLUMB_EMEMORY, "%s: no memory to open it", path);
    file->format = format;
    file->path = arena_strdup(&file->mem, path);
    plumb_status st = PLUMB_EMEMORY;
    if (file->path) st = format->open(&file->state, &file->names, &file->mem, file->path);
    if (!st) {
        // One slot per array, filled when it is read.
        file->arrays = ARENA_ALLOC(&file->mem, plumb_array, file->names.count);
        file->is_read = ARENA_ALLOC(&file->mem, bool, file->names.count);
        if (!file->arrays || !file->is_read) st = PLUMB_EMEMORY;
    }
    if (!st) st = name_index_create(&file->index, &file->mem, file->names.name, file->names.count);
    if (st) {
        plumb_file_close(file);
        return st;
    }
    *out = file;
    return PLUMB_OK;
}

void plumb_file_close(plumb_file *file)
{
    if (!file) return;
    if (file->state) file->format->close(file->state);
    // The arena is copied first: clearing it must not touch the struct that holds it.
    arena mem = file->mem;
    arena_clear(&mem);
    free(file);
}

int64_t plumb_file_array_count(const plumb_file *file)
{
    if (!file) return 0;
    return file->names.count;
}

const char *plumb_file_array_name(const plumb_file *file, int64_t index)
{
    if (!file) return NULL;
    assert(index >= 0 && index < file->names.count);
    return file->names.name[index];
}

// Returns the index of an array, or -1. HDF5 names start with a slash that may be left out.
static int64_t find_array(const plumb_file *file, const char *name)
{
    const int64_t index = name_index_find(&file->index, name);
    if (index >= 0 || name[0] == '/') return index;
    char path[1024];
    const int length = snprintf(path, sizeof path, "/%s", name);
    return length < (int)sizeof path ? name_index_find(&file->index, path) : -1;
}

bool plumb_file_has_array(const plumb_file *file, const char *name)
{
    if (!file || !name) return false;
    return find_array(file, name) >= 0;
}

// Writes "a, b, c ..." into `text`, as many names as fit.
static const char *list_names(char *text, size_t size, const plumb_file *file)
{
    // For error messages: the user sees which arrays there are.
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < file->names.count; i++) {
        const char *name = file->names.name[i];
        if (used + strlen(name) + 8 > size) {
            snprintf(text + used, size - used, " ...");
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", name);
    }
    return text;
}

// Type and shape without the values, where the format can do so. `offset` is 0 if the values are
// not stored as in memory.
plumb_status array_file_info(plumb_array *out, uint64_t *offset, const input_file **in,
                             plumb_file *file, int64_t index)
{
    *offset = 0;
    if (!file->is_read[index] && file->format->info) {
        const plumb_status st = file->format->info(out, offset, in, file->state, index);
        if (st || out->ndim >= 0) return st;
    }
    return plumb_file_read_array(out, file, file->names.name[index]);
}

// Reads the arrays of "q,p" and joins them.
static plumb_status read_joined(plumb_array *out, plumb_file *file, const char *names)
{
    int64_t count = 1;
    for (const char *at = names; *at; at++) count += *at == ',';
    plumb_array *parts = ARENA_ALLOC(&file->mem, plumb_array, count);
    char *copy = arena_strdup(&file->mem, names);
    if (!parts || !copy) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) {
        char *end = strchr(copy, ',');
        if (end) *end = 0;
        const plumb_status st = plumb_file_read_array(&parts[i], file, copy);
        if (st) return st;
        if (end) copy = end + 1;
    }
    const bool table = file->format->open == csv_open;
    return join_arrays(out, &file->mem, parts, count, table, names);
}

plumb_status plumb_file_read_array(plumb_array *out, plumb_file *file, const char *name)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(file);
    REQUIRE_ARGUMENT(name);
    const int64_t index = find_array(file, name);
    if (index < 0 && strchr(name, ',')) return read_joined(out, file, name);
    if (index < 0) {
        char names[400];
        if (file->names.count == 1 && !file->names.name[0][0])
            return fail(PLUMB_EFILE, "%s: a .npy file has one array without a name, not \"%s\"",
                        file->path, name);
        list_names(names, sizeof names, file);
        if (file->format->open == csv_open)
            return fail(PLUMB_EFILE, "%s: has no array \"%s\"; it has %s (name columns as %s:A,B)",
                        file->path, name, names, file->path);
        return fail(PLUMB_EFILE, "%s: has no array \"%s\"; it has %s", file->path, name, names);
    }
    // Each array is read once. A failed read gives its memory back.
    if (!file->is_read[index]) {
        const arena_mark mark = arena_get_mark(&file->mem);
        const plumb_status st =
            file->format->read(&file->arrays[index], &file->mem, file->state, index);
        if (st) {
            arena_rewind(&file->mem, mark);
            return st;
        }
        file->is_read[index] = true;
    }
    *out = file->arrays[index];
    return PLUMB_OK;
}

// Reads the array `fallback`, or the only array of the file. May be NULL: fallback.
static plumb_status read_default(plumb_array *out, plumb_file *file, const char *fallback)
{
    if (fallback && plumb_file_has_array(file, fallback))
        return plumb_file_read_array(out, file, fallback);
    if (file->names.count == 1) return plumb_file_read_array(out, file, file->names.name[0]);
    char names[400];
    list_names(names, sizeof names, file);
    const bool table = file->format->open == csv_open;
    const char *what = table ? "columns" : "one", *as = table ? "A,B" : "NAME";
    if (fallback)
        return fail(PLUMB_EFILE, "%s: has no array \"%s\"; name %s as %s:%s, it has %s", file->path,
                    fallback, what, file->path, as, names);
    return fail(PLUMB_EFILE, "%s: has %lld arrays; name %s as %s:%s, it has %s", file->path,
                (long long)file->names.count, what, file->path, as, names);
}

plumb_status plumb_file_read_spec(plumb_array *out, plumb_file **file, const char *argument,
                                  const char *fallback)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(file);
    REQUIRE_ARGUMENT(argument);
    // The key starts after the first colon that follows a known suffix. Other colons belong to the
    // path.
    size_t length = strlen(argument);
    const char *key = NULL;
    if (!find_format(argument, length))
        for (const char *colon = strchr(argument, ':'); colon && !key;
             colon = strchr(colon + 1, ':'))
            if (find_format(argument, (size_t)(colon - argument))) key = colon + 1;
    char *path = strdup(argument);
    if (!path) return fail(PLUMB_EMEMORY, "%s: no memory to open it", argument);
    if (key) path[key - argument - 1] = 0;

    plumb_file *opened;
    plumb_status st = plumb_file_open(&opened, path);
    free(path);
    if (st) return st;
    st = key ? plumb_file_read_array(out, opened, key) : read_default(out, opened, fallback);
    if (st) plumb_file_close(opened);
    else *file = opened;
    return st;
}

plumb_status plumb_file_write(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress)
{
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(arrays);
    const array_file_format *format = find_format(path, strlen(path));
    if (!format) return reject_format(path);
    if (count < 1) return fail(PLUMB_EVALUE, "%s: no array to write", path);
    return format->save(path, arrays, count, compress);
}
