// SPDX-License-Identifier: MIT
// The loss of a clip and its gradient.
#include "models/bodies/clip.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "models/bodies/tracks.h"

// Squared pixels beyond which an error counts by its logarithm: a trajectory that went astray must
// not hide the others.
static const double soft_error = 0.1;

// ---- windows ----

// Least squares by polynomials in s = t / half, which is between -1 and 1.
void clip_find_weights(window_weights *out, const bodies_config *config)
{
    const int frames = config->window, terms = config->degree + 1;
    const double half = 0.5 * (frames - 1);
    double normal[9 * 9], power[CLIP_MAX_WINDOW][9];
    for (int t = 0; t < frames; t++) {
        power[t][0] = 1.0;
        for (int k = 1; k < terms; k++) power[t][k] = power[t][k - 1] * (t - half) / half;
    }
    for (int i = 0; i < terms; i++)
        for (int k = 0; k < terms; k++) {
            normal[i * terms + k] = 0.0;
            for (int t = 0; t < frames; t++) normal[i * terms + k] += power[t][i] * power[t][k];
        }
    cholesky_small_factor(normal, terms, 0.0);
    out->frames = frames;
    for (int t = 0; t < frames; t++) {
        cholesky_small_solve(power[t], normal, terms, 1);
        out->value[t] = power[t][0];
        out->slope[t] = power[t][1] / (half * config->dt);
    }
}

// The vector along link k of a chain.
static void find_link(double d[2], const double *xy, const chain_constants *constants, int k)
{
    for (int c = 0; c < 2; c++)
        d[c] = xy[2 * k + c] - (k ? xy[2 * (k - 1) + c] : constants->pivot[c]);
}

// Angles of a chain, continuous within the window, then their polynomial.
static void find_chain_state(bodies_state *out, int count, const chain_constants *constants,
                             const window_weights *weights, const double *xy)
{
    const double turn = 6.283185307179586;
    for (int k = 0; k < count; k++) {
        double before = 0.0, d[2];
        out->q[k] = out->v[k] = 0.0;
        for (int t = 0; t < weights->frames; t++) {
            find_link(d, xy + t * 2 * count, constants, k);
            double angle = atan2(d[0], -d[1]);
            if (t) angle -= turn * nearbyint((angle - before) / turn);
            before = angle;
            out->q[k] += weights->value[t] * angle;
            out->v[k] += weights->slope[t] * angle;
        }
    }
    chain_momenta(out->p, count, constants, out->q, out->v);
}

void clip_find_state(bodies_state *out, const bodies_law *law, const bodies_constants *constants,
                     const window_weights *weights, const double *xy)
{
    const int n = 2 * law->config->objects;
    if (law->config->chain) {
        find_chain_state(out, law->config->objects, &constants->chain, weights, xy);
        return;
    }
    for (int i = 0; i < n; i++) {
        out->q[i] = out->v[i] = 0.0;
        for (int t = 0; t < weights->frames; t++) {
            out->q[i] += weights->value[t] * xy[t * n + i];
            out->v[i] += weights->slope[t] * xy[t * n + i];
        }
        if (law->points.still[i]) out->v[i] = 0.0;
        out->p[i] = constants->points.mass[i / 2] * out->v[i];
    }
}

// ---- loss ----

plumb_status clip_alloc(clip_memory *out, arena *mem, const bodies_config *config, int64_t length,
                        const sprite_scene *scene)
{
    const int64_t n = 2 * config->objects;
    const int64_t steps = length * config->substeps;
    out->path = ARENA_ALLOC(mem, double, config->chain ? 1 : (1 + steps) * n);
    out->steps = ARENA_ALLOC(mem, chain_step, config->chain ? steps : 1);
    out->out = ARENA_ALLOC(mem, double, length *n);
    out->by_out = ARENA_ALLOC(mem, double, length *n);
    if (!out->path || !out->steps || !out->out || !out->by_out) return PLUMB_EMEMORY;
    if (!scene) return PLUMB_OK;
    out->picture = ARENA_ALLOC(mem, float, scene->height * scene->width * scene->channels);
    return out->picture ? sprites_alloc(&out->sprites, mem, scene) : PLUMB_EMEMORY;
}

// What one clip needs in both directions.
typedef struct clip_work {
    const clip_task *task;
    const bodies_clip *clip;
    bodies_constants constants;
    bodies_state state;
    int64_t middle;
    double weight; // of a frame
} clip_work;

// The places that were seen `t` frames from the middle.
static const double *seen_at(const clip_work *work, int direction, int64_t t)
{
    return work->clip->xy + (work->middle + direction * t) * 2 * work->task->law->config->objects;
}

// Places in pixels, and the sums of a frame whose objects are there.
static void sum_frame(sprite_sums *sums, double *pixels, const sprite_scene *scene,
                      const bodies_config *config, const double *xy, const uint8_t *frame,
                      sprite_scratch *scratch)
{
    memcpy(pixels, xy, (size_t)(2 * config->objects) * sizeof *pixels);
    tracks_to_pixels(pixels, config);
    sprites_sum(sums, scene, pixels, frame, false, scratch);
}

