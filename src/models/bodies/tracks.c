// SPDX-License-Identifier: MIT
// Tracks in units of length, and first guesses from their geometry.
#include "models/bodies/tracks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "math/stats.h"

void tracks_to_units(double *xy, int64_t steps, const bodies_config *config)
{
    const int n = 2 * config->objects;
    for (int64_t t = 0; t < steps; t++)
        for (int i = 0; i < n; i++) {
            double *at = xy + t * n + i;
            *at = (*at - config->middle[i % 2]) / config->pixels;
            if (config->box > 0.0 && t)
                *at -= config->box * nearbyint((*at - at[-n]) / config->box);
        }
}

void tracks_to_pixels(double *xy, const bodies_config *config)
{
    for (int i = 0; i < 2 * config->objects; i++) {
        if (config->box > 0.0) xy[i] -= config->box * floor((xy[i] + 1.0) / config->box);
        xy[i] = xy[i] * config->pixels + config->middle[i % 2];
    }
}

// Algebraic fit: x^2 + y^2 = 2 a x + 2 b y + c is linear in a, b, c.
track_circle tracks_fit_circle(const double *xy, int64_t steps, int stride)
{
    double normal[9] = {0}, right[3] = {0}, sum = 0.0, square = 0.0;
    for (int64_t t = 0; t < steps; t++) {
        const double *p = xy + t * stride, row[3] = {2.0 * p[0], 2.0 * p[1], 1.0};
        for (int i = 0; i < 3; i++) {
            right[i] += row[i] * (p[0] * p[0] + p[1] * p[1]);
            for (int k = 0; k < 3; k++) normal[3 * i + k] += row[i] * row[k];
        }
    }
    for (int i = 0; i < 3; i++) normal[4 * i] += 1e-12 * (double)steps;
    if (!cholesky_small_factor(normal, 3, 0.0)) return (track_circle){.residual = 1e9};
    cholesky_small_solve(right, normal, 3, 1);
    track_circle circle = {.x = right[0], .y = right[1]};
    for (int64_t t = 0; t < steps; t++) {
        const double r = hypot(xy[t * stride] - circle.x, xy[t * stride + 1] - circle.y);
        sum += r;
        square += r * r;
    }
    circle.radius = sum / (double)steps;
    circle.residual = sqrt(fmax(square / (double)steps - circle.radius * circle.radius, 0.0));
    return circle;
}

// Standard deviation of the distance of an object from a point.
static double spread_about(const double *xy, int64_t steps, int stride, const double *centre)
{
    double sum = 0.0, square = 0.0;
    for (int64_t t = 0; t < steps; t++) {
        const double r = hypot(xy[t * stride] - centre[0], xy[t * stride + 1] - centre[1]);
        sum += r;
        square += r * r;
    }
    sum /= (double)steps;
    return square / (double)steps - sum * sum;
}

bool tracks_order_chain(double *xy, int64_t steps, const double *pivot)
{
    double spread[2];
    for (int k = 0; k < 2; k++)
        spread[k] = pivot ? spread_about(xy + 2 * k, steps, 4, pivot)
                          : tracks_fit_circle(xy + 2 * k, steps, 4).residual;
    if (!(spread[1] < spread[0])) return false;
    for (int64_t t = 0; t < steps; t++)
        for (int c = 0; c < 2; c++) {
            const double keep = xy[4 * t + c];
            xy[4 * t + c] = xy[4 * t + 2 + c];
            xy[4 * t + 2 + c] = keep;
        }
    return true;
}

