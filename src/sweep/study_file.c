// SPDX-License-Identifier: MIT
// Reads a study file. Each entry of "runs" is a block. A block has axes: the values of one setting,
// the variants, the draws. The runs of a block are all combinations of the values of its axes. The
// values of an axis that is written as a list become part of the names of the runs.
#define _GNU_SOURCE
#include "sweep/study_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input_file.h"
#include "base/spelling.h"
#include "base/text.h"
#include "io/yaml.h"
#include "math/rng.h"
#include "sweep/study_check.h"

enum { MAX_AXES = 64, NAME_SIZE = 200 };

// What the values of an axis are. This is the order of the nested loops over a block: the last axis
// varies fastest. Names of runs have their parts in the same order.
typedef enum axis_kind {
    AXIS_MODEL,
    AXIS_WORLD,
    AXIS_DATA,
    AXIS_PRESET,
    AXIS_STEPS,
    AXIS_SET,
    AXIS_VARIANT,
    AXIS_DRAW,
    AXIS_SEED,
    AXIS_KINDS,
} axis_kind;

static const char *const block_keys[] = {"model",    "world", "data", "preset",    "steps", "set",
                                         "variants", "draw",  "seed", "draw_seed", NULL};

// How the value of a setting is drawn.
typedef enum draw_kind { DRAW_NONE, DRAW_UNIFORM, DRAW_LOG, DRAW_INTEGER, DRAW_CHOOSE } draw_kind;
static const char *const draw_words[] = {"uniform", "log", "integer", "choose", NULL};

typedef struct study_axis {
    axis_kind kind;
    const char *name;   // of the setting; NULL for variants and draws
    const yaml *values; // a list, a value or a map of variants; NULL for draws
    int64_t count;      // of values
    bool listed;        // the value is part of the name of a run
    draw_kind draw;
    double low, high; // limits of a draw
} study_axis;

// An entry of "runs", with what it inherits from "defaults".
typedef struct run_block {
    study_file *study;
    int line; // of the entry, for messages
    int axis_count;
    study_axis axes[MAX_AXES];
    uint64_t draw_seed;
} run_block;

static plumb_status reject_line(const study_file *study, int line, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s:%d: %s", study->path, line, why);
}

// ---- axes ----

static const yaml *find_child(const yaml *map, const char *key)
{
    for (const yaml *child = map ? map->child : NULL; child; child = child->next)
        if (!strcmp(child->key, key)) return child;
    return NULL;
}

// Finds the axis of this kind and name, or adds one. So a block replaces what "defaults" gives.
static plumb_status place_axis(study_axis **out, run_block *block, axis_kind kind, const char *name,
                               int line)
{
    for (int i = 0; i < block->axis_count; i++)
        if (block->axes[i].kind == kind && (!name || !strcmp(block->axes[i].name, name))) {
            *out = &block->axes[i];
            return PLUMB_OK;
        }
    if (block->axis_count == MAX_AXES)
        return reject_line(block->study, line, "a block has at most 64 settings");
    *out = &block->axes[block->axis_count++];
    return PLUMB_OK;
}

static plumb_status read_number(double *out, const study_file *study, const yaml *node)
{
    char *end = NULL;
    *out = node->kind == YAML_VALUE ? text_parse_double(node->text, &end) : (double)NAN;
    if (!end || end == node->text || *end || !isfinite(*out))
        return reject_line(study, node->line, "expected a number");
    return PLUMB_OK;
}

