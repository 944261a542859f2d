// SPDX-License-Identifier: MIT
// Reads the true state off the latents by the map F of SyMetric, for the figures of a report. A map
// of its own would show something that no measure has measured.
#include "report/state_readout.h"

// The latents of a model as an array.
static plumb_array view_latents(const report_model *model)
{
    return plumb_array_view(model->latent, PLUMB_FLOAT64, 3,
                            (int64_t[]){model->count, model->steps, model->latents});
}

plumb_status state_readout_set(report_model *model, arena *mem, const plumb_symetric *measured)
{
    const plumb_array latent = view_latents(model);
    double *states = ARENA_ALLOC(mem, double, model->count * model->steps * model->states);
    if (!states) return PLUMB_EMEMORY;
    if (2 * measured->n != model->states)
        return fail(PLUMB_ESHAPE, "the map was fitted to %lld true coordinates, not to %lld",
                    (long long)(2 * measured->n), (long long)model->states);
    const plumb_status st = plumb_symetric_predict(states, measured, 0, &latent);
    if (!st) model->readout = states;
    return st;
}

plumb_status state_readout_fit(report_model *model, arena *mem)
{
    if (!model->latent || !model->truth) return PLUMB_OK;
    const plumb_array latent = view_latents(model);
    const plumb_array truth = plumb_array_view(
        model->truth, PLUMB_FLOAT64, 3, (int64_t[]){model->count, model->steps, model->states});
    plumb_symetric_options options = plumb_symetric_defaults();
    const double order = json_tree_double(model->measure, "order");
    // If the order is known it need not be searched for. Few trajectories do not determine many
    // monomials.
    if (order >= 1 && order < options.max_order) options.max_order = (int)order;
    options.max_features = 500;
    options.resamples = 0;
    options.nonfinite = PLUMB_SYMETRIC_NONFINITE_MEAN;
    if (model->steps < options.points) options.points = 0;
    plumb_symetric measured;
    plumb_status st = plumb_symetric_measure(&measured, &latent, NULL, &truth, &options);
    if (st == PLUMB_ENUMERIC) return PLUMB_OK;
    if (!st) {
        st = state_readout_set(model, mem, &measured);
        plumb_symetric_clear(&measured);
    }
    return st;
}
