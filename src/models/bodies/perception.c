// SPDX-License-Identifier: MIT
// Finds objects in frames: background, colours, centroids, Gauss-Newton. Learning is in
// perception_learn.c.
#include "models/bodies/perception.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/stats.h"
#include "models/bodies/perception_steps.h"

// Pixels that differ less than this from the background belong to it.
static const double min_contrast = 0.06;
// A pixel belongs to a colour if the cosine of the angle between them is above this.
static const double min_cosine = 0.8;
// A background whose values deviate by more than this is a texture.
static const double texture_deviation = 0.04;

enum { TRACK_STEPS = 6, LOOK_ROUNDS = 6, LOOK_STEPS = 2, LOOK_FRAMES = 25 };

// ---- background ----

void perception_prepare(perception *seen)
{
    const sprite_scene *scene = &seen->scene;
    const int64_t pixels = scene->height * scene->width, C = scene->channels;
    seen->textured = seen->grouped = false;
    for (int64_t i = 0; i < C; i++) {
        double sum = 0.0, square = 0.0;
        for (int64_t k = 0; k < pixels; k++) {
            const double x = (double)scene->background[k * C + i];
            sum += x;
            square += x * x;
        }
        seen->mean[i] = sum / (double)pixels;
        const double variance = square / (double)pixels - seen->mean[i] * seen->mean[i];
        seen->textured = seen->textured || variance > texture_deviation * texture_deviation;
    }
    for (int k = 1; k < scene->count && !seen->own_looks; k++)
        seen->grouped = seen->grouped || seen->colour_of[k] == seen->colour_of[k - 1];
}

// ---- first places ----

// The direction from the background to a colour, seen from one pixel. Returns its length.
static double find_direction(double *out, const perception *seen, int colour,
                             const float *background)
{
    double square = 0.0;
    for (int64_t i = 0; i < seen->scene.channels; i++) {
        out[i] = seen->mean[i] +
                 (double)seen->direction[colour][i] * (double)seen->contrast[colour] -
                 (double)background[i];
        square += out[i] * out[i];
    }
    const double length = sqrt(square) + 1e-9;
    for (int64_t i = 0; i < seen->scene.channels; i++) out[i] /= length;
    return length;
}

// The same as below before a texture, where the direction of a colour differs from pixel to pixel.
// The weight is the cover of the pixel.
static bool weigh_textured(double *weight, const perception *seen, const int *slots, int count,
                           const double *f, double contrast, const float *background)
{
    double cosine[SPRITES_MAX], length[SPRITES_MAX], most = 0.0, share = 0.0;
    for (int k = 0; k < count; k++) {
        double d[SPRITES_CHANNELS];
        length[k] = find_direction(d, seen, slots ? slots[k] : k, background);
        cosine[k] = 0.0;
        for (int64_t i = 0; i < seen->scene.channels; i++) cosine[k] += f[i] * d[i] / contrast;
        most = cosine[k] > most ? cosine[k] : most;
    }
    if (most <= min_cosine) return false;
    for (int k = 0; k < count; k++) share += weight[k] = exp(30.0 * (cosine[k] - most));
    for (int k = 0; k < count; k++) {
        const double cover = contrast / length[k] < 1.0 ? contrast / length[k] : 1.0;
        weight[k] = cosine[k] <= min_cosine
                        ? 0.0
                        : weight[k] / share * cover * (double)seen->contrast[slots ? slots[k] : k];
    }
    return true;
}

bool perception_weigh_pixel(double *weight, const perception *seen, const int *slots, int count,
                            const uint8_t *pixel, const float *background)
{
    const int64_t C = seen->scene.channels;
    // Many colours lie near each other and need a sharper choice.
    const double sharp = count > 6 ? 400.0 : 30.0;
    double f[SPRITES_CHANNELS], square = 0.0, cosine[SPRITES_MAX], share = 0.0, most = 0.0;
    for (int64_t i = 0; i < C; i++) {
        f[i] = (double)pixel[i] * (1.0 / 255.0) - (double)background[i];
        square += f[i] * f[i];
    }
    if (square <= min_contrast * min_contrast) return false;
    const double contrast = sqrt(square);
    if (seen->textured) return weigh_textured(weight, seen, slots, count, f, contrast, background);
    for (int k = 0; k < count; k++) {
        const float *direction = seen->direction[slots ? slots[k] : k];
        cosine[k] = 0.0;
        for (int64_t i = 0; i < C; i++) cosine[k] += f[i] * (double)direction[i] / contrast;
        most = cosine[k] > most ? cosine[k] : most;
    }
    if (most <= min_cosine) return false;
    // Each colour has a share of the pixel, the nearest the largest.
    double part[SPRITES_MAX];
    for (int k = 0; k < count; k++) share += part[k] = exp(sharp * (cosine[k] - most));
    for (int k = 0; k < count; k++)
        weight[k] = cosine[k] > min_cosine ? part[k] / share * (contrast - min_contrast) : 0.0;
    return true;
}

