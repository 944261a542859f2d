// SPDX-License-Identifier: MIT
// Learns from training videos what all of them share: background, colours, and the sprites.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/rng.h"
#include "math/stats.h"
#include "models/bodies/perception_steps.h"

enum {
    BACKGROUND_FRAMES = 400, // whose median is the background
    COLOUR_FRAMES = 1500,    // whose pixels have colours
    COLOUR_PIXELS = 6000,
    RESTARTS = 8,
    KMEANS_STEPS = 15,
    SPRITE_FRAMES = 384, // that sprites are fitted to
    SPRITE_ROUNDS = 24,
    BACKGROUND_ROUNDS = 6, // after which the background is improved
    EDGE_VIDEOS = 24,      // with own looks: videos that the edge is fitted to
    EDGE_ROUNDS = 4,
};

// Random streams, apart from those of parameters and clips.
static const uint64_t background_stream = (uint64_t)0x51 << 48,
                      colour_stream = (uint64_t)0x52 << 48, sprite_stream = (uint64_t)0x53 << 48;

typedef struct learn_job {
    perception *seen;
    const video_set *videos;
    const perception_options *options;
    arena *mem;   // what stays
    arena local;  // what does not
    int64_t size; // values of a frame
    float *background;
    int32_t *counts;                  // (size, 256)
    int colour_frames, sprite_frames; // fewer if there are fewer
} learn_job;

static const uint8_t *draw_frame(const learn_job *job, rng *random)
{
    const int64_t frames = job->videos->count * job->videos->steps;
    return job->videos->frames + rng_below(random, frames) * job->size;
}

// ---- background ----

// Median of a histogram of 256 values.
static float find_median(const int32_t *counts, int32_t total)
{
    int32_t below = 0;
    int value = 0;
    while (value < 255 && (below += counts[value]) * 2 < total) value++;
    return (float)value * (1.0f / 255.0f);
}

// The median of every value over random frames. An object that rests is part of the background.
static plumb_status learn_background(learn_job *job)
{
    job->background = ARENA_ALLOC(job->mem, float, job->size);
    job->counts = ARENA_ALLOC(&job->local, int32_t, job->size * 256);
    if (!job->background || !job->counts) return PLUMB_EMEMORY;
    rng random = rng_at(job->options->seed, background_stream);
    for (int n = 0; n < BACKGROUND_FRAMES; n++) {
        const uint8_t *frame = draw_frame(job, &random);
        for (int64_t i = 0; i < job->size; i++) job->counts[i * 256 + frame[i]]++;
    }
    for (int64_t i = 0; i < job->size; i++)
        job->background[i] = find_median(job->counts + i * 256, BACKGROUND_FRAMES);
    job->seen->scene.background = job->background;
    return PLUMB_OK;
}

// Adds the pixels of a frame that no sprite covers to the histograms.
static void count_uncovered(learn_job *job, const sprite_scene *scene, const double *xy,
                            const uint8_t *frame)
{
    const int64_t C = scene->channels;
    for (int64_t p = 0; p < scene->height * scene->width; p++) {
        const double column = (double)(p % scene->width), row = (double)(p / scene->width);
        bool covered = false;
        for (int k = 0; k < scene->count; k++)
            covered = covered || hypot(column - xy[2 * k], row - xy[2 * k + 1]) <
                                     scene->sprites[k].radius + 6.0 / scene->edge;
        for (int64_t i = p * C; i < (p + 1) * C && !covered; i++) job->counts[i * 256 + frame[i]]++;
    }
}

// The median of uncovered pixels, where there are enough of them.
static void improve_background(learn_job *job)
{
    enum { ENOUGH = 8 };
    for (int64_t i = 0; i < job->size; i++) {
        int32_t total = 0;
        for (int value = 0; value < 256; value++) total += job->counts[i * 256 + value];
        if (total >= ENOUGH) job->background[i] = find_median(job->counts + i * 256, total);
    }
}

