// SPDX-License-Identifier: MIT
// Convolutions and their transposes, activations and their derivatives, KL, Adam, and the gradient
// of an energy with its reverse pass.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_models.h"

enum { MOST = 16 };

// Leaves that have the shape and the values of arrays in the file, and what is made of them.
typedef struct bench {
    golden_judgement *j;
    graph *g;
    int leaves, outputs;
    graph_node *leaf[MOST];
    double *value[MOST];
    graph_node *output[MOST];
    char want[MOST][64];
    golden_class class[MOST];
} bench;

static graph_node *leaf(bench *b, const char *prefix, const char *name)
{
    plumb_array a;
    GOLDEN_NAME(full, "%s%s", prefix, name);
    if (plumb_file_read_array(&a, b->j->file, full)) return graph_error(b->g, PLUMB_EFILE);
    int64_t size[GRAPH_MAX_RANK] = {0}, n = plumb_array_count(&a);
    for (int i = 0; i < a.ndim && i < GRAPH_MAX_RANK; i++) size[i] = a.shape[i];
    b->value[b->leaves] = malloc((size_t)(n + 1) * sizeof(double));
    plumb_array_to_double(b->value[b->leaves], &a, 0, n);
    return b->leaf[b->leaves++] = op_input(b->g, full, 0, a.ndim, size);
}

static void expect(bench *b, const char *prefix, const char *name, graph_node *n,
                   golden_class class)
{
    snprintf(b->want[b->outputs], sizeof b->want[0], "%.30s%.30s", prefix, name);
    b->class[b->outputs] = class;
    b->output[b->outputs++] = n;
}

static bench begin(golden_judgement *j)
{
    bench b = {.j = j};
    if (graph_create(&b.g)) abort();
    return b;
}

static void finish(bench *b)
{
    golden_machine m;
    if (golden_start(&m, b->g, b->output, b->outputs, b->j->form)) {
        for (int i = 0; i < b->leaves; i++) instance_set(m.i, b->leaf[i], b->value[i]);
        instance_run(m.i, 0);
        for (int i = 0; i < b->outputs; i++) {
            int64_t n = shape_count(&b->output[i]->shape);
            double *got = malloc((size_t)(n + 1) * sizeof *got);
            instance_get(m.i, i, got);
            golden_close(b->j, b->want[i], got, n, b->class[i]);
            free(got);
        }
        golden_stop(&m);
    } else golden_wrong(b->j, b->want[0]);
    for (int i = 0; i < b->leaves; i++) free(b->value[i]);
    graph_free(b->g);
}

static void gradients(bench *b, const char *prefix, graph_node *y, graph_node *dy,
                      graph_node *const *x)
{
    static const char *const names[3] = {"dx", "dw", "db"};
    graph_node *d[3];
    graph_gradient(b->g, d, x, 3, &y, &dy, 1);
    for (int i = 0; i < 3; i++) expect(b, prefix, names[i], d[i], GOLDEN_GRADIENT);
}

static void check_convolutions(golden_judgement *j)
{
    int64_t count = 0;
    double *cases = golden_read(&count, j->file, "conv.cases");
    for (int64_t i = 0; i < count / 7; i++) {
        const double *c = cases + 7 * i; // height, width, in, out, kernel, stride, same
        GOLDEN_NAME(prefix, "conv%lld.", (long long)i);
        bench b = begin(j);
        graph_node *x = leaf(&b, prefix, "x"), *w = leaf(&b, prefix, "w"),
                   *bias = leaf(&b, prefix, "b");
        graph_node *y =
            op_bias(b.g, op_conv(b.g, x, w, (int)c[5], c[6] != 0.0 ? OP_SAME : OP_VALID), bias);
        expect(&b, prefix, "y", y, GOLDEN_STATE);
        gradients(&b, prefix, y, leaf(&b, prefix, "dy"), (graph_node *[]){x, w, bias});
        finish(&b);
    }
    if (!count) golden_wrong(j, "no convolutions");
    free(cases);
}

// Fused, and in two operations.
static void check_upconv(golden_judgement *j)
{
    for (int fused = 0; fused < 2; fused++) {
        bench b = begin(j);
        graph_node *x = leaf(&b, "upconv.", "x"), *w = leaf(&b, "upconv.", "w");
        graph_node *bias = leaf(&b, "upconv.", "b"), *up = op_upsample(b.g, x);
        graph_node *y = fused ? op_upconv(b.g, x, w) : op_conv(b.g, up, w, 1, OP_SAME);
        y = op_bias(b.g, y, bias);
        expect(&b, "upconv.", "y", y, GOLDEN_STATE);
        if (!fused) expect(&b, "upconv.", "up", up, GOLDEN_STATE);
        gradients(&b, "upconv.", y, leaf(&b, "upconv.", "dy"), (graph_node *[]){x, w, bias});
        finish(&b);
    }
}

