// SPDX-License-Identifier: MIT
// HGN and HGN++ against the published code: everything of the first step, parameters and moments
// after three, evaluation; in double and in float.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_models.h"

// (times, batch, n) into (batch, times, n), as the files have it; `apart` numbers of every `wide`.
static void in_samples(double *out, const double *x, int64_t times, int64_t batch, int64_t n,
                       int64_t wide, int64_t at)
{
    for (int64_t t = 0; t < times; t++)
        for (int64_t b = 0; b < batch; b++)
            for (int64_t i = 0; i < n; i++)
                out[(b * times + t) * wide + at + i] = x[(t * batch + b) * n + i];
}

// q and p side by side in the last axis.
static double *trajectory(const golden_rig *r, arena *mem)
{
    const golden_model *m = r->m;
    tensor_shape one = hgn_state_shape(&m->c, 1);
    int64_t all = m->times.targets * m->batch, state = shape_count(&one), n = m->c.latent / 2;
    double *pairs = ARENA_ALLOC(mem, double, all * 2 * state);
    double *out = ARENA_ALLOC(mem, double, all * 2 * state);
    for (int64_t i = 0; i < all * state; i++) {
        pairs[i / n * 2 * n + i % n] = r->q[i];
        pairs[i / n * 2 * n + n + i % n] = r->p[i];
    }
    in_samples(out, pairs, m->times.targets, m->batch, 2 * state, 2 * state, 0);
    return out;
}

static void check_states(golden_judgement *j, const golden_rig *r, arena *mem)
{
    const golden_model *m = r->m;
    tensor_shape one = hgn_state_shape(&m->c, m->batch);
    int64_t state = 2 * shape_count(&one), T = m->times.targets, B = m->batch;
    int64_t frame = hgn_frame_size(&m->c);
    golden_close(j, "loc", r->loc, state, GOLDEN_STATE);
    golden_close(j, "log_scale", r->log_scale, state, GOLDEN_STATE);
    golden_close(j, "z0", r->z0, state, GOLDEN_STATE);
    golden_close(j, "z_traj", trajectory(r, mem), T * state, GOLDEN_STATE);

    double *frames = ARENA_ALLOC(mem, double, B *T *frame);
    in_samples(frames, r->frames, T, B, frame, frame, 0);
    if (m->formula) {
        golden_close(j, "x_rec_s0_first", frames, frame, GOLDEN_STATE);
        golden_close(j, "x_rec_s1_last", frames + (2 * T - 1) * frame, frame, GOLDEN_STATE);
        return;
    }
    golden_close(j, "x_rec", frames, B * T * frame, GOLDEN_STATE);
    in_samples(frames, r->targets, T, B, frame, frame, 0);
    for (int64_t i = 0; i < B * T * frame; i++) frames[i] = round(255.0 * frames[i]);
    golden_close(j, "targets_u8", frames, B * T * frame, GOLDEN_STATE);
}

// Everything that is reported of a step, from the rig's numbers alone.
typedef struct report {
    double *kl, *l2, *l2_norm, *nll, *neg_elbo, *loss, *constraint, *ema, *lambda;
    double *l2_time, *norm_time, *nll_time;
    double *average; // energies' mean difference, each pair counted twice
    double most, small;
} report;

