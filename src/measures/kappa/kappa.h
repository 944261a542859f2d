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
    bool is_thinned;               // steps were left out
    int64_t diverged_count;        // trajectories left out because their latents diverge
    const int64_t *diverged;       // (diverged_count) their indices in the arrays given
    int64_t constants;             // that the caller gave
    double *constant;              // (trajectories, constants) in row order
    int64_t known;                 // known inputs of a row that are no coordinates: actions
    double *known_input;           // (rows, known)
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
    double *mean;         // (2m) what was subtracted
    double *period;       // (2m) of a latent that is an angle, in units of the latent; else 0
} kappa_latent;

/// How true angles enter G.
typedef enum map_angles {
    MAP_ANGLES_PLAIN,  // as they are
    MAP_ANGLES_CIRCLE, // as sine and cosine
    MAP_ANGLES_BOTH,   // as both
} map_angles;

/// What an input of G is.
typedef enum map_input_role {
    INPUT_VALUE,    // true coordinate `base`
    INPUT_SINE,     // sine of true coordinate `base`
    INPUT_COSINE,   // cosine of true coordinate `base`
    INPUT_LATENT,   // latent `base`, constant along each trajectory
    INPUT_CONSTANT, // constant `base` that the caller gave
    INPUT_KNOWN,    // known input `base` of the row
} map_input_role;

/// Inputs of G: true coordinates first, then constants and known inputs.
typedef struct map_inputs {
    int64_t dims, true_dims; // all; of true coordinates
    double *x;               // (rows, dims) mean 0, deviation 1
    int64_t *base;           // (dims)
    map_input_role *role;    // (dims)
    double *slope;           // (rows, dims) d input / d true coordinate; 0 for constants
} map_inputs;

/// What an output of G is: a latent, or the sine or cosine of a latent that is an angle.
typedef enum map_output_role { OUTPUT_VALUE, OUTPUT_SINE, OUTPUT_COSINE } map_output_role;

/// Outputs of G: the latents that move and whose partner is not constant.
typedef struct map_outputs {
    int64_t count;
    int64_t *which;        // (count) latent
    map_output_role *role; // (count)
    double *scale;         // (count) latent per unit of the output
    double *y;             // (rows, count) mean 0, mean square 1
    double weight;         // sum of the variances of the latents
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
    double missed_slope;  // largest share of a latent's squared slopes that is missed and no noise
    double resolution;    // waves of the latents shorter than this are not told from noise
    double coarse_kappa;  // kappa of a simpler fit
    double *residual2;    // (trajectories) squared held-out residuals of G, all outputs alike
    double *unexplained;  // (2m) share of the variance; 0 for latents that are no output of G
    double r2;            // of G, weighted by variance
    double *dot;          // (trajectories) <O, A>
    double *form_norm2;   // (trajectories) |O|^2
    double *true_norm2;   // (trajectories) |A|^2
    double *halves_diff2; // (trajectories) |O1 - O2|^2 of the fits to the two halves
    double half_c[2];     // c of the fits to the two halves
    double *mean;         // (form_dims, form_dims) mean of O
    bool has_constants;   // some differ between trajectories
    double *c_by_constants; // (trajectories) c as a function of the constants; NULL: one c
    double *pairs;          // (form_dims / 2, m) share of each latent pair, or NULL
} kappa_pullback_form;

/// The surface that the states lie on, if they do not span all dimensions. Across it the data say
/// nothing about the form.
typedef struct kappa_surface {
    bool is_near;      // the data are so thin that noise may hide slopes across the surface
    int64_t codim;     // normals per row; 0: no surface
    double thickness;  // of the data across the thinnest surface, in deviations of the states
    double *normal;    // (rows, codim, form_dims) orthonormal
    double form_share; // |A|^2 within the surface, over |A|^2
} kappa_surface;

