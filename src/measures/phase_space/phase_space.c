// SPDX-License-Identifier: MIT
// SyMetric, kappa and the verdict, joined in one place.
#include "plumb/phase_space.h"

#include <math.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "base/text.h"
#include "measures/kappa/kappa.h"
#include "measures/kappa/lagrangian_momenta.h"
#include "measures/phase_space/layout.h"
#include "measures/symetric/symetric.h"

// ---- options ----

// All options of one call, resolved.
typedef struct phase_space_config {
    plumb_phase_space_options all;
    plumb_symetric_options symetric;
    plumb_kappa_options kappa;
    plumb_flow_options flow;
} phase_space_config;

// kappa takes resamples, seed and the rule for NaN from SyMetric unless it has options of its own.
static plumb_status resolve_options(phase_space_config *out,
                                    const plumb_phase_space_options *options)
{
    out->all = plumb_phase_space_defaults();
    out->symetric = plumb_symetric_defaults();
    out->kappa = plumb_kappa_defaults();
    out->flow = plumb_flow_defaults();
    plumb_status st =
        options_resolve(&out->all, sizeof out->all, options, "plumb_phase_space_options");
    if (!st)
        st = options_resolve(&out->symetric, sizeof out->symetric, out->all.symetric,
                             "plumb_symetric_options");
    if (!st)
        st = options_resolve(&out->kappa, sizeof out->kappa, out->all.kappa, "plumb_kappa_options");
    if (!st)
        st = options_resolve(&out->flow, sizeof out->flow, out->all.flow, "plumb_flow_options");
    if (st) return st;
    out->symetric.method = PLUMB_SYMETRIC_METHOD_POLYNOMIAL;
    if (out->all.threads) out->symetric.threads = out->all.threads;
    if (!out->all.kappa) {
        out->kappa.resamples = out->symetric.resamples;
        out->kappa.seed = out->symetric.seed;
        out->kappa.drop_nonfinite = out->symetric.nonfinite == PLUMB_SYMETRIC_NONFINITE_DROP;
    }
    if (!out->all.flow) {
        out->flow.resamples = out->kappa.resamples;
        out->flow.seed = out->kappa.seed;
        out->flow.drop_nonfinite = out->kappa.drop_nonfinite;
    }
    if (!out->all.polynomial && !out->all.network)
        return fail(PLUMB_EVALUE, "polynomial and network are both false: nothing to measure");
    return PLUMB_OK;
}

// ---- arrays ----

// `canonical` holds the same states as `truth`, in other coordinates.
static plumb_status check_canonical(const plumb_array *canonical, const plumb_array *truth)
{
    char found[256], expected[256];
    if (!canonical || truth->ndim != 3) return PLUMB_OK; // SyMetric reports the shape of the truth
    if (canonical->ndim == 3 && canonical->shape[0] == truth->shape[0] &&
        canonical->shape[1] == truth->shape[1] && canonical->shape[2] >= 2 &&
        canonical->shape[2] % 2 == 0)
        return PLUMB_OK;
    plumb_array_shape_string(found, sizeof found, canonical);
    plumb_array_shape_string(expected, sizeof expected, truth);
    return fail(PLUMB_ESHAPE,
                "canonical is %s for a truth %s; expected the same trajectories and steps, and an "
                "even last axis",
                found, expected);
}

static plumb_status read_input(plumb_phase_space_input *out, const plumb_phase_space_input *input)
{
    *out = (plumb_phase_space_input){.size = sizeof *out};
    if (!input) return fail(PLUMB_EVALUE, "input is NULL");
    const plumb_status st = options_resolve(out, sizeof *out, input, "plumb_phase_space_input");
    if (st) return st;
    if (!out->latent || !out->truth)
        return fail(PLUMB_EVALUE, "%s is NULL", out->latent ? "truth" : "latent");
    return check_canonical(out->canonical, out->truth);
}

// The arrays with positions first.
typedef struct arranged_arrays {
    plumb_array latent, variance, truth;
    arena mem;
} arranged_arrays;

// Rearranges what the options say is in another layout. The caller clears out->mem.
static plumb_status arrange_input(arranged_arrays *out, plumb_phase_space_input *in,
                                  const plumb_phase_space_options *opt)
{
    const plumb_layout layout = opt->layout;
    plumb_status st = PLUMB_OK;
    if (layout == PLUMB_LAYOUT_VELOCITIES && in->momenta)
        return fail(PLUMB_EVALUE, "momenta are given, and the layout of the latents is velocities");
    if (layout != PLUMB_LAYOUT_POSITIONS_FIRST) {
        st = layout_apply(&out->latent, &out->mem, in->latent, layout, "latent");
        in->latent = &out->latent;
        if (!st && in->variance) {
            st = layout_apply_variance(&out->variance, &out->mem, in->variance, layout);
            in->variance = &out->variance;
        }
    }
    if (!st && opt->truth_layout != PLUMB_LAYOUT_POSITIONS_FIRST) {
        st = layout_apply(&out->truth, &out->mem, in->truth, opt->truth_layout, "truth");
        in->truth = &out->truth;
    }
    return st;
}