static double square_sum(const double *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

static void report_energy(report *o, const golden_rig *r, int64_t b)
{
    int64_t T = r->m->times.targets, B = r->m->batch;
    for (int64_t s = 0; s < T; s++)
        for (int64_t t = 0; t < T; t++) {
            double d = fabs(r->energy[s * B + b] - r->energy[t * B + b]);
            o->average[b] += d / ((double)(T * (T - 1)) / 2.0);
            o->most = fmax(o->most, d);
        }
}

static report make_report(const golden_rig *r, arena *mem)
{
    const golden_model *m = r->m;
    const hgn_config *c = &m->c;
    int64_t T = m->times.targets, B = m->batch, frame = hgn_frame_size(c);
    double D = (double)(T * frame), half = 0.5 * log(acos(-1.0));
    report o = {0};
    double **each[] = {&o.kl,   &o.l2,         &o.l2_norm, &o.nll,    &o.neg_elbo,
                       &o.loss, &o.constraint, &o.ema,     &o.lambda, &o.average};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) *each[i] = ARENA_ALLOC(mem, double, B);
    o.l2_time = ARENA_ALLOC(mem, double, B *T);
    o.norm_time = ARENA_ALLOC(mem, double, B *T);
    o.nll_time = ARENA_ALLOC(mem, double, B *T);
    for (int64_t b = 0; b < B; b++) {
        for (int64_t t = 0; t < T; t++) {
            double l2 = r->l2[t * B + b] / D,
                   size = square_sum(r->targets + (t * B + b) * frame, frame);
            o.l2_time[b * T + t] = l2;
            o.norm_time[b * T + t] = l2 / size;
            o.nll_time[b * T + t] = l2 + half / (double)T;
            o.l2[b] += l2;
            o.l2_norm[b] += l2 / size;
        }
        o.kl[b] = r->kl[b] / D;
        o.nll[b] = o.l2[b] + half;
        o.neg_elbo[b] = o.nll[b] + o.kl[b];
        o.constraint[b] = o.l2[b] - c->geco_tolerance;
        o.ema[b] = (1.0 - c->geco_alpha) * o.constraint[b];
        o.lambda[b] = r->lambda;
        o.loss[b] = c->objective == HGN_GECO ? r->lambda * o.ema[b] + o.kl[b]
                                             : o.nll[b] + c->beta * o.kl[b];
        report_energy(&o, r, b);
    }
    // Latents that say something, summed over the first axis of a state.
    tensor_shape one = hgn_state_shape(c, B);
    int64_t places = 2 * shape_count(&one), informative = 0;
    for (int64_t i = 0; i < places; i++)
        informative += exp(2.0 * r->log_scale[i]) < 0.5 && fabs(r->loc[i]) > 0.1;
    o.small =
        (double)informative / (double)places * (double)(c->state_layout ? one.size[1] : c->latent);
    return o;
}

static void check_report(golden_judgement *j, const golden_rig *r, arena *mem)
{
    const golden_model *m = r->m;
    int64_t B = m->batch, T = m->times.targets;
    report o = make_report(r, mem);
    golden_close(j, "stat.kl", o.kl, B, GOLDEN_STATE);
    golden_close(j, "stat.l2", o.l2, B, GOLDEN_LOSS);
    golden_close(j, "stat.l2_norm", o.l2_norm, B, GOLDEN_LOSS);
    golden_close(j, "stat.neg_log_p_x", o.nll, B, GOLDEN_LOSS);
    golden_close(j, "stat.neg_elbo", o.neg_elbo, B, GOLDEN_LOSS);
    golden_close(j, "stat.loss", o.loss, B, GOLDEN_LOSS);
    golden_close(j, "stat.l2_over_time", o.l2_time, B * T, GOLDEN_LOSS);
    golden_close(j, "stat.l2_over_time_norm", o.norm_time, B * T, GOLDEN_LOSS);
    golden_close(j, "stat.neg_log_p_x_over_time", o.nll_time, B * T, GOLDEN_LOSS);
    golden_close(j, "stat.small_latents", &o.small, 1, GOLDEN_LOSS);
    // Differences of nearly equal energies: judged by the size of the energies.
    double scale = 1e-3, most = golden_scalar(j->file, "stat.max_energy_deficit", NAN);
    for (int64_t i = 0; i < B * T; i++) scale = fmax(scale, fabs(r->energy[i]));
    int64_t count = 0;
    double *average = golden_read(&count, j->file, "stat.avg_energy_deficit");
    if (average && count == B)
        golden_close_to(j, "stat.avg_energy_deficit", o.average, average, B, scale, GOLDEN_STATE);
    else golden_wrong(j, "no stat.avg_energy_deficit");
    golden_close_to(j, "stat.max_energy_deficit", &o.most, &most, 1, scale, GOLDEN_STATE);
    free(average);
    if (m->c.objective != HGN_GECO) {
        golden_close(j, "stat.elbo_beta", &m->c.beta, 1, GOLDEN_LOSS);
        return;
    }
    golden_close(j, "stat.geco_multiplier", o.lambda, B, GOLDEN_LOSS);
    golden_close(j, "stat.geco_constraint", o.constraint, B, GOLDEN_LOSS);
    golden_close(j, "stat.geco_constraint_ema", o.ema, B, GOLDEN_LOSS);
}

