// SPDX-License-Identifier: MIT
// Scores of clips in JSON: a list of objects, one object on each line, an object of names and
// scores, which may be nested or stand beside a description of the run, or the results of LikePhys.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/input_file.h"
#include "base/json_tree.h"
#include "base/status.h"
#include "evaluate/score_rows.h"

static const int64_t max_bytes = (int64_t)1 << 30;

// The first of these members that exists; NULL if none does.
static const json_tree *find_member(const json_tree *object, const char *const *names)
{
    const json_tree *found = NULL;
    for (; *names && !found; names++) found = json_tree_find(object, *names);
    return found;
}

// The message of a clip without a score names what it has instead.
static plumb_status refuse_clip(const score_row *row, const json_tree *value, const char *score,
                                const char *path)
{
    enum { SHOWN = 4 };
    char keys[200] = "";
    int count = 0;
    const bool members = value && value->kind == JSON_OBJECT;
    for (const json_tree *part = members ? value->child : NULL; part; part = part->next, count++)
        if (count < SHOWN) {
            const size_t length = strlen(keys);
            snprintf(keys + length, sizeof keys - length, "%s\"%.40s\"", count ? ", " : "",
                     part->key);
        }
    if (!count)
        return fail(PLUMB_EFORMAT, "%s: the clip \"%s\" has no score", path,
                    row->name ? row->name : "");
    return fail(PLUMB_EFORMAT,
                "%s: the clip \"%s\" has no score: no member \"%s\", only %s%s; the option score "
                "names another",
                path, row->name ? row->name : "", score ? score : score_words_score[0], keys,
                count > SHOWN ? " and more" : "");
}

// Scores of one clip: a number, a list of numbers, or an object with one of them. May be NULL:
// score, the name of the member that is to be taken.
static plumb_status read_scores(score_table *table, score_row *row, arena *mem,
                                const json_tree *clip, const char *score, const char *path)
{
    const json_tree *value = clip;
    if (clip && clip->kind == JSON_OBJECT) {
        const char *const chosen[] = {score, NULL};
        value = find_member(clip, score ? chosen : score_words_score);
        if (!value && !score && (value = find_member(clip, score_words_plausibility)))
            table->plausible = true;
    }
    const int64_t n = value && value->kind == JSON_ARRAY ? json_tree_count(value) : 1;
    if (!value || n < 1 || n > SCORE_MAX_FRAMES) return refuse_clip(row, clip, score, path);
    row->value = ARENA_ALLOC(mem, double, n);
    if (!row->value) return PLUMB_EMEMORY;
    row->count = n;
    const json_tree *item = value->kind == JSON_ARRAY ? value->child : value;
    for (int64_t i = 0; i < n; i++, item = item->next) {
        row->value[i] = item->number;
        if (item->kind != JSON_NUMBER || !isfinite(item->number))
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

// Both sides of a group in one object: {"possible": .2, "impossible": [.5, .6]}. NULL if it is
// none.
static const json_tree *find_side(const json_tree *object, bool possible)
{
    static const char *const words[][2] = {{"impossible", "possible"}, {"invalid", "valid"}};
    if (find_member(object, score_words_score)) return NULL; // then they are two flags of a clip
    for (int i = 0; i < 2; i++) {
        const json_tree *side = json_tree_find(object, words[i][possible]),
                        *other = json_tree_find(object, words[i][!possible]);
        if (!side || !other) continue;
        const bool lists = side->kind == JSON_ARRAY && other->kind == JSON_ARRAY;
        const bool values = side->kind != JSON_BOOL && other->kind != JSON_BOOL;
        if (lists || values) return side;
    }
    return NULL;
}

// One side of a group: a number, or a list of clips.
static plumb_status read_side(score_table *out, arena *mem, const json_tree *side,
                              const score_row *as, const char *path)
{
    plumb_status st = PLUMB_OK;
    const json_tree *clip = side->kind == JSON_ARRAY ? side->child : side;
    while (clip && !st) {
        score_row row = *as;
        st = read_scores(out, &row, mem, clip, NULL, path);
        if (!st) st = score_table_add(out, mem, &row);
        clip = side->kind == JSON_ARRAY ? clip->next : NULL;
    }
    return st;
}

static plumb_status read_sides(score_table *out, arena *mem, const json_tree *object,
                               const char *group, const char *path)
{
    const char *concept = get_text(mem, object, score_words_concept);
    plumb_status st = PLUMB_OK;
    for (int k = 0; k < 2 && !st; k++) {
        const score_row as = {.group = group, .concept = concept, .possible = !k};
        st = read_side(out, mem, find_side(object, !k), &as, path);
    }
    return st;
}

// A name for what has none: its place in the file.
static const char *number_name(arena *mem, int64_t at)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)at);
    return arena_strdup(mem, text);
}