// Reads how a setting is drawn: {log: [1e-4, 1e-2]}, {choose: [a, b]} and so on.
static plumb_status read_draw(study_axis *axis, const study_file *study, const yaml *node)
{
    const yaml *rule = node->child;
    if (!rule || rule->next)
        return reject_line(
            study, node->line,
            "a draw is one of uniform, log and integer with [from, to], or choose with a list");
    plumb_status st = study_check_key(study, rule, draw_words, "ways to draw");
    if (st) return st;
    for (int i = 0; draw_words[i]; i++)
        if (!strcmp(rule->key, draw_words[i])) axis->draw = (draw_kind)(i + 1);
    if (rule->kind != YAML_LIST || !rule->count)
        return reject_line(study, rule->line, "a draw needs a list");
    axis->values = rule;
    axis->count = 1;
    if (axis->draw == DRAW_CHOOSE) {
        for (const yaml *child = rule->child; child; child = child->next)
            if (child->kind != YAML_VALUE)
                return reject_line(study, child->line, "choose takes plain values");
        return PLUMB_OK;
    }
    if (rule->count != 2)
        return reject_line(study, rule->line, "a draw needs two numbers: [from, to]");
    st = read_number(&axis->low, study, rule->child);
    if (!st) st = read_number(&axis->high, study, rule->child->next);
    if (st) return st;
    if (axis->low >= axis->high)
        return reject_line(study, rule->line, "the second number must be greater than the first");
    if (axis->draw == DRAW_LOG && axis->low <= 0)
        return reject_line(study, rule->line, "limits of a log draw must be greater than 0");
    const double max_value = 1e15;
    if (axis->draw == DRAW_INTEGER &&
        (floor(axis->low) != axis->low || floor(axis->high) != axis->high ||
         fabs(axis->low) > max_value || fabs(axis->high) > max_value))
        return reject_line(study, rule->line, "limits of an integer draw must be whole numbers");
    return PLUMB_OK;
}

// Reads a value, a list of values or, for a setting, a draw.
static plumb_status read_axis(run_block *block, axis_kind kind, const char *name, const yaml *node)
{
    study_axis *axis = NULL;
    const study_file *study = block->study;
    plumb_status st = place_axis(&axis, block, kind, name, node->line);
    if (st) return st;
    // A plain value is an axis with one value.
    *axis = (study_axis){.kind = kind, .name = name, .values = node, .count = 1};
    if (node->kind == YAML_MAP) {
        if (kind != AXIS_SET)
            return reject_line(study, node->line, "takes a value or a list of values");
        return read_draw(axis, study, node);
    }
    if (node->kind == YAML_VALUE) return PLUMB_OK;
    if (!node->count) return reject_line(study, node->line, "the list is empty");
    if (node->count > STUDY_FILE_MAX_RUNS)
        return reject_line(study, node->line, "the list has too many values");
    axis->count = node->count;
    axis->listed = true;
    for (const yaml *child = node->child; child; child = child->next) {
        if (child->kind != YAML_VALUE)
            return reject_line(study, child->line, "expected a plain value");
        for (const yaml *d = node->child; d != child; d = d->next)
            if (!strcmp(child->text, d->text))
                return fail(PLUMB_EFORMAT, "%s:%d: the list has \"%.64s\" twice", study->path,
                            child->line, child->text);
    }
    return PLUMB_OK;
}

// Reads named groups of settings: a run takes one of them.
static plumb_status read_variants(run_block *block, const yaml *node)
{
    study_axis *axis = NULL;
    const study_file *study = block->study;
    if (node->kind != YAML_MAP || !node->count)
        return reject_line(study, node->line, "variants must be a map of names to settings");
    plumb_status st = place_axis(&axis, block, AXIS_VARIANT, NULL, node->line);
    if (st) return st;
    *axis =
        (study_axis){.kind = AXIS_VARIANT, .values = node, .count = node->count, .listed = true};
    for (const yaml *variant = node->child; variant; variant = variant->next) {
        if (!yaml_is_map(variant))
            return reject_line(study, variant->line, "a variant must be a map of settings, or {}");
        for (const yaml *child = variant->child; child; child = child->next)
            if (child->kind != YAML_VALUE)
                return reject_line(study, child->line, "a setting of a variant takes one value");
    }
    return PLUMB_OK;
}

