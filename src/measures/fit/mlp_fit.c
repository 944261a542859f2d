// SPDX-License-Identifier: MIT
// Builds the network as a graph of the engine, trains it by Adam [Kingma15], and evaluates it and
// its Jacobian in double.
#include "measures/fit/mlp_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"

enum { CHUNK = 4096, LEAVES = 2 * MLP_MAX_LAYERS };

static int64_t layer_in(const mlp_fit_shape *s, int layer)
{
    return layer ? s->width : s->inputs;
}

static int64_t layer_out(const mlp_fit_shape *s, int layer)
{
    return layer == s->layers - 1 ? s->outputs : s->width;
}

// Weights (in, out) and biases (out) of all layers.
int64_t mlp_fit_parameters(const mlp_fit_shape *s)
{
    int64_t count = 0;
    for (int i = 0; i < s->layers; i++) count += (layer_in(s, i) + 1) * layer_out(s, i);
    return count;
}

// Normal weights, cut at two deviations, over sqrt(inputs); biases 0.
void mlp_fit_init(double *value, const mlp_fit_shape *s, uint64_t seed, uint64_t stream)
{
    rng r = rng_at(seed, stream);
    for (int i = 0; i < s->layers; i++) {
        const int64_t in = layer_in(s, i), out = layer_out(s, i);
        for (int64_t k = 0; k < in * out; k++) {
            double z;
            do z = rng_normal(&r);
            while (fabs(z) > 2.0);
            *value++ = z / sqrt((double)in);
        }
        for (int64_t k = 0; k < out; k++) *value++ = 0.0;
    }
}

// ---- the network as a graph ----

typedef struct mlp_network {
    graph *g;
    graph_program *p;
    program_instance *i;
    int leaves;
    graph_node *leaf[LEAVES]; // w0, b0, w1, ..
    graph_node *x, *y;        // (inputs, rows), (outputs, rows): input and target
    graph_node *output;       // (outputs, rows) F(x)
} mlp_network;

// F(x) = W_L tanh(.. tanh(W_1 x + b_1) ..) + b_L for `rows` points, columns of x.
static plumb_status build_graph(mlp_network *d, const mlp_fit_shape *s, int64_t rows)
{
    *d = (mlp_network){0};
    plumb_status st = graph_create(&d->g);
    if (st) return st;
    graph *g = d->g;
    d->x = op_input(g, "x", 0, 2, (int64_t[]){s->inputs, rows});
    d->output = d->x;
    for (int i = 0; i < s->layers; i++) {
        const int64_t in = layer_in(s, i), out = layer_out(s, i);
        graph_node *w = d->leaf[d->leaves++] = op_input(g, "w", 0, 2, (int64_t[]){in, out});
        graph_node *b = d->leaf[d->leaves++] = op_input(g, "b", 0, 1, (int64_t[]){out});
        d->output = op_add(g, op_matmul(g, w, d->output, true, false),
                           op_broadcast(g, b, 1, 1, (int64_t[]){rows}));
        if (i < s->layers - 1) d->output = op_tanh(g, d->output);
    }
    return PLUMB_OK;
}

// Plans the graph once; a run then only fills in values.
static plumb_status compile_graph(mlp_network *d, graph_node *const *output, int outputs,
                                  program_form form)
{
    plumb_status st = program_build(&d->p, d->g, output, outputs, form);
    return st ? st : instance_create(&d->i, d->p);
}

static void mlp_network_free(mlp_network *d)
{
    instance_free(d->i);
    program_free(d->p);
    graph_free(d->g);
}

// value holds w0, b0, w1, .. one after the other, in the order of the leaves.
static void set_parameters(mlp_network *d, const double *value)
{
    for (int k = 0; k < d->leaves; k++) {
        instance_set(d->i, d->leaf[k], value);
        value += shape_count(&d->leaf[k]->shape);
    }
}

