// SPDX-License-Identifier: MIT
// Published TFRecords (README.md beside the cases): NAME.npz has the arrays of NAME/train.tfrecord
// and NAME/test.tfrecord under train/KEY and test/KEY. They are read, written, and read again:
// every bit is the same.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "golden/golden.h"
#include "golden/golden_worlds.h"
#include "plumb/dataset.h"

// plumb's name of a published feature.
static const char *name_of(const char *key)
{
    if (!strcmp(key, "x")) return "state";
    if (!strcmp(key, "dx_dt")) return "derivative";
    if (!strcmp(key, "image")) return "frames";
    return strncmp(key, "other/", 6) ? key : key + 6;
}

static int compare(const char *path, const char *key, const plumb_array *want, plumb_dataset *d)
{
    const char *name = name_of(key);
    const int64_t items = plumb_dataset_item_count(d);
    if (want->ndim < 1 || want->shape[0] != items) {
        printf("%s: %s: %lld records, wanted %lld\n", path, key, (long long)items,
               (long long)(want->ndim ? want->shape[0] : 0));
        return 1;
    }
    const size_t bytes = (size_t)(plumb_array_count(want) / items) * plumb_dtype_size(want->dtype);
    for (int64_t i = 0; i < items; i++) {
        plumb_array got;
        if (plumb_dataset_read_field(&got, d, i, name)) {
            printf("%s: %s\n", path, plumb_last_error());
            return 1;
        }
        const size_t have = (size_t)plumb_array_count(&got) * plumb_dtype_size(got.dtype);
        if (got.dtype != want->dtype || have != bytes ||
            memcmp(got.data, (const char *)want->data + (size_t)i * bytes, bytes)) {
            printf("%s: record %lld: %s is not as published\n", path, (long long)i, key);
            return 1;
        }
    }
    return 0;
}

// All features of a split; counts how many there are.
static int compare_all(int *features, plumb_file *file, const char *path, const char *split,
                       plumb_dataset *d)
{
    int failures = 0;
    const size_t length = strlen(split);
    *features = 0;
    for (int64_t i = 0; i < plumb_file_array_count(file); i++) {
        const char *name = plumb_file_array_name(file, i);
        if (strncmp(name, split, length) || name[length] != '/') continue;
        plumb_array want;
        if (plumb_file_read_array(&want, file, name)) {
            printf("%s: %s\n", path, plumb_last_error());
            return 1;
        }
        failures += compare(path, name + length + 1, &want, d);
        ++*features;
    }
    return failures;
}

// Written in the published layout, plain and gzip, and read again.
static int rewrite(plumb_file *file, const char *path, const char *split, const char *folder)
{
    char scratch[] = "/tmp/plumb-golden-XXXXXX", out[64], list[64];
    if (!mkdtemp(scratch)) return 1;
    snprintf(out, sizeof out, "%s/x.tfrecord", scratch);
    snprintf(list, sizeof list, "%s/features.txt", scratch);
    int failures = 0;
    for (int compress = 0; compress < 2; compress++) {
        plumb_dataset_write_options opt = plumb_dataset_write_defaults();
        plumb_dataset *d = NULL;
        int64_t records;
        int features;
        opt.published = opt.replace = true;
        opt.compress = compress;
        if (plumb_dataset_convert(&records, out, folder, split, &opt) ||
            plumb_dataset_open(&d, out, NULL)) {
            printf("%s: %s\n", path, plumb_last_error());
            failures++;
            break;
        }
        failures += compare_all(&features, file, path, split, d);
        plumb_dataset_close(d);
    }
    unlink(out);
    unlink(list);
    rmdir(scratch);
    return failures;
}

int golden_tfrecord(plumb_file *file, const char *path)
{
    static const char *const splits[] = {"train", "test"};
    char folder[4096];
    int failures = 0, all = 0;
    snprintf(folder, sizeof folder, "%.*s", (int)strlen(path) - 4, path);
    for (int i = 0; i < 2; i++) {
        plumb_dataset *d;
        char key[32];
        snprintf(key, sizeof key, "%s/x", splits[i]);
        if (!plumb_file_has_array(file, key)) continue;
        if (plumb_dataset_open(&d, folder, splits[i])) {
            printf("%s: %s\n", path, plumb_last_error());
            failures++;
            continue;
        }
        int features;
        failures += compare_all(&features, file, path, splits[i], d);
        if (plumb_dataset_field_count(d) != features) {
            printf("%s: %lld features, wanted %d\n", path, (long long)plumb_dataset_field_count(d),
                   features);
            failures++;
        }
        plumb_dataset_close(d);
        failures += rewrite(file, path, splits[i], folder);
        all += features;
    }
    return all ? failures : GOLDEN_SKIPPED;
}
