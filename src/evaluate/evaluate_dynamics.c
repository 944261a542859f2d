// SPDX-License-Identifier: MIT
// Evaluation of a dynamics model: Rec, Ext and VPT on long videos; SyMetric, kappa and the verdict
// on many short ones.
// If they are simulated, the two use different trajectories.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "evaluate/evaluate.h"
#include "evaluate/model_rollout.h"
#include "evaluate/state_arrays.h"
#include "measures/symetric/symetric.h"
#include "plumb/world.h"

enum {
    MEASURED_STEPS = 60, // frames 0 .. 59, as published [Higgins21]
    // Of the network of SyMetric; more are made only if they are asked for. The largest number that
    // the 12 smaller worlds need is 18,184 (md-4); md-16 needs 243,250.
    MAX_NETWORK_TRAJECTORIES = 20000,
};

// ---- forecast ----

// The frame protocol of the model as an option of the forecast.
static plumb_forecast_protocol forecast_frames(frame_protocol protocol)
{
    switch (protocol) {
    case FRAMES_OVERLAP_BY_ONE: return PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE;
    case FRAMES_NO_OVERLAP: return PLUMB_FORECAST_PROTOCOL_NO_OVERLAP;
    case FRAMES_INCLUDE_INFERENCE: return PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE;
    default: return PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE;
    }
}

// Frames per video that the model takes as input or predicts in training.
static int64_t training_frames(const model_dynamics *dynamics)
{
    if (dynamics->protocol == FRAMES_AUTOREGRESSIVE) return dynamics->targets;
    // If the first predicted frame is the last input frame, it is counted once.
    return dynamics->window + dynamics->targets - (dynamics->protocol == FRAMES_OVERLAP_BY_ONE);
}

// Frames per video of R2, Sym and kappa, those before the model's first step included.
static int64_t measured_steps(const model_dynamics *dynamics)
{
    return (dynamics->window > MEASURED_STEPS ? dynamics->window : MEASURED_STEPS) +
           dynamics->first_step;
}

// The test videos of one use.
static test_videos_request request_videos(const evaluation_config *config, test_videos_use use,
                                          int64_t count, int64_t steps)
{
    return (test_videos_request){.world = config->all.world,
                                 .data = config->all.data,
                                 .first = config->all.first,
                                 .use = use,
                                 .count = count,
                                 .steps = steps,
                                 .rendered_steps = steps,
                                 .canonical = true,
                                 .threads = config->all.threads};
}

// The true states in the coordinates that kappa uses, if there are any.
static plumb_array true_states(const test_videos *test, int64_t steps)
{
    const bool canonical = test->canonical != NULL;
    return plumb_array_view(canonical ? test->canonical : test->state, PLUMB_FLOAT64, 3,
                            (int64_t[]){test->videos.count, steps,
                                        canonical ? test->canonical_dims : test->state_dims});
}

// Predicts long videos, forward and backward, and measures MSE and VPT.
static plumb_status measure_forecast(plumb_evaluation_dynamics *out, trained_model *trained,
                                     const evaluation_config *config)
{
    const model_dynamics *dynamics = trained->model.dynamics;
    const int64_t steps = training_frames(dynamics) + config->all.forecast_steps;
    const bool reversible = !dynamics->forward_only;
    test_videos test;
    rollout_arrays forward, backward;
    status_log("making %lld videos of %lld frames for the forecast",
               (long long)config->all.forecast_videos, (long long)steps);
    test_videos_request wanted =
        request_videos(config, TEST_VIDEOS_FORECAST, config->all.forecast_videos, steps);
    wanted.steps_option = "forecast_steps";
    wanted.fixed_steps = training_frames(dynamics);
    wanted.least_steps = measured_steps(dynamics);
    plumb_status st = test_videos_get(&test, trained, &wanted);
    if (st) return st;
    rollout_request request = {
        .steps = test.videos.steps, .decode_frames = true, .threads = config->all.threads};
    st = model_rollout_run(&forward, trained, &test.videos, &request);
    // Backward: the last frames are the input.
    request.backward = true;
    if (!st && reversible) st = model_rollout_run(&backward, trained, &test.videos, &request);
    if (st) return st;
    const video_set *videos = &test.videos;
    const plumb_array truth =
        model_rollout_frames((void *)videos->frames, PLUMB_UINT8, videos, videos->steps);
    const plumb_array ahead =
        model_rollout_frames(forward.prediction, PLUMB_FLOAT32, videos, forward.steps);
    plumb_array back;
    if (reversible)
        back = model_rollout_frames(backward.prediction, PLUMB_FLOAT32, videos, backward.steps);
    const plumb_array states = true_states(&test, videos->steps);
    // The frames that are compared follow from how the model was trained.
    plumb_forecast_options opt = config->forecast;
    opt.frames = forecast_frames(dynamics->protocol);
    opt.inference = dynamics->window;
    opt.target = dynamics->targets;
    out->frames = opt.frames;
    out->inference = opt.inference;
    out->target = opt.target;
    return plumb_forecast_measure(&out->forecast, &ahead, reversible ? &back : NULL, &truth,
                                  &states, &opt);
}