// Item `at` of a list: one clip as an object with the names that a table has for its columns, or a
// group with both sides.
static plumb_status read_object(score_table *out, arena *mem, const json_tree *object, int64_t at,
                                const char *path, const plumb_surprise_losses_options *opt)
{
    if (object->kind != JSON_OBJECT)
        return fail(PLUMB_EFORMAT, "%s: expected an object for each clip", path);
    score_row row = {.name = get_text(mem, object, score_words_name),
                     .group = get_text(mem, object, score_words_group)};
    if (find_side(object, true)) {
        const char *group = row.group ? row.group : row.name ? row.name : number_name(mem, at);
        return group ? read_sides(out, mem, object, group, path) : PLUMB_EMEMORY;
    }
    row.concept = get_text(mem, object, score_words_concept);
    row.said = get_text(mem, object, score_words_possible);
    row.possible = row.said ? score_parse_possible(row.said) : -1;
    const plumb_status st = read_scores(out, &row, mem, object, opt->score, path);
    return st ? st : score_table_add(out, mem, &row);
}

// The arrays "possible" and "impossible": item i of both, a number or a list of them, is group i.
static plumb_status read_two_lists(score_table *out, arena *mem, const json_tree *root,
                                   const char *path)
{
    plumb_status st = PLUMB_OK;
    for (int k = 0; k < 2 && !st; k++) {
        int64_t at = 0;
        for (const json_tree *item = find_side(root, !k)->child; item && !st;
             item = item->next, at++) {
            const score_row as = {.group = number_name(mem, at), .possible = !k};
            st = as.group ? read_side(out, mem, item, &as, path) : PLUMB_EMEMORY;
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
                    st =
                        read_scores(out, &row, mem, json_tree_find(clip, "loss_array"), NULL, path);
                    // The study takes the mean over noise levels: they are no frames.
                    double sum = 0.0;
                    for (int64_t i = 0; i < row.count && !st; i++) sum += row.value[i];
                    if (!st) {
                        row.value[0] = sum / (double)row.count;
                        row.count = 1;
                        st = score_table_add(out, mem, &row);
                    }
                }
        }
    }
    return st;
}

// What stands between names of clips in nested objects.
static char *join_names(arena *mem, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *text = ARENA_ALLOC(mem, char, (int64_t)size);
    if (text) snprintf(text, size, "%s%s%s", folder, *folder ? "/" : "", name);
    return text;
}