// Adam moves a parameter by about its rate, whatever the size of the gradient. Where that is nearly
// zero beside those of its tensor, float may get its sign wrong: such a parameter may be off by two
// steps for each step. 0 for the others, and in double.
static double step_slack(const golden_rig *r, const param *p, double largest, int64_t i)
{
    const bool is_small = r->square[p->offset + i] <= 1e-6 * largest;
    return r->form == PROGRAM_FAST && is_small ? 2.0 * r->m->rate * (double)r->m->steps : 0.0;
}

// The largest second moment of a tensor.
static double largest_moment(const golden_rig *r, const param *p)
{
    double most = 0.0;
    for (int64_t k = 0; k < shape_count(&p->shape); k++)
        most = fmax(most, r->square[p->offset + k]);
    return most;
}

// Parameters after the last step, by the names in the file.
static void check_parameters(golden_judgement *j, const golden_rig *r)
{
    for (int i = 0; i < r->m->names; i++) {
        const param *p = &r->params.at[golden_rig_param(&r->params, r->m->name[i])];
        GOLDEN_NAME(name, "p3.%s", r->m->name[i]);
        int64_t count = 0, n = shape_count(&p->shape);
        const double largest = largest_moment(r, p);
        double *want = golden_read(&count, j->file, name);
        double *got = calloc((size_t)n + 1, sizeof *got);
        if (!want || !got || count != n) golden_wrong(j, name);
        else {
            for (int64_t k = 0; k < n; k++) {
                got[k] = r->value[p->offset + k];
                if (fabs(got[k] - want[k]) <= step_slack(r, p, largest, k)) got[k] = want[k];
            }
            golden_close_to(j, name, got, want, n, 0.0, GOLDEN_GRADIENT);
        }
        free(want), free(got);
    }
}

// Tensors of a block by the names in the file; in float `class` says how near.
static void check_block(golden_judgement *j, const golden_rig *r, const char *prefix,
                        const double *block, golden_class class)
{
    for (int i = 0; i < r->m->names; i++) {
        const param *p = &r->params.at[golden_rig_param(&r->params, r->m->name[i])];
        GOLDEN_NAME(name, "%s.%s", prefix, r->m->name[i]);
        golden_close(j, name, block + p->offset, shape_count(&p->shape), class);
    }
}

// Where only norms, sums and the first few numbers are stored.
static void check_digest(golden_judgement *j, const golden_rig *r, const char *prefix,
                         const double *block, golden_class class)
{
    const golden_model *m = r->m;
    const bool stepped = block == r->value; // parameters after the last step
    double norm[GOLDEN_NAMES], sum[GOLDEN_NAMES] = {0};
    int64_t norms = 0, sums = 0;
    GOLDEN_NAME(norm_name, "%s_norm", prefix);
    GOLDEN_NAME(sum_name, "%s_sum", prefix);
    double *want_norm = golden_read(&norms, m->file, norm_name);
    double *want_sum = golden_read(&sums, m->file, sum_name);
    if (norms != m->names) golden_wrong(j, norm_name);
    for (int i = 0; i < m->names && norms == m->names; i++) {
        const param *p = &r->params.at[golden_rig_param(&r->params, m->name[i])];
        int64_t n = shape_count(&p->shape), few = n < 8 ? n : 8, count = 0;
        const double *x = block + p->offset;
        const double largest = largest_moment(r, p);
        double first[8], slack = 0.0;
        norm[i] = sqrt(square_sum(x, n));
        for (int64_t k = 0; k < n; k++) {
            sum[i] += x[k];
            if (stepped) slack += step_slack(r, p, largest, k) * step_slack(r, p, largest, k);
        }
        if (fabs(norm[i] - want_norm[i]) <= sqrt(slack)) norm[i] = want_norm[i];
        GOLDEN_NAME(name, "%s8.%s", prefix, m->name[i]);
        double *want = golden_read(&count, m->file, name), scale = want_norm[i];
        if (!want || count != few) golden_wrong(j, name);
        else {
            for (int64_t k = 0; k < few; k++) {
                const bool is_near =
                    stepped && fabs(x[k] - want[k]) <= step_slack(r, p, largest, k);
                first[k] = is_near ? want[k] : x[k];
            }
            golden_close_to(j, name, first, want, few, scale, class);
        }
        golden_close_to(j, norm_name, &norm[i], &want_norm[i], 1, scale, class);
        if (want_sum)
            golden_close_to(j, sum_name, &sum[i], &want_sum[i], 1, scale * sqrt((double)n), class);
        free(want);
    }
    free(want_norm);
    free(want_sum);
}