// Reads "draw: N": every combination of the other axes is drawn N times.
static plumb_status read_draws(run_block *block, const yaml *node)
{
    study_axis *axis = NULL;
    int64_t count;
    plumb_status st = study_check_whole(&count, block->study, node, 1, STUDY_FILE_MAX_RUNS);
    if (!st) st = place_axis(&axis, block, AXIS_DRAW, NULL, node->line);
    if (!st) *axis = (study_axis){.kind = AXIS_DRAW, .count = count, .listed = true};
    return st;
}

// Adds the axes of a map to the block. `where` is the key that holds the map, for messages.
static plumb_status read_block(run_block *block, const yaml *node, const char *where)
{
    const study_file *study = block->study;
    if (node->kind != YAML_MAP) return reject_line(study, node->line, "expected a map of settings");
    plumb_status st = PLUMB_OK;
    for (const yaml *child = node->child; child && !st; child = child->next) {
        st = study_check_key(study, child, block_keys, where);
        if (st) return st;
        if (!strcmp(child->key, "set")) {
            if (!yaml_is_map(child))
                return reject_line(study, child->line, "set must be a map of settings");
            for (const yaml *setting = child->child; setting && !st; setting = setting->next)
                st = read_axis(block, AXIS_SET, setting->key, setting);
        } else if (!strcmp(child->key, "variants")) {
            st = read_variants(block, child);
        } else if (!strcmp(child->key, "draw")) {
            st = read_draws(block, child);
        } else if (!strcmp(child->key, "draw_seed")) {
            int64_t seed;
            st = study_check_whole(&seed, study, child, 0, INT64_MAX);
            if (!st) block->draw_seed = (uint64_t)seed;
        } else {
            static const struct {
                const char *key;
                axis_kind kind;
            } kinds[] = {{"model", AXIS_MODEL},   {"world", AXIS_WORLD}, {"data", AXIS_DATA},
                         {"preset", AXIS_PRESET}, {"steps", AXIS_STEPS}, {"seed", AXIS_SEED}};
            for (int i = 0; i < 6; i++)
                if (!strcmp(child->key, kinds[i].key))
                    st = read_axis(block, kinds[i].kind, child->key, child);
        }
    }
    return st;
}

static const study_axis *find_axis(const run_block *block, axis_kind kind)
{
    for (int i = 0; i < block->axis_count; i++)
        if (block->axes[i].kind == kind) return &block->axes[i];
    return NULL;
}

// Checks what a single axis cannot show: keys that are missing or exclude each other.
static plumb_status check_block(const run_block *block)
{
    const study_file *study = block->study;
    if (!find_axis(block, AXIS_MODEL))
        return reject_line(study, block->line, "this block has no model");
    const study_axis *world = find_axis(block, AXIS_WORLD), *data = find_axis(block, AXIS_DATA);
    if (!world && !data)
        return reject_line(study, block->line, "this block has neither a world nor data");
    if (world && data)
        return reject_line(study, data->values->line, "a world is given too; give one of the two");
    bool drawn = false;
    for (int i = 0; i < block->axis_count; i++) drawn = drawn || block->axes[i].draw;
    if (drawn && !find_axis(block, AXIS_DRAW))
        return reject_line(study, block->line, "a setting is drawn, but \"draw: N\" is missing");
    if (!drawn && find_axis(block, AXIS_DRAW))
        return reject_line(study, block->line, "\"draw\" is given, but nothing is drawn");
    return PLUMB_OK;
}

// ---- runs ----

// Value `index` of an axis that is not drawn.
static const yaml *get_value(const study_axis *axis, int64_t index)
{
    if (axis->values->kind == YAML_VALUE) return axis->values;
    const yaml *value = axis->values->child;
    while (index--) value = value->next;
    return value;
}

// The random stream of a setting. It depends on the name of the setting.
static uint64_t hash_name(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037); // FNV-1a
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash;
}

