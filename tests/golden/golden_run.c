// SPDX-License-Identifier: MIT
// Finds the cases, runs them and counts the failures.
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"

double *golden_read(int64_t *count, plumb_file *file, const char *name)
{
    plumb_array array;
    if (!plumb_file_has_array(file, name)) return NULL;
    if (plumb_file_read_array(&array, file, name)) {
        printf("  %s: %s\n", name, plumb_last_error());
        return NULL;
    }
    *count = plumb_array_count(&array);
    double *out = malloc((size_t)(*count + 1) * sizeof *out);
    if (out) plumb_array_to_double(out, &array, 0, *count);
    return out;
}

double golden_scalar(plumb_file *file, const char *name, double fallback)
{
    int64_t count = 0;
    double *values = golden_read(&count, file, name);
    const double value = values && count == 1 ? values[0] : fallback;
    free(values);
    return value;
}

int golden_near(const char *path, const char *what, int64_t index, double got, double want,
                double absolute, double relative)
{
    if (got == want || (isnan(got) && isnan(want))) return 0;
    if (fabs(got - want) <= absolute + relative * fabs(want)) return 0; // never with inf or NaN
    printf("%s: %s[%lld] is %.17g, wanted %.17g\n", path, what, (long long)index, got, want);
    return 1;
}

int golden_same(plumb_file *file, const char *path, const char *name, const double *got,
                int64_t count, double absolute, double relative)
{
    int64_t wanted = 0;
    double *want = golden_read(&wanted, file, name);
    if (!want || wanted != count) {
        printf("%s: %s has %lld values, wanted %lld\n", path, name, (long long)wanted,
               (long long)count);
        free(want);
        return 1;
    }
    int failures = 0;
    for (int64_t i = 0; i < count; i++)
        failures += golden_near(path, name, i, got[i], want[i], absolute, relative);
    free(want);
    return failures;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_case(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && !strcmp(name + length - 4, ".npz");
}

// Names in order, so that two runs print alike. NULL if the folder is not there.
static char **list_cases(int *count, const char *folder)
{
    *count = 0;
    DIR *dir = opendir(folder);
    if (!dir) return NULL;
    char **names = NULL;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_case(entry->d_name)) continue;
        char **grown = realloc(names, (size_t)(*count + 1) * sizeof *names);
        const size_t size = strlen(entry->d_name) + 1;
        char *name = malloc(size);
        if (!grown || !name) abort();
        memcpy(name, entry->d_name, size);
        names = grown;
        names[(*count)++] = name;
    }
    closedir(dir);
    if (names) qsort(names, (size_t)*count, sizeof *names, by_name);
    return names;
}

static int judge(const char *path, const golden_kind *kinds)
{
    plumb_file *file;
    if (plumb_file_open(&file, path)) {
        printf("%s: %s\n", path, plumb_last_error());
        return 1;
    }
    int result = GOLDEN_SKIPPED;
    for (; kinds->key; kinds++) {
        if (!plumb_file_has_array(file, kinds->key)) continue;
        if (kinds->judge) result = kinds->judge(file, path);
        break;
    }
    plumb_file_close(file);
    return result;
}

int golden_run(const char *area, const golden_kind *kinds)
{
    const char *root = getenv("PLUMB_GOLDEN"), *source = getenv("PLUMB_SOURCE");
    char place[1024], folder[2048];
    if (root && *root) snprintf(place, sizeof place, "%s", root);
    else snprintf(place, sizeof place, "%s/tests/golden", source ? source : ".");
    snprintf(folder, sizeof folder, "%s/%s", place, area);
    // An area may be missing, but not the folder of all areas: a wrong path must not pass.
    DIR *found = opendir(place);
    if (!found) {
        printf("%s: %s\n", place, strerror(errno));
        return 1;
    }
    closedir(found);

    int count, passed = 0, failed = 0, skipped = 0;
    char **names = list_cases(&count, folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        const int failures = judge(path, kinds);
        if (failures == GOLDEN_SKIPPED) skipped++, printf("skipped  %s\n", names[i]);
        else if (failures) failed++, printf("FAILED   %s: %d failures\n", names[i], failures);
        else passed++, printf("ok       %s\n", names[i]);
        fflush(stdout);
        free(names[i]);
    }
    free(names);
    printf("%s: %d passed, %d failed, %d skipped\n", folder, passed, failed, skipped);
    if (failed) return 1;
    return passed ? 0 : 77;
}