// The median centre of the inner objects whose circles are clearly better than those of the outer.
static plumb_status find_pivot(double pivot[2], const bodies_tracks *tracks, arena *mem)
{
    const arena_mark mark = arena_get_mark(mem);
    double *x = ARENA_ALLOC(mem, double, tracks->count),
           *y = ARENA_ALLOC(mem, double, tracks->count);
    if (!x || !y) return PLUMB_EMEMORY;
    int64_t found = 0;
    for (int64_t i = 0; i < tracks->count; i++) {
        const double *xy = tracks->xy + i * tracks->steps * 4;
        const track_circle a = tracks_fit_circle(xy, tracks->steps, 4),
                           b = tracks_fit_circle(xy + 2, tracks->steps, 4);
        const track_circle *best = a.residual < b.residual ? &a : &b;
        if (best->residual > 0.2 * fmax(a.residual, b.residual)) continue;
        x[found] = best->x;
        y[found++] = best->y;
    }
    pivot[0] = found ? stats_median(x, found) : 0.0;
    pivot[1] = found ? stats_median(y, found) : 0.0;
    arena_rewind(mem, mark);
    return found ? PLUMB_OK
                 : fail(PLUMB_EVALUE,
                        "no object moves on a circle, so they do not hang on a chain; use "
                        "structure=points");
}

// Puts the inner object first in all trajectories.
static plumb_status order_objects(bodies_tracks *tracks, const bodies_config *config, arena *mem)
{
    double pivot[2];
    const plumb_status st = config->constants ? PLUMB_OK : find_pivot(pivot, tracks, mem);
    for (int64_t i = 0; i < tracks->count && !st; i++)
        if (tracks_order_chain(tracks->xy + i * tracks->steps * 4, tracks->steps,
                               config->constants ? NULL : pivot)) {
            const double keep = tracks->radius[2 * i];
            tracks->radius[2 * i] = tracks->radius[2 * i + 1];
            tracks->radius[2 * i + 1] = keep;
            sprites_exchange(tracks->looks + 2 * i);
        }
    return st;
}

// ---- which videos are used ----

// Videos that are drawn badly, and why.
typedef struct lost_videos {
    int64_t total;
    int64_t left;     // an object was last seen at the edge of the picture
    int64_t vanished; // or within it
} lost_videos;

