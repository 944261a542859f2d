// SPDX-License-Identifier: MIT
// Blocks of a study become axes, axes a grid, a grid runs.
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

enum { MOST_AXES = 64, NAME_ROOM = 200 };

// What a list of values is a list of. A grid goes through them in this order, the last first.
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
    AXES,
} axis_kind;

static const char *const block_keys[] = {"model",    "world", "data", "preset",    "steps", "set",
                                         "variants", "draw",  "seed", "draw_seed", NULL};

// How a number is drawn.
typedef enum draw_kind { DRAW_NONE, DRAW_UNIFORM, DRAW_LOG, DRAW_INTEGER, DRAW_CHOOSE } draw_kind;
static const char *const draw_words[] = {"uniform", "log", "integer", "choose", NULL};

typedef struct axis {
    axis_kind kind;
    const char *name;   // of a setting
    const yaml *values; // a list, a value, a map of variants; NULL for draws
    int64_t count;
    bool listed; // its value is part of a run's name
    draw_kind draw;
    double low, high;
} axis;

typedef struct block {
    study_file *study;
    int line;
    int axes;
    axis axis[MOST_AXES];
    uint64_t draw_seed;
} block;

static plumb_status refuse(const study_file *s, int line, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s:%d: %s", s->path, line, why);
}

plumb_status study_check_key(const study_file *s, const yaml *node, const char *const *keys,
                             const char *where)
{
    for (int i = 0; keys[i]; i++)
        if (!strcmp(keys[i], node->key)) return PLUMB_OK;
    const char *best = spelling_nearest(node->key, keys);
    return fail(PLUMB_EFORMAT, "%s:%d: there is no \"%.64s\" in %s; the nearest is \"%s\"", s->path,
                node->line, node->key, where, best ? best : "");
}

plumb_status study_check_whole(int64_t *out, const study_file *s, const yaml *node, int64_t low,
                               int64_t high)
{
    char *end;
    const long long value = node->kind == YAML_VALUE ? strtoll(node->text, &end, 10) : 0;
    if (node->kind != YAML_VALUE || end == node->text || *end || value < low || value > high)
        return fail(PLUMB_EFORMAT,
                    "%s:%d: \"%.64s\" takes a whole number from %lld to %lld, not \"%.64s\"",
                    s->path, node->line, node->key ? node->key : "it", (long long)low,
                    (long long)high, node->kind == YAML_VALUE ? node->text : "a list or a map");
    *out = value;
    return PLUMB_OK;
}

// ---- axes ----

static const yaml *find(const yaml *map, const char *key)
{
    for (const yaml *c = map ? map->child : NULL; c; c = c->next)
        if (!strcmp(c->key, key)) return c;
    return NULL;
}

// The axis of this kind and name, made if there is none: what a block says replaces the defaults.
static plumb_status place(axis **out, block *b, axis_kind kind, const char *name, int line)
{
    for (int i = 0; i < b->axes; i++)
        if (b->axis[i].kind == kind && (!name || !strcmp(b->axis[i].name, name))) {
            *out = &b->axis[i];
            return PLUMB_OK;
        }
    if (b->axes == MOST_AXES) return refuse(b->study, line, "has more than 64 settings");
    *out = &b->axis[b->axes++];
    return PLUMB_OK;
}

static plumb_status read_number(double *out, const study_file *s, const yaml *node)
{
    char *end = NULL;
    *out = node->kind == YAML_VALUE ? text_parse_double(node->text, &end) : (double)NAN;
    if (!end || end == node->text || *end || !isfinite(*out))
        return refuse(s, node->line, "a number should stand here");
    return PLUMB_OK;
}

