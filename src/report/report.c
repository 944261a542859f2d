// SPDX-License-Identifier: MIT
// What a report is given: records found out by their keys, arrays by their names and shapes.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/output_file.h"
#include "base/status.h"
#include "plot/palette.h"
#include "report/report_model.h"

plumb_status plumb_report_create(plumb_report **out)
{
    plumb_report *r = calloc(1, sizeof *r);
    if (!r) return fail(PLUMB_EMEMORY, "no memory for a report");
    *out = r;
    return PLUMB_OK;
}

void plumb_report_free(plumb_report *r)
{
    if (!r) return;
    arena_clear(&r->mem);
    buffer_clear(&r->text);
    free(r);
}

report_model *report_model_find(plumb_report *r, const char *name)
{
    report_model **at = &r->first;
    for (; *at; at = &(*at)->next)
        if (!strcmp((*at)->name, name)) return *at;
    report_model *s = ARENA_ALLOC(&r->mem, report_model, 1);
    if (s) s->name = arena_strdup(&r->mem, name);
    if (!s || !s->name) return NULL;
    r->subjects++;
    return *at = s;
}

// ---- records ----

static void find_world(report_model *s, const char *name)
{
    const plumb_world *world;
    if (name && *name && !plumb_world_find(&world, name) &&
        plumb_world_get_info(world)->kind == PLUMB_WORLD_TRAJECTORY)
        s->world = plumb_world_get_info(world);
}

// True if something of it is known.
static bool take_record(report_model *s, const json_tree *t)
{
    bool known = false;
    if (json_tree_has(t, "settings") && json_tree_has(t, "training")) {
        s->config = t;
        find_world(s, json_tree_string(t, "data.world"));
        known = true;
    }
    if (json_tree_has(t, "train")) {
        s->train = json_tree_find(t, "train");
        known = true;
    }
    s->failed =
        json_tree_string(t, "failed"); // a later line of the same run without it takes that back
    known = known || s->failed;
    const json_tree *e = json_tree_has(t, "evaluate") ? json_tree_find(t, "evaluate") : t;
    if (json_tree_has(e, "pr") || json_tree_has(e, "concepts") || json_tree_has(e, "vpt_forward")) {
        s->evaluate = e;
        find_world(s, json_tree_string(e, "world"));
    }
    if (json_tree_has(e, "pr.r2")) s->measure = json_tree_find(e, "pr");
    if (json_tree_has(e, "mlp.r2")) s->mlp = json_tree_find(e, "mlp");
    if (json_tree_has(e, "forecast.vpt")) s->forecast = json_tree_find(e, "forecast");
    else if (json_tree_has(e, "vpt")) s->forecast = e;
    if (json_tree_has(e, "r2") && json_tree_has(e, "sym")) {
        const char *method = json_tree_string(e, "method");
        if (method && !strcmp(method, "mlp")) s->mlp = e;
        else s->measure = e;
    }
    if (json_tree_find(e, "canonical") || json_tree_find(e, "kappa")) s->own = e;
    if (json_tree_has(e, "scorers") || json_tree_has(e, "concepts")) s->surprise = e;
    return known || s->measure || s->mlp || s->forecast || s->surprise;
}

plumb_status plumb_report_add_record(plumb_report *r, const char *name, const char *text)
{
    const json_tree *t;
    const plumb_status st = json_tree_read(&t, &r->mem, text, strlen(text), name);
    if (st) return st;
    const json_tree *models = json_tree_find(t, "models"); // plumb demo: several in one
    bool known = false;
    for (const json_tree *m = models ? models->child : t; m; m = models ? m->next : NULL) {
        const char *own = json_tree_string(m, "name");
        report_model *s = report_model_find(r, models && own ? own : name);
        if (!s) return PLUMB_EMEMORY;
        known |= take_record(s, m);
    }
    return known ? PLUMB_OK
                 : fail(PLUMB_EFORMAT,
                        "%s: a record without r2 and sym, vpt, scorers or settings: not one of "
                        "plumb's",
                        name);
}

// ---- arrays ----

static const plumb_array *named(const plumb_named_array *a, int64_t count, const char *name,
                                int ndim)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(a[i].name, name) && a[i].array.ndim == ndim &&
            plumb_array_count(&a[i].array) > 0)
            return &a[i].array;
    return NULL;
}

static double *doubles(arena *mem, const plumb_array *a, int64_t count)
{
    double *out = ARENA_ALLOC(mem, double, count);
    if (out) plumb_array_to_double(out, a, 0, count);
    return out;
}

static double unit_of(const plumb_array *a)
{
    return a->dtype == PLUMB_UINT8 ? 1 / 255.0 : a->dtype == PLUMB_UINT16 ? 1 / 65535.0 : 1.0;
}

