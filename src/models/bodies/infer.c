// SPDX-License-Identifier: MIT
// Inference of states and constants.
#include "models/bodies/infer.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "math/cholesky.h"
#include "models/bodies/tracks.h"

enum {
    MAX_UNKNOWNS = 4 * POINTS_MAX + BODIES_MAX_CONSTANTS,
    ITERATIONS = 25,
};

int64_t infer_frame(const bodies_config *config, int64_t frames, bool backward)
{
    return backward ? frames - 1 - config->window / 2 : config->window / 2;
}

int infer_state_size(const bodies_config *config)
{
    return config->chain ? config->objects : 2 * config->objects;
}

// A negative number of frames goes back in time.
void infer_roll(double *q_out, double *p_out, const bodies_law *law,
                const bodies_constants *constants, const double *q, const double *p,
                int64_t frames_signed)
{
    const int64_t frames = frames_signed < 0 ? -frames_signed : frames_signed;
    const int direction = frames_signed < 0 ? -1 : 1;
    if (law->config->chain)
        chain_roll(&law->chain, &constants->chain,
                   &(chain_rollout){.q = q,
                                    .p = p,
                                    .frames = frames,
                                    .direction = direction,
                                    .q_out = q_out,
                                    .p_out = p_out});
    else
        points_roll(&law->points, &constants->points,
                    &(points_rollout){.q = q,
                                      .p = p,
                                      .frames = frames,
                                      .direction = direction,
                                      .q_out = q_out,
                                      .p_out = p_out});
}

void infer_places(double *xy, const bodies_law *law, const bodies_constants *constants,
                  const double *q)
{
    if (law->config->chain) chain_places(xy, law->config->objects, &constants->chain, q);
    else memcpy(xy, q, (size_t)(2 * law->config->objects) * sizeof *xy);
}

// ---- the problem ----

// Unknowns z: q, p, and the active constants.
typedef struct fit_problem {
    const bodies_law *law;
    const float *parameters;
    const infer_input *input;
    int64_t at;        // frame of the state
    int states;        // values of q
    int unknowns;      // of z
    int64_t residuals; // places, then constants
    double *q_out;     // (frames, states)
    double *residual, *moved;
    double *jacobian; // (unknowns, residuals)
} fit_problem;

static void read_unknowns(infer_result *out, const fit_problem *fit, const double *z)
{
    const bodies_config *config = fit->law->config;
    int at = 2 * fit->states;
    memcpy(out->q, z, (size_t)fit->states * sizeof *z);
    memcpy(out->p, z + fit->states, (size_t)fit->states * sizeof *z);
    // Constants that all videos share are among the parameters.
    if (!config->constants) bodies_read_row(out->row, fit->law, fit->parameters, 0);
    for (int i = 0; i < config->row_size && config->constants; i++)
        if (config->row_active[i]) out->row[i] = z[at++];
    bodies_find_constants(&out->constants, fit->law, fit->parameters, out->row, fit->input->radius);
}

// Places in pixels over their noise, predicted minus seen; then constants minus their mean, over
// their deviation. Returns the sum of squares.
static double find_residual(double *out, const fit_problem *fit, infer_result *state,
                            const double *z)
{
    const bodies_config *config = fit->law->config;
    const float *mean = fit->parameters + fit->law->layout->row_mean;
    const float *deviation = fit->parameters + fit->law->layout->row_deviation;
    const int n = 2 * config->objects;
    const double scale = config->pixels / config->noise;
    double xy[2 * POINTS_MAX], sum = 0.0;
    int64_t count = 0;
    read_unknowns(state, fit, z);
    for (int side = 0; side < 2; side++) {
        const int64_t frames = side ? fit->input->frames - 1 - fit->at : fit->at;
        infer_roll(fit->q_out, NULL, fit->law, &state->constants, state->q, state->p,
                   side ? frames : -frames);
        for (int64_t t = side ? 0 : -1; t < frames; t++) {
            // The state itself is compared once.
            infer_places(xy, fit->law, &state->constants,
                         t < 0 ? state->q : fit->q_out + t * fit->states);
            const int64_t frame = fit->at + (side ? t + 1 : -(t + 1));
            for (int i = 0; i < n; i++)
                out[count++] = scale * (xy[i] - fit->input->xy[frame * n + i]);
        }
    }
    for (int i = 0; i < config->row_size && config->constants; i++)
        if (config->row_active[i])
            out[count++] = (state->row[i] - (double)mean[i]) / (double)deviation[i];
    for (int64_t i = 0; i < count; i++) sum += out[i] * out[i];
    return isfinite(sum) ? sum : (double)INFINITY;
}

