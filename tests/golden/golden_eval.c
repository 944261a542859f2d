// SPDX-License-Identifier: MIT
// Everything besides the training steps: evaluation in both directions of time, activations inside
// the networks, and rollouts that are continued step by step.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_models.h"

static int64_t frame_size(const golden_model *m)
{
    return hgn_frame_size(&m->c);
}

static double *ones(arena *mem, int64_t n)
{
    double *x = ARENA_ALLOC(mem, double, n);
    for (int64_t i = 0; i < n; i++) x[i] = 1.0;
    return x;
}

// ---- posterior means rolled out over a longer clip ----

typedef struct evaluation {
    golden_judgement *j;
    const golden_rig *r;
    arena mem;
    int64_t frames;     // of the clip
    double *x;          // bytes (batch, frames, ..)
    double *error;      // (batch, frames): squares
    double *size;       // of the frames themselves
    double *stat[2][6]; // ways; train, extrapolation, full; l2 and l2_norm; per sample
} evaluation;

static const char *const cuts[3] = {"train", "extrapolation", "full"};

// Decodes q (times, batch, ..) into (batch, times, ..).
static bool decode_all(double *out, evaluation *e, const double *q)
{
    const golden_model *m = e->r->m;
    params p = e->r->params; // the same layout; nothing is added
    hgn_decoder_graph d;
    golden_machine machine = {0};
    int64_t frame = frame_size(m);
    double *now = ARENA_ALLOC(&e->mem, double, m->batch *frame);
    bool good = !hgn_decoder_build(&d, &p, &m->c, m->batch, false) &&
                golden_start(&machine, d.net.g, d.outputs, d.output_count, e->r->form);
    if (good) golden_rig_bind(e->r, &machine, &d.net);
    for (int64_t t = 0; good && t < e->frames; t++) {
        instance_set(machine.i, d.q, q + t * shape_count(&d.q->shape));
        instance_run(machine.i, 0);
        instance_get(machine.i, HGN_FRAMES, now);
        for (int64_t b = 0; b < m->batch; b++)
            memcpy(out + (b * e->frames + t) * frame, now + b * frame, (size_t)frame * sizeof *out);
    }
    golden_stop(&machine);
    graph_free(d.net.g);
    return good;
}

// The window at `start`, its state `back` steps from the beginning of the clip.
static bool roll_all(double *q, evaluation *e, int64_t start, int64_t back)
{
    const golden_model *m = e->r->m;
    int64_t frame = frame_size(m);
    params p = e->r->params;
    hgn_rollout_graph r;
    golden_machine machine = {0};
    double *window = ARENA_ALLOC(&e->mem, double, m->batch *frame * m->c.window);
    bool good = !hgn_rollout_build(&r, &p, &m->c,
                                   &(hgn_rollout_spec){.batch = m->batch,
                                                       .backward = back,
                                                       .forward = e->frames - back - 1,
                                                       .decode_start = true,
                                                       .energies = true,
                                                       .masked = false,
                                                       .train = false}) &&
                golden_start(&machine, r.net.g, r.outputs, r.output_count, e->r->form);
    if (good) {
        for (int64_t b = 0; b < m->batch; b++)
            golden_window(window + b * frame * m->c.window, m, e->x + b * e->frames * frame, start);
        golden_rig_bind(e->r, &machine, &r.net);
        instance_set(machine.i, r.frames, window);
        instance_set(machine.i, r.noise,
                     ARENA_ALLOC(&e->mem, double, shape_count(&r.noise->shape)));
        if (r.sign) instance_set(machine.i, r.sign, ones(&e->mem, m->batch));
        instance_run(machine.i, 0);
        instance_get(machine.i, HGN_Q, q);
    }
    golden_stop(&machine);
    graph_free(r.net.g);
    return good;
}

static void measure(evaluation *e, const double *frames)
{
    const golden_model *m = e->r->m;
    int64_t frame = frame_size(m);
    for (int64_t i = 0; i < m->batch * e->frames; i++) {
        e->error[i] = e->size[i] = 0.0;
        for (int64_t k = 0; k < frame; k++) {
            double x = e->x[i * frame + k] / 255.0, d = frames[i * frame + k] - x;
            e->error[i] += d * d;
            e->size[i] += x * x;
        }
    }
}

