// SPDX-License-Identifier: MIT
// Reads scores of clips. A table has a line for each clip. JSON is a list of such objects, one
// object on each line, an object of names and scores, or the results of LikePhys. What a file does
// not say about its clips is looked up by their names in the table of the option metadata.
#include "evaluate/score_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/input_file.h"
#include "base/json_tree.h"
#include "base/name_index.h"
#include "base/status.h"
#include "base/text.h"
#include "evaluate/csv_table.h"

enum { MAX_FRAMES = 100000 };
static const int64_t max_bytes = (int64_t)1 << 30;

// Names under which benchmarks write the same thing; the first that exists counts.
static const char *const name_words[] = {"clip",    "name",     "file_name", "filename", "video",
                                         "videoid", "video_id", "path",      NULL};
static const char *const group_words[] = {"group",      "tuple", "tuple_id", "quadruple",
                                          "SceneIndex", "scene", "scenario", NULL};
static const char *const possible_words[] = {
    "possible", "is_possible", "plausible", "valid", "label", "type", "role", "trial_type", NULL};
static const char *const concept_words[] = {"concept",        "property",  "principle", "split",
                                            "event_category", "condition", NULL};
static const char *const motion_words[] = {"motion", "motion_energy", NULL};
static const char *const difference_words[] = {"frame_difference", "frame_diff", NULL};
static const char *const score_words[] = {"score", "surprise", "loss", NULL};

// ---- rows ----

static plumb_status add_row(score_table *table, arena *mem, const score_row *row)
{
    if (table->count == table->room) {
        const int64_t room = table->room ? 2 * table->room : 256;
        score_row *grown = ARENA_ALLOC(mem, score_row, room);
        if (!grown) return PLUMB_EMEMORY;
        if (table->count) memcpy(grown, table->row, (size_t)table->count * sizeof *grown);
        table->row = grown;
        table->room = room;
    }
    table->row[table->count++] = *row;
    return PLUMB_OK;
}

// Does the text have the word in it, whatever its case?
static bool has_word(const char *text, const char *word)
{
    for (; *text; text++)
        if (!strncasecmp(text, word, strlen(word))) return true;
    return false;
}

// 1 for a possible clip, 0 for an impossible one, -1 if the text says neither.
static int parse_possible(const char *text)
{
    static const char *const yes[] = {"1",  "1.0", "true", "yes", "real",
                                      "vv", "ii",  "ui",   "cv",  NULL};
    static const char *const no[] = {"0",  "0.0", "false", "no", "magic",
                                     "iv", "vi",  "uv",    "ci", NULL};
    for (int i = 0; yes[i]; i++)
        if (!strcasecmp(text, yes[i])) return 1;
    for (int i = 0; no[i]; i++)
        if (!strcasecmp(text, no[i])) return 0;
    if (has_word(text, "impossible") || has_word(text, "implausible") || has_word(text, "invalid"))
        return 0;
    return has_word(text, "possible") || has_word(text, "plausible") || has_word(text, "valid")
               ? 1
               : -1;
}

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

static plumb_status find_columns(table_columns *out, const csv_table *table,
                                 const plumb_surprise_losses_options *opt)
{
    *out = (table_columns){.name = csv_table_find(table, name_words),
                           .group = csv_table_find(table, group_words),
                           .possible = csv_table_find(table, possible_words),
                           .concept = csv_table_find(table, concept_words),
                           .score = -1};
    const char *const chosen[] = {opt->score, NULL};
    out->score = csv_table_find(table, opt->score ? chosen : score_words);
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
                       .possible = *possible ? parse_possible(possible) : -1,
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
        const int column = find_side(table, side, opt->score ? chosen : score_words);
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
                         .possible = parse_possible(possible),
                         .said = *possible ? possible : NULL,
                         .value = ARENA_ALLOC(mem, double, 1),
                         .count = 1};
        if (!row.group || !row.value) return PLUMB_EMEMORY;
        if (!parse_number(row.value, text))
            return fail(PLUMB_EFORMAT,
                        "%s: line %lld has \"%s\" in the column \"%s\"; expected a number",
                        table->path, (long long)table->line[i / 2], text, table->name[column]);
        const plumb_status st = add_row(out, mem, &row);
        if (st) return st;
    }
    return PLUMB_OK;
}