void perception_find_colours(double *xy, double *mass, const perception *seen, const int *slots,
                             int count, const uint8_t *frame)
{
    const sprite_scene *scene = &seen->scene;
    const int64_t C = scene->channels;
    memset(xy, 0, (size_t)(2 * count) * sizeof *xy);
    memset(mass, 0, (size_t)count * sizeof *mass);
    const float *background = scene->background;
    for (int64_t r = 0; r < scene->height; r++)
        for (int64_t c = 0; c < scene->width; c++, frame += C, background += C) {
            double weight[SPRITES_MAX];
            if (!perception_weigh_pixel(weight, seen, slots, count, frame, background)) continue;
            for (int k = 0; k < count; k++) {
                mass[k] += weight[k];
                xy[2 * k] += weight[k] * (double)c;
                xy[2 * k + 1] += weight[k] * (double)r;
            }
        }
    for (int k = 0; k < count; k++) {
        // A colour that no pixel has is looked for from the centre.
        const bool found = mass[k] > 1e-6;
        xy[2 * k] = found ? xy[2 * k] / mass[k] : 0.5 * (double)(scene->width - 1);
        xy[2 * k + 1] = found ? xy[2 * k + 1] / mass[k] : 0.5 * (double)(scene->height - 1);
    }
}

// ---- Gauss-Newton ----

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

// One step of one sprite: damped by a share of the trace, and at most a pixel on each axis. Returns
// the longer of its two components.
static double step_place(double *xy, const sprite_sums *sum, const sprite_scene *scene,
                         bool periodic)
{
    const double damping = 0.02 * (sum->xx + sum->yy) + 1e-3;
    const double a = sum->xx + damping, b = sum->xy, c = sum->yy + damping, det = a * c - b * b;
    const double dx = clamp((c * sum->x - b * sum->y) / det, -1.0, 1.0);
    const double dy = clamp((a * sum->y - b * sum->x) / det, -1.0, 1.0);
    // A little outside of the picture an object can still be seen.
    const double margin = periodic ? 0.0 : (double)PERCEPTION_MARGIN;
    xy[0] = clamp(xy[0] + dx, -margin, (double)(scene->width - 1) + margin);
    xy[1] = clamp(xy[1] + dy, -margin, (double)(scene->height - 1) + margin);
    return fmax(fabs(dx), fabs(dy));
}

void perception_refine(double *xy, const sprite_scene *scene, const uint8_t *frame, bool periodic,
                       int steps, sprite_scratch *scratch)
{
    sprite_sums sums[SPRITES_MAX];
    for (int i = 0; i < steps; i++) {
        double longest = 0.0;
        sprites_sum(sums, scene, xy, frame, false, scratch);
        for (int k = 0; k < scene->count; k++)
            longest = fmax(longest, step_place(xy + 2 * k, &sums[k], scene, periodic));
        if (longest < 1e-4) break; // what is left is a thirtieth of it
    }
}

// ---- looks of one video ----

sprite_scene perception_scene(const perception *seen, const sprite *looks)
{
    sprite_scene scene = seen->scene;
    if (looks) memcpy(scene.sprites, looks, (size_t)scene.count * sizeof *looks);
    return scene;
}

// The colours that a video shows: the heaviest of all, in their order.
static void choose_slots(int *slots, const perception *seen, const uint8_t *frames, int64_t steps)
{
    const int64_t size = seen->scene.height * seen->scene.width * seen->scene.channels;
    double xy[2 * SPRITES_MAX], mass[SPRITES_MAX], total[SPRITES_MAX] = {0};
    bool taken[SPRITES_MAX] = {0};
    for (int64_t t = 0; t < steps; t++) {
        perception_find_colours(xy, mass, seen, NULL, seen->colours, frames + t * size);
        for (int k = 0; k < seen->colours; k++) total[k] += mass[k];
    }
    for (int n = 0; n < seen->scene.count; n++) {
        int best = -1;
        for (int k = 0; k < seen->colours; k++)
            if (!taken[k] && (best < 0 || total[k] > total[best])) best = k;
        taken[best] = true;
    }
    for (int k = 0, n = 0; k < seen->colours; k++)
        if (taken[k]) slots[n++] = k;
}

void perception_start_look(sprite *out, const perception *seen, int colour, double mass)
{
    const sprite_scene *scene = &seen->scene;
    const int64_t pixels = scene->height * scene->width;
    out->radius = clamp(sqrt(mass / ((double)seen->contrast[colour] * 3.14159265358979)), 0.8, 8.0);
    for (int64_t i = 0; i < scene->channels; i++) {
        double mean = 0.0;
        for (int64_t k = 0; k < pixels; k++)
            mean += (double)scene->background[k * scene->channels + i];
        out->colour[i] = mean / (double)pixels +
                         (double)seen->direction[colour][i] * (double)seen->contrast[colour];
    }
}