// Frames `first` to `end` of every sample.
static void cut(evaluation *e, double *l2, double *l2_norm, int64_t first, int64_t end)
{
    double D = (double)((end - first) * frame_size(e->r->m));
    for (int64_t b = 0; b < e->r->m->batch; b++)
        for (int64_t t = first; t < end; t++) {
            int64_t i = b * e->frames + t;
            l2[b] += e->error[i] / D;
            l2_norm[b] += e->error[i] / e->size[i] / D;
        }
}

static void evaluate(evaluation *e, int way)
{
    const golden_model *m = e->r->m;
    const hgn_frame_plan *t = &m->times;
    int64_t N = e->frames, K = m->c.window, train = t->length - t->first_target;
    tensor_shape s = hgn_state_shape(&m->c, m->batch);
    double *q = ARENA_ALLOC(&e->mem, double, N *shape_count(&s));
    double *frames = ARENA_ALLOC(&e->mem, double, m->batch *N *frame_size(m));
    if (!roll_all(q, e, way ? N - K : 0, way ? N - K + t->inferred : t->inferred) ||
        !decode_all(frames, e, q)) {
        golden_wrong(e->j, plumb_last_error());
        return;
    }
    golden_close(e->j, way ? "eval.rec_bwd" : "eval.rec_fwd", frames, m->batch * N * frame_size(m),
                 GOLDEN_STATE);
    measure(e, frames);
    int64_t first = way ? 0 : t->first_target, end = way ? N - t->first_target : N;
    int64_t range[3][2] = {{first, first + train}, {first + train, end}, {first, end}};
    if (way)
        range[0][0] = end - train, range[0][1] = end, range[1][0] = first,
        range[1][1] = end - train;
    for (int c = 0; c < 3; c++)
        cut(e, e->stat[way][2 * c], e->stat[way][2 * c + 1], range[c][0], range[c][1]);
}

static void check_stats(evaluation *e)
{
    int64_t B = e->r->m->batch;
    double *mean = ARENA_ALLOC(&e->mem, double, B);
    for (int k = 0; k < 6; k++) {
        const char *kind = k % 2 ? "l2_norm" : "l2";
        const double *ways[3] = {e->stat[0][k], e->stat[1][k], mean};
        for (int64_t b = 0; b < B; b++) mean[b] = (ways[0][b] + ways[1][b]) / 2.0;
        static const char *const names[3] = {"forward", "backward", "combined"};
        for (int w = 0; w < 3; w++) {
            GOLDEN_NAME(name, "eval.stat.%s_%s_%s", names[w], cuts[k / 2], kind);
            golden_close(e->j, name, ways[w], B, GOLDEN_LOSS);
        }
    }
}

void golden_eval(golden_judgement *j, const golden_rig *r)
{
    const golden_model *m = r->m;
    evaluation e = {.j = j, .r = r, .frames = m->times.length + m->extra};
    int64_t count = 0, frames = m->batch * e.frames;
    e.x = golden_read(&count, m->file, "eval.x_u8");
    e.error = ARENA_ALLOC(&e.mem, double, frames);
    e.size = ARENA_ALLOC(&e.mem, double, frames);
    for (int i = 0; i < 12; i++) e.stat[i / 6][i % 6] = ARENA_ALLOC(&e.mem, double, m->batch);
    if (!e.x || count != frames * frame_size(m)) golden_wrong(j, "eval.x_u8 of another shape");
    else {
        evaluate(&e, 0);
        evaluate(&e, 1);
        check_stats(&e);
    }
    free(e.x);
    arena_clear(&e.mem);
}

// ---- what layers give before their activation ----

// The sum with the bias of that layer: the first one made is the forward pass.
static graph_node *biased(const graph *g, const char *layer)
{
    size_t length = strlen(layer);
    for (int i = 0; i < graph_size(g); i++) {
        graph_node *n = graph_get_node(g, i);
        for (int k = 0; n->op == OP_ADD && k < 2; k++) {
            const graph_node *b = n->in[k];
            const char *name = b->op == OP_BROADCAST ? b->in[0]->name : NULL;
            char text[160];
            if (name)
                name = renames_old_tensor(text, sizeof text, renames_latent_dynamics_tensors, name,
                                          NULL);
            if (name && !strncmp(name, layer, length) && !strcmp(name + length, ".b")) return n;
        }
    }
    return NULL;
}