// The value of draw `index`. It is a function of the seed, the name of the setting and the index
// only, so that all models and worlds of a block get the same values.
static const char *draw_value(arena *mem, const study_axis *axis, uint64_t seed, int64_t index)
{
    char text[40];
    rng random = rng_at(seed, hash_name(axis->name));
    random.counter = (uint64_t)index * 16;
    if (axis->draw == DRAW_CHOOSE) {
        const yaml *chosen = axis->values->child;
        for (int64_t skip = rng_below(&random, axis->values->count); skip > 0; skip--)
            chosen = chosen->next;
        return chosen->text;
    }
    if (axis->draw == DRAW_INTEGER) {
        const int64_t low = (int64_t)axis->low, high = (int64_t)axis->high;
        snprintf(text, sizeof text, "%lld", (long long)(low + rng_below(&random, high - low + 1)));
    } else {
        const double u = rng_uniform(&random);
        text_format(text, sizeof text, "%.6g",
                    axis->draw == DRAW_LOG ? axis->low * pow(axis->high / axis->low, u)
                                           : axis->low + u * (axis->high - axis->low));
    }
    return arena_strdup(mem, text);
}

// Appends two texts to the name of a run. Characters that a directory name should not have become
// dashes.
static void append_name(char name[NAME_SIZE], const char *before, const char *text)
{
    size_t used = strlen(name);
    for (const char *parts[] = {before, text}, **p = parts; p < parts + 2; p++)
        for (const char *child = *p; *child && used < NAME_SIZE - 1; child++)
            name[used++] = isalnum((unsigned char)*child) || strchr("+-_.=", *child) ? *child : '-';
    name[used] = 0;
}

// The part of a path after the last slash.
static const char *get_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// Sets a setting of a run. A later value replaces an earlier one.
static void add_setting(study_run *run, const char *name, const char *value, int line)
{
    for (int64_t i = 0; i < run->setting_count; i++)
        if (!strcmp(run->settings[i].name, name)) {
            run->settings[i] = (study_setting){name, value, line};
            return;
        }
    run->settings[run->setting_count++] = (study_setting){name, value, line};
}

// Applies one value of one axis to a run. The axis of variants comes after those of "set", so a
// variant replaces a setting of "set".
static plumb_status apply_value(study_run *run, char name[NAME_SIZE], arena *mem,
                                const run_block *block, const study_axis *axis, int64_t index,
                                int64_t draw)
{
    char number[32];
    if (axis->kind == AXIS_DRAW) {
        snprintf(number, sizeof number, "%lld", (long long)index + 1);
        append_name(name, "-d", number);
        return PLUMB_OK;
    }
    if (axis->draw) {
        const char *value = draw_value(mem, axis, block->draw_seed, draw);
        if (!value) return PLUMB_EMEMORY;
        add_setting(run, axis->name, value, axis->values->line);
        return PLUMB_OK;
    }
    const yaml *node = get_value(axis, index);
    switch (axis->kind) {
    case AXIS_MODEL:
        run->model = node->text, run->model_line = node->line;
        append_name(name, "", node->text);
        break;
    case AXIS_WORLD:
        run->world = node->text, run->data_line = node->line;
        append_name(name, "-", node->text);
        break;
    case AXIS_DATA:
        run->data = node->text, run->data_line = node->line;
        append_name(name, "-", get_file_name(node->text));
        break;
    case AXIS_PRESET:
        run->preset = node->text, run->preset_line = node->line;
        if (axis->listed) append_name(name, "-", node->text);
        break;
    case AXIS_VARIANT:
        append_name(name, "-", node->key);
        for (const yaml *child = node->child; child; child = child->next)
            add_setting(run, child->key, child->text, child->line);
        break;
    case AXIS_SEED:
        add_setting(run, "seed", node->text, node->line);
        if (axis->listed) append_name(name, "-s", node->text);
        break;
    default: {
        const char *setting_name = axis->kind == AXIS_STEPS ? "steps" : axis->name;
        add_setting(run, setting_name, node->text, node->line);
        if (!axis->listed) break;
        append_name(name, "-", setting_name);
        append_name(name, "", node->text);
    }
    }
    return PLUMB_OK;
}