// {log: [1e-4, 1e-2]} and its kin.
static plumb_status read_draw(axis *a, const study_file *s, const yaml *node)
{
    const yaml *how = node->child;
    if (!how || how->next)
        return refuse(s, node->line,
                      "is drawn one way: uniform, log or integer with [from, to], or choose with a "
                      "list");
    plumb_status st = study_check_key(s, how, draw_words, "ways to draw");
    if (st) return st;
    for (int i = 0; draw_words[i]; i++)
        if (!strcmp(how->key, draw_words[i])) a->draw = (draw_kind)(i + 1);
    if (how->kind != YAML_LIST || !how->count)
        return refuse(s, how->line, "what is drawn from is a list");
    a->values = how;
    a->count = 1;
    if (a->draw == DRAW_CHOOSE) {
        for (const yaml *c = how->child; c; c = c->next)
            if (c->kind != YAML_VALUE) return refuse(s, c->line, "what is chosen is a plain value");
        return PLUMB_OK;
    }
    if (how->count != 2) return refuse(s, how->line, "wants two numbers: [from, to]");
    st = read_number(&a->low, s, how->child);
    if (!st) st = read_number(&a->high, s, how->child->next);
    if (st) return st;
    if (a->low >= a->high) return refuse(s, how->line, "the second number must be the greater");
    if (a->draw == DRAW_LOG && a->low <= 0)
        return refuse(s, how->line, "numbers drawn on a log scale are greater than 0");
    const double most = 1e15;
    if (a->draw == DRAW_INTEGER && (floor(a->low) != a->low || floor(a->high) != a->high ||
                                    fabs(a->low) > most || fabs(a->high) > most))
        return refuse(s, how->line, "wants two whole numbers");
    return PLUMB_OK;
}

static plumb_status read_axis(block *b, axis_kind kind, const char *name, const yaml *node)
{
    axis *a = NULL;
    const study_file *s = b->study;
    plumb_status st = place(&a, b, kind, name, node->line);
    if (st) return st;
    *a = (axis){.kind = kind, .name = name, .values = node, .count = 1};
    if (node->kind == YAML_MAP) {
        if (kind != AXIS_SET) return refuse(s, node->line, "takes a value or a list of values");
        return read_draw(a, s, node);
    }
    if (node->kind == YAML_VALUE) return PLUMB_OK;
    if (!node->count) return refuse(s, node->line, "is an empty list");
    if (node->count > STUDY_FILE_MAX) return refuse(s, node->line, "is a list of too many values");
    a->count = node->count;
    a->listed = true;
    for (const yaml *c = node->child; c; c = c->next) {
        if (c->kind != YAML_VALUE) return refuse(s, c->line, "a plain value should stand here");
        for (const yaml *d = node->child; d != c; d = d->next)
            if (!strcmp(c->text, d->text))
                return fail(PLUMB_EFORMAT, "%s:%d: \"%.64s\" stands twice in a list", s->path,
                            c->line, c->text);
    }
    return PLUMB_OK;
}

static plumb_status read_variants(block *b, const yaml *node)
{
    axis *a = NULL;
    const study_file *s = b->study;
    if (node->kind != YAML_MAP || !node->count)
        return refuse(s, node->line, "variants are a map of names to settings");
    plumb_status st = place(&a, b, AXIS_VARIANT, NULL, node->line);
    if (st) return st;
    *a = (axis){.kind = AXIS_VARIANT, .values = node, .count = node->count, .listed = true};
    for (const yaml *v = node->child; v; v = v->next) {
        if (v->kind == YAML_LIST || (v->kind == YAML_VALUE && v->text[0]))
            return refuse(s, v->line, "a variant is a map of settings, or {}");
        for (const yaml *c = v->child; c; c = c->next)
            if (c->kind != YAML_VALUE)
                return refuse(s, c->line, "in a variant a setting has one value");
    }
    return PLUMB_OK;
}

static plumb_status read_draws(block *b, const yaml *node)
{
    axis *a = NULL;
    int64_t count;
    plumb_status st = study_check_whole(&count, b->study, node, 1, STUDY_FILE_MAX);
    if (!st) st = place(&a, b, AXIS_DRAW, NULL, node->line);
    if (!st) *a = (axis){.kind = AXIS_DRAW, .count = count, .listed = true};
    return st;
}

