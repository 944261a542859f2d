// SPDX-License-Identifier: MIT
// Learns the colours of objects from pixels that differ from the background: by k-means on the
// directions in which they differ, or, before a texture, on the colours themselves.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/stats.h"
#include "models/bodies/learn_job.h"

enum { COLOUR_PIXELS = 6000, RESTARTS = 8, KMEANS_STEPS = 15 };

// A random stream of its own.
static const uint64_t colour_stream = (uint64_t)0x52 << 48;

// Pixels that differ much from the background: the directions of their differences, of length 1, or
// before a texture their colours.
typedef struct pixel_set {
    int64_t count;
    bool textured;
    double (*at)[SPRITES_CHANNELS];
    double *contrast;
} pixel_set;

static double find_difference(double *out, const learn_job *job, const uint8_t *frame,
                              int64_t pixel)
{
    const int64_t C = job->seen->scene.channels;
    double square = 0.0;
    for (int64_t i = 0; i < C; i++) {
        out[i] = (double)frame[pixel * C + i] * (1.0 / 255.0) -
                 (double)job->seen->scene.background[pixel * C + i];
        square += out[i] * out[i];
    }
    return sqrt(square);
}

// The contrast that one pixel in a thousand exceeds.
static double find_high_contrast(const learn_job *job)
{
    enum { BINS = 4096 };
    int64_t bins[BINS] = {0}, total = 0, above = 0;
    double f[SPRITES_CHANNELS];
    const int64_t pixels = job->seen->scene.height * job->seen->scene.width;
    rng random = rng_at(job->options->seed, colour_stream);
    for (int n = 0; n < job->colour_frames; n++) {
        const uint8_t *frame = learn_draw_frame(job, &random);
        for (int64_t k = 0; k < pixels; k++, total++)
            bins[(int)(find_difference(f, job, frame, k) * (BINS / 2 - 1))]++;
    }
    int bin = BINS - 1;
    while (bin > 0 && (above += bins[bin]) * 1000 < total) bin--;
    return (double)bin / (BINS / 2 - 1);
}

// Reservoir of pixels above a contrast: all of them are equally likely.
static plumb_status draw_pixels(pixel_set *out, learn_job *job, double least)
{
    const int64_t pixels = job->seen->scene.height * job->seen->scene.width;
    out->at = arena_alloc(&job->local, COLOUR_PIXELS, sizeof *out->at);
    out->contrast = ARENA_ALLOC(&job->local, double, COLOUR_PIXELS);
    if (!out->at || !out->contrast) return PLUMB_EMEMORY;
    rng random = rng_at(job->options->seed, colour_stream), places = random;
    places.stream++;
    int64_t seen = 0;
    for (int n = 0; n < job->colour_frames; n++) {
        const uint8_t *frame = learn_draw_frame(job, &random);
        for (int64_t k = 0; k < pixels; k++) {
            double f[SPRITES_CHANNELS] = {0};
            const double contrast = find_difference(f, job, frame, k);
            if (contrast < least) continue;
            const int64_t at = seen < COLOUR_PIXELS ? seen : rng_below(&places, seen + 1);
            seen++;
            if (at >= COLOUR_PIXELS) continue;
            out->contrast[at] = contrast;
            for (int i = 0; i < SPRITES_CHANNELS; i++) out->at[at][i] = f[i] / contrast;
            for (int64_t i = 0; i < job->seen->scene.channels && out->textured; i++)
                out->at[at][i] = (double)frame[k * job->seen->scene.channels + i] * (1.0 / 255.0);
        }
    }
    out->count = seen < COLOUR_PIXELS ? seen : COLOUR_PIXELS;
    return PLUMB_OK;
}

typedef struct colour_set {
    double at[SPRITES_MAX][SPRITES_CHANNELS];
    double length[SPRITES_MAX]; // before a texture: contrast with the mean background
    double loss;                // mean distance
} colour_set;

static double find_cosine(const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < SPRITES_CHANNELS; i++) sum += a[i] * b[i];
    return sum;
}

// The nearest of the first `count` colours, and 1 minus its distance: the cosine of the angle, or 1
// minus the squared difference.
static int find_nearest(double *nearness, const colour_set *colours, int count,
                        const pixel_set *pixels, int64_t n)
{
    int best = 0;
    for (int k = 0; k < count; k++) {
        double c = pixels->textured ? 1.0 : find_cosine(colours->at[k], pixels->at[n]);
        for (int i = 0; i < SPRITES_CHANNELS && pixels->textured; i++) {
            const double d = colours->at[k][i] - pixels->at[n][i];
            c -= d * d;
        }
        if (!k || c > *nearness) *nearness = c, best = k;
    }
    return best;
}

// First colours: pixels, each drawn by the square of its distance from those before it.
static void draw_colours(colour_set *out, int count, const pixel_set *pixels, double *weight,
                         rng *random)
{
    memcpy(out->at[0], pixels->at[rng_below(random, pixels->count)], sizeof out->at[0]);
    for (int k = 1; k < count; k++) {
        double total = 0.0, cosine = 0.0;
        for (int64_t n = 0; n < pixels->count; n++) {
            find_nearest(&cosine, out, k, pixels, n);
            const double distance = cosine < 1.0 ? 1.0 - cosine : 0.0;
            total += weight[n] = distance * distance;
        }
        double rest = rng_uniform(random) * total;
        int64_t chosen = 0;
        while (chosen + 1 < pixels->count && (rest -= weight[chosen]) > 0.0) chosen++;
        memcpy(out->at[k], pixels->at[chosen], sizeof out->at[k]);
    }
}

