// SPDX-License-Identifier: MIT
// Reads scores of clips. A table has a line for each clip. What a file does not say about its clips
// is looked up by their names in the table of the option metadata.
#include "evaluate/score_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/name_index.h"
#include "base/status.h"
#include "base/text.h"
#include "evaluate/csv_table.h"
#include "evaluate/score_rows.h"

static bool parse_number(double *out, const char *text)
{
    char *end = NULL;
    *out = text_parse_double(text, &end);
    while (end != text && isspace((unsigned char)*end)) end++;
    return end != text && !*end && isfinite(*out);
}

// Texts joined by " x ", the concept of several columns.
static char *join_texts(arena *mem, const char *first, const char *second)
{
    const size_t size = strlen(first) + strlen(second) + 4;
    char *text = ARENA_ALLOC(mem, char, (int64_t)size);
    if (text) snprintf(text, size, "%s%s%s", first, *first ? " x " : "", second);
    return text;
}

// ---- tables ----

typedef struct table_columns {
    int name, group, possible, concept, score;
    int frame_first, frames;     // t0, t1, ..
    int place[4], places;        // of the InfLevel benchmark: what a group has in common
    int joined[8], joined_count; // the option concept_by
} table_columns;

// The columns t0, t1, .. of scores of frames.
static void find_frames(table_columns *out, const csv_table *table)
{
    out->frame_first = csv_table_find(table, (const char *const[]){"t0", NULL});
    for (int i = out->frame_first; i >= 0 && i < table->columns; i++) {
        char name[24];
        snprintf(name, sizeof name, "t%d", out->frames);
        if (strcasecmp(table->name[i], name) != 0) break;
        out->frames++;
    }
}

// The columns that the option concept_by names, separated by commas.
static plumb_status find_joined(table_columns *out, const csv_table *table, const char *by)
{
    while (by && *by) {
        char name[128];
        const size_t length = strcspn(by, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 127 ? length : 127), by);
        const int column = csv_table_find(table, (const char *const[]){name, NULL});
        if (column < 0 || out->joined_count == 8)
            return fail(PLUMB_EFORMAT, "%s: has no column \"%s\", which concept_by names",
                        table->path, name);
        out->joined[out->joined_count++] = column;
        by += length + (by[length] == ',');
    }
    return PLUMB_OK;
}

// The names of the columns, for messages.
static const char *list_columns(char *out, size_t size, const csv_table *table)
{
    size_t length = 0;
    *out = 0;
    for (int i = 0; i < table->columns && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s\"%.30s\"", i ? ", " : "",
                                   table->name[i]);
    if (length >= size && size > 4) memcpy(out + size - 4, "...", 4);
    return out;
}

static plumb_status find_columns(table_columns *out, const csv_table *table,
                                 const plumb_surprise_losses_options *opt)
{
    *out = (table_columns){.name = csv_table_find(table, score_words_name),
                           .group = csv_table_find(table, score_words_group),
                           .possible = csv_table_find(table, score_words_possible),
                           .concept = csv_table_find(table, score_words_concept),
                           .score = -1};
    const char *const chosen[] = {opt->score, NULL};
    out->score = csv_table_find(table, opt->score ? chosen : score_words_score);
    find_frames(out, table);
    // InfLevel: clips with the same place of the camera, cover, object and direction form a group.
    static const char *const places[4][2] = {{"camera_loc"}, {"cover"}, {"obj"}, {"dir"}};
    if (csv_table_find(table, (const char *const[]){"trial_type", NULL}) >= 0)
        for (int i = 0; i < 4; i++) {
            const int column = csv_table_find(table, places[i]);
            if (column >= 0) out->place[out->places++] = column;
        }
    return find_joined(out, table, opt->concept_by);
}