double clip_find_scale(const sprite_scene *scene, const bodies_config *config, const double *xy,
                       const uint8_t *frame, sprite_scratch *scratch)
{
    sprite_sums sums[SPRITES_MAX];
    double pixels[2 * SPRITES_MAX], scale = 0.0;
    sum_frame(sums, pixels, scene, config, xy, frame, scratch);
    for (int k = 0; k < config->objects; k++)
        scale += 0.5 * (sums[k].xx + sums[k].yy) / config->objects;
    return scale;
}

// The squared error of a drawn frame and its derivatives by the places. It is divided by the
// scale, and so in squared pixels of a place.
static double compare_frames(double *by_xy, const clip_work *work, const double *xy, int64_t t)
{
    const clip_frames *drawn = work->clip->drawn;
    const bodies_config *config = work->task->law->config;
    const sprite_scene *scene = drawn->scene;
    const int64_t size = scene->height * scene->width * scene->channels;
    const uint8_t *frame = drawn->frames + t * size;
    sprite_sums sums[SPRITES_MAX];
    double pixels[2 * SPRITES_MAX];
    sum_frame(sums, pixels, scene, config, xy, frame, &work->task->memory->sprites);
    for (int k = 0; k < config->objects; k++) {
        by_xy[2 * k] = -2.0 * config->pixels * sums[k].x / drawn->scale;
        by_xy[2 * k + 1] = -2.0 * config->pixels * sums[k].y / drawn->scale;
    }
    return (double)size / drawn->scale *
           sprites_error(scene, pixels, frame, work->task->memory->picture,
                         &work->task->memory->sprites);
}

// Loss of frame `t` of a direction, and its derivatives by the places xy that are predicted. Adds
// the squared error of the places, in pixels, to `error`.
static double compare(double *by_xy, double *error, const clip_work *work, int direction, int64_t t,
                      const double *xy)
{
    const bodies_config *config = work->task->law->config;
    const double *seen = seen_at(work, direction, t), scale = config->pixels * config->pixels;
    const int n = 2 * config->objects;
    double e = 0.0;
    for (int i = 0; i < n; i++) e += scale * (xy[i] - seen[i]) * (xy[i] - seen[i]);
    *error += e;
    if (work->clip->drawn) e = compare_frames(by_xy, work, xy, work->middle + direction * t);
    const double slope = work->weight / (1.0 + e / soft_error);
    for (int i = 0; i < n; i++)
        by_xy[i] = work->clip->drawn ? slope * by_xy[i] : slope * 2.0 * scale * (xy[i] - seen[i]);
    return work->weight * soft_error * log1p(e / soft_error);
}

static double add_points(points_seed *seed, double *error, const clip_work *work, int direction)
{
    const clip_task *task = work->task;
    const bodies_law *law = task->law;
    const int n = 2 * law->config->objects;
    points_path path = {.q = task->memory->path};
    double loss = 0.0;
    points_roll(&law->points, &work->constants.points,
                &(points_rollout){.q = work->state.q,
                                  .p = work->state.p,
                                  .frames = work->middle,
                                  .direction = direction,
                                  .path = &path,
                                  .q_out = task->memory->out});
    for (int64_t t = 0; t < work->middle; t++)
        loss += compare(task->memory->by_out + t * n, error, work, direction, t + 1,
                        task->memory->out + t * n);
    points_add_seed(seed, &law->points, &work->constants.points, &path, direction,
                    task->memory->by_out);
    return loss;
}

static double add_chain(chain_seed *seed, double *error, const clip_work *work, int direction)
{
    const clip_task *task = work->task;
    const bodies_law *law = task->law;
    const chain_constants *constants = &work->constants.chain;
    const int n = law->config->objects;
    double loss = 0.0;
    chain_roll(&law->chain, constants,
               &(chain_rollout){.q = work->state.q,
                                .p = work->state.p,
                                .frames = work->middle,
                                .direction = direction,
                                .path = task->memory->steps,
                                .q_out = task->memory->out});
    memset(task->memory->by_out, 0, (size_t)(work->middle * n) * sizeof(double));
    for (int64_t t = 0; t < work->middle; t++) {
        double xy[2 * CHAIN_MAX], by_xy[2 * CHAIN_MAX];
        const double *q = task->memory->out + t * n;
        chain_places(xy, n, constants, q);
        loss += compare(by_xy, error, work, direction, t + 1, xy);
        chain_add_places_seed(task->memory->by_out + t * n, &seed->constants, n, constants, q,
                              by_xy);
    }
    chain_add_seed(seed, &law->chain, constants, task->memory->steps, work->middle, direction,
                   task->memory->by_out);
    return loss;
}

// ---- gradient ----

// Derivatives by masses become derivatives by what masses are made of.
static void add_mass_seed(const clip_work *work, const double *by_mass, const double *mass)
{
    const clip_task *task = work->task;
    const bodies_config *config = task->law->config;
    for (int k = 0; k < config->objects; k++) {
        const double by_log = by_mass[k] * mass[k];
        if (config->masses == MASSES_FREE && k) task->sums->log_mass[k] += by_log;
        if (config->masses != MASSES_BY_SIZE) continue;
        const double x =
            log(work->clip->radius[k] / (double)task->parameters[task->law->layout->mean_size]);
        task->sums->mass_law[0] += by_log * x;
        task->sums->mass_law[1] += by_log * x * x;
    }
}

