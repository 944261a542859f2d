// SPDX-License-Identifier: MIT
// Joins the TFRecord shards of a folder. All files are opened at once; a record is found by the
// index of the first record of each file.
#define _GNU_SOURCE
#include "io/tfrecord_shards.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input_file.h"

enum { MAX_SHARDS = 4096 };

static bool are_digits(const char *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] < '0' || at[i] > '9') return false;
    return true;
}

// NAME.tfrecord-00000-of-00100, as TensorFlow names shards.
bool tfrecord_shards_is_name(const char *name)
{
    static const char form[] = ".tfrecord-00000-of-00000";
    const size_t length = strlen(name), tail = sizeof form - 1;
    if (length <= tail) return false;
    const char *at = name + length - tail;
    return !strncmp(at, ".tfrecord-", 10) && are_digits(at + 10, 5) &&
           !strncmp(at + 15, "-of-", 4) && are_digits(at + 19, 5);
}

bool tfrecord_shards_in_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    bool any = false;
    if (!dir) return false;
    for (struct dirent *entry; !any && (entry = readdir(dir));)
        any = tfrecord_shards_is_name(entry->d_name);
    closedir(dir);
    return any;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// Lists the shards of a folder, sorted by name. readdir has no order.
static plumb_status list_shards(tfrecord_shards *shards, arena *mem, const char *folder)
{
    DIR *dir = opendir(folder);
    plumb_status st = PLUMB_OK;
    if (!dir) return fail(PLUMB_EFILE, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = input_file_next_entry(&st, dir, folder));) {
        char path[4096];
        if (!tfrecord_shards_is_name(entry->d_name)) continue;
        if (shards->count == MAX_SHARDS) {
            st = fail(PLUMB_EFILE, "%s: more than %d shards", folder, MAX_SHARDS);
        } else if ((size_t)snprintf(path, sizeof path, "%s%s", folder, entry->d_name) >=
                   sizeof path) {
            st = fail(PLUMB_EFILE, "%.80s...: the path is too long", folder);
        } else {
            shards->path[shards->count] = arena_strdup(mem, path);
            if (!shards->path[shards->count++]) st = PLUMB_EMEMORY;
        }
    }
    closedir(dir);
    if (!st) qsort(shards->path, (size_t)shards->count, sizeof *shards->path, compare_names);
    return st;
}

plumb_status tfrecord_shards_open(tfrecord_shards *shards, arena *mem, const char *path)
{
    const size_t length = strlen(path);
    // A path that ends in a slash is a folder of shards.
    const bool folder = length && path[length - 1] == '/';
    *shards = (tfrecord_shards){.path = ARENA_ALLOC(mem, const char *, folder ? MAX_SHARDS : 1)};
    if (!shards->path) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    if (folder) st = list_shards(shards, mem, path);
    else shards->path[shards->count++] = path;
    if (st) return st;
    // `count` says how many files are open, so that a failure closes exactly these.
    const int64_t wanted = shards->count;
    shards->file = ARENA_ALLOC(mem, tfrecord, wanted);
    shards->first = ARENA_ALLOC(mem, int64_t, wanted + 1);
    if (!shards->file || !shards->first) return PLUMB_EMEMORY;
    // first[i] is the number of records in all files before file i.
    for (shards->count = 0; shards->count < wanted && !st; shards->count += !st) {
        st = tfrecord_open(&shards->file[shards->count], shards->path[shards->count]);
        if (st) break;
        shards->first[shards->count] = shards->items;
        shards->items += shards->file[shards->count].count;
    }
    shards->first[shards->count] = shards->items;
    if (st) tfrecord_shards_close(shards);
    return st;
}

void tfrecord_shards_close(tfrecord_shards *shards)
{
    for (int64_t i = 0; i < shards->count; i++) tfrecord_close(&shards->file[i]);
    shards->count = 0;
}

// Index of the file that holds a record.
static int64_t find_shard(const tfrecord_shards *shards, int64_t record)
{
    int64_t i = 0;
    while (i + 1 < shards->count && record >= shards->first[i + 1]) i++;
    return i;
}

plumb_status tfrecord_shards_read(const unsigned char **data, size_t *bytes,
                                  tfrecord_shards *shards, int64_t record)
{
    const int64_t shard = find_shard(shards, record);
    return tfrecord_read(data, bytes, &shards->file[shard], record - shards->first[shard]);
}

const char *tfrecord_shards_path(const tfrecord_shards *shards, int64_t record)
{
    return shards->path[find_shard(shards, record)];
}

int64_t tfrecord_shards_local_index(const tfrecord_shards *shards, int64_t record)
{
    return record - shards->first[find_shard(shards, record)];
}