// What a line says of a clip, without its score.
static plumb_status describe_clip(score_row *row, arena *mem, const csv_table *table,
                                  const table_columns *columns, int64_t at)
{
    const char *name = csv_table_get(table, at, columns->name),
               *group = csv_table_get(table, at, columns->group),
               *possible = csv_table_get(table, at, columns->possible),
               *concept = csv_table_get(table, at, columns->concept);
    *row = (score_row){.name = *name ? name : NULL,
                       .group = *group ? group : NULL,
                       .concept = *concept ? concept : NULL,
                       .property = *concept ? concept : NULL,
                       .place = possible[0] && possible[1] == '_' ? possible[0] - '1' : -1,
                       .possible = *possible ? score_parse_possible(possible) : -1,
                       .said = *possible ? possible : NULL};
    if (row->place > 1) row->place = -1;
    for (int i = 0; i < columns->places; i++)
        if (!(row->group = join_texts(mem, i ? row->group : "",
                                      csv_table_get(table, at, columns->place[i]))))
            return PLUMB_EMEMORY;
    for (int i = 0; i < columns->joined_count; i++)
        if (!(row->concept = join_texts(mem, i ? row->concept : "",
                                        csv_table_get(table, at, columns->joined[i]))))
            return PLUMB_EMEMORY;
    return PLUMB_OK;
}

// A column of the first or second clip of a pair: "vid1_label" for side 0 and "label".
static int find_side(const csv_table *table, int side, const char *const *words)
{
    for (; *words; words++) {
        char name[128];
        snprintf(name, sizeof name, "vid%d_%s", side + 1, *words);
        const int column = csv_table_find(table, (const char *const[]){name, NULL});
        if (column >= 0) return column;
    }
    return -1;
}

// The tables of InfLevel have a line for each pair: vid1_path, vid1_label, vid2_path, vid2_label.
// Here each clip has a score besides, vid1_score and vid2_score. The folder of a clip is its
// concept.
static plumb_status read_pairs(score_table *out, arena *mem, const csv_table *table,
                               const plumb_surprise_losses_options *opt)
{
    const char *const chosen[] = {opt->score, NULL};
    const char *const label[] = {"label", "possible", NULL}, *const path[] = {"path", "name", NULL};
    for (int64_t i = 0; i < 2 * table->rows; i++) {
        const int side = (int)(i % 2);
        const int column = find_side(table, side, opt->score ? chosen : score_words_score);
        if (column < 0)
            return fail(PLUMB_EFORMAT, "%s: has no column \"vid%d_%s\"", table->path, side + 1,
                        opt->score ? opt->score : "score");
        const char *text = csv_table_get(table, i / 2, column),
                   *name = csv_table_get(table, i / 2, find_side(table, side, path));
        char group[32];
        snprintf(group, sizeof group, "%012lld", (long long)(i / 2));
        const size_t folder = strcspn(name, "/");
        char *concept = name[folder] ? arena_strdup(mem, name) : NULL;
        if (name[folder] && !concept) return PLUMB_EMEMORY;
        if (concept) concept[folder] = 0;
        const char *possible = csv_table_get(table, i / 2, find_side(table, side, label));
        score_row row = {.name = name,
                         .group = arena_strdup(mem, group),
                         .concept = concept,
                         .possible = score_parse_possible(possible),
                         .said = *possible ? possible : NULL,
                         .value = ARENA_ALLOC(mem, double, 1),
                         .count = 1};
        if (!row.group || !row.value) return PLUMB_EMEMORY;
        if (!parse_number(row.value, text))
            return fail(PLUMB_EFORMAT,
                        "%s: line %lld has \"%s\" in the column \"%s\"; expected a number",
                        table->path, (long long)table->line[i / 2], text, table->name[column]);
        const plumb_status st = score_table_add(out, mem, &row);
        if (st) return st;
    }
    return PLUMB_OK;
}

