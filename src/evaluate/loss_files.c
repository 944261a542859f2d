// SPDX-License-Identifier: MIT
// Reads score files of other benchmarks: tables, arrays of possible and impossible clips, and the
// loss files of two studies, which loss_set.c reads.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "evaluate/loss_set.h"
#include "evaluate/score_table.h"
#include "measures/surprise/loss_tuples.h"
#include "plumb/file.h"

// ---- arrays of possible and impossible clips ----

// (n), (n, k) or (n, k, frames): group i has the clips of row i of both.
static plumb_status add_array(score_table *table, arena *mem, plumb_file *file, const char *name,
                              const char *path)
{
    plumb_array array;
    const plumb_status st = plumb_file_read_array(&array, file, name);
    if (st) return st;
    const int64_t n = array.ndim ? array.shape[0] : 0, k = array.ndim > 1 ? array.shape[1] : 1,
                  frames = array.ndim > 2 ? array.shape[2] : 1;
    if (array.ndim < 1 || array.ndim > 3 || n < 1 || k < 1 || frames < 1)
        return fail(PLUMB_ESHAPE, "%s: %s must be (n), (n, k) or (n, k, frames)", path, name);
    const int64_t first = table->count;
    score_row *rows = ARENA_ALLOC(mem, score_row, first + n * k);
    double *value = ARENA_ALLOC(mem, double, n *k *frames);
    if (!rows || !value) return PLUMB_EMEMORY;
    if (first) memcpy(rows, table->row, (size_t)first * sizeof *rows);
    plumb_array_to_double(value, &array, 0, n * k * frames);
    for (int64_t i = 0; i < n * k; i++) {
        char group[32];
        snprintf(group, sizeof group, "%012lld", (long long)(i / k));
        rows[first + i] = (score_row){.group = arena_strdup(mem, group),
                                      .possible = !strcmp(name, "possible"),
                                      .value = value + i * frames,
                                      .count = frames};
        if (!rows[first + i].group) return PLUMB_EMEMORY;
        for (int64_t t = 0; t < frames; t++)
            if (!isfinite(value[i * frames + t]))
                return fail(PLUMB_ENUMERIC, "%s: %s has a value that is NaN or infinite", path,
                            name);
    }
    table->row = rows;
    table->count = table->room = first + n * k;
    return PLUMB_OK;
}

// Tuples (n, 2) or (n, 2, frames): one possible and one impossible clip each.
static plumb_status add_pairs(score_table *table, arena *mem, plumb_file *file, const char *path)
{
    plumb_array array;
    plumb_status st = plumb_file_read_array(&array, file, "surprise");
    if (st) return st;
    const int64_t n = array.shape[0], frames = array.ndim > 2 ? array.shape[2] : 1;
    table->row = ARENA_ALLOC(mem, score_row, 2 * n);
    double *value = ARENA_ALLOC(mem, double, 2 * n * frames);
    if (!table->row || !value) return PLUMB_EMEMORY;
    plumb_array_to_double(value, &array, 0, 2 * n * frames);
    for (int64_t i = 0; i < 2 * n * frames; i++)
        if (!isfinite(value[i]))
            return fail(PLUMB_ENUMERIC, "%s: surprise has a value that is NaN or infinite", path);
    for (int64_t i = 0; i < 2 * n; i++) {
        char group[32];
        snprintf(group, sizeof group, "%012lld", (long long)(i / 2));
        table->row[i] = (score_row){.group = arena_strdup(mem, group),
                                    .possible = i % 2 == 0,
                                    .value = value + i * frames,
                                    .count = frames};
        if (!table->row[i].group) return PLUMB_EMEMORY;
    }
    table->count = table->room = 2 * n;
    return st;
}

// ---- the file ----

// Clips of a table, or of the arrays of an array file.
static plumb_status read_scores(plumb_surprise_losses *out, arena *mem, plumb_file *file,
                                const char *path, const plumb_surprise_losses_options *opt)
{
    score_table table = {0};
    plumb_status st;
    if (!file) st = score_table_read(&table, mem, path, opt);
    else if (plumb_file_has_array(file, "surprise")) st = add_pairs(&table, mem, file, path);
    else {
        st = add_array(&table, mem, file, "possible", path);
        if (!st) st = add_array(&table, mem, file, "impossible", path);
        if (!st && opt->plausible)
            for (int64_t i = 0; i < table.count; i++)
                for (int64_t t = 0; t < table.row[i].count; t++) table.row[i].value[t] *= -1.0;
        table.plausible = opt->plausible;
    }
    if (st) return st;
    out->skipped = table.skipped;
    out->plausible = table.plausible;
    return score_groups_make(out, mem, &table, path, opt);
}

// Concepts of the tuples as text.
static plumb_status add_concepts(plumb_surprise_losses *out, arena *mem, const loss_set *set)
{
    int64_t width = 1;
    for (int64_t t = 0; t < set->tuples; t++) {
        const int64_t length = (int64_t)strlen(set->concept[t]);
        width = length > width ? length : width;
    }
    uint8_t *text = ARENA_ALLOC(mem, uint8_t, set->tuples * width);
    if (!text) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < set->tuples; t++)
        memcpy(text + t * width, set->concept[t], strlen(set->concept[t]));
    out->has_concepts = true;
    out->concepts = plumb_array_view(text, PLUMB_UINT8, 2, (int64_t[]){set->tuples, width});
    return PLUMB_OK;
}

// Reads the losses and arranges them in tuples, by labels or by the table.
static plumb_status read_losses(plumb_surprise_losses *out, arena *mem, const char *path,
                                const plumb_surprise_losses_options *opt)
{
    loss_set set;
    plumb_status st = loss_set_read(&set, mem, path, opt);
    if (!st && set.concept) st = add_concepts(out, mem, &set);
    if (st) return st;
    out->files = set.files;
    out->repeated = set.repeated;
    st = loss_tuples_make(out, mem, &set.losses, set.slot, opt->context, opt->frames);
    if (!st || st == PLUMB_EMEMORY) return st;
    char text[512];
    snprintf(text, sizeof text, "%s", plumb_last_error());
    return fail(st, "%s: %s", path, text);
}

plumb_status plumb_surprise_losses_read(plumb_surprise_losses *result, const char *path,
                                        const plumb_surprise_losses_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(path);
    plumb_surprise_losses_options opt = plumb_surprise_losses_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_surprise_losses_options");
    plumb_file *file = NULL;
    const bool text = score_table_reads(path);
    if (!st && !text) st = plumb_file_open(&file, path);
    if (st) return st;
    plumb_surprise_losses found = {0};
    arena *mem = result_begin(&found.memory);
    const bool arrays = file && !plumb_file_has_array(file, "losses");
    if (!mem) st = PLUMB_EMEMORY;
    else if (text || arrays) st = read_scores(&found, mem, file, path, &opt);
    else st = read_losses(&found, mem, path, &opt);
    plumb_file_close(file);
    st = result_end(st, &found.memory);
    if (!st) *result = found;
    return st;
}

void plumb_surprise_losses_clear(plumb_surprise_losses *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