static void clear_counts(learn_job *job)
{
    memset(job->counts, 0, (size_t)(job->size * 256) * sizeof *job->counts);
}

// ---- colours ----

// Differences from the background of pixels that differ much.
typedef struct pixel_set {
    int64_t count;
    double (*at)[SPRITES_CHANNELS]; // of length 1
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
        const uint8_t *frame = draw_frame(job, &random);
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
        const uint8_t *frame = draw_frame(job, &random);
        for (int64_t k = 0; k < pixels; k++) {
            double f[SPRITES_CHANNELS] = {0};
            const double contrast = find_difference(f, job, frame, k);
            if (contrast < least) continue;
            const int64_t at = seen < COLOUR_PIXELS ? seen : rng_below(&places, seen + 1);
            seen++;
            if (at >= COLOUR_PIXELS) continue;
            out->contrast[at] = contrast;
            for (int i = 0; i < SPRITES_CHANNELS; i++) out->at[at][i] = f[i] / contrast;
        }
    }
    out->count = seen < COLOUR_PIXELS ? seen : COLOUR_PIXELS;
    return PLUMB_OK;
}

typedef struct colour_set {
    double at[SPRITES_MAX][SPRITES_CHANNELS];
    double loss; // mean of 1 - cosine
} colour_set;

static double find_cosine(const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < SPRITES_CHANNELS; i++) sum += a[i] * b[i];
    return sum;
}

// The nearest of the first `count` colours.
static int find_nearest(double *cosine, const colour_set *colours, int count, const double *pixel)
{
    int best = 0;
    for (int k = 0; k < count; k++) {
        const double c = find_cosine(colours->at[k], pixel);
        if (!k || c > *cosine) *cosine = c, best = k;
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
            find_nearest(&cosine, out, k, pixels->at[n]);
            const double distance = cosine < 1.0 ? 1.0 - cosine : 0.0;
            total += weight[n] = distance * distance;
        }
        double rest = rng_uniform(random) * total;
        int64_t chosen = 0;
        while (chosen + 1 < pixels->count && (rest -= weight[chosen]) > 0.0) chosen++;
        memcpy(out->at[k], pixels->at[chosen], sizeof out->at[k]);
    }
}

// One round of k-means on the sphere.
static void move_colours(colour_set *colours, int count, const pixel_set *pixels)
{
    double sum[SPRITES_MAX][SPRITES_CHANNELS] = {{0}}, cosine = 0.0, loss = 0.0;
    for (int64_t n = 0; n < pixels->count; n++) {
        const int k = find_nearest(&cosine, colours, count, pixels->at[n]);
        loss += 1.0 - cosine;
        for (int i = 0; i < SPRITES_CHANNELS; i++) sum[k][i] += pixels->at[n][i];
    }
    colours->loss = loss / (double)pixels->count;
    for (int k = 0; k < count; k++) {
        const double length = sqrt(find_cosine(sum[k], sum[k]));
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
        }
}

// Contrast of a colour: most of its pixels have less, because of soft edges.
static double find_contrast(const colour_set *colours, int colour, int count,
                            const pixel_set *pixels, double *values)
{
    int64_t found = 0;
    double cosine = 0.0;
    for (int64_t n = 0; n < pixels->count; n++)
        if (find_nearest(&cosine, colours, count, pixels->at[n]) == colour)
            values[found++] = pixels->contrast[n];
    return found ? stats_quantile(values, found, 0.9) : 0.0;
}

static plumb_status learn_colours(learn_job *job)
{
    perception *seen = job->seen;
    const int count = job->options->colours;
    const double high = find_high_contrast(job);
    pixel_set pixels;
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
    sort_by_hue(&best, count, seen->scene.channels);
    for (int k = 0; k < count; k++) {
        const double contrast = find_contrast(&best, k, count, &pixels, values);
        if (!(contrast > 0.0))
            return fail(PLUMB_EVALUE, "the frames have fewer than %d colours of objects", count);
        seen->contrast[k] = (float)contrast;
        for (int i = 0; i < SPRITES_CHANNELS; i++) seen->direction[k][i] = (float)best.at[k][i];
    }
    return PLUMB_OK;
}