// Median mass of each object over all frames.
static plumb_status find_usual_mass(double *usual, const track_set *seen, arena *mem)
{
    const int64_t frames = seen->count * seen->steps;
    const arena_mark mark = arena_get_mark(mem);
    double *values = ARENA_ALLOC(mem, double, frames);
    if (!values) return PLUMB_EMEMORY;
    for (int k = 0; k < seen->objects; k++) {
        for (int64_t n = 0; n < frames; n++) values[n] = seen->mass[n * seen->objects + k];
        usual[k] = stats_median(values, frames);
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// Whether a place is at the edge of the picture: its disc reaches across it.
static bool is_at_edge(const double *xy, double radius, const bodies_config *config)
{
    for (int c = 0; c < 2; c++) {
        const double most = 2.0 * config->middle[c], margin = radius + 2.0;
        if (xy[c] < margin || xy[c] > most - margin) return true;
    }
    return false;
}

// Whether an object is as far outside of the picture as one is looked for: its place is not known.
static bool is_outside(const double *xy, const bodies_config *config)
{
    bool outside = false;
    for (int c = 0; c < 2 && !config->periodic; c++)
        outside = outside || xy[c] <= -PERCEPTION_MARGIN ||
                  xy[c] >= 2.0 * config->middle[c] + PERCEPTION_MARGIN;
    return outside;
}

// Whether object k of frame n may be behind another one.
static bool is_hidden(const track_set *seen, int64_t n, int k)
{
    const int K = seen->objects;
    const double *xy = seen->xy + n * 2 * K;
    for (int j = 0; j < K; j++) {
        const double reach = seen->looks[n / seen->steps * K + j].radius + 1.0;
        if (j != k && hypot(xy[2 * j] - xy[2 * k], xy[2 * j + 1] - xy[2 * k + 1]) < reach)
            return true;
    }
    return false;
}

// Whether the pixels of object k are gone from frame n.
static bool is_gone(const track_set *seen, const double *usual, int64_t n, int k)
{
    return seen->mass[n * seen->objects + k] < 0.05 * usual[k];
}

// Asks of one video what became of an object whose pixels are gone: where was it last?
static void explain_loss(lost_videos *lost, const track_set *seen, const double *usual,
                         int64_t item, const bodies_config *config)
{
    bool left = false, vanished = false;
    const int K = seen->objects;
    for (int k = 0; k < K; k++) {
        int64_t last = -1, gone = -1;
        bool outside = false;
        for (int64_t t = 0; t < seen->steps; t++) {
            const bool there = seen->mass[(item * seen->steps + t) * K + k] > 0.3 * usual[k];
            if (there && gone < 0) last = t;
            if (!there && gone < 0) gone = t;
            outside =
                outside || is_outside(seen->xy + ((item * seen->steps + t) * K + k) * 2, config);
        }
        left = left || outside;
        if (gone < 0 || last < 0) continue;
        const bool edge = is_at_edge(seen->xy + ((item * seen->steps + last) * K + k) * 2,
                                     seen->looks[item * K + k].radius, config);
        left = left || edge;
        vanished = vanished || !edge;
    }
    lost->total++;
    lost->left += left;
    lost->vanished += vanished && !left;
}

// Whether an object is lost in a frame of a video, or a frame has a large error. Small objects are
// lost without a large error. Where an object is behind another one less is large: videos without
// it have spoilt its look, and so the median.
static bool is_drawn_badly(const track_set *seen, const double *usual, int64_t item, double median,
                           const bodies_config *config)
{
    const int K = seen->objects;
    for (int64_t n = item * seen->steps; n < (item + 1) * seen->steps; n++) {
        bool gone = false;
        for (int k = 0; k < K; k++) {
            if (is_outside(seen->xy + (n * K + k) * 2, config)) return true;
            if (!is_gone(seen, usual, n, k)) continue;
            gone = true;
            if (!is_hidden(seen, n, k)) return true;
        }
        if (seen->error[n] > fmax(3e-4, (gone ? 2.0 : 20.0) * median)) return true;
    }
    return false;
}

// ", because .." or nothing.
static void describe_losses(char *text, size_t size, const lost_videos *lost)
{
    text[0] = 0;
    if (lost->left && lost->left >= lost->vanished)
        snprintf(text, size, ": in %lld of them an object leaves the picture",
                 (long long)lost->left);
    else if (lost->vanished)
        snprintf(text, size,
                 ": in %lld of them an object changes its colour, or vanishes within the picture",
                 (long long)lost->vanished);
}

// Says which assumption the videos do not meet.
static plumb_status judge_tracks(const bodies_tracks *used, const track_set *seen,
                                 const lost_videos *lost, double median,
                                 const bodies_config *config)
{
    char reason[160];
    describe_losses(reason, sizeof reason, lost);
    if (median > 1e-3 || 2 * used->count < seen->count)
        return fail(PLUMB_EVALUE,
                    "%d %s not explain the frames: their squared error is %.2g (median), and %lld "
                    "of %lld videos are drawn badly%s; this model is for a fixed number of round "
                    "objects before a background at rest%s",
                    seen->objects, config->profile ? "round objects do" : "discs of flat colour do",
                    median, (long long)lost->total, (long long)seen->count, reason,
                    config->constants ? ""
                                      : "; if objects share a colour, set colours; if they differ "
                                        "between videos, use a preset with constants");
    if (lost->total)
        status_log("%lld of %lld videos are not used, objects were lost in them%s",
                   (long long)lost->total, (long long)seen->count, reason);
    return PLUMB_OK;
}

plumb_status tracks_make(bodies_tracks *out, arena *mem, const track_set *seen,
                         const bodies_config *config)
{
    const int64_t size = seen->steps * 2 * seen->objects;
    double usual[SPRITES_MAX];
    lost_videos lost = {0};
    *out = (bodies_tracks){.steps = seen->steps};
    out->xy = ARENA_ALLOC(mem, double, seen->count *size);
    out->radius = ARENA_ALLOC(mem, double, seen->count * seen->objects);
    out->looks = ARENA_ALLOC(mem, sprite, seen->count * seen->objects);
    out->video = ARENA_ALLOC(mem, int64_t, seen->count);
    double *sorted = ARENA_ALLOC(mem, double, seen->count * seen->steps);
    if (!out->xy || !out->radius || !out->looks || !out->video || !sorted) return PLUMB_EMEMORY;
    plumb_status st = find_usual_mass(usual, seen, mem);
    if (st) return st;
    memcpy(sorted, seen->error, (size_t)(seen->count * seen->steps) * sizeof *sorted);
    const double median = stats_median(sorted, seen->count * seen->steps);
    for (int64_t i = 0; i < seen->count; i++) {
        if (is_drawn_badly(seen, usual, i, median, config)) {
            explain_loss(&lost, seen, usual, i, config);
            continue;
        }
        memcpy(out->xy + out->count * size, seen->xy + i * size, (size_t)size * sizeof *out->xy);
        for (int k = 0; k < seen->objects; k++) {
            out->looks[out->count * seen->objects + k] = seen->looks[i * seen->objects + k];
            out->radius[out->count * seen->objects + k] = seen->looks[i * seen->objects + k].radius;
        }
        out->video[out->count] = i;
        tracks_to_units(out->xy + out->count++ * size, seen->steps, config);
    }
    st = judge_tracks(out, seen, &lost, median, config);
    if (st) return st;
    return config->chain && config->objects == 2 ? order_objects(out, config, mem) : PLUMB_OK;
}

void tracks_start_row(double *row, const bodies_tracks *tracks, const bodies_config *config,
                      int64_t index)
{
    const int n = config->objects;
    const double *xy = tracks->xy + index * tracks->steps * 2 * n;
    const track_circle circle = tracks_fit_circle(xy, tracks->steps, 2 * n);
    double distance = 0.0;
    row[ROW_X] = circle.x;
    row[ROW_Y] = circle.y;
    row[ROW_STRENGTH] = 0.0;
    row[ROW_LENGTH] = log(fmax(circle.radius, 1e-3));
    if (n < 2) return;
    for (int64_t t = 0; t < tracks->steps; t++)
        distance += hypot(xy[4 * t + 2] - xy[4 * t], xy[4 * t + 3] - xy[4 * t + 1]);
    row[ROW_LENGTH + 1] = log(fmax(distance / (double)tracks->steps, 1e-3));
}

void tracks_use_length(double *row, const bodies_tracks *tracks, const bodies_config *config,
                       int64_t index, double log_length)
{
    const int n = 2 * config->objects;
    const double *xy = tracks->xy + index * tracks->steps * n;
    double mean[2] = {0};
    for (int64_t t = 0; t < tracks->steps; t++)
        for (int c = 0; c < 2; c++) mean[c] += xy[t * n + c] / (double)tracks->steps;
    const double dx = row[ROW_X] - mean[0], dy = row[ROW_Y] - mean[1];
    const double scale = exp(log_length) / (hypot(dx, dy) + 1e-9);
    row[ROW_X] = mean[0] + scale * dx;
    row[ROW_Y] = mean[1] + scale * dy;
    row[ROW_LENGTH] = log_length;
}

plumb_status tracks_find_range(double range[2], const bodies_tracks *tracks,
                               const bodies_config *config)
{
    enum { EVERY = 7 };
    const int K = config->objects;
    arena mem = {0};
    const int64_t rows = (tracks->count * tracks->steps + EVERY - 1) / EVERY;
    double *all = ARENA_ALLOC(&mem, double, rows *K *(K - 1) / 2);
    int64_t found = 0;
    for (int64_t n = 0; n < tracks->count * tracks->steps && all; n += EVERY) {
        const double *xy = tracks->xy + n * 2 * K;
        for (int i = 0; i < K; i++)
            for (int j = i + 1; j < K; j++) {
                double d[2];
                for (int c = 0; c < 2; c++) {
                    d[c] = xy[2 * i + c] - xy[2 * j + c];
                    if (config->box > 0.0) d[c] -= config->box * nearbyint(d[c] / config->box);
                }
                all[found++] = hypot(d[0], d[1]);
            }
    }
    if (all) {
        range[0] = stats_quantile(all, found, 0.002);
        range[1] = stats_quantile(all, found, 0.998);
        if (config->box > 0.0 && range[1] > 0.5 * config->box) range[1] = 0.5 * config->box;
    }
    arena_clear(&mem);
    if (!all) return PLUMB_EMEMORY;
    return range[0] > 0.0 && range[1] > 1.0001 * range[0]
               ? PLUMB_OK
               : fail(PLUMB_EVALUE, "the distance between objects never changes, so no force "
                                    "between them can be learnt; use pair=none and field=on");
}