// One round of k-means, on the sphere or in the space of colours.
static void move_colours(colour_set *colours, int count, const pixel_set *pixels)
{
    double sum[SPRITES_MAX][SPRITES_CHANNELS] = {{0}}, cosine = 0.0, loss = 0.0;
    int64_t members[SPRITES_MAX] = {0};
    for (int64_t n = 0; n < pixels->count; n++) {
        const int k = find_nearest(&cosine, colours, count, pixels, n);
        loss += 1.0 - cosine;
        members[k]++;
        for (int i = 0; i < SPRITES_CHANNELS; i++) sum[k][i] += pixels->at[n][i];
    }
    colours->loss = loss / (double)pixels->count;
    for (int k = 0; k < count; k++) {
        const double length =
            pixels->textured ? (double)members[k] : sqrt(find_cosine(sum[k], sum[k]));
        if (!(length > 0.0)) continue;
        for (int i = 0; i < SPRITES_CHANNELS; i++) colours->at[k][i] = sum[k][i] / length;
    }
}

// The angle of a colour about the grey axis: it gives colours a fixed order, from red over green to
// blue. The circle is cut between blue and red, where few objects have their colours.
static double find_hue(const double *colour, int64_t channels)
{
    const double pi = 3.14159265358979, cut = -pi / 6.0;
    if (channels != 3) return colour[0];
    const double hue = atan2(0.8660254037844386 * (colour[1] - colour[2]),
                             colour[0] - 0.5 * colour[1] - 0.5 * colour[2]);
    return hue < cut ? hue + 2.0 * pi : hue;
}

static void sort_by_hue(colour_set *colours, int count, int64_t channels)
{
    for (int n = 1; n < count; n++)
        for (int k = n;
             k > 0 && find_hue(colours->at[k], channels) < find_hue(colours->at[k - 1], channels);
             k--) {
            double keep[SPRITES_CHANNELS];
            memcpy(keep, colours->at[k], sizeof keep);
            memcpy(colours->at[k], colours->at[k - 1], sizeof keep);
            memcpy(colours->at[k - 1], keep, sizeof keep);
            const double length = colours->length[k];
            colours->length[k] = colours->length[k - 1];
            colours->length[k - 1] = length;
        }
}

// Contrast of a colour: most of its pixels have less, because of soft edges.
static double find_contrast(const colour_set *colours, int colour, int count,
                            const pixel_set *pixels, double *values)
{
    int64_t found = 0;
    double cosine = 0.0;
    for (int64_t n = 0; n < pixels->count; n++)
        if (find_nearest(&cosine, colours, count, pixels, n) == colour)
            values[found++] = pixels->contrast[n];
    return found ? stats_quantile(values, found, 0.9) : 0.0;
}

// Colours become directions from the mean of the background, and contrasts.
static void turn_to_directions(colour_set *colours, int count, const perception *seen)
{
    for (int k = 0; k < count; k++) {
        double *at = colours->at[k];
        for (int64_t i = 0; i < seen->scene.channels; i++) at[i] -= seen->mean[i];
        colours->length[k] = sqrt(find_cosine(at, at));
        for (int i = 0; i < SPRITES_CHANNELS && colours->length[k] > 0.0; i++)
            at[i] /= colours->length[k];
    }
}

// Objects of each colour, by frames that show them apart.
static plumb_status learn_groups(learn_job *job)
{
    enum { GROUP_FRAMES = 100 };
    const uint8_t *frames[GROUP_FRAMES];
    rng random = rng_at(job->options->seed, colour_stream + 100);
    for (int n = 0; n < GROUP_FRAMES; n++) frames[n] = learn_draw_frame(job, &random);
    return perception_find_groups(job->seen, frames, GROUP_FRAMES);
}

plumb_status perception_learn_colours(learn_job *job)
{
    perception *seen = job->seen;
    const int count = job->options->colours;
    const double high = find_high_contrast(job);
    pixel_set pixels = {.textured = seen->textured};
    if (high < 0.1)
        return fail(PLUMB_EVALUE,
                    "the frames show no moving objects: hardly a pixel differs from the median of "
                    "all frames");
    plumb_status st = draw_pixels(&pixels, job, 0.6 * high);
    double *values = ARENA_ALLOC(&job->local, double, COLOUR_PIXELS);
    if (st || !values) return st ? st : PLUMB_EMEMORY;
    colour_set best = {.loss = (double)INFINITY};
    for (int restart = 0; restart < RESTARTS; restart++) {
        colour_set trial = {0};
        rng random = rng_at(job->options->seed, colour_stream + 2 + (uint64_t)restart);
        draw_colours(&trial, count, &pixels, values, &random);
        for (int n = 0; n < KMEANS_STEPS; n++) move_colours(&trial, count, &pixels);
        if (trial.loss < best.loss) best = trial;
    }
    if (seen->textured) turn_to_directions(&best, count, seen);
    sort_by_hue(&best, count, seen->scene.channels);
    for (int k = 0; k < count; k++) {
        const double contrast =
            seen->textured ? best.length[k] : find_contrast(&best, k, count, &pixels, values);
        if (!(contrast > 0.0))
            return fail(PLUMB_EVALUE, "the frames have fewer than %d colours of objects", count);
        seen->contrast[k] = (float)contrast;
        for (int i = 0; i < SPRITES_CHANNELS; i++) seen->direction[k][i] = (float)best.at[k][i];
    }
    for (int k = 0; k < seen->scene.count; k++) seen->colour_of[k] = k;
    return !job->options->own_looks && count < seen->scene.count ? learn_groups(job) : PLUMB_OK;
}