static plumb_status read_table(score_table *out, arena *mem, const char *path,
                               const plumb_surprise_losses_options *opt)
{
    csv_table table;
    table_columns columns;
    char list[200];
    plumb_status st = csv_table_read(&table, mem, path);
    const char *const label[] = {"label", NULL};
    if (!st && find_side(&table, 0, label) >= 0 && find_side(&table, 1, label) >= 0)
        return read_pairs(out, mem, &table, opt);
    if (!st) st = find_columns(&columns, &table, opt);
    if (st) return st;
    const char *const *plausibility = score_words_plausibility;
    if (columns.score < 0 && !opt->score && !columns.frames &&
        (columns.score = csv_table_find(&table, plausibility)) >= 0)
        out->plausible = true;
    out->complete_only = columns.places > 0;
    out->plausible = out->plausible || columns.places > 0; // as InfLevel has it
    if (columns.score < 0 && !columns.frames)
        return fail(PLUMB_EFORMAT, "%s: has no column \"%s\" and no columns t0, t1, ..., only %s",
                    path, opt->score ? opt->score : "score",
                    list_columns(list, sizeof list, &table));
    const int64_t width = columns.score >= 0 ? 1 : columns.frames;
    int motion[2];
    if ((motion[0] = csv_table_find(&table, score_words_motion)) >= 0) out->motion_count++;
    motion[out->motion_count] = csv_table_find(&table, score_words_difference);
    if (motion[out->motion_count] >= 0) out->motion_count++;
    for (int64_t i = 0; i < table.rows && !st; i++) {
        score_row row;
        st = describe_clip(&row, mem, &table, &columns, i);
        row.value = st ? NULL : ARENA_ALLOC(mem, double, width);
        if (!st && !row.value) st = PLUMB_EMEMORY;
        for (int64_t t = 0; t < width && !st; t++) {
            const int column = columns.score >= 0 ? columns.score : columns.frame_first + (int)t;
            const char *text = csv_table_get(&table, i, column);
            // Shorter clips have empty fields at their end.
            if (!*text && t) break;
            if (!parse_number(&row.value[t], text))
                st = fail(PLUMB_EFORMAT,
                          "%s: line %lld has \"%s\" in the column \"%s\"; expected "
                          "a number",
                          path, (long long)table.line[i], text, table.name[column]);
            row.count = t + 1;
        }
        for (int64_t k = 0; k < out->motion_count && !st; k++)
            if (!parse_number(&row.motion[k], csv_table_get(&table, i, motion[k])))
                st = fail(PLUMB_EFORMAT, "%s: line %lld has no number in the column \"%s\"", path,
                          (long long)table.line[i], table.name[motion[k]]);
        if (!st) st = score_table_add(out, mem, &row);
    }
    return st;
}

// ---- what the clips are ----

// A path without its suffix, and without its folders if `base`.
static const char *shorten_name(arena *mem, const char *name, bool base)
{
    const char *slash = strrchr(name, '/'), *start = base && slash ? slash + 1 : name;
    char *copy = arena_strdup(mem, start);
    if (!copy) return NULL;
    char *dot = strrchr(copy, '.'), *last = strrchr(copy, '/');
    // A dot that begins a number, as in "clip_0.5", is still a suffix; folders keep theirs.
    if (dot && dot != copy && (!last || dot > last)) *dot = 0;
    return copy;
}

// Names of the lines of a metadata table: as they are, without suffix, and without folders too.
typedef struct clip_names {
    name_index index[3];
} clip_names;

static plumb_status index_names(clip_names *out, arena *mem, const csv_table *table, int column)
{
    for (int k = 0; k < 3; k++) {
        const char **names = ARENA_ALLOC(mem, const char *, table->rows);
        if (!names) return PLUMB_EMEMORY;
        for (int64_t i = 0; i < table->rows; i++) {
            const char *name = csv_table_get(table, i, column);
            names[i] = k ? shorten_name(mem, name, k == 2) : name;
            if (!names[i]) return PLUMB_EMEMORY;
        }
        const plumb_status st = name_index_create(&out->index[k], mem, names, table->rows);
        if (st) return st;
    }
    return PLUMB_OK;
}

plumb_status score_table_describe(score_table *out, arena *mem, const char *path,
                                  const plumb_surprise_losses_options *opt)
{
    csv_table table;
    table_columns columns;
    clip_names names;
    char list[200];
    const size_t length = strlen(opt->metadata);
    const bool json = length > 5 && !strcmp(opt->metadata + length - 5, ".json");
    plumb_status st = json ? csv_table_read_json(&table, mem, opt->metadata)
                           : csv_table_read(&table, mem, opt->metadata);
    if (!st) st = find_columns(&columns, &table, opt);
    if (!st && columns.name < 0)
        st =
            fail(PLUMB_EFORMAT, "%s: has no column \"%s\" or \"%s\", only %s", opt->metadata,
                 score_words_name[0], score_words_name[1], list_columns(list, sizeof list, &table));
    if (!st) st = index_names(&names, mem, &table, columns.name);
    for (int64_t i = 0; i < out->count && !st; i++) {
        score_row *row = &out->row[i], said;
        int64_t at = -1;
        for (int k = 0; k < 3 && at < 0 && row->name; k++) {
            const char *name = k ? shorten_name(mem, row->name, k == 2) : row->name;
            if (!name) return PLUMB_EMEMORY;
            at = name_index_find(&names.index[k], name);
        }
        if (at < 0)
            return fail(PLUMB_EFORMAT, "%s: the clip \"%s\" is not in the table %s", path,
                        row->name ? row->name : "", opt->metadata);
        st = describe_clip(&said, mem, &table, &columns, at);
        if (row->possible < 0) row->possible = said.possible;
        if (!row->group) row->group = said.group;
        if (!row->concept || opt->concept_by) row->concept = said.concept;
        row->property = said.property;
        row->place = said.place;
    }
    return st;
}

