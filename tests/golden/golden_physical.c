// SPDX-License-Identifier: MIT
// Records of Physical Concepts, written and read back by TensorFlow: whichever file below the
// folder of a case holds its arrays must be read bit by bit, and written and read again. Files in
// variants/ are named after what is wrong with them.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "golden/golden.h"
#include "io/tfrecord.h"
#include "plumb/dataset.h"
#include "worlds/rooms/splice.h"

static const char *const fields[] = {"frames", "mask", "camera_pose"};

// Item `item` of the case, or of a probe its only one, as the dataset should have it; freed by the
// caller.
static unsigned char *wanted(size_t *bytes, plumb_file *file, int field, bool probe, int64_t item)
{
    static const char *const names[3] = {"image", "mask", "camera_pose"};
    unsigned char *out = NULL;
    *bytes = 0;
    for (int half = 0; half < (probe ? 2 : 1); half++) {
        char key[64];
        plumb_array a;
        snprintf(key, sizeof key, "%s%s",
                 !probe ? ""
                 : half ? "impossible_"
                        : "possible_",
                 names[field]);
        if (plumb_file_read_array(&a, file, key)) return out;
        size_t size = (size_t)plumb_array_count(&a) * plumb_dtype_size(a.dtype), from = 0;
        if (!probe) {
            if (item >= a.shape[0]) return out;
            size /= (size_t)a.shape[0];
            from = (size_t)item * size;
        }
        out = realloc(out, *bytes + size + 1);
        if (!out) abort();
        memcpy(out + *bytes, (const char *)a.data + from, size);
        *bytes += size;
    }
    return out;
}

static bool item_is(plumb_dataset *d, int64_t at, plumb_file *file, bool probe, int64_t item)
{
    for (int k = 0; k < 3; k++) {
        size_t bytes;
        plumb_array got;
        unsigned char *want = wanted(&bytes, file, k, probe, item);
        const bool same = want && !plumb_dataset_read_field(&got, d, at, fields[k]) &&
                          (size_t)plumb_array_count(&got) * plumb_dtype_size(got.dtype) == bytes &&
                          !memcmp(got.data, want, bytes);
        free(want);
        if (!same) return false;
    }
    return true;
}

static bool file_is(const char *path, plumb_file *file, bool probe, int64_t items)
{
    plumb_dataset *d;
    if (plumb_dataset_open(&d, path, NULL)) return false;
    bool same = plumb_dataset_item_count(d) == items;
    for (int64_t i = 0; i < items && same; i++) same = item_is(d, i, file, probe, i);
    plumb_dataset_close(d);
    return same;
}

// Written as published and read again.
static int again(const char *path, const char *from, plumb_file *file, bool probe, int64_t items)
{
    char to[] = "/tmp/plumb-golden-XXXXXX", name[128];
    if (!mkdtemp(to)) return 1;
    snprintf(name, sizeof name, "%s/data.tfrecord-00000-of-00001", to);
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.published = true;
    int64_t records = 0;
    const bool good = !plumb_dataset_convert(&records, name, from, NULL, &opt) &&
                      records == items && file_is(name, file, probe, items);
    if (!good) printf("%s: written and read again it is not the same\n", path);
    unlink(name);
    rmdir(to);
    return !good;
}

typedef struct search {
    plumb_file *file;
    bool probe;
    int64_t items;
    char found[4096];
} search;

static void walk(search *s, const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && !s->found[0] && (e = readdir(dir));) {
        char path[4096];
        struct stat about;
        if (e->d_name[0] == '.' || !strcmp(e->d_name, "variants")) continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path ||
            stat(path, &about))
            continue;
        if (S_ISDIR(about.st_mode)) walk(s, path);
        else if (strstr(e->d_name, ".tfrecord") && file_is(path, s->file, s->probe, s->items))
            snprintf(s->found, sizeof s->found, "%s", path);
    }
    if (dir) closedir(dir);
}

// What a name of a variant promises.
static int judge_variant(const char *path, const char *name, plumb_file *file)
{
    plumb_dataset *d = NULL;
    plumb_array array;
    plumb_status st = plumb_dataset_open(&d, path, NULL);
    const int64_t items = st ? 0 : plumb_dataset_item_count(d);
    for (int64_t i = 0; i < items && !st; i++)
        st = plumb_dataset_read_field(&array, d, i, "frames");
    const bool refuse = !strncmp(name, "bad", 3) || !strncmp(name, "trunc", 5);
    const bool empty = !strncmp(name, "empty", 5);
    bool good = refuse ? st == PLUMB_EFORMAT && strstr(plumb_last_error(), "record ")
                       : !st && (empty ? items == 0 : items == 1 && item_is(d, 0, file, false, 0));
    plumb_dataset_close(d);
    if (!good) printf("%s: %s\n", path, st ? plumb_last_error() : "not as its name says");
    return !good;
}

static int judge_variants(const char *folder, plumb_file *file)
{
    char where[4096];
    int failures = 0;
    snprintf(where, sizeof where, "%.4000s/variants", folder);
    DIR *dir = opendir(where);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[8192];
        if (!strstr(e->d_name, ".tfrecord")) continue;
        snprintf(path, sizeof path, "%s/%s", where, e->d_name);
        failures += judge_variant(path, e->d_name, file);
    }
    if (dir) closedir(dir);
    return failures;
}

static int judge(plumb_file *file, const char *path, bool probe)
{
    plumb_array image;
    search s = {.file = file, .probe = probe, .items = 1};
    if (plumb_file_read_array(&image, file, probe ? "possible_image" : "image")) return 1;
    if (!probe) s.items = image.shape[0];
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    walk(&s, folder);
    if (!s.found[0]) {
        printf("%s: no file of records beside it holds these arrays\n", path);
        return 1;
    }
    return again(path, s.found, file, probe, s.items);
}

int golden_free_clips(plumb_file *file, const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    return judge(file, path, false) + judge_variants(folder, file);
}

int golden_probes(plumb_file *file, const char *path)
{
    size_t bytes;
    int failures = judge(file, path, true);
    plumb_array image;
    if (plumb_file_read_array(&image, file, "possible_image")) return failures + 1;
    unsigned char *clips = wanted(&bytes, file, 0, true, 0);
    const int64_t steps = image.shape[1], frame = (int64_t)bytes / 4 / steps;
    if (room_find_splice_error(clips, steps, frame, true) >= 0) {
        printf("%s: the splice is not seen to hold\n", path);
        failures++;
    }
    if (clips) clips[0] ^= 1;
    if (room_find_splice_error(clips, steps, frame, false) != 0) {
        printf("%s: a splice that is broken in frame 0 is not caught\n", path);
        failures++;
    }
    free(clips);
    return failures;
}

int golden_checksum(plumb_file *file, const char *path)
{
    plumb_array data;
    if (plumb_file_read_array(&data, file, "data")) return 1;
    const size_t bytes = (size_t)plumb_array_count(&data);
    return golden_near(path, "crc", 0, (double)tfrecord_crc(data.data, bytes),
                       golden_scalar(file, "crc", -1.0), 0.0, 0.0) +
           golden_near(path, "masked", 0, (double)tfrecord_masked_crc(data.data, bytes),
                       golden_scalar(file, "masked", -1.0), 0.0, 0.0);
}