// ---- sprites ----

static void step_edge(sprite_scene *scene, const sprite_sums *sums, double share)
{
    double pull = 0.0, weight = 1e-6;
    for (int k = 0; k < scene->count; k++) pull += sums[k].edge, weight += sums[k].edge2;
    const double edge = scene->edge + share * pull / weight;
    scene->edge = edge < 0.3 ? 0.3 : edge > 10.0 ? 10.0 : edge;
}

static void round_to_float(sprite_scene *scene)
{
    scene->edge = (double)(float)scene->edge;
    for (int k = 0; k < scene->count; k++) {
        sprite *s = &scene->sprites[k];
        s->radius = (double)(float)s->radius;
        for (int i = 0; i < SPRITES_CHANNELS; i++) s->colour[i] = (double)(float)s->colour[i];
    }
}

// Frames that sprites are fitted to, and what is known of each.
typedef struct fit_frames {
    const uint8_t *frame[SPRITE_FRAMES];
    double *xy; // (frames, objects, 2)
    double error[SPRITE_FRAMES];
    float *picture;
    sprite_scratch scratch;
} fit_frames;

static plumb_status start_fit(fit_frames *fit, learn_job *job)
{
    perception *seen = job->seen;
    const int K = seen->scene.count;
    double mass[SPRITES_MAX];
    fit->xy = ARENA_ALLOC(&job->local, double, SPRITE_FRAMES * 2 * K);
    fit->picture = ARENA_ALLOC(&job->local, float, job->size);
    double *masses = ARENA_ALLOC(&job->local, double, SPRITE_FRAMES *K);
    plumb_status st = sprites_alloc(&fit->scratch, &job->local, &seen->scene);
    if (st || !fit->xy || !fit->picture || !masses) return PLUMB_EMEMORY;
    rng random = rng_at(job->options->seed, sprite_stream);
    for (int n = 0; n < job->sprite_frames; n++) {
        fit->frame[n] = draw_frame(job, &random);
        perception_find_colours(fit->xy + n * 2 * K, mass, seen, NULL, K, fit->frame[n]);
        for (int k = 0; k < K; k++) masses[k * SPRITE_FRAMES + n] = mass[k];
    }
    for (int k = 0; k < K; k++)
        perception_start_look(&seen->scene.sprites[k], seen, k,
                              stats_median(masses + k * SPRITE_FRAMES, job->sprite_frames));
    return PLUMB_OK;
}

// One round: places, then looks by the nine tenths of the frames that are drawn best.
static void run_round(fit_frames *fit, const learn_job *job)
{
    sprite_scene *scene = &job->seen->scene;
    const int K = scene->count;
    double sorted[SPRITE_FRAMES];
    sprite_sums total[SPRITES_MAX] = {0}, sums[SPRITES_MAX];
    for (int n = 0; n < job->sprite_frames; n++) {
        double *xy = fit->xy + n * 2 * K;
        perception_refine(xy, scene, fit->frame[n], job->seen->periodic, 2, &fit->scratch);
        fit->error[n] = sprites_error(scene, xy, fit->frame[n], fit->picture, &fit->scratch);
    }
    memcpy(sorted, fit->error, sizeof sorted);
    const double limit = stats_quantile(sorted, job->sprite_frames, 0.9);
    for (int n = 0; n < job->sprite_frames; n++) {
        if (fit->error[n] > limit) continue;
        sprites_sum(sums, scene, fit->xy + n * 2 * K, fit->frame[n], true, &fit->scratch);
        perception_add_sums(total, sums, K);
    }
    perception_step_looks(scene, total, 0.7);
    step_edge(scene, total, 0.7);
}

