// SPDX-License-Identifier: MIT
#include "evaluate/state_arrays.h"

#include <string.h>

#include "base/status.h"
#include "evaluate/model_rollout.h"

enum { PIECE = 2000 }; // trajectories whose frames are in memory at a time

// The latents of a Lagrangian model are (q, v); this replaces v by its momenta p.
static plumb_status replace_velocities(plumb_array *latent, trained_model *trained,
                                       const rollout_arrays *rollout, int64_t count)
{
    const int64_t m = trained->model.dynamics->latents / 2, rows = count * rollout->steps;
    float *phase = ARENA_ALLOC(&trained->mem, float, (rows * 2 * m));
    if (!phase) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows; i++) {
        memcpy(phase + i * 2 * m, rollout->latent + i * 2 * m, (size_t)m * sizeof *phase);
        memcpy(phase + i * 2 * m + m, rollout->momenta + i * m, (size_t)m * sizeof *phase);
    }
    *latent = plumb_array_view(phase, PLUMB_FLOAT32, 3, (int64_t[]){count, rollout->steps, 2 * m});
    return PLUMB_OK;
}

plumb_status state_arrays_infer(state_arrays *out, trained_model *trained, test_videos *test,
                                int64_t steps, int threads)
{
    rollout_arrays rollout;
    const int64_t count = test->videos.count, latents = trained->model.dynamics->latents;
    const rollout_request request = {.steps = steps, .threads = threads};
    const plumb_status st = model_rollout_run(&rollout, trained, &test->videos, &request);
    if (st) return st;
    model_rollout_drop_states(test, trained, steps);
    out->latent = plumb_array_view(rollout.latent, PLUMB_FLOAT32, 3,
                                   (int64_t[]){count, rollout.steps, latents});
    out->truth = plumb_array_view(test->state, PLUMB_FLOAT64, 3,
                                  (int64_t[]){count, rollout.steps, test->state_dims});
    out->variance =
        plumb_array_view(rollout.variance, PLUMB_FLOAT32, 2, (int64_t[]){count, latents});
    return rollout.momenta ? replace_velocities(&out->latent, trained, &rollout, count) : PLUMB_OK;
}

// Arrays of all trajectories, which pieces are copied into.
static plumb_status allocate_all(state_arrays *out, trained_model *trained,
                                 const state_arrays *piece, int64_t count)
{
    const int64_t steps = piece->latent.shape[1], latents = piece->latent.shape[2];
    const int64_t dims = piece->truth.shape[2];
    float *latent = ARENA_ALLOC(&trained->mem, float, (count * steps * latents));
    float *variance = ARENA_ALLOC(&trained->mem, float, (count * latents));
    double *truth = ARENA_ALLOC(&trained->mem, double, (count * steps * dims));
    if (!latent || !variance || !truth) return PLUMB_EMEMORY;
    out->latent = plumb_array_view(latent, PLUMB_FLOAT32, 3, (int64_t[]){count, steps, latents});
    out->variance = plumb_array_view(variance, PLUMB_FLOAT32, 2, (int64_t[]){count, latents});
    out->truth = plumb_array_view(truth, PLUMB_FLOAT64, 3, (int64_t[]){count, steps, dims});
    return PLUMB_OK;
}

static void copy_rows(plumb_array *to, const plumb_array *from, int64_t first)
{
    const size_t item =
        (size_t)(plumb_array_count(from) / from->shape[0]) * plumb_dtype_size(from->dtype);
    memcpy((char *)to->data + (size_t)first * item, from->data, (size_t)from->shape[0] * item);
}

plumb_status state_arrays_make(state_arrays *out, trained_model *trained,
                               const test_videos_request *request)
{
    test_videos test;
    if (request->data || request->count <= PIECE) {
        const plumb_status st = test_videos_get(&test, trained, request);
        return st ? st : state_arrays_infer(out, trained, &test, request->steps, request->threads);
    }
    // The first piece is small: it tells the sizes of the arrays.
    plumb_status st = PLUMB_OK;
    for (int64_t at = 0, n = 1; at < request->count && !st; at += n, n = PIECE) {
        state_arrays piece;
        test_videos_request part = *request;
        part.first = request->first + at;
        part.count = n < request->count - at ? n : request->count - at;
        part.progress_from = (double)at / (double)request->count;
        part.progress_share = (double)part.count / (double)request->count;
        const arena_mark mark = arena_get_mark(&trained->mem);
        st = test_videos_get(&test, trained, &part);
        if (!st) st = state_arrays_infer(&piece, trained, &test, part.steps, part.threads);
        if (!st && !at) {
            st = allocate_all(out, trained, &piece, request->count);
            if (st) return st;
        }
        if (st) return st;
        copy_rows(&out->latent, &piece.latent, at);
        copy_rows(&out->variance, &piece.variance, at);
        copy_rows(&out->truth, &piece.truth, at);
        if (at) arena_rewind(&trained->mem, mark);
    }
    return st;
}
