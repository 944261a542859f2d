// SPDX-License-Identifier: MIT
// Training steps of a golden model: the rollout forwards, frames decoded in groups, the rollout
// backwards; then Adam.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/adam.h"
#include "golden/golden_models.h"

static int64_t frame_size(const golden_model *m)
{
    return hgn_frame_size(&m->c);
}

static int64_t items(const golden_model *m)
{
    return m->batch * m->times.targets;
}

// The largest proper part of all frames, not above 8: groups must add up whatever their size.
static int64_t group_size(int64_t all)
{
    for (int64_t g = 8; g > 1; g--)
        if (g < all && all % g == 0) return g;
    return 1;
}

static double *room(golden_rig *r, int64_t count)
{
    return ARENA_ALLOC(&r->mem, double, count);
}

static void take_room(golden_rig *r)
{
    const golden_model *m = r->m;
    const hgn_config *c = &m->c;
    tensor_shape half = hgn_state_shape(c, 1);
    int64_t n = items(m), state = shape_count(&half), frame = frame_size(m);
    int64_t size = r->params.size;
    r->value = room(r, size);
    r->gradient = room(r, size);
    r->mean = room(r, size);
    r->square = room(r, size);
    r->value4 = ARENA_ALLOC(&r->mem, float, size);
    r->gradient4 = ARENA_ALLOC(&r->mem, float, size);
    r->mean4 = ARENA_ALLOC(&r->mem, float, size);
    r->square4 = ARENA_ALLOC(&r->mem, float, size);
    r->q = room(r, n * state);
    r->p = room(r, n * state);
    r->dq = room(r, n * state);
    r->energy = room(r, n);
    r->l2 = room(r, n);
    r->frames = room(r, n * frame);
    r->targets = room(r, n * frame);
    r->window = room(r, m->batch * frame * c->window);
    r->loc = room(r, m->batch * 2 * state);
    r->log_scale = room(r, m->batch * 2 * state);
    r->z0 = room(r, m->batch * 2 * state);
    r->kl = room(r, m->batch);
}

// Parameters that a hash gives [the golden README].
static void draw(double *x, const param *p, uint64_t seed, uint64_t tensor)
{
    int64_t n = shape_count(&p->shape), out = p->shape.size[p->shape.rank - 1];
    const char *last = p->name + strlen(p->name) - 2;
    for (int64_t i = 0; i < n; i++) {
        uint64_t h = (seed << 48) + (tensor << 32) + (uint64_t)i;
        h = h * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0x9E3779B97F4A7C15);
        h = (h ^ h >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        h = (h ^ h >> 27) * UINT64_C(0x94D049BB133111EB);
        h ^= h >> 31;
        double u = (double)(h >> 11) * 0x1p-52 - 1.0;
        x[i] = !strcmp(last, ".w")   ? u * sqrt(3.0 / (double)(n / out))
               : !strcmp(last, ".b") ? 0.1 * u
                                     : 1.0 + 0.1 * u;
    }
}

int golden_rig_param(const params *layout, const char *name)
{
    char text[160];
    for (int i = 0; i < layout->count; i++)
        if (!strcmp(name, renames_old_tensor(text, sizeof text, renames_latent_dynamics_tensors,
                                             layout->at[i].name, NULL)))
            return i;
    return -1;
}

// Every parameter of ours has a name in the file, and the other way round.
static bool load(golden_rig *r)
{
    const golden_model *m = r->m;
    bool right = m->names == r->params.count;
    if (!right) printf("%s: %d parameters, wanted %d\n", m->path, r->params.count, m->names);
    for (int i = 0; i < m->names; i++) {
        int k = golden_rig_param(&r->params, m->name[i]);
        if (k < 0) {
            printf("%s: no parameter is called %s\n", m->path, m->name[i]);
            right = false;
            continue;
        }
        const param *p = &r->params.at[k];
        if (m->formula) {
            draw(r->value + p->offset, p, m->seed, (uint64_t)i);
            continue;
        }
        GOLDEN_NAME(name, "p.%s", m->name[i]);
        plumb_array a;
        bool fits = !plumb_file_read_array(&a, m->file, name) && a.ndim == p->shape.rank;
        for (int d = 0; fits && d < a.ndim; d++) fits = a.shape[d] == p->shape.size[d];
        if (fits) plumb_array_to_double(r->value + p->offset, &a, 0, shape_count(&p->shape));
        else printf("%s: %s is missing or of another shape\n", m->path, name);
        right = right && fits;
    }
    for (int64_t i = 0; i < r->params.size; i++) r->value4[i] = (float)r->value[i];
    return right;
}