static bool is_number_text(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

// Does an object hold clips, and is it not a clip itself? All its members are objects, or their
// names are numbers.
static bool holds_clips(const json_tree *value, const char *score)
{
    if (value->kind != JSON_OBJECT || !value->child) return false;
    const char *const chosen[] = {score, NULL};
    if (find_member(value, score ? chosen : score_words_score) ||
        (!score && find_member(value, score_words_plausibility)))
        return false;
    for (const json_tree *part = value->child; part; part = part->next)
        if (part->kind != JSON_OBJECT && !is_number_text(part->key)) return false;
    return true;
}

// {"name": score}, {"name": {"score": ..}}, {"group": {"possible": .., "impossible": ..}}, or
// {"block": {"scene": {"1": score}}}, whose clip is block/scene/1. The recursion ends because the
// depth of JSON is bounded.
static plumb_status read_names(score_table *out, arena *mem, const json_tree *object,
                               const char *folder, const char *path, const char *score)
{
    plumb_status st = PLUMB_OK;
    for (const json_tree *clip = object->child; clip && !st; clip = clip->next) {
        const char *name = join_names(mem, folder, clip->key);
        if (!name) return PLUMB_EMEMORY;
        if (find_side(clip, true)) {
            st = read_sides(out, mem, clip, name, path);
            continue;
        }
        if (holds_clips(clip, score)) {
            st = read_names(out, mem, clip, name, path, score);
            continue;
        }
        const char *possible = get_text(mem, clip, score_words_possible);
        score_row row = {.name = name,
                         .group = get_text(mem, clip, score_words_group),
                         .concept = get_text(mem, clip, score_words_concept),
                         .possible = possible ? score_parse_possible(possible) : -1,
                         .said = possible};
        st = read_scores(out, &row, mem, clip, score, path);
        if (!st) st = score_table_add(out, mem, &row);
    }
    return st;
}

// {"model": "..", "results": [..]}: the one list or object beside texts and numbers that describe
// the run. NULL if this is none.
static const json_tree *find_results(const json_tree *root)
{
    static const char *const words[] = {"results", "scores", "clips", "videos", "answers", NULL};
    const json_tree *inside = NULL;
    bool described = false;
    for (const json_tree *part = root->child; part; part = part->next) {
        if (part->kind != JSON_OBJECT && part->kind != JSON_ARRAY) {
            described = described || part->kind == JSON_STRING;
            continue;
        }
        if (inside) return NULL;
        inside = part;
    }
    if (!inside) return NULL;
    for (int i = 0; words[i]; i++)
        if (!strcmp(inside->key, words[i])) return inside;
    return described ? inside : NULL;
}

plumb_status score_json_read(score_table *out, arena *mem, const char *path,
                             const plumb_surprise_losses_options *opt)
{
    char *text = NULL;
    size_t size = 0;
    const json_tree *root = NULL;
    plumb_status st = input_file_read_all(&text, &size, mem, path, max_bytes);
    if (!st) st = json_tree_read(&root, mem, text, size, path);
    if (st) return st;
    const json_tree *scenes = json_tree_find(root, "scene_evaluations");
    if (scenes && scenes->kind == JSON_OBJECT) return read_likephys(out, mem, scenes, path);
    const json_tree *results = root->kind == JSON_OBJECT ? find_results(root) : NULL;
    if (results) root = results;
    if (root->kind == JSON_ARRAY) {
        int64_t at = 0;
        for (const json_tree *item = root->child; item && !st; item = item->next)
            st = read_object(out, mem, item, at++, path, opt);
        return st;
    }
    if (root->kind != JSON_OBJECT)
        return fail(PLUMB_EFORMAT, "%s: expected a list or an object", path);
    const json_tree *possible = find_side(root, true);
    if (possible && possible->kind == JSON_ARRAY) return read_two_lists(out, mem, root, path);
    return read_names(out, mem, root, "", path, opt->score);
}

plumb_status score_json_read_lines(score_table *out, arena *mem, const char *path,
                                   const plumb_surprise_losses_options *opt)
{
    char *text = NULL;
    size_t size = 0;
    int64_t at = 0;
    plumb_status st = input_file_read_all(&text, &size, mem, path, max_bytes);
    for (char *line = text; !st && line < text + size;) {
        const char *newline = memchr(line, '\n', (size_t)(text + size - line));
        const size_t length = newline ? (size_t)(newline - line) : (size_t)(text + size - line);
        const json_tree *object = NULL;
        if (strspn(line, " \t\r") < length) {
            st = json_tree_read(&object, mem, line, length, path);
            if (!st) st = read_object(out, mem, object, at++, path, opt);
        }
        line += length + 1;
    }
    return st;
}