// The first `items` films of an array (.., steps, height, width, channels), as bytes.
static plumb_status take_film(report_video *out, arena *mem, const plumb_array *a, int64_t items)
{
    const int64_t *shape = a->shape + a->ndim - 4, channels = shape[3];
    const int64_t pixels = shape[1] * shape[2];
    if (shape[1] > 4096 || shape[2] > 4096)
        return fail(PLUMB_ESHAPE, "frames of %lld x %lld, at most 4096 x 4096 are drawn",
                    (long long)shape[1], (long long)shape[2]);
    report_video f = {.items = items, .steps = shape[0], .height = shape[1], .width = shape[2]};
    f.rgb = arena_alloc(mem, items * f.steps * pixels, 3);
    double *row = ARENA_ALLOC(mem, double, pixels *channels);
    if (!f.rgb || !row) return PLUMB_EMEMORY;
    const double scale = 255 * unit_of(a);
    uint8_t *to = f.rgb;
    for (int64_t k = 0; k < items * f.steps; k++) {
        plumb_array_to_double(row, a, k * pixels * channels, pixels * channels);
        for (int64_t i = 0; i < pixels; i++)
            for (int c = 0; c < 3; c++) {
                const double v = scale * row[i * channels + (channels < 3 ? 0 : c)];
                *to++ = (uint8_t)(v > 254.5 ? 255 : v > 0 ? v + 0.5 : 0); // NaN is black
            }
    }
    *out = f;
    return PLUMB_OK;
}

// e = sum (x - y)^2 / sum x^2 of each frame [Higgins21].
static plumb_status take_error(report_model *s, arena *mem, const plumb_array *x,
                               const plumb_array *y)
{
    const int64_t frame = x->shape[2] * x->shape[3] * x->shape[4];
    const int64_t count = s->frames.items * s->frames.steps;
    double *a = ARENA_ALLOC(mem, double, frame), *b = ARENA_ALLOC(mem, double, frame);
    double *error = ARENA_ALLOC(mem, double, count);
    if (!a || !b || !error) return PLUMB_EMEMORY;
    const double p = unit_of(x), q = unit_of(y);
    for (int64_t k = 0; k < count; k++) {
        double above = 0, below = 0;
        plumb_array_to_double(a, x, k * frame, frame);
        plumb_array_to_double(b, y, k * frame, frame);
        for (int64_t i = 0; i < frame; i++) {
            const double d = p * a[i] - q * b[i];
            above += d * d;
            below += p * a[i] * p * a[i];
        }
        error[k] = above / below;
    }
    s->error = error;
    return PLUMB_OK;
}

static plumb_status take_states(report_model *s, arena *mem, const plumb_array *latent,
                                const plumb_array *truth, const plumb_array *variance)
{
    if (latent->shape[0] != truth->shape[0] || latent->shape[1] < truth->shape[1] ||
        latent->shape[2] % 2 || truth->shape[2] % 2)
        return fail(PLUMB_ESHAPE,
                    "latent is (%lld, %lld, %lld), truth (%lld, %lld, %lld): want as many "
                    "trajectories and steps, and even last axes",
                    (long long)latent->shape[0], (long long)latent->shape[1],
                    (long long)latent->shape[2], (long long)truth->shape[0],
                    (long long)truth->shape[1], (long long)truth->shape[2]);
    const int64_t count = truth->shape[0], steps = truth->shape[1], m = latent->shape[2];
    s->count = count;
    s->steps = steps;
    s->latents = m;
    s->states = truth->shape[2];
    s->truth = doubles(mem, truth, plumb_array_count(truth));
    s->latent = ARENA_ALLOC(mem, double, count *steps *m);
    if (!s->truth || !s->latent) return PLUMB_EMEMORY;
    for (int64_t c = 0; c < count; c++) // latents longer in time are cut
        plumb_array_to_double(s->latent + c * steps * m, latent, c * latent->shape[1] * m,
                              steps * m);
    if (!variance || variance->shape[variance->ndim - 1] != m) return PLUMB_OK;
    const int64_t rows = plumb_array_count(variance) / m;
    double *all = doubles(mem, variance, rows * m);
    s->variance = ARENA_ALLOC(mem, double, m);
    if (!all || !s->variance) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows * m; i++) s->variance[i % m] += all[i] / (double)rows;
    return PLUMB_OK;
}

