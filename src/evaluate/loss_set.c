// SPDX-License-Identifier: MIT
// Loss files of two studies. The V-JEPA study saves losses, labels and the name of the block.
// IntPhys 2 saves losses and the names of the clips; a table, metadata.csv, says what each clip is:
// its scene, its condition, and 1_Possible, 1_Impossible, 2_Possible or 2_Impossible.
#include "evaluate/loss_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/name_index.h"
#include "base/status.h"
#include "base/text.h"
#include "evaluate/score_table.h"
#include "measures/surprise/loss_tuples.h"
#include "plumb/file.h"

enum { MAX_RANKS = 4096, MAX_NAME = 256, MAX_PATH = 4096 };

// One file of a set.
typedef struct loss_file {
    double *loss; // (clips, contexts, windows)
    int64_t clips, contexts, windows;
    double *label;     // (clips), or NULL
    const char **name; // (clips), or NULL
} loss_file;

// ---- one file ----

// Puts the path before the message of a failure.
static plumb_status add_path(plumb_status st, const char *path)
{
    char text[512];
    if (!st || st == PLUMB_EMEMORY) return st;
    snprintf(text, sizeof text, "%s", plumb_last_error());
    return fail(st, "%s: %s", path, text);
}

// Names are stored as numbers, one per character; the rest of a row is padding.
static plumb_status read_names(loss_file *out, arena *mem, plumb_file *file, const char *path)
{
    plumb_array names;
    const plumb_status st = plumb_file_read_array(&names, file, "names");
    if (st) return st;
    if (names.ndim != 2 || names.shape[0] != out->clips || names.shape[1] > MAX_NAME)
        return fail(PLUMB_ESHAPE, "%s: has %lld clips, but not as many names", path,
                    (long long)out->clips);
    const int64_t width = names.shape[1];
    out->name = ARENA_ALLOC(mem, const char *, out->clips);
    double *code = ARENA_ALLOC(mem, double, width);
    if (!out->name || !code) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < out->clips; i++) {
        char *name = ARENA_ALLOC(mem, char, width + 1);
        if (!name) return PLUMB_EMEMORY;
        plumb_array_to_double(code, &names, i * width, width);
        for (int64_t k = 0; k < width; k++)
            name[k] = code[k] > 31 && code[k] < 127 ? (char)code[k] : 0;
        out->name[i] = name;
    }
    return PLUMB_OK;
}

static plumb_status read_labels(loss_file *out, arena *mem, plumb_file *file, const char *path)
{
    plumb_array labels;
    const plumb_status st = plumb_file_read_array(&labels, file, "labels");
    if (st) return st;
    if (labels.ndim != 1 || labels.shape[0] != out->clips)
        return fail(PLUMB_ESHAPE, "%s: has %lld clips, but %lld labels", path,
                    (long long)out->clips, (long long)plumb_array_count(&labels));
    out->label = ARENA_ALLOC(mem, double, out->clips);
    if (!out->label) return PLUMB_EMEMORY;
    plumb_array_to_double(out->label, &labels, 0, out->clips);
    return PLUMB_OK;
}