// mean (F(x) - y)^2 + ridge sum w^2 + l1 sum |w|
static graph_node *add_loss(mlp_network *d, const mlp_fit_training *t)
{
    const mlp_fit_shape *s = &t->shape;
    const int64_t rows = t->batch;
    graph *g = d->g;
    d->y = op_input(g, "y", 0, 2, (int64_t[]){s->outputs, rows});
    graph_node *square = op_square(g, op_subtract(g, d->output, d->y));
    graph_node *loss = op_scale(g, op_sum(g, square, 0, 2), 1.0 / (double)(rows * s->outputs));
    for (int i = 0; t->ridge != 0.0 && i < s->layers; i++)
        loss =
            op_add(g, loss, op_scale(g, op_sum(g, op_square(g, d->leaf[2 * i]), 0, 2), t->ridge));
    // |w| = 2 max(w, 0) - w. (A leaky ReLU with slope -1 has the wrong gradient below 0: the engine
    // takes its slope from the sign of the output.)
    for (int i = 0; t->l1 != 0.0 && i < s->layers; i++) {
        graph_node *w = d->leaf[2 * i];
        graph_node *size = op_subtract(g, op_scale(g, op_leaky_relu(g, w, 0.0), 2.0), w);
        loss = op_add(g, loss, op_scale(g, op_sum(g, size, 0, 2), t->l1));
    }
    return loss;
}

// ---- training ----

typedef struct trainer {
    mlp_network d;
    double *gradient, *m, *v; // (parameters)
    double *rows;             // (columns, batch)
} trainer;

// A graph with the loss and its gradient by every parameter, for batches of a fixed size.
static plumb_status trainer_init(trainer *r, const mlp_fit_training *t, arena *mem)
{
    const int64_t size = mlp_fit_parameters(&t->shape);
    const int64_t most = t->shape.inputs > t->shape.outputs ? t->shape.inputs : t->shape.outputs;
    r->gradient = ARENA_ALLOC(mem, double, size);
    r->m = ARENA_ALLOC(mem, double, size);
    r->v = ARENA_ALLOC(mem, double, size);
    r->rows = ARENA_ALLOC(mem, double, (most * t->batch));
    if (!r->gradient || !r->m || !r->v || !r->rows) return PLUMB_EMEMORY;
    plumb_status st = build_graph(&r->d, &t->shape, t->batch);
    if (st) return st;
    graph_node *output[1 + LEAVES] = {add_loss(&r->d, t)};
    graph_gradient(r->d.g, output + 1, r->d.leaf, r->d.leaves, output, NULL, 1);
    return compile_graph(&r->d, output, 1 + r->d.leaves, t->form);
}

// Sets rows first .. first + batch - 1 of each column; after the last row comes the first.
static void set_rows(trainer *r, const mlp_fit_training *t, graph_node *leaf, const double *from,
                     int64_t first)
{
    const int64_t columns = leaf->shape.size[0];
    const int64_t now = t->rows - first < t->batch ? t->rows - first : t->batch;
    for (int64_t c = 0; c < columns; c++) {
        double *to = r->rows + c * t->batch;
        memcpy(to, from + c * t->stride + first, (size_t)now * sizeof *to);
        memcpy(to + now, from + c * t->stride, (size_t)(t->batch - now) * sizeof *to);
    }
    instance_set(r->d.i, leaf, r->rows);
}

// One step of Adam on the next batch; returns the loss before it.
static double run_update(trainer *r, const mlp_fit_training *t, double *value, int64_t step)
{
    // beta1, beta2, epsilon of [Kingma15].
    static const adam_options adam = {0.9, 0.999, 1e-8};
    double loss, *gradient = r->gradient;
    // step * batch modulo rows, in an order that cannot overflow.
    const int64_t first = step % t->rows * t->batch % t->rows;
    set_parameters(&r->d, value);
    set_rows(r, t, r->d.x, t->x, first);
    set_rows(r, t, r->d.y, t->y, first);
    instance_run(r->d.i, 0);
    instance_get(r->d.i, 0, &loss);
    for (int k = 0; k < r->d.leaves; k++) {
        instance_get(r->d.i, 1 + k, gradient);
        gradient += shape_count(&r->d.leaf[k]->shape);
    }
    adam_step_reference(value, r->m, r->v, r->gradient, mlp_fit_parameters(&t->shape),
                        &(adam_update){&adam, adam_schedule_rate(&t->rate, step), 1.0, step + 1});
    return loss;
}