bool golden_rig_create(golden_rig *r, const golden_model *m, program_form form)
{
    *r = (golden_rig){.m = m, .form = form, .group = group_size(items(m))};
    const hgn_frame_plan *t = &m->times;
    if (hgn_rollout_build(&r->roll, &r->params, &m->c,
                          &(hgn_rollout_spec){.batch = m->batch,
                                              .backward = t->backward,
                                              .forward = t->forward,
                                              .decode_start = t->decode_start,
                                              .energies = true,
                                              .masked = false,
                                              .train = true}) ||
        hgn_decoder_build(&r->decode, &r->params, &m->c, r->group, true)) {
        printf("%s: %s\n", m->path, plumb_last_error());
        return false;
    }
    if (m->c.objective == HGN_GECO)
        params_add(&r->params, "geco.lambda", &(tensor_shape){0}, PARAM_INIT_VALUE,
                   log(exp(1.0) - 1.0));
    if (r->roll.times != t->targets) {
        printf("%s: a rollout of %lld states, wanted %lld\n", m->path, (long long)r->roll.times,
               (long long)t->targets);
        return false;
    }
    take_room(r);
    return golden_start(&r->roller, r->roll.net.g, r->roll.outputs, r->roll.output_count, form) &&
           golden_start(&r->decoder, r->decode.net.g, r->decode.outputs, r->decode.output_count,
                        form) &&
           load(r);
}

void golden_rig_free(golden_rig *r)
{
    golden_stop(&r->roller);
    golden_stop(&r->decoder);
    graph_free(r->roll.net.g);
    graph_free(r->decode.net.g);
    params_clear(&r->params);
    arena_clear(&r->mem);
}

void golden_rig_bind(const golden_rig *r, golden_machine *to, const network_builder *n)
{
    for (int k = 0; k < n->leaf_count; k++) {
        int64_t offset = r->params.at[n->leaves[k].param].offset;
        if (r->form == PROGRAM_REFERENCE) instance_set(to->i, n->leaves[k].node, r->value + offset);
        else instance_bind(to->i, n->leaves[k].node, r->value4 + offset);
    }
}

// Gradients that a program gives after `first` other outputs are added to the rig's.
static void add_gradients(golden_rig *r, const golden_machine *from, const network_builder *n,
                          int first, double *scratch)
{
    for (int k = 0; k < n->leaf_count; k++) {
        const param *p = &r->params.at[n->leaves[k].param];
        instance_get(from->i, first + k, scratch);
        for (int64_t i = 0; i < shape_count(&p->shape); i++)
            r->gradient[p->offset + i] += scratch[i];
    }
}

void golden_window(double *out, const golden_model *m, const double *clip, int64_t start)
{
    const hgn_config *c = &m->c;
    int64_t frame = frame_size(m), pixels = c->height * c->width, K = c->window;
    for (int64_t t = 0; t < K; t++)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t k = 0; k < c->channels; k++)
                out[(i * K + t) * c->channels + k] =
                    clip[(start + t) * frame + i * c->channels + k] / 255.0;
}

static bool backwards(const golden_model *m, int64_t b)
{
    return m->c.direction && b >= m->batch / 2;
}

static void fill(golden_rig *r, int64_t step)
{
    const golden_model *m = r->m;
    const hgn_frame_plan *t = &m->times;
    int64_t frame = frame_size(m);
    double sign[64];
    for (int64_t b = 0; b < m->batch; b++) {
        const double *clip = m->x + (step * m->batch + b) * t->length * frame;
        bool back = backwards(m, b);
        sign[b] = back ? -1.0 : 1.0;
        golden_window(r->window + b * frame * m->c.window, m, clip,
                      back ? t->length - m->c.window : 0);
        for (int64_t i = 0; i < t->targets; i++) {
            int64_t at = back ? t->length - 1 - i : t->first_target + i;
            for (int64_t k = 0; k < frame; k++)
                r->targets[(i * m->batch + b) * frame + k] = clip[at * frame + k] / 255.0;
        }
    }
    const hgn_rollout_graph *roll = &r->roll;
    instance_set(r->roller.i, roll->frames, r->window);
    instance_set(r->roller.i, roll->noise, m->noise + step * shape_count(&roll->noise->shape));
    if (roll->sign) instance_set(r->roller.i, roll->sign, sign);
}