// ---- phase space ----

// Which true positions are angles, if the world is known.
static const bool *find_angles(const trained_model *trained, const plumb_evaluation_options *opt)
{
    const char *name = opt->world ? opt->world : trained->config.data.world;
    const plumb_world *world;
    if (!name[0] || opt->data || plumb_world_find(&world, name)) return NULL;
    return plumb_world_get_info(world)->angles;
}

// SyMetric by polynomials, kappa in minimal canonical coordinates, and the verdict.
static plumb_status measure_phase_space(plumb_evaluation_dynamics *out, trained_model *trained,
                                        const evaluation_config *config)
{
    test_videos test;
    state_arrays states;
    const int64_t steps = measured_steps(trained->model.dynamics),
                  count = config->all.phase_trajectories;
    status_log("making %lld videos of %lld frames for R2 and Sym", (long long)count,
               (long long)steps);
    test_videos_request wanted = request_videos(config, TEST_VIDEOS_MEASURE, count, steps);
    wanted.parameters = true;
    plumb_status st = test_videos_get(&test, trained, &wanted);
    if (!st) st = state_arrays_infer(&states, trained, &test, steps, config->all.threads);
    if (st) return st;
    status_log("fitting polynomials of %lld latents", (long long)trained->model.dynamics->latents);
    // `canonical` is the state itself if the data have no canonical coordinates.
    const plumb_array canonical = true_states(&test, states.truth.shape[1]);
    const plumb_array energy = plumb_array_view(
        test.energy, PLUMB_FLOAT64, 2, (int64_t[]){test.videos.count, states.truth.shape[1]});
    const plumb_array action =
        plumb_array_view(test.action, PLUMB_FLOAT64, 3,
                         (int64_t[]){test.videos.count, states.truth.shape[1], test.action_dims});
    plumb_kappa_options kappa = config->kappa;
    const bool *angles = find_angles(trained, &config->all);
    if (angles) kappa.angles = angles;
    const plumb_array constants = plumb_array_view(
        test.constants, PLUMB_FLOAT64, 2, (int64_t[]){test.videos.count, test.constant_total});
    if (test.constants && !kappa.constants) kappa.constants = &constants;
    const plumb_phase_space_input input = {.size = sizeof input,
                                           .latent = &states.latent,
                                           .variance = &states.variance,
                                           .truth = &states.truth,
                                           .canonical = &canonical,
                                           .energy = test.energy ? &energy : NULL,
                                           .action = test.action ? &action : NULL};
    // The variance is that of the posterior at the inferred step.
    plumb_symetric_options symetric = config->symetric;
    symetric.inferred_step = trained->model.dynamics->inferred_step;
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.symetric = &symetric;
    opt.kappa = &kappa;
    return plumb_phase_space_measure(&out->phase_space, &input, &opt);
}

