// SPDX-License-Identifier: MIT
// Curricula of the HGN family, all functions of the step and of the state in the checkpoint. None
// is in the papers: they let small models learn on two cores.
#include "models/latent_dynamics/curriculum.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"

// ---- stages ----

// Numbers separated by commas.
static plumb_status read_list(double *out, int *count, const char *text, const char *setting)
{
    *count = 0;
    for (const char *at = text; *at;) {
        char *end;
        // A number, then a comma or the end.
        double x = text_parse_double(at, &end);
        if (end == at || (*end && *end != ',') || *count == HGN_MAX_STAGES - 1)
            return fail(PLUMB_EVALUE, "%s=%s: it takes up to %d numbers, separated by commas",
                        setting, text, HGN_MAX_STAGES - 1);
        out[(*count)++] = x;
        at = *end ? end + 1 : end;
    }
    return PLUMB_OK;
}

plumb_status hgn_stages_read(hgn_stages *out, const hgn_settings *options)
{
    double targets[HGN_MAX_STAGES], deadline[HGN_MAX_STAGES];
    const char *list = options->curriculum_targets, *times = options->curriculum_deadlines;
    int count, deadlines;
    plumb_status st = read_list(targets, &count, list, "curriculum_targets");
    if (!st) st = read_list(deadline, &deadlines, times, "curriculum_deadlines");
    if (st) return st;
    if (deadlines != count)
        return fail(
            PLUMB_EVALUE,
            "curriculum_targets=%s has %d stages and curriculum_deadlines=%s has %d; the numbers "
            "must be equal",
            list, count, times, deadlines);
    // The listed stages, then one with all targets until the end of training.
    *out = (hgn_stages){.count = count + 1};
    for (int i = 0; i < count; i++) {
        double before = i ? targets[i - 1] : 0.0, due = i ? deadline[i - 1] : 0.0;
        if (targets[i] < 1 || targets[i] <= before || targets[i] >= (double)options->targets)
            return fail(PLUMB_EVALUE,
                        "curriculum_targets=%s; the numbers must rise and be below targets=%lld",
                        list, (long long)options->targets);
        if (deadline[i] < due || deadline[i] > 1)
            return fail(PLUMB_EVALUE, "curriculum_deadlines=%s; the numbers must rise from 0 to 1",
                        times);
        out->targets[i] = (int64_t)targets[i];
        out->deadline[i] = deadline[i];
    }
    out->targets[count] = options->targets;
    out->deadline[count] = 1.0;
    return PLUMB_OK;
}

// A stage ends when its own error is low, or at its deadline.
static void update_stage(hgn_curriculum *curriculum, int64_t step, double done, double l2)
{
    double *s = curriculum->state;
    // Mean over the first 100 steps of a stage, then a moving average over about 100.
    const double age = (double)step - s[HGN_STATE_STAGE_START];
    const double share = 1.0 / fmin(age + 1.0, 100.0);
    s[HGN_STATE_STAGE_ERROR] += share * (l2 - s[HGN_STATE_STAGE_ERROR]);
    const int stage = (int)s[HGN_STATE_STAGE];
    const bool low =
        age >= 100 && s[HGN_STATE_STAGE_ERROR] <
                          curriculum->settings->curriculum_error * curriculum->pixel_variance;
    // The next stage begins with the next step, and its average anew.
    if (stage < curriculum->stages.count - 1 &&
        (low || done >= curriculum->stages.deadline[stage])) {
        s[HGN_STATE_STAGE] = stage + 1;
        s[HGN_STATE_STAGE_START] = (double)(step + 1);
    }
}

// ---- nested pairs ----

void hgn_curriculum_list_pairs(hgn_curriculum *curriculum)
{
    const int64_t pairs = curriculum->settings->pairs;
    // 1, 2, 4, .. and the number of all pairs.
    for (int64_t p = 1; curriculum->settings->nested_pairs && p < 2 * pairs; p *= 2)
        if (curriculum->pair_counts < HGN_MAX_PAIR_COUNTS)
            curriculum->pair_count[curriculum->pair_counts++] = p < pairs ? p : pairs;
}

// Moving average of the error of each pair count.
static void update_pair_errors(hgn_curriculum *curriculum, const double *pair_error)
{
    for (int i = 0; i < curriculum->pair_counts; i++) {
        if (pair_error[2 * i + 1] <= 0) continue;
        double error = pair_error[2 * i] / pair_error[2 * i + 1];
        double *mean = &curriculum->state[HGN_STATE_PAIR_ERRORS + i];
        // -1 says that there is no mean yet. Weight of a new error: 0.02.
        *mean = *mean < 0 ? error : *mean + 0.02 * (error - *mean);
    }
}