static plumb_status read_block(block *b, const yaml *node, const char *where)
{
    const study_file *s = b->study;
    if (node->kind != YAML_MAP) return refuse(s, node->line, "a map of settings should stand here");
    plumb_status st = PLUMB_OK;
    for (const yaml *c = node->child; c && !st; c = c->next) {
        st = study_check_key(s, c, block_keys, where);
        if (st) return st;
        if (!strcmp(c->key, "set")) {
            if (c->kind != YAML_MAP && c->text[0])
                return refuse(s, c->line, "set is a map of settings");
            for (const yaml *v = c->child; v && !st; v = v->next)
                st = read_axis(b, AXIS_SET, v->key, v);
        } else if (!strcmp(c->key, "variants")) {
            st = read_variants(b, c);
        } else if (!strcmp(c->key, "draw")) {
            st = read_draws(b, c);
        } else if (!strcmp(c->key, "draw_seed")) {
            int64_t seed;
            st = study_check_whole(&seed, s, c, 0, INT64_MAX);
            if (!st) b->draw_seed = (uint64_t)seed;
        } else {
            static const struct {
                const char *key;
                axis_kind kind;
            } kinds[] = {{"model", AXIS_MODEL},   {"world", AXIS_WORLD}, {"data", AXIS_DATA},
                         {"preset", AXIS_PRESET}, {"steps", AXIS_STEPS}, {"seed", AXIS_SEED}};
            for (int i = 0; i < 6; i++)
                if (!strcmp(c->key, kinds[i].key)) st = read_axis(b, kinds[i].kind, c->key, c);
        }
    }
    return st;
}

static const axis *axis_of(const block *b, axis_kind kind)
{
    for (int i = 0; i < b->axes; i++)
        if (b->axis[i].kind == kind) return &b->axis[i];
    return NULL;
}

static plumb_status check_block(const block *b)
{
    const study_file *s = b->study;
    if (!axis_of(b, AXIS_MODEL)) return refuse(s, b->line, "these runs have no model");
    const axis *world = axis_of(b, AXIS_WORLD), *data = axis_of(b, AXIS_DATA);
    if (!world && !data) return refuse(s, b->line, "these runs have neither a world nor data");
    if (world && data)
        return refuse(s, data->values->line, "a world is given too; give one of the two");
    bool drawn = false;
    for (int i = 0; i < b->axes; i++) drawn = drawn || b->axis[i].draw;
    if (drawn && !axis_of(b, AXIS_DRAW))
        return refuse(s, b->line, "something is drawn; \"draw: N\" says how often");
    if (!drawn && axis_of(b, AXIS_DRAW))
        return refuse(s, b->line, "\"draw\" is given, and nothing is drawn");
    return PLUMB_OK;
}

// ---- runs ----

static const yaml *value_at(const axis *a, int64_t index)
{
    if (a->values->kind == YAML_VALUE) return a->values;
    const yaml *v = a->values->child;
    while (index--) v = v->next;
    return v;
}

static uint64_t stream_of(const char *name)
{
    uint64_t h = UINT64_C(14695981039346656037); // FNV-1a
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return h;
}

// The value of draw `index`: a function of the seed, the setting's name and the index alone, so
// that all models and worlds of a block are given the same ones.
static const char *drawn_value(arena *mem, const axis *a, uint64_t seed, int64_t index)
{
    char text[40];
    rng r = rng_at(seed, stream_of(a->name));
    r.counter = (uint64_t)index * 16;
    if (a->draw == DRAW_CHOOSE) {
        const yaml *v = a->values->child;
        for (int64_t k = rng_below(&r, a->values->count); k > 0; k--) v = v->next;
        return v->text;
    }
    if (a->draw == DRAW_INTEGER) {
        const int64_t low = (int64_t)a->low, high = (int64_t)a->high;
        snprintf(text, sizeof text, "%lld", (long long)(low + rng_below(&r, high - low + 1)));
    } else {
        const double u = rng_uniform(&r);
        text_format(text, sizeof text, "%.6g",
                    a->draw == DRAW_LOG ? a->low * pow(a->high / a->low, u)
                                        : a->low + u * (a->high - a->low));
    }
    return arena_strdup(mem, text);
}

static void put_name(char name[NAME_ROOM], const char *before, const char *text)
{
    size_t used = strlen(name);
    for (const char *parts[] = {before, text}, **p = parts; p < parts + 2; p++)
        for (const char *c = *p; *c && used < NAME_ROOM - 1; c++)
            name[used++] = isalnum((unsigned char)*c) || strchr("+-_.=", *c) ? *c : '-';
    name[used] = 0;
}