// Columns by differences: rollouts are in double, so these are accurate to six digits.
static void find_jacobian(const fit_problem *fit, infer_result *state, double *z)
{
    for (int k = 0; k < fit->unknowns; k++) {
        const double keep = z[k], h = 1e-6 * (1.0 + fabs(keep));
        double *column = fit->jacobian + k * fit->residuals;
        z[k] = keep + h;
        find_residual(fit->moved, fit, state, z);
        z[k] = keep;
        for (int64_t i = 0; i < fit->residuals; i++)
            column[i] = (fit->moved[i] - fit->residual[i]) / h;
    }
}

// One trial step from z with damping `lambda`; false if the matrix is singular.
static bool find_step(double *step, const fit_problem *fit, double lambda)
{
    double normal[MAX_UNKNOWNS * MAX_UNKNOWNS];
    const int n = fit->unknowns;
    for (int i = 0; i < n; i++) {
        const double *a = fit->jacobian + i * fit->residuals;
        step[i] = 0.0;
        for (int64_t k = 0; k < fit->residuals; k++) step[i] -= a[k] * fit->residual[k];
        for (int j = 0; j <= i; j++) {
            const double *b = fit->jacobian + j * fit->residuals;
            double sum = 0.0;
            for (int64_t k = 0; k < fit->residuals; k++) sum += a[k] * b[k];
            normal[i * n + j] = sum;
        }
        normal[i * n + i] += lambda * normal[i * n + i] + 1e-9;
    }
    if (!cholesky_small_factor(normal, n, 0.0)) return false;
    cholesky_small_solve(step, normal, n, 1);
    return true;
}

// Levenberg-Marquardt from z, which is improved. Returns the sum of squares.
static double solve_fit(double *z, const fit_problem *fit)
{
    infer_result state = {0};
    double cost = find_residual(fit->residual, fit, &state, z), lambda = 1e-2;
    bool moved = true;
    for (int iteration = 0; iteration < ITERATIONS && isfinite(cost); iteration++) {
        double step[MAX_UNKNOWNS], trial[MAX_UNKNOWNS];
        if (moved) find_jacobian(fit, &state, z);
        if (!find_step(step, fit, lambda)) break;
        for (int i = 0; i < fit->unknowns; i++) trial[i] = z[i] + step[i];
        const double next = find_residual(fit->moved, fit, &state, trial);
        moved = next < cost;
        lambda *= moved ? 0.2 : 5.0;
        if (!moved) continue;
        const bool done = next > cost * (1.0 - 1e-9);
        memcpy(z, trial, (size_t)fit->unknowns * sizeof *z);
        memcpy(fit->residual, fit->moved, (size_t)fit->residuals * sizeof *fit->moved);
        cost = next;
        if (done) break;
    }
    return cost;
}

// ---- starts ----

// Mean place of the first object.
static void find_mean(double mean[2], const infer_input *input, int n)
{
    mean[0] = mean[1] = 0.0;
    for (int64_t t = 0; t < input->frames; t++)
        for (int c = 0; c < 2; c++) mean[c] += input->xy[t * n + c] / (double)input->frames;
}

// Starts of a chain: the circle of the inner object as it is, then pivots at usual lengths on both
// sides of the arc. A short arc does not tell its side.
static bool start_chain_row(double *row, const bodies_config *config, const infer_input *input,
                            int index)
{
    static const double length[] = {0.0, 1.0, 0.75, 1.3, -1.0, -0.75, -1.3};
    if (index >= (int)(sizeof length / sizeof *length)) return false;
    const int n = 2 * config->objects;
    const track_circle circle = tracks_fit_circle(input->xy, input->frames, n);
    double mean[2];
    if (!index) {
        row[ROW_X] = circle.x;
        row[ROW_Y] = circle.y;
        row[ROW_LENGTH] = log(fmax(circle.radius, 1e-3));
        return true;
    }
    find_mean(mean, input, n);
    const double dx = circle.x - mean[0], dy = circle.y - mean[1];
    const double usual = exp(row[ROW_LENGTH]),
                 reach = length[index] * usual / (hypot(dx, dy) + 1e-9);
    row[ROW_X] = mean[0] + dx * reach;
    row[ROW_Y] = mean[1] + dy * reach;
    row[ROW_LENGTH] = log(fabs(length[index]) * usual);
    return true;
}