static plumb_status take_films(report_model *s, arena *mem, const plumb_array *frames,
                               const plumb_array *prediction)
{
    const int64_t most = 64 << 20; // bytes of film, or one film
    const int64_t one = plumb_array_count(frames) / frames->shape[0];
    int64_t items = frames->shape[0] < SUBJECT_ITEMS ? frames->shape[0] : SUBJECT_ITEMS;
    while (items > 1 && items * one > most) items--;
    plumb_status st = take_film(&s->frames, mem, frames, items);
    if (st || !prediction) return st;
    for (int i = 0; i < 5; i++)
        if (prediction->shape[i] != frames->shape[i])
            return fail(PLUMB_ESHAPE, "axis %d of the frames is %lld, of the prediction %lld", i,
                        (long long)frames->shape[i], (long long)prediction->shape[i]);
    st = take_film(&s->prediction, mem, prediction, items);
    return st ? st : take_error(s, mem, frames, prediction);
}

// The first tuple, over time.
static plumb_status take_tuple(report_model *s, arena *mem, const plumb_array *surprise,
                               const plumb_array *clips)
{
    if (surprise && surprise->shape[1] == 4) {
        s->moment_count = surprise->shape[2];
        s->moments = doubles(mem, surprise, 4 * s->moment_count);
        if (!s->moments) return PLUMB_EMEMORY;
    }
    return clips && clips->shape[1] == 4 ? take_film(&s->clips, mem, clips, 4) : PLUMB_OK;
}

plumb_status plumb_report_add_arrays(plumb_report *r, const char *name,
                                     const plumb_named_array *arrays, int64_t count)
{
    report_model *s = report_model_find(r, name);
    if (!s) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
#define ARRAY(name, ndim) named(arrays, count, name, ndim)
    const plumb_array *latent = ARRAY("latent", 3), *truth = ARRAY("truth", 3);
    const plumb_array *variance = ARRAY("variance", 2);
    if (!variance) variance = ARRAY("variance", 3);
    if (latent && truth) st = take_states(s, &r->mem, latent, truth, variance);
    const plumb_array *frames = ARRAY("frames", 5);
    if (!frames) frames = ARRAY("truth", 5);
    if (!st && frames) st = take_films(s, &r->mem, frames, ARRAY("prediction", 5));
    const plumb_array *traversal = ARRAY("traversal", 5);
    if (!st && traversal && traversal->shape[1] == 3)
        st = take_film(&s->traversal, &r->mem, traversal, traversal->shape[0]);
    const plumb_array *clips = ARRAY("frames", 6);
    if (!clips) clips = ARRAY("truth", 6);
    if (!st) st = take_tuple(s, &r->mem, ARRAY("surprise", 3), clips);
    const plumb_array *step = ARRAY("step", 1), *loss = ARRAY("loss", 1);
#undef ARRAY
    if (!st && step && loss && step->shape[0] == loss->shape[0]) {
        s->log_count = step->shape[0];
        s->log_step = doubles(&r->mem, step, s->log_count);
        s->log_loss = doubles(&r->mem, loss, s->log_count);
        if (!s->log_step || !s->log_loss) st = PLUMB_EMEMORY;
    }
    return st;
}

// ---- what figures ask ----

bool report_model_informative(const report_model *s, int64_t latent)
{
    const json_tree *used = json_tree_find(s->measure, "latents_used");
    if (used && used->child) {
        for (const json_tree *c = used->child; c; c = c->next)
            if ((int64_t)c->number == latent) return !s->variance || s->variance[latent] < 0.5;
        return false;
    }
    return !s->variance || s->variance[latent] < 0.5;
}

int64_t report_model_trained(const report_model *s)
{
    double ends[2];
    if (json_tree_doubles(ends, 2, s->forecast, "forward.vpt_frames") == 2) return (int64_t)ends[0];
    const double split = json_tree_double(s->forecast, "split");
    return split > 0 ? (int64_t)split : 0;
}

double report_model_vpt(const report_model *s)
{
    return json_tree_double(s->forecast, "vpt");
}

double report_model_vpt_frame(const report_model *s, int64_t item)
{
    if (!s->error || item >= s->frames.items) return (double)NAN;
    double bar = json_tree_double(s->forecast, "threshold");
    if (isnan(bar)) bar = 0.025;
    int64_t t = report_model_trained(s);
    while (t < s->frames.steps && !(s->error[item * s->frames.steps + t] > bar)) t++;
    return (double)t;
}

void report_model_picture(uint8_t *rgb, const report_model *s, const report_video *f, int64_t item,
                          int64_t step)
{
    const size_t row = (size_t)(3 * f->width);
    const uint8_t *from = f->rgb + (item * f->steps + step) * f->height * 3 * f->width;
    for (int64_t y = 0; y < f->height; y++) {
        const int64_t at = !s->world || s->world->upright ? y : f->height - 1 - y;
        memcpy(rgb + (size_t)y * row, from + (size_t)at * row, row);
    }
}

// ---- figures and pages ----

