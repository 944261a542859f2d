// SPDX-License-Identifier: MIT
// The names under which `plumb measure --json` prints a result (fixed: programs read them).
#include <math.h>

#include "base/options_struct.h"
#include "plumb/symetric.h"

// One object per batch; only written if there is more than one.
static void list_batches(plumb_record *record, const plumb_symetric *r)
{
    plumb_record_begin_array(record, "batches");
    for (int64_t i = 0; i < r->batch_count; i++) {
        const plumb_symetric_batch *b = &r->batches[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_double(record, "r2", b->r2);
        plumb_record_set_double(record, "sym", b->sym);
        plumb_record_set_int(record, "symetric", b->symetric);
        plumb_record_set_int(record, "order", b->order);
        plumb_record_set_double(record, "alpha", b->alpha);
        plumb_record_set_int(record, "features", b->features);
        plumb_record_set_int(record, "nonzero", b->nonzero);
        plumb_record_set_double(record, "rho", b->rho);
        plumb_record_set_bool(record, "degenerate", b->degenerate);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

// The keys that only method mlp has. "components" is null if the latents went in directly.
static void record_training(plumb_record *record, const plumb_symetric_training *t,
                            const plumb_symetric_options *opt)
{
    plumb_record_set_int(record, "width", t->width);
    plumb_record_set_int(record, "layers", opt->network_layers);
    plumb_record_set_int(record, "parameters", t->parameters);
    if (t->components) plumb_record_set_int(record, "components", t->components);
    else plumb_record_set_double(record, "components", (double)NAN);
    plumb_record_set_int(record, "train_trajectories", t->trajectories);
    plumb_record_set_int(record, "train_points", t->points);
    plumb_record_set_double(record, "points_per_parameter",
                            (double)t->points / (double)t->parameters);
    plumb_record_set_int(record, "updates", opt->network_updates);
    plumb_record_set_int(record, "starts", opt->network_starts);
    plumb_record_set_double(record, "ridge", opt->network_ridge);
    plumb_record_set_double(record, "loss", t->loss);
    plumb_record_set_double(record, "r2_train", t->r2);
}

void plumb_symetric_record(plumb_record *record, const plumb_symetric *r,
                           const plumb_symetric_options *options)
{
    if (!record || !r) return;
    plumb_symetric_options full = plumb_symetric_defaults(), *opt = &full;
    if (options_resolve(&full, sizeof full, options, "plumb_symetric_options")) return;
    const bool mlp = r->method == PLUMB_SYMETRIC_METHOD_MLP;
    plumb_record_set_string(record, "method", mlp ? "mlp" : "pr");
    // Method mlp has no published code to follow, so it has a mode of its own.
    plumb_record_set_string(record, "mode",
                            mlp                                        ? "own"
                            : r->mode == PLUMB_SYMETRIC_MODE_REFERENCE ? "reference"
                                                                       : "converged");
    // The measure and its 95 % intervals.
    plumb_record_set_double(record, "r2", r->r2);
    plumb_record_set_interval(record, "r2_ci", r->r2_ci);
    plumb_record_set_double(record, "sym", r->sym);
    plumb_record_set_interval(record, "sym_ci", r->sym_ci);
    plumb_record_set_double(record, "symetric", r->symetric);
    plumb_record_set_interval(record, "symetric_ci", r->symetric_ci);
    plumb_record_set_double(record, "r2_heldout", r->r2_heldout);
    plumb_record_set_interval(record, "r2_heldout_ci", r->r2_heldout_ci);
    plumb_record_set_string(record, "why", r->why);
    // The fit: a network has no polynomial order.
    if (mlp) plumb_record_set_double(record, "order", (double)NAN);
    else plumb_record_set_int(record, "order", r->order);
    plumb_record_set_double(record, "alpha", r->alpha);
    if (mlp) record_training(record, &r->training, opt);
    plumb_record_begin_array(record, "sym_per_trajectory");
    for (int64_t i = 0; i < r->trajectories; i++)
        plumb_record_set_double(record, NULL, r->items[i].sym);
    plumb_record_end(record);
    // The latents: indices that were used, and how many passed the mask (null without one).
    plumb_record_set_ints(record, "latents_used", r->latents_used, r->latents);
    if (r->informative >= 0) plumb_record_set_int(record, "informative_dimensions", r->informative);
    else plumb_record_set_null(record, "informative_dimensions");
    plumb_record_set_bool(record, "degenerate", r->degenerate);
    plumb_record_set_double(record, "rho", r->rho);
    // Sizes: n and m are degrees of freedom of the truth and of the latents.
    plumb_record_set_int(record, "n", r->n);
    plumb_record_set_int(record, "m", r->m);
    plumb_record_set_int(record, "trajectories", r->trajectories);
    plumb_record_set_int(record, "dropped", r->dropped);
    plumb_record_set_int(record, "steps", r->steps);
    plumb_record_set_int(record, "fits", r->batch_count);
    plumb_record_set_int(record, "unconverged", r->unconverged);
    if (r->batch_count > 1) list_batches(record, r);
    // What is needed to repeat the measurement.
    plumb_record_set_int(record, "seed", (int64_t)opt->seed);
    plumb_record_set_string(record, "input_hash", r->input_hash);
    plumb_record_set_double(record, "seconds", r->seconds);
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