static void check_activations(golden_judgement *j)
{
    static const struct {
        const char *name;
        activation act;
        bool twice;
    } row[] = {{"swish", ACT_SWISH, true},           {"softplus", ACT_SOFTPLUS, true},
               {"sigmoid", ACT_SIGMOID, true},       {"leaky_relu", ACT_LEAKY, false},
               {"leaky_relu_02", ACT_LEAKY2, false}, {"relu", ACT_RELU, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        bench b = begin(j);
        network_builder n = {.g = b.g};
        GOLDEN_NAME(first, "%s.d1", row[i].name);
        GOLDEN_NAME(second, "%s.d2", row[i].name);
        graph_node *x = leaf(&b, "act.", "x"), *d1, *d2;
        graph_node *y = network_activate(&n, x, row[i].act);
        graph_gradient(b.g, &d1, &x, 1, &y, NULL, 1);
        expect(&b, "act.", row[i].name, y, GOLDEN_STATE);
        expect(&b, "act.", first, d1, GOLDEN_GRADIENT);
        if (row[i].twice) {
            graph_gradient(b.g, &d2, &x, 1, &d1, NULL, 1);
            expect(&b, "act.", second, d2, GOLDEN_GRADIENT);
        }
        finish(&b);
    }
}

static void check_divergence(golden_judgement *j)
{
    bench b = begin(j);
    graph_node *m = leaf(&b, "kl.", "loc"), *s = leaf(&b, "kl.", "log_scale");
    int64_t single[2] = {shape_count(&m->shape), 1};
    graph_node *each =
        hgn_kl(b.g, op_reshape(b.g, m, 2, single), op_reshape(b.g, s, 2, single), NULL);
    expect(&b, "kl.", "per_dim", each, GOLDEN_STATE);
    expect(&b, "kl.", "per_sample", hgn_kl(b.g, m, s, NULL), GOLDEN_STATE);
    finish(&b);
}

// E(x), its input gradient, and the gradient of <v, dE/dx> by x and all weights and biases.
static void check_energy(golden_judgement *j, const char *name, activation act)
{
    bench b = begin(j);
    network_builder n = {.g = b.g};
    GOLDEN_NAME(prefix, "enet.%s.", name);
    graph_node *at[9], *d[9], *v = leaf(&b, prefix, "v"), *slope;
    graph_node *x = at[0] = leaf(&b, prefix, "x"), *y = x;
    for (int i = 0; i < 4; i++) {
        GOLDEN_NAME(w, "w%d", i);
        GOLDEN_NAME(bias, "b%d", i);
        at[1 + 2 * i] = leaf(&b, prefix, w);
        at[2 + 2 * i] = leaf(&b, prefix, bias);
        y = op_dense(b.g, y, at[1 + 2 * i], at[2 + 2 * i]);
        if (i < 3) y = network_activate(&n, y, act);
    }
    graph_node *H = op_sum_per_item(b.g, y);
    graph_gradient(b.g, &slope, &x, 1, &H, NULL, 1);
    graph_gradient(b.g, d, at, 9, &slope, &v, 1);
    expect(&b, prefix, "E", H, GOLDEN_STATE);
    expect(&b, prefix, "grad", slope, GOLDEN_GRADIENT);
    for (int i = 0; i < 9; i++) {
        GOLDEN_NAME(ct, i == 0 ? "ct_x" : i % 2 ? "ct_w%d" : "ct_b%d", (i - 1) / 2);
        expect(&b, prefix, ct, d[i], GOLDEN_GRADIENT);
    }
    finish(&b);
}

int golden_layers(plumb_file *file, const char *path)
{
    int failures = golden_adam(file, path);
    for (int form = 0; form < 2; form++) {
        golden_judgement j = {
            .file = file, .path = path, .form = form ? PROGRAM_FAST : PROGRAM_REFERENCE};
        check_convolutions(&j);
        check_upconv(&j);
        check_activations(&j);
        check_divergence(&j);
        check_energy(&j, "swish", ACT_SWISH);
        check_energy(&j, "softplus", ACT_SOFTPLUS);
        golden_tell(&j);
        failures += j.failures;
    }
    return failures;
}
