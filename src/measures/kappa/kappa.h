// SPDX-License-Identifier: MIT
// What the parts of the canonical measure hand to each other.
//
// Rows are states, trajectory after trajectory: first every second trajectory, then the others, so
// that either half lies together.
#ifndef MEASURES_KAPPA_KAPPA_H
#define MEASURES_KAPPA_KAPPA_H

#include "measures/fit/kernel_fit.h"

typedef struct kappa_rows {
    double *truth, *latent; // (rows, 2n), (rows, 2m) as given
    int64_t *trajectory;    // (trajectories) indices in the arrays given, in the order of rows
    int64_t trajectories, steps, rows, first;
    int64_t n2, m2; // 2n, 2m
    int64_t dropped;
    int64_t thin; // for searches
} kappa_rows;

/// The truth in coordinates that the data fill: balanced, redundancy taken out.
typedef struct kappa_truth {
    int64_t dims;        // coordinates
    int64_t form;        // the first so many carry the form; the others are held fixed
    double *w;           // (rows, dims) mean 0
    double *deviation;   // (dims)
    double *turn;        // (dims) w per radian if the coordinate may be an angle, else 0
    double *area;        // (form, form) the true form, or (rows, form, form) where it is bent
    int64_t area_stride; // 0 or form^2
    bool plain;          // coordinates are the given ones, balanced
    char note[400];      // what was taken out; "" nothing
} kappa_truth;

/// Makes `out` a result that was not measured, for the reason `why`.
plumb_status kappa_set_unmeasured(plumb_kappa *out, const char *why);

/// Reads and checks the arrays.
/// May be NULL: momenta.
plumb_status kappa_input_read(kappa_rows *out, arena *mem, const plumb_array *latent,
                              const plumb_array *momenta, const plumb_array *truth,
                              const plumb_kappa_options *opt);

plumb_status kappa_reduce_truth(kappa_truth *out, arena *mem, const kappa_rows *rows,
                                const plumb_kappa_options *opt);

/// Latents, and which of them move.
typedef struct kappa_latent {
    double *deviation;      // (2m)
    bool *alive, *constant; // (2m) differs at all; is constant along each trajectory
    bool *idle;             // (2m) its partner is constant: at fixed constants they span no area
    double largest;         // of the deviations
    double *y;              // (rows, 2m) mean 0, mean square 1; dead ones 0
} kappa_latent;

plumb_status kappa_input_latents(kappa_latent *out, arena *mem, const kappa_rows *rows);

/// The map from truth to latents and the form it pulls back, summed over each trajectory.
typedef struct kappa_pullback_form {
    double local;  // share of the truth's variance that the latents tell where G can be inverted
    double span;   // |O|^2 over what it would be, were all latent pairs at right angles
    double missed; // share of the latents' variance that is neither explained nor noise
    double *left;  // (2m) not explained; 0 for dead and constant latents
    double r2;     // by variance
    double *along, *norm, *area, *apart; // (trajectories) <O,A>, |O|^2, |A|^2, |O1 - O2|^2
    double *mean;                        // (form, form) of O
    double *pairs;                       // (form/2, m) or NULL
} kappa_pullback_form;

/// Also finds out which constant latents are functions of the state, and marks them as moving.
plumb_status kappa_pullback(kappa_pullback_form *out, arena *mem, const kappa_rows *rows,
                            const kappa_truth *truth, kappa_latent *latent,
                            const plumb_kappa_options *opt);

/// Held-out R2 of the map from latents to truth.
plumb_status kappa_state_r2(double *r2, arena *mem, const kappa_rows *rows,
                            const kappa_truth *truth, const kappa_latent *latent,
                            const double *left, const plumb_kappa_options *opt);

/// Held-out R2 of a map that is symplectic by design, truth to latents; NaN where the true pairs
/// were mixed to take redundancy out. free_r2: that of the free map for the same latents, those
/// that are no noise. `sign` is that of c.
plumb_status kappa_symplectic_map(double *r2, double *free_r2, arena *mem, const kappa_rows *rows,
                                  const kappa_truth *truth, const kappa_latent *latent,
                                  const kappa_pullback_form *form, double sign,
                                  const plumb_kappa_options *opt);

#endif