static const char *short_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// What comes later takes the place of what was there.
static void add_setting(study_run *r, const char *name, const char *value, int line)
{
    for (int64_t i = 0; i < r->sets; i++)
        if (!strcmp(r->set[i].name, name)) {
            r->set[i] = (study_setting){name, value, line};
            return;
        }
    r->set[r->sets++] = (study_setting){name, value, line};
}

// One value of one axis into a run. Settings of variants come behind those of "set", and win.
static plumb_status apply(study_run *r, char name[NAME_ROOM], arena *mem, const block *b,
                          const axis *a, int64_t index, int64_t draw)
{
    char number[32];
    if (a->kind == AXIS_DRAW) {
        snprintf(number, sizeof number, "%lld", (long long)index + 1);
        put_name(name, "-d", number);
        return PLUMB_OK;
    }
    if (a->draw) {
        const char *value = drawn_value(mem, a, b->draw_seed, draw);
        if (!value) return PLUMB_EMEMORY;
        add_setting(r, a->name, value, a->values->line);
        return PLUMB_OK;
    }
    const yaml *v = value_at(a, index);
    switch (a->kind) {
    case AXIS_MODEL:
        r->model = v->text, r->model_line = v->line;
        put_name(name, "", v->text);
        break;
    case AXIS_WORLD:
        r->world = v->text, r->where_line = v->line;
        put_name(name, "-", v->text);
        break;
    case AXIS_DATA:
        r->data = v->text, r->where_line = v->line;
        put_name(name, "-", short_file(v->text));
        break;
    case AXIS_PRESET:
        r->preset = v->text, r->preset_line = v->line;
        if (a->listed) put_name(name, "-", v->text);
        break;
    case AXIS_VARIANT:
        put_name(name, "-", v->key);
        for (const yaml *c = v->child; c; c = c->next) add_setting(r, c->key, c->text, c->line);
        break;
    case AXIS_SEED:
        add_setting(r, "seed", v->text, v->line);
        if (a->listed) put_name(name, "-s", v->text);
        break;
    default: {
        const char *what = a->kind == AXIS_STEPS ? "steps" : a->name;
        add_setting(r, what, v->text, v->line);
        if (!a->listed) break;
        put_name(name, "-", what);
        put_name(name, "", v->text);
    }
    }
    return PLUMB_OK;
}

// By kind; settings keep the order of the file.
static void sort_axes(block *b)
{
    axis sorted[MOST_AXES];
    int n = 0;
    for (int kind = 0; kind < AXES; kind++)
        for (int i = 0; i < b->axes; i++)
            if ((int)b->axis[i].kind == kind) sorted[n++] = b->axis[i];
    memcpy(b->axis, sorted, (size_t)n * sizeof *sorted);
}

static int64_t settings_of(const block *b)
{
    int64_t most = 0, count = b->axes;
    const axis *variants = axis_of(b, AXIS_VARIANT);
    for (const yaml *v = variants ? variants->values->child : NULL; v; v = v->next)
        most = v->count > most ? v->count : most;
    return count + most;
}

static plumb_status make_run(study_run *r, study_file *s, const block *b, const int64_t *index)
{
    char name[NAME_ROOM] = "";
    *r = (study_run){.line = b->line};
    r->set = ARENA_ALLOC(&s->mem, study_setting, settings_of(b));
    if (!r->set) return PLUMB_EMEMORY;
    int64_t draw = 0;
    for (int i = 0; i < b->axes; i++)
        if (b->axis[i].kind == AXIS_DRAW) draw = index[i];
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < b->axes && !st; i++)
        st = apply(r, name, &s->mem, b, &b->axis[i], index[i], draw);
    if (st) return st;
    if (strlen(name) >= NAME_ROOM - 1)
        return refuse(s, b->line, "the name of a run is longer than 198 letters");
    if (name[0] == '.' || name[0] == '-' || !name[0])
        return fail(PLUMB_EFORMAT, "%s:%d: a run cannot be called \"%s\"", s->path, b->line, name);
    r->name = arena_strdup(&s->mem, name);
    return r->name ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status count_runs(int64_t *out, const block *b, int64_t before)
{
    *out = 1;
    for (int i = 0; i < b->axes; i++) {
        *out *= b->axis[i].count;
        if (*out + before > STUDY_FILE_MAX)
            return fail(PLUMB_EFORMAT, "%s:%d: these are more than %d runs", b->study->path,
                        b->line, STUDY_FILE_MAX);
    }
    return PLUMB_OK;
}