// Sorts the axes by kind. Settings keep the order of the file.
static void sort_axes(run_block *block)
{
    study_axis sorted[MAX_AXES];
    int n = 0;
    for (int kind = 0; kind < AXIS_KINDS; kind++)
        for (int i = 0; i < block->axis_count; i++)
            if ((int)block->axes[i].kind == kind) sorted[n++] = block->axes[i];
    memcpy(block->axes, sorted, (size_t)n * sizeof *sorted);
}

// The largest number of settings that a run of the block can have.
static int64_t count_settings(const run_block *block)
{
    int64_t max_value = 0, count = block->axis_count;
    const study_axis *variants = find_axis(block, AXIS_VARIANT);
    for (const yaml *variant = variants ? variants->values->child : NULL; variant;
         variant = variant->next)
        max_value = variant->count > max_value ? variant->count : max_value;
    return count + max_value;
}

// Makes the run that takes value index[i] of axis i.
static plumb_status make_run(study_run *run, study_file *study, const run_block *block,
                             const int64_t *index)
{
    char name[NAME_SIZE] = "";
    *run = (study_run){.line = block->line};
    run->settings = ARENA_ALLOC(&study->mem, study_setting, count_settings(block));
    if (!run->settings) return PLUMB_EMEMORY;
    int64_t draw = 0;
    for (int i = 0; i < block->axis_count; i++)
        if (block->axes[i].kind == AXIS_DRAW) draw = index[i];
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < block->axis_count && !st; i++)
        st = apply_value(run, name, &study->mem, block, &block->axes[i], index[i], draw);
    if (st) return st;
    if (strlen(name) >= NAME_SIZE - 1)
        return reject_line(study, block->line, "the name of a run has more than 198 characters");
    if (name[0] == '.' || name[0] == '-' || !name[0])
        return fail(PLUMB_EFORMAT, "%s:%d: \"%s\" is not a valid name of a run", study->path,
                    block->line, name);
    run->name = arena_strdup(&study->mem, name);
    return run->name ? PLUMB_OK : PLUMB_EMEMORY;
}

// The product of the numbers of values.
static plumb_status count_runs(int64_t *out, const run_block *block, int64_t before)
{
    *out = 1;
    for (int i = 0; i < block->axis_count; i++) {
        *out *= block->axes[i].count;
        if (*out + before > STUDY_FILE_MAX_RUNS)
            return fail(PLUMB_EFORMAT, "%s:%d: the study has more than %d runs", block->study->path,
                        block->line, STUDY_FILE_MAX_RUNS);
    }
    return PLUMB_OK;
}

// Room for more runs. It doubles, so that an arena of runs is at most twice as large as needed.
static plumb_status reserve_runs(study_file *study, int64_t more)
{
    const int64_t need = study->run_count + more;
    if (need <= study->run_room) return PLUMB_OK;
    const int64_t room = need > 2 * study->run_room ? need : 2 * study->run_room;
    study_run *runs = ARENA_ALLOC(&study->mem, study_run, room);
    if (!runs) return PLUMB_EMEMORY;
    if (study->run_count) memcpy(runs, study->runs, (size_t)study->run_count * sizeof *study->runs);
    study->runs = runs;
    study->run_room = room;
    return PLUMB_OK;
}

// Makes the runs of a block. `index` counts through all combinations like an odometer.
static plumb_status make_runs(study_file *study, run_block *block)
{
    int64_t count, index[MAX_AXES] = {0};
    sort_axes(block);
    plumb_status st = count_runs(&count, block, study->run_count);
    if (!st) st = reserve_runs(study, count);
    for (int64_t k = 0; k < count && !st; k++) {
        st = make_run(&study->runs[study->run_count], study, block, index);
        if (!st) study->run_count++;
        for (int i = block->axis_count - 1; i >= 0 && ++index[i] == block->axes[i].count; i--)
            index[i] = 0;
    }
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const study_run *const *)a)->name, (*(const study_run *const *)b)->name);
}