const figure *const figures[] = {
    &figure_models,     &figure_correlation, &figure_phase, &figure_trajectory, &figure_film,
    &figure_error,      &figure_traversal,   &figure_loss,  &figure_concepts,   &figure_surprise,
    &figure_uniformity, &figure_example,     NULL};

plumb_status figure_render(buffer *out, const figure *f, figure_kind kind, const plumb_report *r,
                           const report_model *s)
{
    arena mem = {0};
    drawing *k = NULL;
    const int64_t height = (int64_t)ceil(f->height(r, s));
    const drawing_color paper = drawing_rgb(PALETTE_PAPER);
    plumb_status st = kind == FIGURE_PNG   ? canvas_create(&k, FIGURE_WIDTH, height, paper)
                      : kind == FIGURE_SVG ? svg_create(&k, FIGURE_WIDTH, height, paper)
                                           : svg_create_inline(&k, FIGURE_WIDTH, height, f->title);
    if (!st) st = f->draw(k, &mem, r, s);
    if (!st) st = k->finish(out, k);
    if (k) k->free(k);
    arena_clear(&mem);
    return st;
}

// The model a figure is drawn of: the first that has enough for it. NULL if none has.
static bool find_subject(const report_model **out, const plumb_report *r, const figure *f)
{
    *out = NULL;
    if (f->all) return f->height(r, NULL) > 0;
    for (const report_model *s = r->first; s; s = s->next)
        if (f->height(r, s) > 0) {
            *out = s;
            return true;
        }
    return false;
}

int64_t plumb_report_figure_count(const plumb_report *r)
{
    const report_model *s;
    int64_t n = 0;
    for (int i = 0; figures[i]; i++) n += find_subject(&s, r, figures[i]);
    return n;
}

const char *plumb_report_figure_name(const plumb_report *r, int64_t index)
{
    const report_model *s;
    for (int i = 0; figures[i]; i++)
        if (find_subject(&s, r, figures[i]) && !index--) return figures[i]->name;
    return NULL;
}

const char *plumb_figure_name(int64_t index, const char **title)
{
    if (index < 0 || index >= (int64_t)(sizeof figures / sizeof *figures) - 1) return NULL;
    if (title) *title = figures[index]->title;
    return figures[index]->name;
}

static plumb_status draw(buffer *out, const plumb_report *r, const char *name, figure_kind kind)
{
    const report_model *s;
    char list[512] = "";
    for (int i = 0; figures[i]; i++) {
        const bool there = find_subject(&s, r, figures[i]);
        if (!strcmp(figures[i]->name, name) && there)
            return figure_render(out, figures[i], kind, r, s);
        const size_t used = strlen(list);
        if (there)
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", figures[i]->name);
    }
    for (int i = 0; figures[i]; i++)
        if (!strcmp(figures[i]->name, name))
            return fail(PLUMB_EVALUE, "there is not enough here to draw \"%s\"; there is for %s",
                        name, *list ? list : "none");
    return fail(PLUMB_EVALUE, "no figure \"%s\"; here are %s", name, *list ? list : "none");
}

static plumb_status save(const char *path, const buffer *bytes)
{
    if (bytes->failed) return fail(PLUMB_EMEMORY, "%s: out of memory", path);
    return output_file_write_all(path, bytes->data, bytes->size);
}

plumb_status plumb_report_save_figure(plumb_report *r, const char *name, const char *path)
{
    const char *suffix = strrchr(path, '.');
    const bool svg = suffix && !strcasecmp(suffix, ".svg");
    if (!svg && !(suffix && !strcasecmp(suffix, ".png")))
        return fail(PLUMB_EFILE, "%s: the name ends in neither .svg nor .png", path);
    buffer bytes = {0};
    plumb_status st = draw(&bytes, r, name, svg ? FIGURE_SVG : FIGURE_PNG);
    if (!st) st = save(path, &bytes);
    buffer_clear(&bytes);
    return st;
}

plumb_status plumb_report_figure_svg(const char **out, plumb_report *r, const char *name)
{
    buffer_reset(&r->text);
    plumb_status st = draw(&r->text, r, name, FIGURE_SVG);
    if (!st) buffer_put(&r->text, "", 1);
    if (!st && r->text.failed) st = fail(PLUMB_EMEMORY, "no memory for a figure");
    if (!st) *out = (const char *)r->text.data;
    return st;
}

plumb_status plumb_report_save(plumb_report *r, const char *path)
{
    buffer bytes = {0};
    if (!r->first) return fail(PLUMB_EVALUE, "%s: nothing to report on", path);
    plumb_status st = html_page_write(&bytes, r);
    if (!st) st = save(path, &bytes);
    buffer_clear(&bytes);
    return st;
}