static graph_node *input_of(const graph *g, const char *weights)
{
    for (int i = 0; i < graph_size(g); i++) {
        graph_node *n = graph_get_node(g, i);
        if (n->op == OP_CONV && n->in[1]->name && !strcmp(n->in[1]->name, weights)) return n->in[0];
    }
    return NULL;
}

// One node of the rig's graphs, run on the first clip. The decoder's first frame is that of the
// first sample.
static void check_node(golden_judgement *j, const golden_rig *r, const char *name, graph_node *n,
                       bool decoder, int64_t items)
{
    golden_machine machine;
    const network_builder *of = decoder ? &r->decode.net : &r->roll.net;
    if (!n || !golden_start(&machine, of->g, &n, 1, r->form)) {
        golden_wrong(j, name);
        return;
    }
    golden_rig_bind(r, &machine, of);
    if (decoder) instance_set(machine.i, r->decode.q, r->q);
    else {
        instance_set(machine.i, r->roll.frames, r->window);
        instance_set(machine.i, r->roll.noise, r->m->noise);
    }
    instance_run(machine.i, 0);
    int64_t all = shape_count(&n->shape);
    double *got = malloc((size_t)all * sizeof *got);
    instance_get(machine.i, 0, got);
    golden_close(j, name, got, all / n->shape.size[0] * items, GOLDEN_STATE);
    free(got);
    golden_stop(&machine);
}

void golden_layers_of(golden_judgement *j, const golden_rig *r)
{
    int seen = 0;
    for (int64_t i = 0; i < plumb_file_array_count(j->file); i++) {
        const char *name = plumb_file_array_name(j->file, i);
        if (strncmp(name, "act.", 4)) continue;
        GOLDEN_NAME(layer, "%.*s", (int)(strlen(name) - 8), name + 4); // act.LAYER.out
        bool decoder = !strncmp(layer, "dec.", 4);
        const graph *g = decoder ? r->decode.net.g : r->roll.net.g;
        check_node(j, r, name, biased(g, layer), decoder, 1);
        seen++;
    }
    if (!seen) golden_wrong(j, "no layers");
    if (r->m->c.transform_layers && r->m->c.state_layout)
        check_node(j, r, "z_raw", input_of(r->roll.net.g, "transform.conv0.w"), false, r->m->batch);
    else golden_close(j, "z_raw", r->z0, shape_count(&r->roll.noise->shape), GOLDEN_STATE);
}

// ---- the same trajectory, carried on from its states ----

void golden_carry(golden_judgement *j, const golden_rig *r)
{
    const golden_model *m = r->m;
    const hgn_frame_plan *t = &m->times;
    int64_t from = t->decode_start ? t->backward : 0, steps = t->targets - from - 1;
    if (steps < 1) from = 0, steps = t->targets - 1; // a model that looks back only
    params p = r->params;
    hgn_advance_graph c;
    golden_machine machine = {0};
    arena mem = {0};
    if (hgn_advance_build(&c, &p, &m->c, m->batch, steps) ||
        !golden_start(&machine, c.net.g, c.outputs, 2, r->form)) {
        golden_wrong(j, "no carry");
        return;
    }
    int64_t state = shape_count(&c.q->shape);
    double *sign = ones(&mem, m->batch), *got = ARENA_ALLOC(&mem, double, steps *state);
    for (int64_t b = m->batch / 2; m->c.direction && b < m->batch; b++) sign[b] = -1.0;
    golden_rig_bind(r, &machine, &c.net);
    instance_set(machine.i, c.q, r->q + from * state);
    instance_set(machine.i, c.p, r->p + from * state);
    instance_set(machine.i, c.sign, sign);
    instance_run(machine.i, 0);
    for (int k = 0; k < 2; k++) {
        instance_get(machine.i, k, got);
        golden_close_to(j, k ? "p, carried" : "q, carried", got,
                        (k ? r->p : r->q) + (from + 1) * state, steps * state, 0.0, GOLDEN_STATE);
    }
    golden_stop(&machine);
    graph_free(c.net.g);
    arena_clear(&mem);
}