// The smallest pair count whose error is near that of the best.
static int64_t select_pair_count(const hgn_curriculum *curriculum)
{
    const double *error = curriculum->state + HGN_STATE_PAIR_ERRORS;
    double best = INFINITY;
    for (int i = 0; i < curriculum->pair_counts; i++) best = fmin(best, error[i]);
    // Near: at most selection_ratio * best + selection_slack pixel variances.
    double threshold = curriculum->settings->selection_ratio * best +
                       curriculum->settings->selection_slack * curriculum->pixel_variance;
    for (int i = 0; i < curriculum->pair_counts; i++)
        if (error[i] <= threshold) return curriculum->pair_count[i];
    return curriculum->pair_count[curriculum->pair_counts - 1];
}

// Selects the number of pairs once, and masks the others.
static void select_pairs(hgn_curriculum *curriculum, double done)
{
    if (!curriculum->pair_counts || curriculum->state[HGN_STATE_SELECTED_PAIRS] > 0) return;
    if (done < curriculum->settings->selection_start) return;
    int64_t count = select_pair_count(curriculum);
    curriculum->state[HGN_STATE_SELECTED_PAIRS] = (double)count;
    float *mask = params_value(curriculum->layout, curriculum->parameters, "pair_mask");
    for (int64_t i = count; i < curriculum->config->latent / 2; i++) mask[i] = 0.0f;
}

// ---- angles and colours ----

// The softness of the circle falls linearly to 0: then angles lie on the unit circle.
static void update_circle(hgn_curriculum *curriculum, double done)
{
    if (!curriculum->config->angular_positions) return;
    const double end = curriculum->settings->circle_ramp_end;
    *params_value(curriculum->layout, curriculum->parameters, "circle_softness") =
        done < end ? (float)(1.0 - done / end) : 0.0f;
}

// The colour gate is closed in the first half of its ramp and then opens linearly: the sign of a
// position is decided before there are colours, so it is the same for all of them.
static void update_colours(hgn_curriculum *curriculum, double done)
{
    if (!curriculum->config->colour_gate) return;
    *params_value(curriculum->layout, curriculum->parameters, "colour_gate") =
        (float)fmin(fmax(2.0 * done / curriculum->settings->colour_ramp_end - 1.0, 0.0), 1.0);
}

// ---- all of them ----

void hgn_curriculum_start(hgn_curriculum *curriculum)
{
    // No error is known yet; ramps are at their start.
    for (int i = 0; i < curriculum->pair_counts; i++)
        curriculum->state[HGN_STATE_PAIR_ERRORS + i] = -1.0;
    update_circle(curriculum, 0.0);
    update_colours(curriculum, 0.0);
}

void hgn_curriculum_after_step(hgn_curriculum *curriculum, int64_t step, double done, double l2,
                               const double *pair_error)
{
    // Moving average of GECO's constraint C = l2 - tolerance.
    double *average = &curriculum->state[HGN_STATE_GECO_AVERAGE];
    const double C = l2 - curriculum->config->geco_tolerance, a = curriculum->config->geco_alpha;
    *average = a * *average + (1.0 - a) * C;
    // Then pairs, ramps and stage. A stage that ends here begins with the next step.
    update_pair_errors(curriculum, pair_error);
    select_pairs(curriculum, done);
    update_circle(curriculum, done);
    update_colours(curriculum, done);
    update_stage(curriculum, step, done, l2);
}

// beta grows geometrically to its final value between 30 % and 80 % of training.
double hgn_curriculum_kl_weight(const hgn_curriculum *curriculum, int64_t step, double done)
{
    const double from = 0.3, to = 0.8, final = curriculum->settings->beta_final,
                 delay = (double)curriculum->settings->beta_delay;
    if (curriculum->config->objective == HGN_GECO) return 1.0;
    if (curriculum->config->objective != HGN_ELBO) return 0.0;
    double beta = curriculum->config->beta;
    if ((double)step < delay) return beta * (double)step / delay;
    if (final <= 0.0 || beta <= 0.0) return beta;
    const double part = (done - from) / (to - from);
    return beta * pow(final / beta, fmin(fmax(part, 0.0), 1.0));
}
