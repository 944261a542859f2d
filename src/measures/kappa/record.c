// SPDX-License-Identifier: MIT
// The names under which `plumb measure --json` prints kappa and what belongs to it.
#include "plumb/kappa.h"

#include <math.h>

static void record_unmeasured(plumb_record *record, const char *why)
{
    static const char *const names[] = {
        "kappa",       "kappa_ci",   "kappa_constants", "kappa_constants_ci", "canonical",
        "kappa_score", "r2_state",   "r2_coordinates",  "r2_latent",          "r2_local",
        "diverged",    "r2_nearest", "symplectic_r2",   "symplectic",         "symplectic_ci",
        "form",        "hint",       "symplectic_why"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        plumb_record_set_null(record, names[i]);
    plumb_record_set_string(record, "canonical_why", why);
}

void plumb_kappa_record(plumb_record *record, const plumb_kappa *r,
                        const plumb_kappa_options *options)
{
    if (!record || !r) return;
    (void)options; // the record has no option of kappa yet
    if (!r->measured) {
        record_unmeasured(record, r->why);
        return;
    }
    plumb_record_set_double(record, "kappa", r->kappa);
    plumb_record_set_interval(record, "kappa_ci", r->kappa_ci);
    plumb_record_set_double(record, "kappa_constants", r->kappa_constants);
    if (isnan(r->kappa_constants)) plumb_record_set_null(record, "kappa_constants_ci");
    else plumb_record_set_interval(record, "kappa_constants_ci", r->kappa_constants_ci);
    plumb_record_begin_array(record, "diverged");
    for (int64_t i = 0; i < r->diverged_count; i++)
        plumb_record_set_int(record, NULL, r->diverged[i]);
    plumb_record_end(record);
    if (r->canonical == PLUMB_VERDICT_NOT_DETERMINED) plumb_record_set_null(record, "canonical");
    else plumb_record_set_int(record, "canonical", r->canonical);
    plumb_record_set_string(record, "canonical_why", r->why);
    if (r->hint) plumb_record_set_string(record, "hint", r->hint);
    else plumb_record_set_null(record, "hint");
    plumb_record_set_double(record, "kappa_score", r->score);
    plumb_record_set_double(record, "r2_state", r->r2_state);
    if (r->r2_coordinates)
        plumb_record_set_doubles(record, "r2_coordinates", r->r2_coordinates, 2 * r->n);
    else plumb_record_set_null(record, "r2_coordinates");
    plumb_record_set_double(record, "r2_latent", r->r2_latent);
    plumb_record_set_double(record, "r2_local", r->r2_local);
    plumb_record_set_double(record, "r2_nearest", r->r2_nearest);
    plumb_record_set_double(record, "symplectic_r2", r->symplectic_r2);
    plumb_record_set_double(record, "symplectic", r->symplectic);
    if (isnan(r->symplectic_ci.low)) plumb_record_set_null(record, "symplectic_ci");
    else plumb_record_set_interval(record, "symplectic_ci", r->symplectic_ci);
    if (r->symplectic_why) plumb_record_set_string(record, "symplectic_why", r->symplectic_why);
    else plumb_record_set_null(record, "symplectic_why");
    plumb_record_begin_object(record, "form");
    plumb_record_set_double(record, "c", r->c);
    plumb_record_set_double(record, "error", r->form_error);
    plumb_record_set_double(record, "low", r->form_low);
    plumb_record_set_double(record, "high", r->form_high);
    plumb_record_set_double(record, "resolution", r->resolution);
    plumb_record_set_int(record, "n", r->n_used);
    if (r->reduced) plumb_record_set_string(record, "reduced", r->reduced);
    else plumb_record_set_null(record, "reduced");
    if (r->pairs) {
        plumb_record_begin_array(record, "pairs");
        for (int64_t i = 0; i < r->n; i++)
            plumb_record_set_doubles(record, NULL, r->pairs + i * r->m, r->m);
        plumb_record_end(record);
    } else {
        plumb_record_set_null(record, "pairs");
    }
    plumb_record_set_int(record, "measure_version", PLUMB_KAPPA_VERSION);
    plumb_record_end(record);
}

void plumb_kappa_item_record(plumb_record *record, const plumb_kappa *r, int64_t trajectory)
{
    if (!record || !r || !r->measured) return;
    for (int64_t k = 0; k < r->trajectories; k++) {
        const plumb_kappa_item *item = &r->items[k];
        if (item->trajectory != trajectory) continue;
        plumb_record_set_double(record, "kappa", item->kappa);
        plumb_record_set_double(record, "lost", item->lost);
        plumb_record_set_double(record, "form_dot", item->dot);
        plumb_record_set_double(record, "form_norm2", item->form_norm2);
        plumb_record_set_double(record, "true_norm2", item->true_norm2);
        plumb_record_set_double(record, "halves_diff2", item->halves_diff2);
    }
}