static plumb_status learn_shared_sprites(learn_job *job)
{
    fit_frames *fit = ARENA_ALLOC(&job->local, fit_frames, 1);
    if (!fit) return PLUMB_EMEMORY;
    plumb_status st = start_fit(fit, job);
    for (int round = 0; round < SPRITE_ROUNDS && !st; round++) {
        run_round(fit, job);
        st = status_check_stop();
        if (round % BACKGROUND_ROUNDS != BACKGROUND_ROUNDS - 1) continue;
        // Where objects are often, the first median is wrong.
        clear_counts(job);
        for (int n = 0; n < job->sprite_frames; n++)
            count_uncovered(job, &job->seen->scene, fit->xy + n * 2 * job->seen->scene.count,
                            fit->frame[n]);
        improve_background(job);
    }
    round_to_float(&job->seen->scene);
    return st;
}

// With own looks only the edge is shared. It is fitted to a few videos, in turns with their looks.
static plumb_status learn_edge(learn_job *job)
{
    perception *seen = job->seen;
    const int64_t count = job->videos->count < EDGE_VIDEOS ? job->videos->count : EDGE_VIDEOS;
    const int64_t steps = job->videos->steps;
    video_set few = *job->videos;
    sprite_scratch scratch;
    few.count = count;
    plumb_status st = sprites_alloc(&scratch, &job->local, &seen->scene);
    for (int round = 0; round < EDGE_ROUNDS && !st; round++) {
        track_set tracks;
        sprite_sums total[SPRITES_MAX] = {0}, sums[SPRITES_MAX];
        const arena_mark mark = arena_get_mark(&job->local);
        clear_counts(job);
        st = perception_track(&tracks, &job->local, seen, &few, job->options->threads);
        for (int64_t n = 0; n < count * steps && !st; n++) {
            const sprite_scene scene =
                perception_scene(seen, tracks.looks + n / steps * tracks.objects);
            sprites_sum(sums, &scene, tracks.xy + n * 2 * tracks.objects,
                        few.frames + n * job->size, true, &scratch);
            perception_add_sums(total, sums, tracks.objects);
            if (n % 4 == 0)
                count_uncovered(job, &scene, tracks.xy + n * 2 * tracks.objects,
                                few.frames + n * job->size);
        }
        arena_rewind(&job->local, mark);
        if (!st) step_edge(&seen->scene, total, 1.0);
        if (!st) improve_background(job);
        round_to_float(&seen->scene);
    }
    return st;
}

// ---- all ----

plumb_status perception_learn(perception *out, arena *mem, const video_set *videos,
                              const perception_options *options)
{
    if (videos->channels > SPRITES_CHANNELS)
        return fail(PLUMB_ESHAPE, "frames of %lld channels; at most %d can be used",
                    (long long)videos->channels, SPRITES_CHANNELS);
    *out = (perception){.scene = {.height = videos->height,
                                  .width = videos->width,
                                  .channels = videos->channels,
                                  .edge = 1.5,
                                  .count = options->objects},
                        .colours = options->colours,
                        .periodic = options->periodic,
                        .own_looks = options->own_looks};
    learn_job job = {.seen = out,
                     .videos = videos,
                     .options = options,
                     .mem = mem,
                     .size = videos->height * videos->width * videos->channels};
    const int64_t frames = videos->count * videos->steps;
    job.colour_frames = frames < COLOUR_FRAMES ? (int)frames : COLOUR_FRAMES;
    job.sprite_frames = frames < SPRITE_FRAMES ? (int)frames : SPRITE_FRAMES;
    plumb_status st = learn_background(&job);
    if (!st) st = learn_colours(&job);
    if (!st) st = options->own_looks ? learn_edge(&job) : learn_shared_sprites(&job);
    arena_clear(&job.local);
    return st;
}
