// SPDX-License-Identifier: MIT
// The names under which `plumb measure --json` prints a result (fixed: programs read them).
#include <math.h>

#include "base/options_struct.h"
#include "plumb/symetric.h"

// One object per batch; only written if there is more than one.
static void list_batches(plumb_record *record, const plumb_symetric *result)
{
    plumb_record_begin_array(record, "batches");
    for (int64_t i = 0; i < result->batch_count; i++) {
        const plumb_symetric_batch *numbers = &result->batches[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_double(record, "r2", numbers->r2);
        plumb_record_set_double(record, "sym", numbers->sym);
        plumb_record_set_int(record, "symetric", numbers->symetric);
        plumb_record_set_int(record, "order", numbers->order);
        plumb_record_set_double(record, "alpha", numbers->alpha);
        plumb_record_set_int(record, "features", numbers->features);
        plumb_record_set_int(record, "nonzero", numbers->nonzero);
        plumb_record_set_double(record, "rho", numbers->rho);
        plumb_record_set_bool(record, "degenerate", numbers->degenerate);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

// The keys that only method mlp has. "components" is null if the latents went in directly.
static void record_training(plumb_record *record, const plumb_symetric_training *training,
                            const plumb_symetric_options *opt)
{
    plumb_record_set_int(record, "width", training->width);
    plumb_record_set_int(record, "layers", opt->network_layers);
    plumb_record_set_int(record, "parameters", training->parameters);
    if (training->components) plumb_record_set_int(record, "components", training->components);
    else plumb_record_set_double(record, "components", (double)NAN);
    plumb_record_set_int(record, "train_trajectories", training->trajectories);
    plumb_record_set_int(record, "train_points", training->points);
    plumb_record_set_double(record, "points_per_parameter",
                            (double)training->points / (double)training->parameters);
    plumb_record_set_int(record, "updates", opt->network_updates);
    plumb_record_set_int(record, "starts", opt->network_starts);
    plumb_record_set_double(record, "ridge", opt->network_ridge);
    plumb_record_set_double(record, "l1", opt->network_l1);
    plumb_record_set_double(record, "loss", training->loss);
    plumb_record_set_double(record, "r2_train", training->r2);
}

void plumb_symetric_record(plumb_record *record, const plumb_symetric *result,
                           const plumb_symetric_options *options)
{
    if (!record || !result) return;
    plumb_symetric_options full = plumb_symetric_defaults(), *opt = &full;
    if (options_resolve(&full, sizeof full, options, "plumb_symetric_options")) return;
    const bool mlp = result->method == PLUMB_SYMETRIC_METHOD_MLP;
    plumb_record_set_string(record, "method", mlp ? "mlp" : "pr");
    // Method mlp has no published code to follow, so it has a mode of its own.
    plumb_record_set_string(record, "mode",
                            mlp                                             ? "own"
                            : result->mode == PLUMB_SYMETRIC_MODE_REFERENCE ? "reference"
                                                                            : "converged");
    // The measure and its 95 % intervals.
    plumb_record_set_double(record, "r2", result->r2);
    plumb_record_set_interval(record, "r2_ci", result->r2_ci);
    plumb_record_set_double(record, "sym", result->sym);
    plumb_record_set_interval(record, "sym_ci", result->sym_ci);
    plumb_record_set_double(record, "symetric", result->symetric);
    plumb_record_set_interval(record, "symetric_ci", result->symetric_ci);
    plumb_record_set_double(record, "r2_heldout", result->r2_heldout);
    plumb_record_set_interval(record, "r2_heldout_ci", result->r2_heldout_ci);
    plumb_record_set_string(record, "why", result->why);
    // The fit: a network has no polynomial order.
    if (mlp) plumb_record_set_double(record, "order", (double)NAN);
    else plumb_record_set_int(record, "order", result->order);
    if (mlp) plumb_record_set_double(record, "order_limit", (double)NAN);
    else plumb_record_set_int(record, "order_limit", result->order_limit);
    plumb_record_set_double(record, "alpha", result->alpha);
    if (mlp) record_training(record, &result->training, opt);
    plumb_record_begin_array(record, "sym_per_trajectory");
    for (int64_t i = 0; i < result->trajectories; i++)
        plumb_record_set_double(record, NULL, result->items[i].sym);
    plumb_record_end(record);
    // The latents: indices that were used, and how many passed the mask (null without one).
    plumb_record_set_ints(record, "latents_used", result->latents_used, result->latents);
    if (result->informative >= 0)
        plumb_record_set_int(record, "informative_dimensions", result->informative);
    else plumb_record_set_null(record, "informative_dimensions");
    plumb_record_set_bool(record, "degenerate", result->degenerate);
    plumb_record_set_double(record, "rho", result->rho);
    // Sizes: n and m are degrees of freedom of the truth and of the latents.
    plumb_record_set_int(record, "n", result->n);
    plumb_record_set_int(record, "m", result->m);
    plumb_record_set_int(record, "trajectories", result->trajectories);
    plumb_record_set_int(record, "dropped", result->dropped);
    plumb_record_set_int(record, "steps", result->steps);
    plumb_record_set_int(record, "fits", result->batch_count);
    plumb_record_set_int(record, "unconverged", result->unconverged);
    if (result->batch_count > 1) list_batches(record, result);
    // What is needed to repeat the measurement.
    plumb_record_set_int(record, "seed", (int64_t)opt->seed);
    plumb_record_set_string(record, "input_hash", result->input_hash);
    plumb_record_set_double(record, "seconds", result->seconds);
    plumb_record_set_int(record, "measure_version", PLUMB_SYMETRIC_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
}

// One trajectory: one line of the file of `--items`.
void plumb_symetric_item_record(plumb_record *record, const plumb_symetric *result, int64_t index)
{
    if (!record || !result) return;
    const plumb_symetric_item *item = &result->items[index];
    plumb_record_set_int(record, "trajectory", item->trajectory);
    plumb_record_set_int(record, "batch", item->batch);
    plumb_record_set_double(record, "r2", item->r2);
    plumb_record_set_double(record, "r2_heldout", item->r2_heldout);
    plumb_record_set_double(record, "sym", item->sym);
}