// SyMetric by a network, on as many trajectories as its parameters need. How many parameters there
// are depends on how many latents are used. If more are used than in the videos of the polynomials,
// it is repeated with enough for all of them. Where it is undefined the result says why.
static plumb_status measure_network(plumb_evaluation_dynamics *out, trained_model *trained,
                                    const evaluation_config *config)
{
    const model_dynamics *dynamics = trained->model.dynamics;
    plumb_phase_space *phase_space = &out->phase_space;
    const int64_t steps = measured_steps(dynamics), all = dynamics->latents;
    plumb_symetric_options opt = config->symetric;
    opt.method = PLUMB_SYMETRIC_METHOD_MLP;
    opt.mode = PLUMB_SYMETRIC_MODE_CONVERGED;
    opt.inferred_step = dynamics->inferred_step;
    for (int64_t latents = phase_space->polynomial.latents;; latents = all) {
        // Enough trajectories for a given number of points per parameter.
        const int64_t required = symetric_required_trajectories(
            latents, 2 * phase_space->polynomial.n, steps - dynamics->first_step, &opt);
        const int64_t most = config->all.network_trajectories;
        if (!most && !config->all.data && required > MAX_NETWORK_TRAJECTORIES) {
            snprintf(
                out->network_why, sizeof out->network_why,
                "a network for %lld latents and %lld true coordinates needs %lld trajectories; "
                "the option network_trajectories trains it on fewer",
                (long long)latents, (long long)(2 * phase_space->polynomial.n),
                (long long)required);
            status_log("%s", out->network_why);
            return PLUMB_OK;
        }
        const int64_t count = most && most < required ? most : required;
        if (count < required) opt.network_few_points = true;
        if (!config->all.data)
            status_log("training a network on %lld short trajectories", (long long)count);
        test_videos_request wanted = request_videos(config, TEST_VIDEOS_MEASURE,
                                                    config->all.data ? INT64_MAX : count, steps);
        // Only the input frames are rendered: the latents of later steps need no frames.
        wanted.rendered_steps = dynamics->window;
        wanted.canonical = false;
        state_arrays states;
        plumb_status st = state_arrays_make(&states, trained, &wanted);
        if (!st)
            st = plumb_symetric_measure(&phase_space->network, &states.latent, &states.variance,
                                        &states.truth, &opt);
        if (!st) phase_space->has_network = true;
        // Undefined (PLUMB_ENUMERIC): repeated with more trajectories, or reported as the reason.
        if (st != PLUMB_ENUMERIC) return st;
        if (latents < all && !config->all.data) continue;
        snprintf(out->network_why, sizeof out->network_why, "%s", plumb_last_error());
        return PLUMB_OK;
    }
}

// ---- all ----

// Names of the latents in one line.
static void copy_names(char *out, size_t size, const model_dynamics *dynamics)
{
    size_t used = 0;
    out[0] = 0;
    for (int64_t i = 0; i < dynamics->latents && dynamics->latent_names && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "",
                                 dynamics->latent_names[i]);
}

plumb_status evaluate_dynamics(plumb_evaluation_dynamics *out, trained_model *trained,
                               const evaluation_config *config)
{
    out->latents = trained->model.dynamics->latents;
    copy_names(out->latent_names, sizeof out->latent_names, trained->model.dynamics);
    plumb_status st = measure_forecast(out, trained, config);
    if (!st) st = measure_phase_space(out, trained, config);
    // The network comes last, because it needs the number of latents that the polynomials use.
    if (!st && config->all.network) st = measure_network(out, trained, config);
    else if (!st) snprintf(out->network_why, sizeof out->network_why, "not asked for");
    return st;
}

void evaluate_dynamics_clear(plumb_evaluation_dynamics *result)
{
    plumb_forecast_clear(&result->forecast);
    plumb_phase_space_clear(&result->phase_space);
}

// SyMetric by the network, or null with the reason.
static void record_network(plumb_record *record, const plumb_evaluation_dynamics *result,
                           const evaluation_config *config)
{
    plumb_record_begin_object(record, "mlp");
    if (result->phase_space.has_network)
        plumb_symetric_record(record, &result->phase_space.network, &config->symetric);
    else {
        plumb_record_set_string(record, "method", "mlp");
        const char *const names[] = {"r2", "sym", "symetric"};
        for (int i = 0; i < 3; i++) plumb_record_set_null(record, names[i]);
        plumb_record_set_string(record, "why", result->network_why);
    }
    plumb_record_end(record);
}

