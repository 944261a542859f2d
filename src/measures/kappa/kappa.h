// SPDX-License-Identifier: MIT
// The stages of kappa and what they pass on: read the arrays, reduce the truth, fit the map from
// truth to latents and pull the form back, fit the map from latents to truth, decide.
//
// A row is one state. Rows are ordered trajectory after trajectory: first every second trajectory,
// then the others, so that each half is contiguous.
#ifndef MEASURES_KAPPA_KAPPA_H
#define MEASURES_KAPPA_KAPPA_H

#include "measures/fit/kernel_fit.h"
#include "plumb/kappa.h"

/// The arrays as rows of doubles.
typedef struct kappa_rows {
    double *truth, *latent; // (rows, 2n), (rows, 2m) in units of truth_unit, latent_unit
    double truth_unit;      // powers of two that bring the largest value to about 1, so that
    double latent_unit;     // no power of a value overflows
    double truth_rounding;  // a deviation below this share of the largest value is rounding
    double latent_rounding;
    int64_t *trajectory;           // (trajectories) indices in the arrays given, in row order
    int64_t trajectories, steps;   // steps: per trajectory, after thinning in time
    int64_t rows, first_half_rows; // of all trajectories; of the first half
    int64_t truth_dims;            // 2n
    int64_t latent_dims;           // 2m
    int64_t dropped;               // trajectories left out because of NaN or infinity
    int64_t search_stride;         // searches take every Nth row
} kappa_rows;

/// The truth in coordinates that the data span: balanced, without redundancy.
typedef struct kappa_truth {
    int64_t dims;        // coordinates
    int64_t form_dims;   // the first form_dims carry the form; the others are held fixed
    double *w;           // (rows, dims) mean 0
    double *deviation;   // (dims)
    double *per_radian;  // (dims) w per radian if the coordinate may be an angle, else 0
    double *true_form;   // (form_dims, form_dims) the true form A, or one per row if it is curved
    int64_t form_stride; // 0, or form_dims^2 with one form per row
    bool is_plain;       // the coordinates are the given ones, balanced
    char note[400];      // what was removed; "" if nothing
} kappa_truth;

/// The latents, and which of them move.
typedef struct kappa_latent {
    double *deviation;    // (2m)
    bool *varies;         // (2m) differs at all
    bool *constant;       // (2m) constant along each trajectory
    bool *unpaired;       // (2m) its partner is constant: at fixed constants they span no area
    double max_deviation; // largest of the deviations
    double *y;            // (rows, 2m) mean 0, mean square 1; 0 if it does not vary
} kappa_latent;

/// Inputs of G: true coordinates (angles perhaps as sine and cosine), then constant latents.
typedef struct map_inputs {
    int64_t dims;
    double *x;     // (rows, dims)
    int64_t *base; // (dims) its true coordinate i, or -1 - i for constant latent i
    double *slope; // (rows, dims) d input / d coordinate
} map_inputs;

/// Outputs of G: the latents that move and whose partner is not constant.
typedef struct map_outputs {
    int64_t count;
    int64_t *which; // (count)
    double *y;      // (rows, count)
    double weight;  // sum of their variances
} map_outputs;

/// G: what goes in, what comes out, and the fit.
typedef struct latent_map {
    map_inputs in;
    map_outputs out;
    kernel_fit fit;
    kernel_fit_input request;
    double unexplained; // share of the variance of the outputs
} latent_map;

/// The map G from truth to latents, and the latent form O = J^T A J pulled back along it, summed
/// over each trajectory.
typedef struct kappa_pullback_form {
    double local_r2;      // share of the truth's variance that the latents determine, by slope
    double relative_area; // |O|^2 over its value if the slopes of each pair were orthogonal
    double missed;        // share of the latents' variance that is neither explained nor noise
    double *unexplained;  // (2m) share of the variance; 0 for latents that are no output of G
    double r2;            // of G, weighted by variance
    double *dot;          // (trajectories) <O, A>
    double *form_norm2;   // (trajectories) |O|^2
    double *true_norm2;   // (trajectories) |A|^2
    double *halves_diff2; // (trajectories) |O1 - O2|^2 of the fits to the two halves
    double *mean;         // (form_dims, form_dims) mean of O
    double *pairs;        // (form_dims / 2, m) share of each latent pair, or NULL
} kappa_pullback_form;

/// The context of one call; each stage fills its part.
typedef struct kappa_work {
    arena *mem;  // scratch for the whole call
    arena *keep; // memory of the result
    const plumb_kappa_options *opt;
    kappa_rows rows;
    kappa_truth truth;
    kappa_latent latent;
    latent_map map;
    arena map_memory; // of the fit in `map`
    kappa_pullback_form form;
} kappa_work;

/// Makes `out` a result that was not measured, for the reason `why`.
plumb_status kappa_set_unmeasured(plumb_kappa *out, const char *why);

/// Checks the arrays and reads them: work->rows. May be NULL: momenta.
plumb_status kappa_input_read(kappa_work *work, const plumb_array *latent,
                              const plumb_array *momenta, const plumb_array *truth);

/// Standardises the latents and finds those that do not move: work->latent.
plumb_status kappa_input_latents(kappa_work *work);

/// Removes redundant coordinates of the truth: work->truth.
plumb_status kappa_reduce_truth(kappa_work *work);

/// Fits G and pulls the form back: work->form. Constant latents that turn out to be functions of
/// the state are marked as moving in work->latent.
plumb_status kappa_pullback(kappa_work *work);

/// J (2m, form_dims) at one row: slopes of all latents by the true coordinates that carry the form,
/// in units of the largest deviation. jacobian (outputs, inputs) is that of a fit of work->map.
void kappa_map_slopes(double *J, const double *jacobian, int64_t row, const kappa_work *work);

/// Held-out R2 of the map from latents to truth.
plumb_status kappa_state_r2(double *r2, const kappa_work *work);

/// The same by nearest neighbours, for maps whose inverse is hard to fit: `r2`. `many_to_one` is
/// set if near latents belong to distant states, so that no inverse exists.
plumb_status kappa_nearest_r2(double *r2, bool *many_to_one, kappa_work *work);

/// Held-out R2 of a map from truth to latents that is symplectic by design, and that of G for the
/// same latents (`free_r2`; latents that are noise do not count). NaN if the true pairs were mixed
/// to remove redundancy. `sign` is that of c.
plumb_status kappa_symplectic_map(double *r2, double *free_r2, const kappa_work *work, double sign);

/// The verdict on measured numbers: canonical, why and symplectic_r2 of `result`. Where the
/// symplectic map is the better estimate, it also sets kappa to 1.
plumb_status kappa_decide(plumb_kappa *result, kappa_work *work);

#endif