// What the first file says of the whole set.
static plumb_status read_head(loss_set *out, arena *mem, plumb_file *file, int64_t contexts)
{
    plumb_array array;
    out->block = "";
    if (plumb_file_has_array(file, "block")) {
        const plumb_status st = plumb_file_read_array(&array, file, "block");
        if (st) return st;
        if (array.dtype == PLUMB_UINT8 && array.ndim == 1 && array.shape[0] < MAX_NAME) {
            char *block = ARENA_ALLOC(mem, char, array.shape[0] + 1);
            if (!block) return PLUMB_EMEMORY;
            memcpy(block, array.data, (size_t)array.shape[0]);
            out->block = block;
        }
    }
    if (plumb_file_has_array(file, "frame_step") &&
        !plumb_file_read_array(&array, file, "frame_step") && plumb_array_count(&array) == 1) {
        double step;
        plumb_array_to_double(&step, &array, 0, 1);
        out->frame_step = step > 0.0 && step < 1e9 ? (int64_t)step : 0;
    }
    out->context = ARENA_ALLOC(mem, const char *, contexts);
    if (!out->context) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < contexts; i++) out->context[i] = "";
    if (!plumb_file_has_array(file, "context_lengths") ||
        plumb_file_read_array(&array, file, "context_lengths") ||
        plumb_array_count(&array) != contexts)
        return PLUMB_OK;
    for (int64_t i = 0; i < contexts; i++) {
        char text[32];
        double length;
        plumb_array_to_double(&length, &array, i, 1);
        text_format(text, sizeof text, "%g", length);
        if (!(out->context[i] = arena_strdup(mem, text))) return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

// set: filled if this is the first file, otherwise NULL.
static plumb_status read_file(loss_file *out, loss_set *set, arena *mem, const char *path)
{
    plumb_file *file = NULL;
    plumb_array losses;
    plumb_status st = plumb_file_open(&file, path);
    if (!st) st = plumb_file_read_array(&losses, file, "losses");
    if (!st && (losses.ndim != 3 || plumb_array_count(&losses) < 1)) {
        char shape[256];
        st = fail(PLUMB_ESHAPE, "%s: losses is %s; expected (clips, contexts, windows)", path,
                  plumb_array_shape_string(shape, sizeof shape, &losses));
    }
    if (!st) {
        *out = (loss_file){
            .clips = losses.shape[0], .contexts = losses.shape[1], .windows = losses.shape[2]};
        const int64_t count = plumb_array_count(&losses);
        out->loss = ARENA_ALLOC(mem, double, count);
        if (!out->loss) st = PLUMB_EMEMORY;
        else plumb_array_to_double(out->loss, &losses, 0, count);
        for (int64_t i = 0; !st && i < count; i++)
            if (!isfinite(out->loss[i]))
                st = fail(PLUMB_ENUMERIC, "%s: losses has a value that is NaN or infinite", path);
    }
    if (!st && plumb_file_has_array(file, "labels")) st = read_labels(out, mem, file, path);
    else if (!st && plumb_file_has_array(file, "names")) st = read_names(out, mem, file, path);
    if (!st && set) st = read_head(set, mem, file, out->contexts);
    plumb_file_close(file);
    return st;
}

// ---- the files of all ranks ----

int64_t loss_set_stem(const char *path)
{
    const size_t length = strlen(path);
    if (length < 10 || strcmp(path + length - 4, ".pth") != 0) return 0;
    size_t at = length - 4;
    while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9') at--;
    return at < length - 4 && at > 5 && !strncmp(path + at - 5, "_rank", 5) ? (int64_t)at - 5 : 0;
}

static plumb_status read_files(loss_file **files, loss_set *set, arena *mem, const char *path)
{
    const int64_t stem = loss_set_stem(path);
    *files = ARENA_ALLOC(mem, loss_file, stem ? MAX_RANKS : 1);
    if (!*files) return PLUMB_EMEMORY;
    if (!stem) {
        set->files = 1;
        return read_file(*files, set, mem, path);
    }
    for (int rank = 0; rank < MAX_RANKS; rank++) {
        char name[MAX_PATH];
        if (snprintf(name, sizeof name, "%.*s_rank%d.pth", (int)stem, path, rank) >= MAX_PATH)
            return fail(PLUMB_EFILE, "%s: the path is too long", path);
        if (access(name, F_OK) != 0) break;
        loss_file *file = *files + set->files;
        const plumb_status st = read_file(file, rank ? NULL : set, mem, name);
        if (st) return st;
        const loss_file *first = *files;
        if (file->contexts != first->contexts || !file->label != !first->label ||
            !file->name != !first->name)
            return fail(PLUMB_EFORMAT, "%s: has other contents than the file of rank 0", name);
        set->files++;
    }
    return set->files ? PLUMB_OK
                      : fail(PLUMB_EFILE, "%.*s_rank0.pth: no such file", (int)stem, path);
}

// Joins the clips of all files; shorter ones are padded with windows of 0, as the studies do.
static plumb_status join_files(loss_file *out, loss_set *set, arena *mem, const loss_file *file)
{
    *out = (loss_file){.contexts = file->contexts};
    for (int64_t k = 0; k < set->files; k++) {
        out->clips += file[k].clips;
        out->windows = file[k].windows > out->windows ? file[k].windows : out->windows;
    }
    const int64_t row = out->contexts * out->windows;
    out->loss = ARENA_ALLOC(mem, double, out->clips *row); // all 0
    out->label = file->label ? ARENA_ALLOC(mem, double, out->clips) : NULL;
    out->name = file->name ? ARENA_ALLOC(mem, const char *, out->clips) : NULL;
    if (!out->loss || (file->label && !out->label) || (file->name && !out->name))
        return PLUMB_EMEMORY;
    int64_t at = 0;
    for (int64_t k = 0; k < set->files; k++)
        for (int64_t i = 0; i < file[k].clips; i++, at++) {
            for (int64_t c = 0; c < out->contexts; c++)
                memcpy(out->loss + at * row + c * out->windows,
                       file[k].loss + (i * out->contexts + c) * file[k].windows,
                       (size_t)file[k].windows * sizeof *out->loss);
            if (out->label) out->label[at] = file[k].label[i];
            if (out->name) out->name[at] = file[k].name[i];
        }
    return PLUMB_OK;
}

// A sampler that gives every rank as many clips repeats some of them: the first one stays.
static plumb_status drop_repeated(loss_file *file, loss_set *set, arena *mem)
{
    name_index index;
    if (!file->name || set->files < 2) return PLUMB_OK;
    const plumb_status st = name_index_create(&index, mem, file->name, file->clips);
    if (st) return st;
    const int64_t row = file->contexts * file->windows;
    // The index points to the names, so the order of the list must not change meanwhile.
    bool *keep = ARENA_ALLOC(mem, bool, file->clips);
    if (!keep) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < file->clips; i++) keep[i] = name_index_find(&index, file->name[i]) == i;
    int64_t kept = 0;
    for (int64_t i = 0; i < file->clips; i++) {
        if (!keep[i]) continue;
        memmove(file->loss + kept * row, file->loss + i * row, (size_t)row * sizeof *file->loss);
        file->name[kept++] = file->name[i];
    }
    set->repeated = file->clips - kept;
    file->clips = kept;
    return PLUMB_OK;
}