void perception_step_looks(sprite_scene *scene, const sprite_sums *sums, double share)
{
    for (int k = 0; k < scene->count; k++) {
        sprite *s = &scene->sprites[k];
        s->radius = clamp(s->radius + share * sums[k].radius / (sums[k].radius2 + 1e-3), 0.4, 10.0);
        for (int64_t i = 0; i < scene->channels; i++)
            s->colour[i] += share * sums[k].colour[i] / (sums[k].cover2 + 0.1);
    }
}

void perception_add_sums(sprite_sums *to, const sprite_sums *sums, int count)
{
    for (int k = 0; k < count; k++) {
        to[k].radius += sums[k].radius, to[k].radius2 += sums[k].radius2;
        to[k].edge += sums[k].edge, to[k].edge2 += sums[k].edge2;
        to[k].cover2 += sums[k].cover2;
        for (int i = 0; i < SPRITES_CHANNELS; i++) to[k].colour[i] += sums[k].colour[i];
    }
}

// Radius and colour from evenly spaced frames of one video.
static void fit_looks(sprite_scene *scene, double *xy, const perception *seen, const int *slots,
                      const uint8_t *frames, int64_t steps, sprite_scratch *scratch)
{
    const int64_t size = scene->height * scene->width * scene->channels;
    const int64_t used = steps < LOOK_FRAMES ? steps : LOOK_FRAMES;
    const int K = scene->count;
    double mass[SPRITES_MAX], masses[SPRITES_MAX][LOOK_FRAMES];
    for (int64_t n = 0; n < used; n++) {
        perception_find_colours(xy + n * 2 * K, mass, seen, slots, K,
                                frames + n * steps / used * size);
        for (int k = 0; k < K; k++) masses[k][n] = mass[k];
    }
    for (int k = 0; k < K; k++)
        perception_start_look(&scene->sprites[k], seen, slots[k], stats_median(masses[k], used));
    for (int round = 0; round < LOOK_ROUNDS; round++) {
        sprite_sums total[SPRITES_MAX] = {0}, sums[SPRITES_MAX];
        for (int64_t n = 0; n < used; n++) {
            const uint8_t *frame = frames + n * steps / used * size;
            perception_refine(xy + n * 2 * K, scene, frame, seen->periodic, LOOK_STEPS, scratch);
            sprites_sum(sums, scene, xy + n * 2 * K, frame, true, scratch);
            perception_add_sums(total, sums, K);
        }
        perception_step_looks(scene, total, 1.0);
    }
    for (int k = 0; k < K; k++) {
        sprite *s = &scene->sprites[k];
        s->radius = (double)(float)s->radius;
        for (int i = 0; i < SPRITES_CHANNELS; i++) s->colour[i] = (double)(float)s->colour[i];
    }
}

// ---- tracks ----

typedef struct track_job {
    track_set *out;
    const perception *seen;
    const video_set *videos;
    sprite_scratch *scratch; // one per worker
    float **picture;         // one frame per worker
    double **places;         // places of LOOK_FRAMES frames, then of a video, errors and masses
} track_job;

// Where the results of one video go.
typedef struct frame_tracks {
    double *xy;    // (steps, objects, 2)
    double *error; // (steps)
    double *mass;  // (steps, objects)
} frame_tracks;

// Places, errors and masses of all frames of one video. Returns the sum of errors.
static double track_frames(const frame_tracks *to, const track_job *job, const sprite_scene *scene,
                           const int *slots, const uint8_t *frames, int worker)
{
    const int64_t size = scene->height * scene->width * scene->channels;
    if (job->seen->grouped)
        return perception_track_groups(to->xy, to->error, to->mass,
                                       &(group_video){.seen = job->seen,
                                                      .scene = scene,
                                                      .frames = frames,
                                                      .steps = job->out->steps,
                                                      .picture = job->picture[worker],
                                                      .scratch = &job->scratch[worker]});
    double sum = 0.0;
    for (int64_t t = 0; t < job->out->steps; t++) {
        double *at = to->xy + t * 2 * scene->count;
        perception_find_colours(at, to->mass + t * scene->count, job->seen, slots, scene->count,
                                frames + t * size);
        perception_refine(at, scene, frames + t * size, job->seen->periodic, TRACK_STEPS,
                          &job->scratch[worker]);
        to->error[t] = sprites_error(scene, at, frames + t * size, job->picture[worker],
                                     &job->scratch[worker]);
        sum += to->error[t];
    }
    return sum;
}