static plumb_status read_table(score_table *out, arena *mem, const char *path,
                               const plumb_surprise_losses_options *opt)
{
    csv_table table;
    table_columns columns;
    plumb_status st = csv_table_read(&table, mem, path);
    const char *const label[] = {"label", NULL};
    if (!st && find_side(&table, 0, label) >= 0 && find_side(&table, 1, label) >= 0)
        return read_pairs(out, mem, &table, opt);
    if (!st) st = find_columns(&columns, &table, opt);
    if (st) return st;
    if (columns.score < 0 && !columns.frames)
        return fail(PLUMB_EFORMAT, "%s: has no column \"%s\" and no columns t0, t1, ...", path,
                    opt->score ? opt->score : "score");
    out->plausible = columns.places > 0; // as InfLevel has it
    const int64_t width = columns.score >= 0 ? 1 : columns.frames;
    int motion[2];
    if ((motion[0] = csv_table_find(&table, motion_words)) >= 0) out->motion_count++;
    motion[out->motion_count] = csv_table_find(&table, difference_words);
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
        if (!st) st = add_row(out, mem, &row);
    }
    return st;
}

// ---- JSON ----

// Scores of one clip: a number, a list of numbers, or an object with one of them.
static plumb_status read_scores(score_row *row, arena *mem, const json_tree *value,
                                const char *path)
{
    if (value && value->kind == JSON_OBJECT) {
        const json_tree *inside = NULL;
        for (int i = 0; score_words[i] && !inside; i++)
            inside = json_tree_find(value, score_words[i]);
        value = inside;
    }
    const int64_t n = value && value->kind == JSON_ARRAY ? json_tree_count(value) : 1;
    if (!value || n < 1 || n > MAX_FRAMES)
        return fail(PLUMB_EFORMAT, "%s: the clip \"%s\" has no score", path,
                    row->name ? row->name : "");
    row->value = ARENA_ALLOC(mem, double, n);
    if (!row->value) return PLUMB_EMEMORY;
    row->count = n;
    const json_tree *item = value->kind == JSON_ARRAY ? value->child : value;
    for (int64_t i = 0; i < n; i++, item = item->next) {
        row->value[i] = item->number;
        if (!isfinite(item->number))
            return row->name ? fail(PLUMB_EFORMAT, "%s: a score of the clip \"%s\" is no number",
                                    path, row->name)
                             : fail(PLUMB_EFORMAT, "%s: a score is no number", path);
    }
    return PLUMB_OK;
}

// A member of an object as text; numbers are written out. NULL if none of the names exists.
static const char *get_text(arena *mem, const json_tree *object, const char *const *names)
{
    for (; *names; names++) {
        const json_tree *value = json_tree_find(object, *names);
        if (!value) continue;
        if (value->text) return value->text;
        if (value->kind != JSON_NUMBER && value->kind != JSON_BOOL) continue;
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)llround(value->number));
        return arena_strdup(mem, text);
    }
    return NULL;
}

// One clip as an object with the names that a table has for its columns.
static plumb_status read_object(score_table *out, arena *mem, const json_tree *object,
                                const char *path, const plumb_surprise_losses_options *opt)
{
    if (object->kind != JSON_OBJECT)
        return fail(PLUMB_EFORMAT, "%s: expected an object for each clip", path);
    const char *possible = get_text(mem, object, possible_words);
    score_row row = {.name = get_text(mem, object, name_words),
                     .group = get_text(mem, object, group_words),
                     .concept = get_text(mem, object, concept_words),
                     .possible = possible ? parse_possible(possible) : -1,
                     .said = possible};
    const plumb_status st =
        read_scores(&row, mem, opt->score ? json_tree_find(object, opt->score) : object, path);
    return st ? st : add_row(out, mem, &row);
}

// The arrays "possible" and "impossible": item i of both, a number or a list of them, is group i.
static plumb_status read_two_lists(score_table *out, arena *mem, const json_tree *root,
                                   const char *path)
{
    plumb_status st = PLUMB_OK;
    for (int k = 0; k < 2 && !st; k++) {
        int64_t at = 0;
        for (const json_tree *item = json_tree_find(root, k ? "impossible" : "possible")->child;
             item && !st; item = item->next, at++) {
            char group[32];
            snprintf(group, sizeof group, "%lld", (long long)at);
            const json_tree *clip = item->kind == JSON_ARRAY ? item->child : item;
            while (clip && !st) {
                score_row row = {.group = arena_strdup(mem, group), .possible = !k};
                st = row.group ? read_scores(&row, mem, clip, path) : PLUMB_EMEMORY;
                if (!st) st = add_row(out, mem, &row);
                clip = item->kind == JSON_ARRAY ? clip->next : NULL;
            }
        }
    }
    return st;
}