static void check_first(golden_judgement *j, const golden_rig *r)
{
    arena mem = {0};
    check_states(j, r, &mem);
    check_report(j, r, &mem);
    if (r->m->formula) check_digest(j, r, "g", r->gradient, GOLDEN_GRADIENT);
    else {
        check_block(j, r, "g", r->gradient, GOLDEN_GRADIENT);
        // The files in this tree may be without these two, being small; they say so.
        if (plumb_file_has_array(j->file, "eval.x_u8")) golden_eval(j, r);
        else printf("  no evaluation in this file\n");
        if (plumb_file_has_array(j->file, "act.enc.block0.conv0.out")) golden_layers_of(j, r);
        else printf("  no layers in this file\n");
        golden_carry(j, r);
    }
    arena_clear(&mem);
}

static void check_last(golden_judgement *j, const golden_rig *r)
{
    if (r->m->formula) {
        check_digest(j, r, "p3", r->value, GOLDEN_GRADIENT);
        return;
    }
    check_parameters(j, r);
    check_block(j, r, "m3", r->mean, GOLDEN_GRADIENT);
    check_block(j, r, "v3", r->square, GOLDEN_GRADIENT);
}

static void check_steps(golden_judgement *j, golden_rig *r, int64_t steps)
{
    int64_t count = 0;
    double *losses = golden_read(&count, j->file, "losses");
    if (!losses || count != r->m->steps) golden_wrong(j, "losses are missing");
    for (int64_t k = 0; k < steps && count == r->m->steps; k++) {
        golden_rig_step(r, k);
        GOLDEN_NAME(loss_name, "loss of step %lld", (long long)k);
        golden_close_to(j, loss_name, &r->loss, &losses[k], 1, 0.0, GOLDEN_LOSS);
        if (k == 0) check_first(j, r);
        GOLDEN_NAME(ema_name, "geco_ema.after%lld", (long long)k + 1);
        if (r->m->c.objective == HGN_GECO) golden_close(j, ema_name, &r->ema, 1, GOLDEN_LOSS);
        golden_rig_update(r, k);
    }
    free(losses);
    if (steps == r->m->steps) check_last(j, r);
}

static int judge_form(const golden_model *m, program_form form, int64_t steps)
{
    golden_judgement j = {.file = m->file, .path = m->path, .form = form};
    golden_rig r;
    if (!golden_rig_create(&r, m, form)) {
        golden_rig_free(&r);
        return 1;
    }
    check_steps(&j, &r, steps);
    golden_tell(&j);
    golden_rig_free(&r);
    return j.failures;
}

int golden_models(plumb_file *file, const char *path)
{
    golden_model m;
    int failures = 1;
    if (golden_model_read(&m, file, path)) {
        failures = judge_form(&m, PROGRAM_REFERENCE, m.formula ? 1 : m.steps);
        failures += judge_form(&m, PROGRAM_FAST, m.steps);
    }
    arena_clear(&m.mem);
    return failures;
}