// Whether two objects come so near in some frame that it matters which one is in front.
static bool discs_meet(const sprite_scene *scene, const double *xy, int64_t steps)
{
    const double reach = scene->sprites[0].radius + scene->sprites[1].radius + 2.0 / scene->edge;
    for (int64_t t = 0; t < steps; t++)
        if (hypot(xy[4 * t] - xy[4 * t + 2], xy[4 * t + 1] - xy[4 * t + 3]) < reach) return true;
    return false;
}

// Of two objects that meet, the one is in front with which the video is drawn better. Of more
// objects the first is in front.
static void track_both_orders(track_job *job, sprite_scene *scene, const int *slots,
                              const uint8_t *frames, int64_t item, int worker)
{
    const track_set *out = job->out;
    const int64_t steps = out->steps, values = steps * 2 * scene->count;
    double *xy = out->xy + item * values, *error = out->error + item * steps;
    double *other = job->places[worker] + LOOK_FRAMES * 2 * SPRITES_MAX,
           *other_error = other + values, *mass = out->mass + item * steps * scene->count;
    const double sum =
        track_frames(&(frame_tracks){xy, error, mass}, job, scene, slots, frames, worker);
    if (scene->count != 2 || job->seen->grouped || !discs_meet(scene, xy, steps)) return;
    const sprite first[2] = {scene->sprites[0], scene->sprites[1]};
    scene->sprites[0].depth = 1;
    // Looks that were fitted with the wrong one in front are those of no object.
    if (job->seen->own_looks)
        fit_looks(scene, job->places[worker], job->seen, slots, frames, steps,
                  &job->scratch[worker]);
    if (track_frames(&(frame_tracks){other, other_error, mass}, job, scene, slots, frames, worker) <
        sum) {
        memcpy(xy, other, (size_t)values * sizeof *xy);
        memcpy(error, other_error, (size_t)steps * sizeof *error);
    } else {
        memcpy(scene->sprites, first, sizeof first);
    }
}

static plumb_status track_video(void *context, int64_t item, int worker)
{
    track_job *job = context;
    const track_set *out = job->out;
    const perception *seen = job->seen;
    const int64_t size = seen->scene.height * seen->scene.width * seen->scene.channels;
    const uint8_t *frames = job->videos->frames + item * out->steps * size;
    const int K = out->objects;
    int slots[SPRITES_MAX];
    sprite_scene scene = seen->scene;
    for (int k = 0; k < K; k++) slots[k] = k;
    if (seen->own_looks) {
        const int64_t used = out->steps < LOOK_FRAMES ? out->steps : LOOK_FRAMES;
        choose_slots(slots, seen, frames, used);
        fit_looks(&scene, job->places[worker], seen, slots, frames, out->steps,
                  &job->scratch[worker]);
    }
    track_both_orders(job, &scene, slots, frames, item, worker);
    memcpy(out->looks + item * K, scene.sprites, (size_t)K * sizeof *out->looks);
    return PLUMB_OK;
}

plumb_status perception_track(track_set *out, arena *mem, const perception *seen,
                              const video_set *videos, int threads)
{
    const int K = seen->scene.count, workers = threads > 0 ? threads : parallel_threads();
    const int64_t size = seen->scene.height * seen->scene.width * seen->scene.channels;
    *out = (track_set){.count = videos->count, .steps = videos->steps, .objects = K};
    out->xy = ARENA_ALLOC(mem, double, videos->count * videos->steps * 2 * K);
    out->error = ARENA_ALLOC(mem, double, videos->count * videos->steps);
    out->mass = ARENA_ALLOC(mem, double, videos->count * videos->steps * K);
    out->looks = ARENA_ALLOC(mem, sprite, videos->count * K);
    if (!out->xy || !out->error || !out->mass || !out->looks) return PLUMB_EMEMORY;
    arena local = {0};
    track_job job = {.out = out,
                     .seen = seen,
                     .videos = videos,
                     .scratch = ARENA_ALLOC(&local, sprite_scratch, workers),
                     .picture = ARENA_ALLOC(&local, float *, workers),
                     .places = ARENA_ALLOC(&local, double *, workers)};
    plumb_status st = job.scratch && job.picture && job.places ? PLUMB_OK : PLUMB_EMEMORY;
    for (int i = 0; i < workers && !st; i++) {
        st = sprites_alloc(&job.scratch[i], &local, &seen->scene);
        job.picture[i] = ARENA_ALLOC(&local, float, size);
        job.places[i] = ARENA_ALLOC(&local, double,
                                    LOOK_FRAMES * 2 * SPRITES_MAX + videos->steps * (2 * K + 1));
        if (!st && (!job.picture[i] || !job.places[i])) st = PLUMB_EMEMORY;
    }
    if (!st) st = parallel_for(videos->count, workers, track_video, &job);
    arena_clear(&local);
    return st;
}
