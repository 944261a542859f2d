// SPDX-License-Identifier: MIT
// Learns from training videos what all of them share: background, colours, and the sprites.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/stats.h"
#include "models/bodies/learn_job.h"

enum {
    BACKGROUND_FRAMES = 400, // whose median is the background
    COLOUR_FRAMES = 1500,    // whose pixels have colours
    SPRITE_FRAMES = 384,     // that sprites are fitted to
    SPRITE_ROUNDS = 24,
    PROFILE_ROUNDS = 18,
    BACKGROUND_ROUNDS = 6, // after which the background is improved
    EDGE_VIDEOS = 24,      // with own looks: videos that the edge is fitted to
    EDGE_ROUNDS = 4,
};

// Random streams, apart from those of parameters and clips.
static const uint64_t background_stream = (uint64_t)0x51 << 48,
                      sprite_stream = (uint64_t)0x53 << 48;

const uint8_t *learn_draw_frame(const learn_job *job, rng *random)
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
        const uint8_t *frame = learn_draw_frame(job, &random);
        for (int64_t i = 0; i < job->size; i++) job->counts[i * 256 + frame[i]]++;
    }
    for (int64_t i = 0; i < job->size; i++)
        job->background[i] = find_median(job->counts + i * 256, BACKGROUND_FRAMES);
    job->seen->scene.background = job->background;
    perception_prepare(job->seen);
    return PLUMB_OK;
}

// Distance from the centre beyond which a sprite covers almost nothing.
static double find_extent(const sprite_scene *scene, int k)
{
    if (!scene->profile) return scene->sprites[k].radius + 6.0 / scene->edge;
    int last = PROFILE_NODES - 3;
    while (last > 2 && fabs((double)scene->profile[k * PROFILE_NODES + last]) < 3e-3) last--;
    return (double)last * scene->profile_step;
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
            covered =
                covered || hypot(column - xy[2 * k], row - xy[2 * k + 1]) < find_extent(scene, k);
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
        fit->frame[n] = learn_draw_frame(job, &random);
        perception_find_places(fit->xy + n * 2 * K, mass, seen, fit->frame[n], &fit->scratch);
        for (int k = 0; k < K; k++) masses[k * SPRITE_FRAMES + n] = mass[k];
    }
    for (int k = 0; k < K; k++)
        perception_start_look(&seen->scene.sprites[k], seen, seen->colour_of[k],
                              stats_median(masses + k * SPRITE_FRAMES, job->sprite_frames));
    // Objects of one colour can be separated when their size is known.
    for (int n = 0; n < job->sprite_frames && seen->grouped; n++)
        perception_find_places(fit->xy + n * 2 * K, mass, seen, fit->frame[n], &fit->scratch);
    return PLUMB_OK;
}

// Objects of one colour look the same: each gets the sums of all of them.
static void pool_sums(sprite_sums *sums, const perception *seen)
{
    for (int k = 0; k < seen->scene.count && seen->grouped; k++) {
        if (k && seen->colour_of[k] == seen->colour_of[k - 1]) {
            sums[k] = sums[k - 1];
            continue;
        }
        for (int i = k + 1; i < seen->scene.count && seen->colour_of[i] == seen->colour_of[k]; i++)
            perception_add_sums(&sums[k], &sums[i], 1);
    }
}

// One round: places, then looks by the nine tenths of the frames that are drawn best.
static void run_round(fit_frames *fit, profile_sums *profiles, const learn_job *job)
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
        if (profiles)
            sprites_add_profile(profiles, scene, fit->xy + n * 2 * K, fit->frame[n], &fit->scratch);
    }
    pool_sums(total, job->seen);
    perception_step_looks(scene, total, 0.7);
    if (!scene->profile) step_edge(scene, total, 0.7);
}

// Where objects are often, the first median is wrong.
static void count_background(learn_job *job, const fit_frames *fit)
{
    const sprite_scene *scene = &job->seen->scene;
    clear_counts(job);
    for (int n = 0; n < job->sprite_frames; n++)
        count_uncovered(job, scene, fit->xy + n * 2 * scene->count, fit->frame[n]);
    improve_background(job);
}

// Profiles, in turns with places and colours.
static plumb_status learn_profiles(fit_frames *fit, learn_job *job)
{
    const int K = job->seen->scene.count;
    profile_sums *sums = ARENA_ALLOC(&job->local, profile_sums, K);
    float *weights = ARENA_ALLOC(job->mem, float, K *PROFILE_NODES);
    if (!sums || !weights) return PLUMB_EMEMORY;
    perception_start_profiles(weights, job->seen);
    plumb_status st = PLUMB_OK;
    for (int round = 0; round < PROFILE_ROUNDS && !st; round++) {
        memset(sums, 0, (size_t)K * sizeof *sums);
        run_round(fit, sums, job);
        perception_step_profiles(weights, job->seen, sums);
        st = status_check_stop();
        if (round % BACKGROUND_ROUNDS == BACKGROUND_ROUNDS - 1) count_background(job, fit);
    }
    round_to_float(&job->seen->scene);
    return st;
}

static plumb_status learn_shared_sprites(learn_job *job)
{
    fit_frames *fit = ARENA_ALLOC(&job->local, fit_frames, 1);
    if (!fit) return PLUMB_EMEMORY;
    plumb_status st = start_fit(fit, job);
    const int rounds = job->options->quick ? SPRITE_ROUNDS * 3 / 4 : SPRITE_ROUNDS;
    for (int round = 0; round < rounds && !st; round++) {
        run_round(fit, NULL, job);
        st = status_check_stop();
        if (round % BACKGROUND_ROUNDS == BACKGROUND_ROUNDS - 1) count_background(job, fit);
    }
    round_to_float(&job->seen->scene);
    if (!st && job->options->profile) st = learn_profiles(fit, job);
    return st;
}

// With own looks only the edge is shared. It is fitted to a few videos, in turns with their looks.
static plumb_status learn_edge(learn_job *job)
{
    perception *seen = job->seen;
    const int64_t most = job->options->quick ? EDGE_VIDEOS / 2 : EDGE_VIDEOS;
    const int64_t count = job->videos->count < most ? job->videos->count : most;
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
    const int colour_frames = options->quick ? COLOUR_FRAMES / 4 : COLOUR_FRAMES;
    job.colour_frames = frames < colour_frames ? (int)frames : colour_frames;
    const int sprite_frames = options->quick ? SPRITE_FRAMES / 2 : SPRITE_FRAMES;
    job.sprite_frames = frames < sprite_frames ? (int)frames : sprite_frames;
    plumb_status st = learn_background(&job);
    if (!st) st = perception_learn_colours(&job);
    if (!st) perception_prepare(out);
    if (!st) st = options->own_looks ? learn_edge(&job) : learn_shared_sprites(&job);
    if (!st) perception_prepare(out);
    arena_clear(&job.local);
    return st;
}