// `value` is trained in place. The loop looks for a stop every CHECK_EVERY updates.
plumb_status mlp_fit_train(double *value, const mlp_fit_training *t)
{
    enum { CHECK_EVERY = 64 };
    arena mem = {0};
    trainer r = {0};
    plumb_status st = trainer_init(&r, t, &mem);
    for (int64_t step = 0; !st && step < t->rate.steps; step++) {
        const double loss = run_update(&r, t, value, step);
        if (t->loss) t->loss[step] = loss;
        if (!isfinite(loss))
            st = fail(PLUMB_ENUMERIC,
                      "the loss of the network is %g at update %lld; try a lower rate", loss,
                      (long long)step);
        if (t->done) ++*t->done;
        if (st || step % CHECK_EVERY) continue;
        st = status_check_stop();
        if (t->reports) status_progress((double)*t->done / (double)t->all);
    }
    mlp_network_free(&r.d);
    arena_clear(&mem);
    return st;
}

// ---- evaluation ----

plumb_status mlp_fit_apply(double *y, const mlp_fit_shape *s, const double *value, const double *x,
                           int64_t rows, int64_t stride)
{
    // In chunks, so that the activations need little memory. The tail of the last chunk is ignored.
    const int64_t chunk = rows < CHUNK ? rows : CHUNK;
    arena mem = {0};
    mlp_network d;
    double *in = ARENA_ALLOC(&mem, double, (s->inputs * chunk));
    double *out = ARENA_ALLOC(&mem, double, (s->outputs * chunk));
    plumb_status st = in && out ? build_graph(&d, s, chunk) : PLUMB_EMEMORY;
    if (!st) {
        st = compile_graph(&d, &d.output, 1, PROGRAM_REFERENCE);
        for (int64_t first = 0; !st && first < rows; first += chunk) {
            const int64_t now = rows - first < chunk ? rows - first : chunk;
            for (int64_t c = 0; c < s->inputs; c++)
                memcpy(in + c * chunk, x + c * stride + first, (size_t)now * sizeof *in);
            set_parameters(&d, value);
            instance_set(d.i, d.x, in);
            instance_run(d.i, 0);
            instance_get(d.i, 0, out);
            for (int64_t c = 0; c < s->outputs; c++)
                memcpy(y + c * stride + first, out + c * chunk, (size_t)now * sizeof *y);
        }
        mlp_network_free(&d);
    }
    arena_clear(&mem);
    return st;
}

// F acts on each point alone, so the gradient of the sum of an output over all points is, at each
// point, the gradient of the output there.
plumb_status mlp_fit_jacobians(double *j, const mlp_fit_shape *s, const double *value,
                               const double *x, int64_t points)
{
    arena mem = {0};
    mlp_network d;
    double *rows = ARENA_ALLOC(&mem, double, (s->inputs * points));
    graph_node **output = ARENA_ALLOC(&mem, graph_node *, s->outputs);
    plumb_status st = rows && output ? build_graph(&d, s, points) : PLUMB_EMEMORY;
    if (!st) {
        for (int64_t t = 0; t < s->outputs; t++) {
            graph_node *one = op_slice(d.g, d.output, 0, t, 1);
            graph_gradient(d.g, &output[t], &d.x, 1, &one, NULL, 1);
        }
        st = compile_graph(&d, output, (int)s->outputs, PROGRAM_REFERENCE);
        if (!st) {
            set_parameters(&d, value);
            instance_set(d.i, d.x, x);
            instance_run(d.i, 0);
        }
        for (int64_t t = 0; !st && t < s->outputs; t++) {
            instance_get(d.i, (int)t, rows);
            for (int64_t c = 0; c < s->inputs; c++)
                for (int64_t p = 0; p < points; p++)
                    j[(p * s->outputs + t) * s->inputs + c] = rows[c * points + p];
        }
        mlp_network_free(&d);
    }
    arena_clear(&mem);
    return st;
}
