// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "io/tfrecord_shards.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static bool digits(const char *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] < '0' || at[i] > '9') return false;
    return true;
}

bool tfrecord_shards_is(const char *name)
{
    static const char form[] = ".tfrecord-00000-of-00000";
    const size_t length = strlen(name), tail = sizeof form - 1;
    if (length <= tail) return false;
    const char *at = name + length - tail;
    return !strncmp(at, ".tfrecord-", 10) && digits(at + 10, 5) && !strncmp(at + 15, "-of-", 4) &&
           digits(at + 19, 5);
}

bool tfrecord_shards_in(const char *folder)
{
    DIR *dir = opendir(folder);
    bool any = false;
    if (!dir) return false;
    for (struct dirent *entry; !any && (entry = readdir(dir));)
        any = tfrecord_shards_is(entry->d_name);
    closedir(dir);
    return any;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static plumb_status list(tfrecord_shards *s, arena *mem, const char *folder)
{
    DIR *dir = opendir(folder);
    plumb_status st = PLUMB_OK;
    if (!dir) return fail(PLUMB_EFILE, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; !st && (entry = readdir(dir));) {
        char path[4096];
        if (!tfrecord_shards_is(entry->d_name)) continue;
        if (s->count == MOST) {
            st = fail(PLUMB_EFILE, "%s: more than %d shards", folder, MOST);
        } else if ((size_t)snprintf(path, sizeof path, "%s%s", folder, entry->d_name) >=
                   sizeof path) {
            st = fail(PLUMB_EFILE, "%.80s...: the path is too long", folder);
        } else {
            s->path[s->count] = arena_strdup(mem, path);
            if (!s->path[s->count++]) st = PLUMB_EMEMORY;
        }
    }
    closedir(dir);
    if (!st) qsort(s->path, (size_t)s->count, sizeof *s->path, by_name);
    return st;
}

plumb_status tfrecord_shards_open(tfrecord_shards *s, arena *mem, const char *path)
{
    const size_t length = strlen(path);
    const bool folder = length && path[length - 1] == '/';
    *s = (tfrecord_shards){.path = ARENA_ALLOC(mem, const char *, folder ? MOST : 1)};
    if (!s->path) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    if (folder) st = list(s, mem, path);
    else s->path[s->count++] = path;
    if (st) return st;
    const int64_t wanted = s->count;
    s->file = ARENA_ALLOC(mem, tfrecord, wanted);
    s->first = ARENA_ALLOC(mem, int64_t, wanted + 1);
    if (!s->file || !s->first) return PLUMB_EMEMORY;
    for (s->count = 0; s->count < wanted && !st; s->count += !st) {
        st = tfrecord_open(&s->file[s->count], s->path[s->count]);
        if (st) break;
        s->first[s->count] = s->items;
        s->items += s->file[s->count].count;
    }
    s->first[s->count] = s->items;
    if (st) tfrecord_shards_close(s);
    return st;
}

void tfrecord_shards_close(tfrecord_shards *s)
{
    for (int64_t i = 0; i < s->count; i++) tfrecord_close(&s->file[i]);
    s->count = 0;
}

static int64_t which(const tfrecord_shards *s, int64_t record)
{
    int64_t i = 0;
    while (i + 1 < s->count && record >= s->first[i + 1]) i++;
    return i;
}

plumb_status tfrecord_shards_read(const unsigned char **data, size_t *bytes, tfrecord_shards *s,
                                  int64_t record)
{
    const int64_t i = which(s, record);
    return tfrecord_read(data, bytes, &s->file[i], record - s->first[i]);
}

const char *tfrecord_shards_path(const tfrecord_shards *s, int64_t record)
{
    return s->path[which(s, record)];
}

int64_t tfrecord_shards_local(const tfrecord_shards *s, int64_t record)
{
    return record - s->first[which(s, record)];
}