static plumb_status make_runs(study_file *s, block *b)
{
    int64_t count, index[MOST_AXES] = {0};
    sort_axes(b);
    plumb_status st = count_runs(&count, b, s->count);
    for (int64_t k = 0; k < count && !st; k++) {
        st = make_run(&s->run[s->count], s, b, index);
        if (!st) s->count++;
        for (int i = b->axes - 1; i >= 0 && ++index[i] == b->axis[i].count; i--) index[i] = 0;
    }
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const study_run *const *)a)->name, (*(const study_run *const *)b)->name);
}

static plumb_status check_names(study_file *s)
{
    const study_run **sorted = ARENA_ALLOC(&s->mem, const study_run *, s->count);
    if (!sorted) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->count; i++) sorted[i] = &s->run[i];
    qsort(sorted, (size_t)s->count, sizeof *sorted, by_name);
    for (int64_t i = 1; i < s->count; i++)
        if (!strcmp(sorted[i]->name, sorted[i - 1]->name))
            return fail(PLUMB_EFORMAT,
                        "%s:%d: two runs are called %s; write as a list what differs, or use "
                        "variants, so that it is part of the name",
                        s->path,
                        sorted[i]->line > sorted[i - 1]->line ? sorted[i]->line
                                                              : sorted[i - 1]->line,
                        sorted[i]->name);
    return PLUMB_OK;
}

// ---- the file ----

static plumb_status read_study(study_file *s, const yaml *root)
{
    static const char *const keys[] = {"name", "defaults", "runs", "evaluate", NULL};
    if (!root || root->kind != YAML_MAP)
        return refuse(s, root ? root->line : 1, "a study is a map with \"runs\" in it");
    plumb_status st = PLUMB_OK;
    for (const yaml *c = root->child; c && !st; c = c->next)
        st = study_check_key(s, c, keys, "a study");
    const yaml *name = find(root, "name"), *runs = find(root, "runs"),
               *common = find(root, "defaults"), *evaluate = find(root, "evaluate");
    if (st) return st;
    if (name && name->kind != YAML_VALUE) return refuse(s, name->line, "name is a text");
    s->name = name ? name->text : short_file(s->path);
    if (!runs || runs->kind != YAML_LIST || !runs->count)
        return refuse(s, runs ? runs->line : root->line, "\"runs\" is a list of at least one map");
    s->run = ARENA_ALLOC(&s->mem, study_run, STUDY_FILE_MAX);
    if (!s->run) return PLUMB_EMEMORY;
    for (const yaml *c = runs->child; c && !st; c = c->next) {
        block b = {.study = s, .line = c->line, .draw_seed = 1};
        if (common) st = read_block(&b, common, "defaults");
        if (!st) st = read_block(&b, c, "runs");
        if (!st) st = check_block(&b);
        if (!st) st = make_runs(s, &b);
    }
    if (!st) st = study_check_evaluate(s, evaluate);
    return st ? st : check_names(s);
}

plumb_status study_file_read(study_file *out, const char *text, size_t size, const char *path,
                             bool deep)
{
    yaml *root;
    *out = (study_file){.evaluate = plumb_evaluation_defaults(),
                        .symetric = plumb_symetric_defaults(),
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
        st = fail(PLUMB_EFORMAT, "%s: is %lld bytes long, a study at most %d", path,
                  (long long)in.size, YAML_MAX_BYTES);
    else if (!(text = arena_alloc(&mem, in.size + 1, 1))) st = PLUMB_EMEMORY;
    else st = input_file_read(text, &in, 0, (size_t)in.size);
    if (!st) st = study_file_read(out, text, (size_t)in.size, path, true);
    input_file_close(&in);
    arena_clear(&mem);
    return st;
}

void study_file_clear(study_file *s)
{
    arena_clear(&s->mem);
}
