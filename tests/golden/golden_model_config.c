// SPDX-License-Identifier: MIT
// The configuration of a golden model: one key=value per line; every key must be known and used.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_literal.h"
#include "golden/golden_models.h"

enum { LINES = 32 };

typedef struct settings {
    golden_model *m;
    int count, wrong;
    const char *key[LINES];
    const literal *value[LINES];
    bool used[LINES];
} settings;

static void report_fault(settings *s, const char *key, const char *what)
{
    printf("%s: config: %s: %s\n", s->m->path, key, what);
    s->wrong++;
}

static char *text_of(golden_model *m, const char *name)
{
    plumb_array a;
    if (plumb_file_read_array(&a, m->file, name)) {
        printf("%s: %s\n", m->path, plumb_last_error());
        return NULL;
    }
    int64_t n = plumb_array_count(&a);
    char *text = arena_alloc(&m->mem, n + 1, 1);
    if (text) memcpy(text, a.data, (size_t)n);
    return text;
}

// Lines into `line`; their number, or -1 if there are more than `most`.
static int lines_of(char *text, char **line, int most)
{
    int count = 0;
    for (char *save, *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
        if (count == most) return -1;
        line[count++] = at;
    }
    return count;
}

static bool read_settings(settings *s)
{
    char *line[LINES], *text = text_of(s->m, "config");
    if (!text || (s->count = lines_of(text, line, LINES)) < 1) return false;
    for (int i = 0; i < s->count; i++) {
        char *equals = strchr(line[i], '=');
        if (!equals) {
            report_fault(s, line[i], "no value");
            return false;
        }
        *equals = 0;
        s->key[i] = line[i];
        s->value[i] = literal_read(&s->m->mem, equals + 1);
        if (!s->value[i]) report_fault(s, line[i], "not a literal");
    }
    return !s->wrong;
}

static const literal *get(settings *s, const char *key)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->key[i], key)) {
            s->used[i] = true;
            return s->value[i];
        }
    return NULL;
}

static double number(settings *s, const literal *x, const char *what, double fallback)
{
    if (!x) return fallback;
    if (x->kind != LITERAL_NUMBER) report_fault(s, what, "not a number");
    return x->number;
}

static int whole(settings *s, const literal *dict, const char *key)
{
    const literal *x = literal_find(dict, key);
    if (!x || x->kind != LITERAL_NUMBER || x->number != (int)x->number) {
        report_fault(s, key, "no whole number");
        return 0;
    }
    return (int)x->number;
}

static int64_t whole_line(settings *s, const char *key)
{
    const literal *x = get(s, key);
    if (!x) report_fault(s, key, "is missing");
    return (int64_t)number(s, x, key, 0);
}

static int choice(settings *s, const literal *x, const char *what, const char *const *names, int n)
{
    for (int i = 0; x && x->kind == LITERAL_TEXT && i < n; i++)
        if (!strcmp(x->text, names[i])) return i;
    report_fault(s, what, "not one of those we have");
    return 0;
}

static activation act(settings *s, const literal *dict)
{
    return (activation)choice(s, literal_find(dict, "activation"), "activation", activation_names,
                              ACTIVATIONS);
}

// Entry i of a list, or the number that stands for all of them.
static double entry(settings *s, const literal *x, int i, double fallback)
{
    if (x && x->kind == LITERAL_LIST) x = i < x->count ? x->item[i] : NULL;
    return number(s, x, "entry", fallback);
}

static op_padding padding(settings *s, const literal *list, int i)
{
    static const char *const names[] = {[OP_SAME] = "SAME", [OP_VALID] = "VALID"};
    if (!list) return OP_SAME;
    if (list->kind == LITERAL_TEXT) return (op_padding)choice(s, list, "padding", names, 2);
    if (list->kind != LITERAL_LIST || i >= list->count) {
        report_fault(s, "padding", "not as many as layers");
        return OP_SAME;
    }
    return (op_padding)choice(s, list->item[i], "padding", names, 2);
}

// The channels of block b: there must be as many as blocks.
static const literal *block_entry(settings *s, const literal *list, int b)
{
    static const literal none = {.kind = LITERAL_LIST};
    if (b < list->count) return list->item[b];
    report_fault(s, "conv_channels", "not as many as blocks");
    return &none;
}