// LikePhys: scene_evaluations.GROUP.valid or .VARIATION.CLIP.loss_array. Each variation is a
// concept of its own, in which every valid clip is compared with every invalid one.
static plumb_status read_likephys(score_table *out, arena *mem, const json_tree *scenes,
                                  const char *path)
{
    plumb_status st = PLUMB_OK;
    for (const json_tree *scene = scenes->child; scene && !st; scene = scene->next) {
        const json_tree *valid = json_tree_find(scene, "valid");
        for (const json_tree *other = scene->child; other && !st; other = other->next) {
            if (other == valid || !valid) continue;
            for (int k = 0; k < 2; k++)
                for (const json_tree *clip = (k ? other : valid)->child; clip && !st;
                     clip = clip->next) {
                    score_row row = {.name = clip->key,
                                     .group = scene->key,
                                     .concept = other->key,
                                     .possible = !k};
                    st = read_scores(&row, mem, json_tree_find(clip, "loss_array"), path);
                    // The study takes the mean over noise levels: they are no frames.
                    double sum = 0.0;
                    for (int64_t i = 0; i < row.count && !st; i++) sum += row.value[i];
                    if (!st) {
                        row.value[0] = sum / (double)row.count;
                        row.count = 1;
                        st = add_row(out, mem, &row);
                    }
                }
        }
    }
    return st;
}

// {"name": score} or {"name": {"score": ..}}.
static plumb_status read_names(score_table *out, arena *mem, const json_tree *root,
                               const char *path)
{
    plumb_status st = PLUMB_OK;
    for (const json_tree *clip = root->child; clip && !st; clip = clip->next) {
        const char *possible = get_text(mem, clip, possible_words);
        score_row row = {.name = clip->key,
                         .group = get_text(mem, clip, group_words),
                         .concept = get_text(mem, clip, concept_words),
                         .possible = possible ? parse_possible(possible) : -1,
                         .said = possible};
        st = read_scores(&row, mem, clip, path);
        if (!st) st = add_row(out, mem, &row);
    }
    return st;
}

static plumb_status read_json(score_table *out, arena *mem, const char *path,
                              const plumb_surprise_losses_options *opt)
{
    char *text = NULL;
    size_t size = 0;
    const json_tree *root = NULL;
    plumb_status st = input_file_read_all(&text, &size, mem, path, max_bytes);
    if (!st) st = json_tree_read(&root, mem, text, size, path);
    if (st) return st;
    if (root->kind == JSON_ARRAY) {
        for (const json_tree *item = root->child; item && !st; item = item->next)
            st = read_object(out, mem, item, path, opt);
        return st;
    }
    if (root->kind != JSON_OBJECT)
        return fail(PLUMB_EFORMAT, "%s: expected a list or an object", path);
    const json_tree *possible = json_tree_find(root, "possible"),
                    *impossible = json_tree_find(root, "impossible"),
                    *scenes = json_tree_find(root, "scene_evaluations");
    if (scenes && scenes->kind == JSON_OBJECT) return read_likephys(out, mem, scenes, path);
    if (possible && impossible && possible->kind == JSON_ARRAY && impossible->kind == JSON_ARRAY)
        return read_two_lists(out, mem, root, path);
    return read_names(out, mem, root, path);
}

static plumb_status read_lines(score_table *out, arena *mem, const char *path,
                               const plumb_surprise_losses_options *opt)
{
    char *text = NULL;
    size_t size = 0;
    plumb_status st = input_file_read_all(&text, &size, mem, path, max_bytes);
    for (char *line = text; !st && line < text + size;) {
        const char *newline = memchr(line, '\n', (size_t)(text + size - line));
        const size_t length = newline ? (size_t)(newline - line) : (size_t)(text + size - line);
        const json_tree *object = NULL;
        if (strspn(line, " \t\r") < length) {
            st = json_tree_read(&object, mem, line, length, path);
            if (!st) st = read_object(out, mem, object, path, opt);
        }
        line += length + 1;
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
    plumb_status st = csv_table_read(&table, mem, opt->metadata);
    if (!st) st = find_columns(&columns, &table, opt);
    if (!st && columns.name < 0)
        st = fail(PLUMB_EFORMAT, "%s: has no column \"%s\"", opt->metadata, name_words[0]);
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
    plumb_status st = !strcmp(end, ".json")    ? read_json(out, mem, path, opt)
                      : !strcmp(end, ".jsonl") ? read_lines(out, mem, path, opt)
                                               : read_table(out, mem, path, opt);
    const bool inflevel = out->plausible;
    if (!st && opt->metadata) st = score_table_describe(out, mem, path, opt);
    if (!st) st = split_names(out, mem);
    for (int64_t i = 0; i < out->count && !st; i++)
        if (out->row[i].possible < 0) st = refuse_row(&out->row[i], path);
    if (!st && inflevel) st = skip_incomplete(out, mem);
    out->plausible = out->plausible || opt->plausible;
    for (int64_t i = 0; i < out->count && !st && out->plausible; i++)
        for (int64_t t = 0; t < out->row[i].count; t++)
            out->row[i].value[t] = -out->row[i].value[t];
    return st;
}