static void add_row_seed(const clip_work *work, const double *by_row)
{
    const clip_task *task = work->task;
    const bodies_config *config = task->law->config;
    float *row = task->gradient + task->law->layout->rows + work->clip->row * config->row_size;
    for (int i = 0; i < config->row_size; i++)
        if (config->row_active[i]) row[i] += (float)(config->row_scale[i] * by_row[i]);
}

static double run_points(double *error, clip_work *work)
{
    const clip_task *task = work->task;
    const bodies_config *config = task->law->config;
    const points_constants *constants = &work->constants.points;
    points_seed seed = {0};
    double loss = add_points(&seed, error, work, 1);
    loss += add_points(&seed, error, work, -1);
    // p = m v, where v is given by the places.
    for (int i = 0; i < 2 * config->objects; i++)
        seed.constants.mass[i / 2] += seed.p[i] * work->state.v[i];
    add_mass_seed(work, seed.constants.mass, constants->mass);
    task->sums->log_spring += seed.stiffness * task->law->points.stiffness;
    const double row[ROW_LENGTH] = {seed.constants.centre[0], seed.constants.centre[1],
                                    seed.constants.strength * constants->strength};
    add_row_seed(work, row);
    return loss;
}

// The angle of the first link depends on the pivot.
static void add_angle_seed(chain_constants *by, const clip_work *work, const double *by_q,
                           const double *by_v)
{
    const window_weights *weights = work->task->weights;
    const int n = work->task->law->config->objects;
    const double *xy = work->clip->xy + (work->middle - weights->frames / 2) * 2 * n;
    for (int t = 0; t < weights->frames; t++) {
        double d[2];
        find_link(d, xy + t * 2 * n, &work->constants.chain, 0);
        const double by_angle = weights->value[t] * by_q[0] + weights->slope[t] * by_v[0];
        const double scale = by_angle / (d[0] * d[0] + d[1] * d[1] + 1e-12);
        by->pivot[0] += scale * d[1];
        by->pivot[1] -= scale * d[0];
    }
}

static double run_chain(double *error, clip_work *work)
{
    const clip_task *task = work->task;
    const int n = task->law->config->objects;
    const chain_constants *constants = &work->constants.chain;
    chain_seed seed = {0};
    double by_v[CHAIN_MAX] = {0}, row[BODIES_MAX_CONSTANTS];
    double loss = add_chain(&seed, error, work, 1);
    loss += add_chain(&seed, error, work, -1);
    chain_add_momenta_seed(&(chain_momenta_seed){.q = work->state.q,
                                                 .v = work->state.v,
                                                 .by_p = seed.p,
                                                 .by_q = seed.q,
                                                 .by_v = by_v,
                                                 .by_constants = &seed.constants},
                           n, constants);
    add_angle_seed(&seed.constants, work, seed.q, by_v);
    add_mass_seed(work, seed.constants.mass, constants->mass);
    row[ROW_X] = seed.constants.pivot[0];
    row[ROW_Y] = seed.constants.pivot[1];
    row[ROW_STRENGTH] = seed.constants.strength * constants->strength;
    for (int k = 0; k < n; k++) {
        row[ROW_LENGTH + k] = seed.constants.length[k] * constants->length[k];
        for (int c = 0; c < 2; c++) task->sums->gravity[k][c] += seed.gravity[k][c];
    }
    add_row_seed(work, row);
    return loss;
}

double clip_add_gradient(double *error, const clip_task *task, const bodies_clip *clip)
{
    const bodies_config *config = task->law->config;
    clip_work work = {.task = task, .clip = clip, .middle = clip->length / 2};
    double row[BODIES_MAX_CONSTANTS], squares = 0.0;
    work.weight = task->weight / (double)(2 * work.middle);
    bodies_read_row(row, task->law, task->parameters, clip->row);
    bodies_find_constants(&work.constants, task->law, task->parameters, row, clip->radius);
    clip_find_state(&work.state, task->law, &work.constants, task->weights,
                    clip->xy + (work.middle - task->weights->frames / 2) * 2 * config->objects);
    const double loss = config->chain ? run_chain(&squares, &work) : run_points(&squares, &work);
    *error = squares / (double)(2 * work.middle);
    return loss;
}

void clip_add_sums(float *gradient, const clip_sums *sums, const bodies_law *law)
{
    const bodies_config *config = law->config;
    const bodies_layout *at = law->layout;
    for (int k = 0; k < config->objects; k++) {
        gradient[at->log_mass + k] += (float)sums->log_mass[k];
        for (int c = 0; c < 2 && config->chain; c++)
            gradient[at->gravity + 2 * k + c] += (float)sums->gravity[k][c];
    }
    for (int i = 0; i < 2; i++) gradient[at->mass_law + i] += (float)sums->mass_law[i];
    if (config->has_spring) gradient[at->log_spring] += (float)sums->log_spring;
}