// ---- tuples ----

// What tells the tuples of a table apart: scene and condition, and the chosen concept.
static char *make_key(arena *mem, const score_row *row)
{
    const char *part[3] = {row->group, row->property, row->concept};
    size_t size = 1;
    for (int i = 0; i < 3; i++) size += (part[i] ? strlen(part[i]) : 0) + 1;
    char *key = ARENA_ALLOC(mem, char, (int64_t)size);
    if (!key) return NULL;
    for (int i = 0; i < 3; i++) {
        if (part[i]) strcat(key, part[i]);
        strcat(key, "\n");
    }
    return key;
}

// Places 0 and 1 are possible, 2 and 3 impossible. A type without a number takes the next place.
static plumb_status take_place(int64_t *slot, bool taken[4], int64_t tuple, const score_row *row,
                               const char *path)
{
    int place = row->place;
    for (int k = 0; place < 0 && k < 2; k++)
        if (!taken[2 * !row->possible + k]) place = k;
    if (place < 0 || taken[2 * !row->possible + place])
        return fail(PLUMB_EFORMAT,
                    "%s: the clip \"%s\" takes a place of its scene that another clip has; "
                    "expected one 1_Possible, 2_Possible, 1_Impossible and 2_Impossible each",
                    path, row->name);
    taken[2 * !row->possible + place] = true;
    *slot = 4 * tuple + 2 * !row->possible + place;
    return PLUMB_OK;
}