static void encoder(settings *s, hgn_config *c, const literal *e)
{
    const literal *width = literal_find(e, "conv_channels");
    const literal *kernel = literal_find(e, "kernel_shapes"), *pads = literal_find(e, "padding");
    c->encoder_act = act(s, e);
    c->encoder_blocks = whole(s, e, "num_blocks");
    int depth = literal_find(e, "blocks_depth") ? whole(s, e, "blocks_depth") : 2;
    if (!width || c->encoder_blocks > HGN_MAX_BLOCKS || depth >= HGN_MAX_DEPTH) {
        report_fault(s, "enc", "too large");
        return;
    }
    for (int b = 0; b < c->encoder_blocks; b++) {
        hgn_block *block = &c->encoder[b];
        const literal *own = width->kind == LITERAL_LIST ? block_entry(s, width, b) : width;
        int listed = own->kind == LITERAL_LIST ? own->count : depth;
        if (listed >= HGN_MAX_DEPTH) {
            report_fault(s, "enc", "too deep");
            return;
        }
        *block = (hgn_block){.layers = listed + (b == c->encoder_blocks - 1)};
        for (int i = 0; i < block->layers; i++) {
            block->width[i] = (int64_t)entry(s, own, i, 0); // the very last is the model's choice
            block->kernel[i] = (int64_t)entry(s, kernel, i, 3);
            block->padding[i] = padding(s, pads, i);
        }
    }
}

static void decoder(settings *s, hgn_config *c, const literal *d)
{
    c->decoder_act = act(s, d);
    c->decoder_blocks = whole(s, d, "num_blocks");
    const literal *width = literal_find(d, "conv_channels");
    if (!width || c->decoder_blocks > HGN_MAX_BLOCKS) {
        report_fault(s, "dec", "too large");
        return;
    }
    // A number for all layers, or a list of lists: the layers of each block.
    for (int b = 0; b < c->decoder_blocks; b++) {
        const literal *own = width->kind == LITERAL_LIST ? block_entry(s, width, b) : width;
        c->decoder_depth[b] = own->kind == LITERAL_LIST         ? own->count
                              : literal_find(d, "blocks_depth") ? whole(s, d, "blocks_depth")
                                                                : 2;
        if (c->decoder_depth[b] > HGN_MAX_DEPTH) report_fault(s, "dec", "too deep");
        for (int i = 0; i < c->decoder_depth[b] && i < HGN_MAX_DEPTH; i++)
            c->decoder_width[b][i] = (int64_t)entry(s, own, i, 0);
    }
    c->decoder_input_channels = c->latent / 2;
}

static void energies(settings *s, hgn_config *c, const literal *n)
{
    const literal *type = get(s, "net_type");
    energy_net *e = &c->energy;
    *e = (energy_net){.conv = type && !strcmp(type->text, "conv"), .act = act(s, n)};
    // A list has no entry for the last layer, which gives the energy.
    const literal *width = literal_find(n, e->conv ? "conv_channels" : "num_units");
    e->layers = width && width->kind == LITERAL_LIST ? width->count + 1 : whole(s, n, "num_layers");
    if (!width || e->layers > ENERGY_MAX_LAYERS) report_fault(s, "net", "too large");
    c->state_layout = e->conv;
    for (int i = 0; i < e->layers && i < ENERGY_MAX_LAYERS; i++) {
        e->width[i] = (int64_t)entry(s, width, i, 0);
        if (!e->conv) continue;
        e->kernel[i] = (int64_t)entry(s, literal_find(n, "kernel_shapes"), i, 0);
        e->stride[i] = (int)entry(s, literal_find(n, "strides"), i, 0);
        e->padding[i] = padding(s, literal_find(n, "padding"), i);
    }
}