// One half of a row of the published table, under the names of our own numbers.
static void record_scores(plumb_record *record, const char *key,
                          const plumb_published_scores *scores)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "rec_mse", scores->rec_mse);
    plumb_record_set_double(record, "ext_mse", scores->ext_mse);
    plumb_record_set_double(record, "vpt", scores->vpt);
    for (int i = 0; i < 2; i++) {
        plumb_record_begin_object(record, i ? "mlp" : "pr");
        plumb_record_set_double(record, "r2", i ? scores->r2_network : scores->r2_polynomial);
        plumb_record_set_double(record, "sym", i ? scores->sym_network : scores->sym_polynomial);
        plumb_record_set_int(record, "symetric",
                             i ? scores->symetric_network : scores->symetric_polynomial);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

void evaluate_dynamics_record_published(plumb_record *record, const char *world)
{
    plumb_published_row row;
    if (!plumb_published_find(&row, world)) {
        plumb_record_set_null(record, "paper");
        return;
    }
    plumb_record_begin_object(record, "paper");
    plumb_record_set_string(record, "source", "[Higgins21, Table 1], best seed");
    record_scores(record, "hgn++", &row.hgnpp);
    record_scores(record, "hgn", &row.hgn);
    plumb_record_end(record);
}

void evaluate_dynamics_record(plumb_record *record, const plumb_evaluation_dynamics *result,
                              const evaluation_config *config)
{
    const plumb_forecast *f = &result->forecast;
    const plumb_phase_space *p = &result->phase_space;
    plumb_record_set_int(record, "latents", result->latents);
    if (result->latent_names[0])
        plumb_record_set_string(record, "latent_names", result->latent_names);
    plumb_record_set_string(record, "protocol",
                            config->all.protocol == PLUMB_EVALUATION_PROTOCOL_PAPER ? "paper"
                                                                                    : "own");
    plumb_record_set_string(record, "verdict", plumb_verdict_name(p->verdict));
    plumb_record_set_string(record, "verdict_why", p->why);
    plumb_record_set_string(record, "coordinates_verdict", plumb_verdict_name(p->coordinates));
    plumb_flow_record(record, &p->flow);
    // The most important numbers are at the top level. All the rest is in the objects below.
    plumb_record_set_double(record, "rec_mse", f->forward.rec.published);
    plumb_record_set_double(record, "ext_mse", f->forward.ext.published);
    plumb_record_set_double(record, "vpt_forward", f->forward.vpt);
    plumb_record_set_double(record, "vpt_backward",
                            f->backward.measured ? f->backward.vpt : (double)NAN);
    plumb_record_set_double(record, "vpt", f->vpt);
    plumb_record_set_interval(record, "vpt_ci", f->vpt_ci);
    plumb_record_set_double(record, "vpt_mean", f->vpt_mean);
    plumb_record_set_double(record, "vpt_median", f->vpt_median);
    plumb_record_set_double(record, "vpt_mean_frame", f->mean_frame.vpt);
    plumb_record_set_double(record, "vpt_last_frame", f->last_frame.vpt);
    plumb_record_set_double(record, "vpt_above_still", f->vpt_above_still);
    plumb_record_set_double(record, "lyapunov", f->lyapunov.exponent);
    plumb_record_set_interval(record, "lyapunov_ci", f->lyapunov.ci);
    plumb_record_set_double(record, "vpt_lyapunov", f->vpt * f->lyapunov.exponent);
    plumb_kappa_record(record, &p->kappa, &config->kappa);
    plumb_record_set_double(record, "r2_heldout", p->polynomial.r2_heldout);
    plumb_record_set_double(record, "sym_floor", p->sym_floor);
    plumb_record_begin_object(record, "pr");
    plumb_symetric_record(record, &p->polynomial, &config->symetric);
    plumb_record_end(record);
    record_network(record, result, config);
    plumb_record_begin_object(record, "forecast");
    plumb_forecast_options frames = config->forecast;
    frames.frames = result->frames;
    frames.inference = result->inference;
    frames.target = result->target;
    plumb_forecast_record(record, f, &frames);
    plumb_record_end(record);
}