// A tuple is a scene and a condition, numbered as they come.
static plumb_status place_by_table(loss_set *out, arena *mem, const loss_file *file,
                                   const char *path, const plumb_surprise_losses_options *opt)
{
    const int64_t n = file->clips;
    score_table table = {.row = ARENA_ALLOC(mem, score_row, n), .count = n, .room = n};
    const char **key = ARENA_ALLOC(mem, const char *, n);
    int64_t *tuple = ARENA_ALLOC(mem, int64_t, n);
    bool(*taken)[4] = (bool(*)[4])ARENA_ALLOC(mem, bool, 4 * n);
    out->concept = ARENA_ALLOC(mem, const char *, n);
    if (!table.row || !key || !tuple || !taken || !out->concept) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++)
        table.row[i] = (score_row){.name = file->name[i], .possible = -1, .place = -1};
    plumb_status st = score_table_describe(&table, mem, path, opt);
    for (int64_t i = 0; i < n && !st; i++) {
        const score_row *row = &table.row[i];
        if (!row->group)
            st = fail(PLUMB_EFORMAT, "%s: has no column \"SceneIndex\"", opt->metadata);
        else if (row->possible < 0)
            st = fail(PLUMB_EFORMAT,
                      "%s: does not say what the clip \"%s\" is; expected 1_Possible, 2_Possible, "
                      "1_Impossible or 2_Impossible in the column \"type\"",
                      opt->metadata, row->name);
        else if (!(key[i] = make_key(mem, row))) st = PLUMB_EMEMORY;
    }
    name_index index;
    if (!st) st = name_index_create(&index, mem, key, n);
    for (int64_t i = 0; i < n && !st; i++) {
        // The first clip of a tuple numbers it.
        const int64_t first = name_index_find(&index, key[i]);
        if (first == i) {
            const score_row *row = &table.row[i];
            tuple[i] = out->tuples;
            out->concept[out->tuples++] = row->concept ? row->concept : "";
        }
        st = take_place(&out->slot[i], taken[tuple[first]], tuple[first], &table.row[i], path);
    }
    return st;
}

// The blocks O1, O2 and O3 of IntPhys have quadruples; the other data sets have pairs.
static plumb_status place_by_labels(loss_set *out, const loss_file *file, const char *path)
{
    const char *block = out->block;
    const bool quadruples = block[0] == 'O' && block[1] >= '1' && block[1] <= '3' && block[2] == 0;
    const plumb_array labels = plumb_array_view(file->label, PLUMB_FLOAT64, 1, &file->clips);
    const plumb_status st =
        add_path(loss_tuples_assign_slots(out->slot, &labels, quadruples), path);
    out->tuples = file->clips / (quadruples ? 4 : 2);
    return st;
}

plumb_status loss_set_read(loss_set *out, arena *mem, const char *path,
                           const plumb_surprise_losses_options *opt)
{
    *out = (loss_set){.block = "", .path = arena_strdup(mem, path)};
    loss_file *files, all;
    if (!out->path) return PLUMB_EMEMORY;
    plumb_status st = read_files(&files, out, mem, path);
    if (!st) st = join_files(&all, out, mem, files);
    if (!st) st = drop_repeated(&all, out, mem);
    if (st) return st;
    out->losses = plumb_array_view(all.loss, PLUMB_FLOAT64, 3,
                                   (int64_t[]){all.clips, all.contexts, all.windows});
    out->slot = ARENA_ALLOC(mem, int64_t, all.clips);
    if (!out->slot) return PLUMB_EMEMORY;
    if (all.label) return place_by_labels(out, &all, path);
    if (!opt->metadata)
        return fail(PLUMB_EFORMAT,
                    "%s: has no labels; the option metadata must name the metadata.csv that says "
                    "what its clips are",
                    path);
    if (!all.name)
        return fail(PLUMB_EFORMAT, "%s: has neither labels nor names of its clips", path);
    return place_by_table(out, mem, &all, path, opt);
}