// Two runs may not have the same name, because the name is the directory.
static plumb_status check_names(study_file *study)
{
    const study_run **sorted = ARENA_ALLOC(&study->mem, const study_run *, study->run_count);
    if (!sorted) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < study->run_count; i++) sorted[i] = &study->runs[i];
    qsort(sorted, (size_t)study->run_count, sizeof *sorted, compare_names);
    for (int64_t i = 1; i < study->run_count; i++)
        if (!strcmp(sorted[i]->name, sorted[i - 1]->name))
            return fail(
                PLUMB_EFORMAT,
                "%s:%d: two runs are called %s; write what differs as a list or as variants, "
                "so that it becomes part of the name",
                study->path,
                sorted[i]->line > sorted[i - 1]->line ? sorted[i]->line : sorted[i - 1]->line,
                sorted[i]->name);
    return PLUMB_OK;
}

// ---- the file ----

static plumb_status read_study(study_file *study, const yaml *root)
{
    static const char *const keys[] = {"name", "defaults", "runs", "evaluate", NULL};
    if (!root || root->kind != YAML_MAP)
        return reject_line(study, root ? root->line : 1, "a study is a map with the key \"runs\"");
    plumb_status st = PLUMB_OK;
    for (const yaml *child = root->child; child && !st; child = child->next)
        st = study_check_key(study, child, keys, "a study");
    const yaml *name = find_child(root, "name"), *runs = find_child(root, "runs"),
               *defaults = find_child(root, "defaults"), *evaluate = find_child(root, "evaluate");
    if (st) return st;
    // The name of the study is that of the file, if it has no other.
    if (name && name->kind != YAML_VALUE)
        return reject_line(study, name->line, "name must be a text");
    study->name = name ? name->text : get_file_name(study->path);
    // The name goes into scripts and pages.
    for (const char *c = study->name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return reject_line(study, name ? name->line : 1,
                               "the name of the study has a control character");
    if (!runs || runs->kind != YAML_LIST || !runs->count)
        return reject_line(study, runs ? runs->line : root->line,
                           "\"runs\" must be a list of at least one map");
    for (const yaml *child = runs->child; child && !st; child = child->next) {
        run_block block = {.study = study, .line = child->line, .draw_seed = 1};
        if (defaults) st = read_block(&block, defaults, "defaults");
        if (!st) st = read_block(&block, child, "runs");
        if (!st) st = check_block(&block);
        if (!st) st = make_runs(study, &block);
    }
    if (!st) st = study_check_evaluate(study, evaluate);
    return st ? st : check_names(study);
}

plumb_status study_file_read(study_file *out, const char *text, size_t size, const char *path,
                             bool deep)
{
    yaml *root;
    *out = (study_file){.evaluate = plumb_evaluation_defaults(),
                        .symetric = plumb_symetric_defaults(),
                        .forecast = plumb_forecast_defaults(),
                        .kappa = plumb_kappa_defaults(),
                        .surprise = plumb_surprise_defaults()};
    out->path = arena_strdup(&out->mem, path);
    plumb_status st = out->path ? yaml_read(&root, &out->mem, text, size, path) : PLUMB_EMEMORY;
    if (!st) st = read_study(out, root);
    if (!st && deep) st = study_check_runs(out);
    if (st) study_file_clear(out);
    return st;
}

plumb_status study_file_open(study_file *out, const char *path)
{
    input_file in;
    arena mem = {0};
    plumb_status st = input_file_open(&in, path);
    if (st) return st;
    char *text = NULL;
    if (in.size > YAML_MAX_BYTES)
        st = fail(PLUMB_EFORMAT, "%s: has %lld bytes; a study has at most %d", path,
                  (long long)in.size, YAML_MAX_BYTES);
    else if (!(text = arena_alloc(&mem, in.size + 1, 1))) st = PLUMB_EMEMORY;
    else st = input_file_read(text, &in, 0, (size_t)in.size);
    if (!st) st = study_file_read(out, text, (size_t)in.size, path, true);
    input_file_close(&in);
    arena_clear(&mem);
    return st;
}

void study_file_clear(study_file *study)
{
    arena_clear(&study->mem);
}