static void transform(settings *s, hgn_config *c)
{
    const literal *t = get(s, "lt");
    if (!t) return;
    c->transform_layers = literal_find(t, "num_layers") ? whole(s, t, "num_layers") : 0;
    const literal *width = literal_find(t, c->state_layout ? "conv_channels" : "num_units");
    // A list has no entry for the last layer, whose width is that of the state.
    if (width && width->kind == LITERAL_LIST) c->transform_layers = width->count + 1;
    if (!width || c->transform_layers > HGN_MAX_TRANSFORM) report_fault(s, "lt", "too large");
    for (int i = 0; i < c->transform_layers - 1 && i < HGN_MAX_TRANSFORM; i++)
        c->transform_width[i] = (int64_t)entry(s, width, i, 0);
    if (act(s, t) != c->encoder_act) report_fault(s, "lt", "another activation than the encoder's");
}

static void objective(settings *s, hgn_config *c)
{
    static const char *const names[] = {"ELBO", "GECO", "NON-PROB"};
    c->objective = (hgn_objective)choice(s, get(s, "obj"), "obj", names, HGN_OBJECTIVES);
    c->beta = number(s, get(s, "beta"), "beta", 1.0);
    c->geco_tolerance = number(s, get(s, "kappa"), "kappa", 0.001);
    c->geco_alpha = number(s, get(s, "alpha"), "alpha", 0.0);
}

static void configure(settings *s)
{
    golden_model *m = s->m;
    hgn_config *c = &m->c;
    *c = (hgn_config){.channels = 3, .integrator = "leap_frog", .substeps = 1};
    m->batch = whole_line(s, "batch");
    const literal *hw = get(s, "hw"), *both = get(s, "train"), *formula = get(s, "formula");
    c->height = (int64_t)entry(s, hw, 0, 0);
    c->width = (int64_t)entry(s, hw, 1, 0);
    c->window = whole_line(s, "inf");
    c->targets = whole_line(s, "tgt");
    c->latent = whole_line(s, "latent");
    c->split = (hgn_split)choice(s, get(s, "split"), "split", hgn_split_names, HGN_SPLITS);
    c->direction = both && !strcmp(both->text, "forward_backward");
    c->dt = number(s, get(s, "dt"), "dt", 0.125);
    energies(s, c, get(s, "net"));
    encoder(s, c, get(s, "enc"));
    decoder(s, c, get(s, "dec"));
    transform(s, c);
    objective(s, c);
    m->formula = formula && !strcmp(formula->text, "True");
    m->seed = (uint64_t)whole_line(s, "seed");
    m->steps = (int64_t)number(s, get(s, "steps"), "steps", 3);
    m->extra = (int64_t)number(s, get(s, "eval"), "eval", 0);
    m->rate = number(s, get(s, "lr"), "lr", 1.5e-4);
    for (int i = 0; i < s->count; i++)
        if (!s->used[i]) report_fault(s, s->key[i], "not known here");
}

static const double *numbers(golden_model *m, const char *name, int64_t want)
{
    int64_t count = 0;
    double *all = golden_read(&count, m->file, name);
    double *out = all && count == want ? ARENA_ALLOC(&m->mem, double, count) : NULL;
    if (out) memcpy(out, all, (size_t)count * sizeof *out);
    else
        printf("%s: %s has %lld numbers, wanted %lld\n", m->path, name, (long long)count,
               (long long)want);
    free(all);
    return out;
}

bool golden_model_read(golden_model *m, plumb_file *file, const char *path)
{
    *m = (golden_model){.file = file, .path = path};
    settings s = {.m = m};
    if (!read_settings(&s)) return false;
    configure(&s);
    if (s.wrong) return false;
    if (hgn_config_check(&m->c)) {
        printf("%s: %s\n", path, plumb_last_error());
        return false;
    }
    char *names = text_of(m, "names");
    m->names = names ? lines_of(names, (char **)m->name, GOLDEN_NAMES) : -1;
    m->times = hgn_frame_plan_make(&m->c);
    int64_t frame = hgn_frame_size(&m->c);
    int64_t places = m->c.state_layout ? hgn_map_height(&m->c) * hgn_map_width(&m->c) : 1;
    m->x = numbers(m, "x_u8", m->steps * m->batch * m->times.length * frame);
    m->noise = numbers(m, "eps", m->steps * m->batch * places * m->c.latent);
    return m->names > 0 && m->x && m->noise;
}