// ---- measures ----

static plumb_status measure_symetric(plumb_phase_space *result, const plumb_phase_space_input *in,
                                     const phase_space_config *config)
{
    plumb_status st = PLUMB_OK;
    plumb_symetric_options opt = config->symetric;
    if (!opt.momenta) opt.momenta = in->momenta; // SyMetric and kappa use the same momenta
    if (config->all.polynomial) {
        opt.method = PLUMB_SYMETRIC_METHOD_POLYNOMIAL;
        st = plumb_symetric_measure(&result->polynomial, in->latent, in->variance, in->truth, &opt);
        result->has_polynomial = !st;
    }
    if (!st && config->all.network) {
        opt.method = PLUMB_SYMETRIC_METHOD_MLP;
        // The network has one mode. With both methods the mode is meant for the polynomials.
        if (config->all.polynomial) opt.mode = PLUMB_SYMETRIC_MODE_CONVERGED;
        st = plumb_symetric_measure(&result->network, in->latent, in->variance, in->truth, &opt);
        result->has_network = !st;
    }
    return st;
}

// For latents whose second half is no momentum: momenta (trajectories, steps, m) are fitted from
// the motion. The caller frees *fitted.
static plumb_status fit_momenta(plumb_array *momenta, double **fitted, const plumb_array *latent)
{
    const int64_t *shape = latent->shape, m = shape[2] / 2;
    *fitted = malloc((size_t)(shape[0] * shape[1] * m + 1) * sizeof **fitted);
    if (!*fitted) return fail(PLUMB_EMEMORY, "out of memory for the momenta");
    *momenta = plumb_array_view(*fitted, PLUMB_FLOAT64, 3, (int64_t[]){shape[0], shape[1], m});
    return kappa_fit_momenta(*fitted, latent);
}

// A stop or missing memory is a failure of the call, not a property of the data.
static bool is_call_failure(plumb_status st)
{
    return st == PLUMB_ESTOPPED || st == PLUMB_EMEMORY;
}

// kappa, or the reason why it is undefined.
static plumb_status measure_kappa(plumb_kappa *out, const plumb_phase_space_input *in,
                                  const phase_space_config *config)
{
    if (config->all.published_only)
        return kappa_set_unmeasured(out, "kappa was not measured: published numbers only");
    const plumb_array *truth = in->canonical ? in->canonical : in->truth;
    const plumb_status st =
        plumb_kappa_measure(out, in->latent, in->momenta, truth, &config->kappa);
    if (!st || is_call_failure(st)) return st;
    return kappa_set_unmeasured(out, plumb_last_error());
}

// A flow that was not measured, for the reason `why`.
static plumb_status set_flow_unmeasured(plumb_flow *out, const char *why)
{
    *out = (plumb_flow){.verdict = PLUMB_VERDICT_NOT_DETERMINED};
    arena *keep = result_begin(&out->memory);
    if (keep) out->why = arena_strdup(keep, why);
    return result_end(out->why ? PLUMB_OK : PLUMB_EMEMORY, &out->memory);
}

// The latents of a Lagrangian model with its momenta in the place of the velocities. The caller
// frees out->data.
static plumb_status join_momenta(plumb_array *out, const plumb_array *latent,
                                 const plumb_array *momenta)
{
    const int64_t d = latent->shape[2], rows = latent->shape[0] * latent->shape[1];
    double *values = malloc((size_t)(rows * d + 1) * sizeof *values);
    if (!values) return fail(PLUMB_EMEMORY, "out of memory for the momenta");
    for (int64_t r = 0; r < rows; r++) {
        plumb_array_to_double(values + r * d, latent, r * d, d / 2);
        plumb_array_to_double(values + r * d + d / 2, momenta, r * (d / 2), d / 2);
    }
    *out = plumb_array_view(values, PLUMB_FLOAT64, 3, latent->shape);
    return PLUMB_OK;
}

