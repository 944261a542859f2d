// SPDX-License-Identifier: MIT
// The names under which `plumb measure --json` prints a result (fixed: programs read them).
#include <math.h>

#include "plumb/symetric.h"

static void list_batches(plumb_record *record, const plumb_symetric *r)
{
    plumb_record_begin_list(record, "batches");
    for (int64_t i = 0; i < r->batch_count; i++) {
        const plumb_symetric_batch *b = &r->batches[i];
        plumb_record_begin(record, NULL);
        plumb_record_real(record, "r2", b->r2);
        plumb_record_real(record, "sym", b->sym);
        plumb_record_integer(record, "symetric", b->symetric);
        plumb_record_integer(record, "order", b->order);
        plumb_record_real(record, "alpha", b->alpha);
        plumb_record_integer(record, "features", b->features);
        plumb_record_integer(record, "nonzero", b->nonzero);
        plumb_record_real(record, "rho", b->rho);
        plumb_record_flag(record, "degenerate", b->degenerate);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

static void record_training(plumb_record *record, const plumb_symetric_training *t,
                            const plumb_symetric_network *n)
{
    plumb_record_integer(record, "width", t->width);
    plumb_record_integer(record, "layers", n->layers);
    plumb_record_integer(record, "parameters", t->parameters);
    if (t->components) plumb_record_integer(record, "components", t->components);
    else plumb_record_real(record, "components", (double)NAN);
    plumb_record_integer(record, "train_trajectories", t->trajectories);
    plumb_record_integer(record, "train_points", t->points);
    plumb_record_real(record, "points_per_parameter", (double)t->points / (double)t->parameters);
    plumb_record_integer(record, "updates", n->updates);
    plumb_record_integer(record, "starts", n->starts);
    plumb_record_real(record, "ridge", n->ridge);
    plumb_record_real(record, "loss", t->loss);
    plumb_record_real(record, "r2_train", t->r2);
}

void plumb_symetric_record(plumb_record *record, const plumb_symetric *r,
                           const plumb_symetric_options *opt)
{
    const plumb_symetric_options defaults = plumb_symetric_defaults();
    if (!opt) opt = &defaults;
    const bool mlp = r->method == PLUMB_METHOD_MLP;
    plumb_record_text(record, "method", mlp ? "mlp" : "pr");
    plumb_record_text(record, "mode",
                      mlp                          ? "own"
                      : r->mode == PLUMB_REFERENCE ? "reference"
                                                   : "converged");
    plumb_record_real(record, "r2", r->r2);
    plumb_record_interval(record, "r2_ci", r->r2_ci);
    plumb_record_real(record, "sym", r->sym);
    plumb_record_interval(record, "sym_ci", r->sym_ci);
    plumb_record_real(record, "symetric", r->symetric);
    plumb_record_interval(record, "symetric_ci", r->symetric_ci);
    plumb_record_real(record, "r2_heldout", r->r2_heldout);
    plumb_record_interval(record, "r2_heldout_ci", r->r2_heldout_ci);
    plumb_record_text(record, "why", r->why);
    if (mlp) plumb_record_real(record, "order", (double)NAN);
    else plumb_record_integer(record, "order", r->order);
    plumb_record_real(record, "alpha", r->alpha);
    if (mlp) record_training(record, &r->training, &opt->network);
    plumb_record_begin_list(record, "sym_per_trajectory");
    for (int64_t i = 0; i < r->trajectories; i++) plumb_record_real(record, NULL, r->items[i].sym);
    plumb_record_end(record);
    plumb_record_integers(record, "latents_used", r->latents_used, r->latents);
    plumb_record_flag(record, "degenerate", r->degenerate);
    plumb_record_real(record, "rho", r->rho);
    plumb_record_integer(record, "n", r->n);
    plumb_record_integer(record, "m", r->m);
    plumb_record_integer(record, "trajectories", r->trajectories);
    plumb_record_integer(record, "dropped", r->dropped);
    plumb_record_integer(record, "steps", r->steps);
    plumb_record_integer(record, "fits", r->batch_count);
    plumb_record_integer(record, "unconverged", r->unconverged);
    if (r->batch_count > 1) list_batches(record, r);
    plumb_record_integer(record, "seed", (int64_t)opt->seed);
    plumb_record_text(record, "input_hash", r->input_hash);
    plumb_record_real(record, "seconds", r->seconds);
    plumb_record_integer(record, "measure_version", PLUMB_SYMETRIC_VERSION);
    plumb_record_text(record, "version", plumb_version());
}