static void decode(golden_rig *r, double weight, double *scratch)
{
    const golden_model *m = r->m;
    const hgn_decoder_graph *d = &r->decode;
    int64_t frame = frame_size(m), state = shape_count(&d->q->shape) / r->group;
    double weights[8];
    for (int64_t i = 0; i < r->group; i++) weights[i] = weight;
    for (int64_t first = 0; first < items(m); first += r->group) {
        instance_set(r->decoder.i, d->q, r->q + first * state);
        instance_set(r->decoder.i, d->target, r->targets + first * frame);
        instance_set(r->decoder.i, d->weight, weights);
        instance_run(r->decoder.i, 0);
        instance_get(r->decoder.i, HGN_FRAMES, r->frames + first * frame);
        instance_get(r->decoder.i, HGN_L2, r->l2 + first);
        instance_get(r->decoder.i, HGN_DECODE_DQ, r->dq + first * state);
        add_gradients(r, &r->decoder, &d->net, HGN_DECODE_OUTPUTS, scratch);
    }
}

// ELBO: (nll + beta kl) / D. GECO: lambda ema(C) + kl / D, where C = l2 / D - kappa, and the
// gradient by lambda has its sign turned.
static void tell_loss(golden_rig *r, double D)
{
    const golden_model *m = r->m;
    const hgn_config *c = &m->c;
    double B = (double)m->batch, l2 = 0.0, kl = 0.0;
    for (int64_t i = 0; i < items(m); i++) l2 += r->l2[i] / (B * D);
    for (int64_t b = 0; b < m->batch; b++) kl += r->kl[b] / (B * D);
    if (c->objective != HGN_GECO) {
        r->loss = l2 + 0.5 * log(acos(-1.0)) + (c->objective == HGN_ELBO ? c->beta * kl : 0.0);
        return;
    }
    const param *p = &r->params.at[params_find(&r->params, "geco.lambda")];
    double constraint = l2 - c->geco_tolerance;
    r->ema = c->geco_alpha * r->ema + (1.0 - c->geco_alpha) * constraint;
    r->loss = r->lambda * r->ema + kl;
    r->gradient[p->offset] = -constraint / (1.0 + exp(-r->value[p->offset]));
}

void golden_rig_step(golden_rig *r, int64_t step)
{
    const golden_model *m = r->m;
    bool geco = m->c.objective == HGN_GECO;
    double beta = m->c.objective == HGN_ELBO ? m->c.beta : 0.0;
    double D = (double)(m->times.targets * frame_size(m)), each = 1.0 / ((double)m->batch * D);
    arena_mark mark = arena_get_mark(&r->mem);
    double *scratch = room(r, r->params.size);
    memset(r->gradient, 0, (size_t)r->params.size * sizeof *r->gradient);
    if (geco) {
        int k = params_find(&r->params, "geco.lambda");
        r->lambda = log1p(exp(r->value[r->params.at[k].offset]));
    }
    golden_rig_bind(r, &r->roller, &r->roll.net);
    golden_rig_bind(r, &r->decoder, &r->decode.net);
    fill(r, step);

    program_instance *roller = r->roller.i;
    instance_run(roller, 0);
    double *const first[HGN_ROLLOUT_OUTPUTS] = {[HGN_Q] = r->q,
                                                [HGN_P] = r->p,
                                                [HGN_KL] = r->kl,
                                                [HGN_LOC] = r->loc,
                                                [HGN_LOG_SCALE] = r->log_scale,
                                                [HGN_Z0] = r->z0,
                                                [HGN_ENERGY] = r->energy};
    for (int i = 0; i < HGN_ROLLOUT_OUTPUTS; i++)
        if (first[i]) instance_get(roller, i, first[i]);
    decode(r, geco ? r->lambda * each : each, scratch);
    instance_set(roller, r->roll.dq, r->dq);
    instance_set(roller, r->roll.kl_weight, (double[]){geco ? each : beta * each});
    instance_run(roller, 1);
    add_gradients(r, &r->roller, &r->roll.net, HGN_ROLLOUT_OUTPUTS, scratch);
    tell_loss(r, D);
    arena_rewind(&r->mem, mark);
}

void golden_rig_update(golden_rig *r, int64_t step)
{
    const adam_options a = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    int64_t n = r->params.size;
    if (r->form == PROGRAM_REFERENCE) {
        adam_step_reference(r->value, r->mean, r->square, r->gradient, n,
                            &(adam_update){&a, r->m->rate, 1.0, step + 1});
        return;
    }
    for (int64_t i = 0; i < n; i++) r->gradient4[i] = (float)r->gradient[i];
    adam_step(r->value4, r->mean4, r->square4, r->gradient4, n,
              &(adam_update){&a, r->m->rate, 1.0, step + 1});
    for (int64_t i = 0; i < n; i++) {
        r->value[i] = (double)r->value4[i];
        r->mean[i] = (double)r->mean4[i];
        r->square[i] = (double)r->square4[i];
    }
}