// The latents with NaN in the trajectories that diverge, for measures that leave such out. The
// caller frees out->data.
static plumb_status mark_diverged(plumb_array *out, const plumb_array *latent,
                                  const plumb_kappa *kappa)
{
    const int64_t each = latent->shape[1] * latent->shape[2], count = plumb_array_count(latent);
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    if (!values) return fail(PLUMB_EMEMORY, "out of memory for the latents");
    plumb_array_to_double(values, latent, 0, count);
    for (int64_t k = 0; k < kappa->diverged_count; k++)
        for (int64_t i = 0; i < each; i++) values[kappa->diverged[k] * each + i] = (double)NAN;
    *out = plumb_array_view(values, PLUMB_FLOAT64, 3, latent->shape);
    return PLUMB_OK;
}

// The flow, or the reason why it is undefined.
static plumb_status measure_flow(plumb_flow *out, const plumb_phase_space_input *in,
                                 const phase_space_config *config)
{
    if (config->all.published_only || config->all.coordinates_only)
        return set_flow_unmeasured(out, "the flow was not measured");
    plumb_array joined = {0};
    plumb_flow_input input = {.size = sizeof input,
                              .latent = in->latent,
                              .truth = in->canonical ? in->canonical : in->truth,
                              .energy = in->energy,
                              .action = in->action};
    plumb_status st = in->momenta ? join_momenta(&joined, in->latent, in->momenta) : PLUMB_OK;
    if (in->momenta) input.latent = &joined;
    if (!st) st = plumb_flow_measure(out, &input, &config->flow);
    free(joined.data);
    if (!st || is_call_failure(st)) return st;
    return set_flow_unmeasured(out, plumb_last_error());
}

// ---- verdict ----

plumb_verdict plumb_phase_space_join(plumb_verdict coordinates, plumb_verdict flow)
{
    if (flow == PLUMB_VERDICT_NOT_LEARNT) return flow;
    return coordinates;
}

// The sentence names the coordinates and, if it was measured, the flow.
static plumb_status decide_verdict(plumb_phase_space *result)
{
    const plumb_kappa *kappa = &result->kappa;
    result->coordinates = kappa->measured ? kappa->canonical : PLUMB_VERDICT_NOT_DETERMINED;
    result->verdict = plumb_phase_space_join(result->coordinates, result->flow.verdict);
    arena *keep = result_begin(&result->memory);
    if (!keep) return PLUMB_EMEMORY;
    const char *why = kappa->why;
    char text[2400];
    if (result->flow.measured)
        text_format(text, sizeof text, "coordinates: %s; flow: %s", why, result->flow.why);
    else text_format(text, sizeof text, "%s", why);
    result->why = arena_strdup(keep, text);
    return result->why ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- public functions ----

plumb_status plumb_phase_space_measure(plumb_phase_space *result,
                                       const plumb_phase_space_input *input,
                                       const plumb_phase_space_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(input);
    phase_space_config config;
    plumb_phase_space_input in;
    plumb_phase_space found = {.sym_floor = (double)NAN};
    plumb_status st = resolve_options(&config, options);
    if (!st) st = read_input(&in, input);
    if (st) return st;
    double *fitted = NULL;
    plumb_array momenta;
    arranged_arrays arranged = {0};
    st = arrange_input(&arranged, &in, &config.all);
    if (!st && config.all.fit_momenta && !in.momenta && in.latent->ndim == 3) {
        st = fit_momenta(&momenta, &fitted, in.latent);
        in.momenta = &momenta;
    }
    // kappa first: it knows which trajectories diverge.
    if (!st) st = measure_kappa(&found.kappa, &in, &config);
    plumb_array marked = {0};
    if (!st && config.all.drop_diverged && found.kappa.diverged_count) {
        st = mark_diverged(&marked, in.latent, &found.kappa);
        in.latent = &marked;
        config.symetric.nonfinite = PLUMB_SYMETRIC_NONFINITE_DROP;
        config.flow.drop_nonfinite = true;
    }
    if (!st) st = measure_symetric(&found, &in, &config);
    // Where Sym of the truth is undefined it stays NaN: it is extra information.
    if (!st && !config.all.published_only) {
        const plumb_status floor = symetric_floor(&found.sym_floor, in.truth, &config.symetric);
        if (is_call_failure(floor)) st = floor;
    }
    if (!st) st = measure_flow(&found.flow, &in, &config);
    if (!st) st = decide_verdict(&found);
    free(fitted);
    free(marked.data);
    arena_clear(&arranged.mem);
    if (st) {
        plumb_phase_space_clear(&found);
        return st;
    }
    found.canonical_dims = in.canonical ? in.canonical->shape[2] : 0;
    *result = found;
    return PLUMB_OK;
}

void plumb_phase_space_clear(plumb_phase_space *result)
{
    if (!result) return;
    plumb_symetric_clear(&result->polynomial);
    plumb_symetric_clear(&result->network);
    plumb_kappa_clear(&result->kappa);
    plumb_flow_clear(&result->flow);
    result_clear(result, sizeof *result, result->memory);
}