/// The context of one call; each stage fills its part.
typedef struct kappa_work {
    arena *mem;  // scratch for the whole call
    arena *keep; // memory of the result
    const plumb_kappa_options *opt;
    int64_t centres;   // of G; 0: as in `opt`
    bool was_doubtful; // by the first fit of G, so that the symplectic map is asked too
    bool no_constants; // those that the caller gave are no inputs of G
    bool is_area_only; // no verdict is wanted, so that what only its margin needs is left out
    kappa_rows rows;
    kappa_truth truth;
    kappa_latent latent;
    latent_map map;
    arena map_memory; // of the fit in `map`
    kappa_surface surface;
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

/// Finds latents that are angles, wrapped or not: work->latent.period.
plumb_status kappa_find_latent_angles(kappa_work *work);

/// The angle of latent i at a row, in radians.
double kappa_latent_angle(const kappa_work *work, int64_t row, int64_t i);

/// The inputs of G. `constant_latents` (2m): which latents are inputs. NULL: no constants at all.
plumb_status kappa_map_inputs(map_inputs *in, arena *mem, const kappa_work *work, map_angles angles,
                              const bool *constant_latents);

/// Fits G: work->map. Constant latents that turn out to be functions of the state are marked as
/// moving in work->latent.
plumb_status kappa_map_fit(kappa_work *work);

/// Fits G again, with latents that are the same on each normal of work->surface: the data do not
/// say how they change across it, and a fit to thin data has slopes there that are large and
/// random.
plumb_status kappa_map_refit(kappa_work *work);

/// Measures how thick the data are: work->surface.thickness and is_near.
plumb_status kappa_measure_thickness(kappa_work *work);

/// After G is fitted: finds the surface across which the data do not show slopes, work->surface.
/// Changes work->truth.true_form to the form within it.
plumb_status kappa_find_surface(kappa_work *work);

/// Leaves of slopes J (outputs, dims) at a row what lies within the surface.
void kappa_project_slopes(double *J, const kappa_surface *surface, int64_t row, int64_t outputs,
                          int64_t dims);

/// How much of the slopes of the latents is finer than the fit of G: work->form.missed_slope.
plumb_status kappa_missed_slopes(kappa_work *work);

enum { KAPPA_MAX_NEIGHBOURS = 8 };
/// What is sorted by a value.
typedef struct kappa_sort_item {
    double value;
    int64_t index;
} kappa_sort_item;

/// For qsort: by value, equal ones by index, so that the result does not depend on qsort.
int kappa_compare_items(const void *a, const void *b);

/// Finds nearest states: the rows in the order of their first input.
typedef struct kappa_neighbours {
    const map_inputs *in;
    const kappa_rows *rows;
    int64_t *order; // (rows) rows, sorted
    int64_t *place; // (rows) where each row is in `order`
    double *first;  // (rows) the first input of each row of `order`
} kappa_neighbours;

plumb_status kappa_neighbours_init(kappa_neighbours *out, arena *mem, const map_inputs *in,
                                   const kappa_rows *rows);

/// neighbour (count, at most KAPPA_MAX_NEIGHBOURS): the rows of other trajectories whose inputs are
/// nearest to those of `row`, the nearest first; `row` itself where there are too few. Returns the
/// distance of the nearest one, or infinity.
double kappa_neighbours_find(int64_t *neighbour, int64_t count, const kappa_neighbours *all,
                             int64_t row);

/// Pulls the form back along the fit of G: work->form.
plumb_status kappa_pullback(kappa_work *work);

/// All stages up to the form of the map from `from` to `to`, for a measure without a verdict. May
/// be NULL: known.
plumb_status kappa_area_stages(kappa_work *work, const plumb_array *from, const plumb_array *to,
                               const plumb_array *known);

/// J (2m, form_dims) at one row: slopes of all latents by the true coordinates that carry the form,
/// in units of the largest deviation, within work->surface. jacobian (outputs, inputs) is that of a
/// fit of work->map.
void kappa_map_slopes(double *J, const double *jacobian, int64_t row, const kappa_work *work);

/// c as a smooth function of the constants of a trajectory: work->form.c_by_constants, or NULL if
/// there are none or one c does as well.
plumb_status kappa_fit_constants(kappa_work *work);

/// Held-out R2 of the map from latents to truth.
plumb_status kappa_state_r2(plumb_kappa *out, const kappa_work *work);

/// The same by nearest neighbours, for maps whose inverse is hard to fit: `r2`. `many_to_one` is
/// set if near latents belong to distant states, so that no inverse exists.
plumb_status kappa_nearest_r2(double *r2, bool *many_to_one, kappa_work *work);

/// Held-out R2 of a map from truth to latents that is symplectic by design, and that of G for the
/// same latents (`free_r2`; latents that are noise do not count). NaN if the true pairs were mixed
/// to remove redundancy. `sign` is that of c.
plumb_status kappa_symplectic_map(double *r2, double *free_r2, const kappa_work *work, double sign);

/// Maps symplectic by design, in both directions: out->symplectic_r2, symplectic and its interval.
plumb_status kappa_measure_symplectic(plumb_kappa *out, const kappa_work *work);

/// After the verdict: are the arrays read as they were meant? Sets result->hint, and adds it to
/// why.
plumb_status kappa_find_hint(plumb_kappa *result, kappa_work *work, const plumb_array *latent,
                             const plumb_array *truth);

/// Do the numbers leave the verdict open for a reason that a finer fit may remove?
bool kappa_is_doubtful(const plumb_kappa *result, const kappa_work *work);

/// Chooses and solves G again with more kernel centres. `better` is set, and work->map changed, if
/// it predicts held-out trajectories better.
plumb_status kappa_map_enlarge(bool *better, kappa_work *work);

/// The verdict on measured numbers: canonical, why and symplectic_r2 of `result`. Where the
/// symplectic map is the better estimate, it also sets kappa to 1.
plumb_status kappa_decide(plumb_kappa *result, kappa_work *work);

#endif