// A clip of IntPhys is named BLOCK/SCENE/CLIP: its folder is its group, the first part its concept.
static plumb_status split_names(score_table *out, arena *mem)
{
    for (int64_t i = 0; i < out->count; i++) {
        score_row *row = &out->row[i];
        const char *slash = row->name ? strrchr(row->name, '/') : NULL;
        if (row->group || !slash) continue;
        char *group = arena_strdup(mem, row->name), *concept = arena_strdup(mem, row->name);
        if (!group || !concept) return PLUMB_EMEMORY;
        group[slash - row->name] = 0;
        concept[strcspn(concept, "/")] = 0;
        row->group = group;
        if (!row->concept && strchr(group, '/')) row->concept = concept;
    }
    return PLUMB_OK;
}

// Groups of InfLevel that lack clips are left out, as its own code does.
static plumb_status skip_incomplete(score_table *table, arena *mem)
{
    int64_t *members = ARENA_ALLOC(mem, int64_t, table->count), kept = 0;
    const char **group = ARENA_ALLOC(mem, const char *, table->count);
    name_index names;
    if (!members || !group) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < table->count; i++) group[i] = table->row[i].group;
    const plumb_status st = name_index_create(&names, mem, group, table->count);
    if (st) return st;
    // The first clip of a group counts its members.
    for (int64_t i = 0; i < table->count; i++) members[name_index_find(&names, group[i])]++;
    for (int64_t i = 0; i < table->count; i++)
        if (members[name_index_find(&names, group[i])] == 4) table->row[kept++] = table->row[i];
    table->skipped = table->count - kept;
    table->count = kept;
    return PLUMB_OK;
}

// A row that does not say whether its clip is possible.
static plumb_status refuse_row(const score_row *row, const char *path)
{
    const char *name = row->name ? row->name : "";
    if (row->said)
        return fail(PLUMB_EFORMAT,
                    "%s: says \"%s\" of the clip \"%s\"; expected possible or impossible, 1 or 0, "
                    "true or false",
                    path, row->said, name);
    return fail(PLUMB_EFORMAT,
                "%s: does not say whether the clip \"%s\" is possible; expected a column or "
                "member \"possible\", or the option metadata with a table that has it",
                path, name);
}

bool score_table_reads(const char *path)
{
    static const char *const ends[] = {".csv", ".tsv", ".json", ".jsonl", NULL};
    const size_t length = strlen(path);
    for (int i = 0; ends[i]; i++)
        if (length > strlen(ends[i]) && !strcmp(path + length - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

plumb_status score_table_read(score_table *out, arena *mem, const char *path,
                              const plumb_surprise_losses_options *opt)
{
    *out = (score_table){0};
    const char *end = strrchr(path, '.');
    plumb_status st = !strcmp(end, ".json")    ? score_json_read(out, mem, path, opt)
                      : !strcmp(end, ".jsonl") ? score_json_read_lines(out, mem, path, opt)
                                               : read_table(out, mem, path, opt);
    if (!st && opt->metadata) st = score_table_describe(out, mem, path, opt);
    if (!st) st = split_names(out, mem);
    for (int64_t i = 0; i < out->count && !st; i++)
        if (out->row[i].possible < 0) st = refuse_row(&out->row[i], path);
    if (!st && out->complete_only) st = skip_incomplete(out, mem);
    out->plausible = out->plausible || opt->plausible;
    for (int64_t i = 0; i < out->count && !st && out->plausible; i++)
        for (int64_t t = 0; t < out->row[i].count; t++)
            out->row[i].value[t] = -out->row[i].value[t];
    return st;
}