// Start `index` of the constants of a video; false if there are no more.
static bool start_row(double *row, const bodies_law *law, const float *parameters,
                      const infer_input *input, int index)
{
    static const double away[] = {0.0, 0.15, -0.15, 0.35, -0.35};
    const bodies_config *config = law->config;
    const float *usual = parameters + law->layout->row_mean;
    if (!config->constants) {
        bodies_read_row(row, law, parameters, 0);
        return index == 0;
    }
    for (int i = 0; i < config->row_size; i++) row[i] = (double)usual[i];
    if (config->chain) return start_chain_row(row, config, input, index);
    if (index >= (int)(sizeof away / sizeof *away)) return false;
    if (config->row_active[ROW_X]) {
        // Along the motion the centre is where the object is on average, or somewhat away.
        double mean[2], low[2], high[2];
        const int n = 2 * config->objects;
        find_mean(mean, input, n);
        for (int c = 0; c < 2; c++) {
            low[c] = high[c] = input->xy[c];
            for (int64_t t = 0; t < input->frames; t++) {
                low[c] = fmin(low[c], input->xy[t * n + c]);
                high[c] = fmax(high[c], input->xy[t * n + c]);
            }
        }
        const double sx = high[0] - low[0], sy = high[1] - low[1], size = hypot(sx, sy) + 1e-9;
        row[ROW_X] = mean[0] + away[index] * sx / size;
        row[ROW_Y] = mean[1] + away[index] * sy / size;
    } else {
        row[ROW_STRENGTH] += 2.0 * away[index];
    }
    return true;
}

// The first state of a fit, by the polynomial.
static void start_state(double *z, infer_result *out, const fit_problem *fit,
                        const window_weights *weights)
{
    const bodies_config *config = fit->law->config;
    bodies_state state;
    int at = 2 * fit->states;
    bodies_find_constants(&out->constants, fit->law, fit->parameters, out->row, fit->input->radius);
    clip_find_state(&state, fit->law, &out->constants, weights,
                    fit->input->xy + (fit->at - config->window / 2) * 2 * config->objects);
    memcpy(z, state.q, (size_t)fit->states * sizeof *z);
    memcpy(z + fit->states, state.p, (size_t)fit->states * sizeof *z);
    for (int i = 0; i < config->row_size && config->constants; i++)
        if (config->row_active[i]) z[at++] = out->row[i];
}

static plumb_status alloc_fit(fit_problem *fit, arena *mem)
{
    const bodies_config *config = fit->law->config;
    fit->unknowns = 2 * fit->states;
    for (int i = 0; i < config->row_size && config->constants; i++)
        fit->unknowns += config->row_active[i];
    fit->residuals = fit->input->frames * 2 * config->objects + fit->unknowns - 2 * fit->states;
    fit->q_out = ARENA_ALLOC(mem, double, fit->input->frames * fit->states);
    fit->residual = ARENA_ALLOC(mem, double, fit->residuals);
    fit->moved = ARENA_ALLOC(mem, double, fit->residuals);
    fit->jacobian = ARENA_ALLOC(mem, double, fit->unknowns * fit->residuals);
    return fit->q_out && fit->residual && fit->moved && fit->jacobian ? PLUMB_OK : PLUMB_EMEMORY;
}

plumb_status infer_state(infer_result *out, const bodies_law *law, const window_weights *weights,
                         const float *parameters, const infer_input *input)
{
    arena mem = {0};
    double z[MAX_UNKNOWNS], best[MAX_UNKNOWNS], least = (double)INFINITY;
    fit_problem fit = {.law = law,
                       .parameters = parameters,
                       .input = input,
                       .at = infer_frame(law->config, input->frames, input->backward),
                       .states = infer_state_size(law->config)};
    *out = (infer_result){.at = fit.at};
    const plumb_status st = alloc_fit(&fit, &mem);
    for (int index = 0; !st && start_row(out->row, law, parameters, input, index); index++) {
        start_state(z, out, &fit, weights);
        const double cost = law->config->inference ? solve_fit(z, &fit) : 0.0;
        // The first start is the result if none can be rolled out.
        if (index && !(cost < least)) continue;
        least = cost;
        memcpy(best, z, sizeof best);
    }
    if (!st) read_unknowns(out, &fit, best);
    arena_clear(&mem);
    return st;
}
