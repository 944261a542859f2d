// SPDX-License-Identifier: MIT
// PLATO's perception and dynamics at tiny size: values, losses, gradients, one step of Adam.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/adam.h"
#include "golden/golden_video.h"
#include "models/plato/plato.h"

// Their names and ours.
static const char *const names[][2] = {
    {"enc.0.weight", "encoder0.w"},      {"enc.0.bias", "encoder0.b"},
    {"enc.1.weight", "encoder1.w"},      {"enc.1.bias", "encoder1.b"},
    {"enc.2.weight", "encoder2.w"},      {"enc.2.bias", "encoder2.b"},
    {"enc.3.weight", "encoder3.w"},      {"enc.3.bias", "encoder3.b"},
    {"fc1.weight", "dense.w"},           {"fc1.bias", "dense.b"},
    {"fc2.weight", "codes.w"},           {"fc2.bias", "codes.b"},
    {"dec.0.weight", "decoder0.w"},      {"dec.0.bias", "decoder0.b"},
    {"dec.1.weight", "decoder1.w"},      {"dec.1.bias", "decoder1.b"},
    {"dec.2.weight", "decoder2.w"},      {"dec.2.bias", "decoder2.b"},
    {"dec.3.weight", "decoder3.w"},      {"dec.3.bias", "decoder3.b"},
    {"out.weight", "decoder4.w"},        {"out.bias", "decoder4.b"},
    {"buf.weight", "buffer.w"},          {"buf.bias", "buffer.b"},
    {"rho.0.weight", "state_pairs0.w"},  {"rho.0.bias", "state_pairs0.b"},
    {"rho.1.weight", "state_pairs1.w"},  {"rho.1.bias", "state_pairs1.b"},
    {"rho.2.weight", "state_pairs2.w"},  {"rho.2.bias", "state_pairs2.b"},
    {"lam.0.weight", "buffer_pairs0.w"}, {"lam.0.bias", "buffer_pairs0.b"},
    {"lam.1.weight", "buffer_pairs1.w"}, {"lam.1.bias", "buffer_pairs1.b"},
    {"lam.2.weight", "buffer_pairs2.w"}, {"lam.2.bias", "buffer_pairs2.b"},
    {"lstm.weight_ih", "lstm.w"},        {"lstm.weight_hh", "lstm.u"},
    {"lstm.bias_ih", "lstm.b"},          {"lstm.bias_hh", "lstm.recurrent_b"},
    {"head.weight", "head.w"},           {"head.bias", "head.b"},
};
enum { NAMES = sizeof names / sizeof *names };

// Entry i of a tensor of theirs, (out, in, height, width), in ours, (height, width, in, out).
static int64_t place(const tensor_shape *s, int64_t i)
{
    int64_t out = s->size[s->rank - 1], in = s->rank > 1 ? s->size[s->rank - 2] : 1;
    int64_t places = shape_count(s) / (out * in);
    int64_t o = i / (in * places), k = i / places % in, p = i % places;
    return (p * in + k) * out + o;
}

// Their map before the dense layer is flattened as (channels, height, width), ours as (height,
// width, channels): entry i of their dense weights, (out, in), as if they were flattened as ours.
static int64_t reorder_dense(const params *p, const tensor_shape *s, int64_t i)
{
    int last = params_find(p, "encoder3.w");
    int64_t in = s->size[0], channels = p->at[last].shape.size[3], places = in / channels;
    int64_t row = i % in, channel = row / places, place_in_map = row % places;
    return i - row + place_in_map * channels + channel;
}

// Into the block, or compared with PREFIX + name.
static void each_tensor(video_case *v, const params *p, double *block, const char *prefix)
{
    bool into = !strcmp(prefix, "w/");
    for (int k = 0; k < NAMES; k++) {
        int which = params_find(p, names[k][1]);
        if (which < 0) continue;
        const param *q = &p->at[which];
        int64_t count = shape_count(&q->shape);
        char full[64];
        snprintf(full, sizeof full, "%s%s", prefix, names[k][0]);
        double *x = into ? video_read(v, full, count) : calloc((size_t)count + 1, sizeof *x);
        if (!x) abort();
        for (int64_t i = 0; i < count; i++) {
            bool dense = !strcmp(names[k][1], "dense.w");
            double *ours =
                block + q->offset + place(&q->shape, dense ? reorder_dense(p, &q->shape, i) : i);
            if (into) *ours = x[i];
            else x[i] = *ours;
        }
        if (!into) video_same(v, full, x, count, v->gradients);
        free(x);
    }
}

static double *zeros(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (!x) abort();
    return x;
}

static float *begin(video_case *v, const network_builder *n, graph_node *const *output, int outputs,
                    double *block)
{
    bool fast = !strcmp(v->form, "float");
    if (program_build(&v->p, n->g, output, outputs, fast ? PROGRAM_FAST : PROGRAM_REFERENCE) ||
        instance_create(&v->i, v->p)) {
        printf("%s: %s\n", v->path, plumb_last_error());
        abort();
    }
    each_tensor(v, n->params, block, "w/");
    float *narrow = fast ? calloc((size_t)n->params->size, sizeof *narrow) : NULL;
    for (int k = 0; k < n->leaf_count; k++) {
        const param *p = &n->params->at[n->leaves[k].param];
        if (!fast) instance_set(v->i, n->leaves[k].node, block + p->offset);
        for (int64_t i = 0; fast && i < shape_count(&p->shape); i++)
            narrow[p->offset + i] = (float)block[p->offset + i];
        if (fast) instance_bind(v->i, n->leaves[k].node, narrow + p->offset);
    }
    return narrow;
}

// Gradients, and the norms of parameters after a step.
static void judge_gradients(video_case *v, const network_builder *n, int first, double *block)
{
    int64_t size = n->params->size, wanted = 0;
    double *d = zeros(size), *m = zeros(size), *s = zeros(size);
    for (int k = 0; k < n->leaf_count; k++)
        instance_get(v->i, first + k, d + n->params->at[n->leaves[k].param].offset);
    each_tensor(v, n->params, d, "grad/");
    static const adam_options usual = {0.9, 0.999, 1e-8};
    double *norm = golden_read(&wanted, v->file, "step1_norm"), *got = zeros(wanted);
    adam_step_reference(block, m, s, d, size,
                        &(adam_update){&usual, golden_scalar(v->file, "meta/lr", 0), 1.0, 1});
    // Their order is that of our table.
    for (int k = 0, j = 0; k < NAMES && j < wanted; k++) {
        int which = params_find(n->params, names[k][1]);
        if (which < 0) continue;
        const param *p = &n->params->at[which];
        for (int64_t i = 0; i < shape_count(&p->shape); i++)
            got[j] += block[p->offset + i] * block[p->offset + i];
        got[j] = sqrt(got[j]);
        j++;
    }
    // In float a step may go the other way where a gradient is nearly zero. In double too, by
    // little: that of the bias of all logits is zero but for rounding, which Adam divides by its
    // epsilon.
    video_same(v, "step1_norm", got, wanted, v->i && !strcmp(v->form, "float") ? 1e-3 : 1e-7);
    free(d), free(m), free(s), free(norm), free(got);
}

static video_case form_of(plumb_file *file, const char *path, bool fast)
{
    return (video_case){.file = file,
                        .path = path,
                        .form = fast ? "float" : "double",
                        .outputs = fast ? 2e-5 : 1e-11,
                        .gradients = fast ? 2e-4 : 1e-11};
}

static int64_t meta(plumb_file *f, const char *name)
{
    return (int64_t)golden_scalar(f, name, 0);
}

static void same_slots(video_case *v, const char *name, int index, int64_t items, int64_t pixels,
                       int64_t channels)
{
    double *x = video_output(v, index, items * pixels * channels);
    double *torch = zeros(items * pixels * channels);
    tensor_shape s = {4, {items, pixels, 1, channels}};
    video_to_torch(torch, x, &s);
    video_same(v, name, torch, items * pixels * channels, v->outputs);
    free(x), free(torch);
}

static void set_perception(video_case *v, const plato_perception *k, const plato_config *c,
                           int64_t B)
{
    int64_t K = c->slots, pixels = c->height * c->width;
    double *image = video_read(v, "image", B * 3 * pixels),
           *eps = video_read(v, "eps", B * K * c->code_size);
    double *mask = video_read(v, "mask", B * K * pixels);
    double *seen = zeros(B * K * pixels * 4), *picture = zeros(B * pixels * 3);
    double *places = zeros(pixels * 2);
    float *narrow = calloc((size_t)(pixels * 2), sizeof *narrow);
    for (int64_t b = 0; b < B; b++)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t s = 0; s < K; s++) {
                double *to = seen + ((b * K + s) * pixels + i) * 4,
                       m = mask[(b * K + s) * pixels + i];
                for (int64_t r = 0; r < 3; r++) {
                    double x = image[(b * 3 + r) * pixels + i];
                    to[r] = x * m;
                    picture[(b * pixels + i) * 3 + r] = x;
                }
                to[3] = m;
            }
    plato_coordinates(narrow, c);
    // In double, for 1/15 is no float.
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = 0; x < c->width; x++) {
            places[(y * c->width + x) * 2] = 2.0 * (double)x / (double)(c->width - 1) - 1.0;
            places[(y * c->width + x) * 2 + 1] = 2.0 * (double)y / (double)(c->height - 1) - 1.0;
        }
    for (int64_t i = 0; i < 2 * pixels; i++)
        v->failures += golden_near(v->path, "places", i, (double)narrow[i], places[i], 1e-6, 0.0);
    instance_set(v->i, k->masked, seen);
    instance_set(v->i, k->image, picture);
    instance_set(v->i, k->noise, eps);
    instance_set(v->i, k->coordinates, places);
    free(image), free(eps), free(mask), free(seen), free(picture), free(places), free(narrow);
}

static int judge_perception(plumb_file *file, const char *path, bool fast)
{
    video_case v = form_of(file, path, fast);
    int64_t B = meta(file, "meta/B"), four = 0;
    plato_config c = {.slots = meta(file, "meta/K"),
                      .code_size = meta(file, "meta/D"),
                      .dense_units = meta(file, "meta/dense"),
                      .decoder_channels = meta(file, "meta/dec"),
                      .sigma = golden_scalar(file, "meta/sigma", 0),
                      .beta = golden_scalar(file, "meta/beta", 0),
                      .mask_weight = golden_scalar(file, "meta/gamma", 0),
                      .clip_length = 2};
    c.height = meta(file, "meta/H");
    c.width = (int64_t)golden_scalar(file, "meta/W", (double)c.height);
    double *channels = golden_read(&four, file, "meta/enc_channels");
    for (int i = 0; i < PLATO_BLOCKS && i < four; i++) c.encoder_channels[i] = (int64_t)channels[i];
    free(channels);
    params p = {0};
    plato_perception k;
    if (plato_perception_build(&k, &p, &c, B, B)) {
        printf("%s: %s\n", path, plumb_last_error());
        return 1;
    }
    int64_t K = c.slots, pixels = c.height * c.width;
    graph_node *out[64] = {k.codes.mean,     k.codes.log_variance,
                           k.decoded.colour, plato_compose(&k.net, &c, k.decoded),
                           k.error,          k.kl,
                           k.mask_loss};
    memcpy(out + 7, k.gradient, (size_t)k.net.leaf_count * sizeof *out);
    double *block = zeros(p.size);
    float *narrow = begin(&v, &k.net, out, 7 + k.net.leaf_count, block);
    set_perception(&v, &k, &c, B);
    instance_run(v.i, 0);

    double *mean = video_output(&v, 0, B * K * c.code_size),
           *spread = video_output(&v, 1, B * K * c.code_size);
    video_same(&v, "mu", mean, B * K * c.code_size, v.outputs);
    video_same(&v, "logvar", spread, B * K * c.code_size, v.outputs);
    same_slots(&v, "rgb", 2, B * K, pixels, 3);
    same_slots(&v, "composite", 3, B, pixels, 3);
    double *e = video_output(&v, 4, B), *d = video_output(&v, 5, B), *m = video_output(&v, 6, B);
    video_same(&v, "nll", e, B, v.outputs);
    video_same(&v, "kl", d, B, v.outputs);
    video_same(&v, "ce", m, B, v.outputs);
    double loss = 0.0;
    for (int64_t b = 0; b < B; b++)
        loss += (e[b] + c.beta * d[b] + c.mask_weight * m[b]) / (double)B;
    video_same(&v, "loss", &loss, 1, v.outputs);
    judge_gradients(&v, &k.net, 7, block);
    free(mean), free(spread), free(e), free(d), free(m), free(block), free(narrow);
    instance_free(v.i), program_free(v.p), graph_free(k.net.g), params_clear(&p);
    return v.failures;
}

int golden_perception(plumb_file *file, const char *path)
{
    return judge_perception(file, path, false) + judge_perception(file, path, true);
}

static int judge_dynamics(plumb_file *file, const char *path, bool fast)
{
    video_case v = form_of(file, path, fast);
    int64_t B = meta(file, "meta/B"), K = meta(file, "meta/K"), T = meta(file, "meta/T");
    plato_config c = {.height = 16,
                      .width = 16,
                      .slots = K,
                      .code_size = meta(file, "meta/D"),
                      .clip_length = T,
                      .buffer_units = meta(file, "meta/buffer"),
                      .interaction_units = meta(file, "meta/mlp"),
                      .hidden = meta(file, "meta/hidden")};
    int64_t D = c.code_size, steps = T - 1;
    params p = {0};
    plato_dynamics k;
    if (plato_dynamics_build(&k, &p, &c, B, B)) {
        printf("%s: %s\n", path, plumb_last_error());
        return 1;
    }
    graph_node *out[128];
    memcpy(out, k.prediction, (size_t)steps * sizeof *out);
    out[steps] = k.error;
    memcpy(out + steps + 1, k.gradient, (size_t)k.net.leaf_count * sizeof *out);
    double *block = zeros(p.size), *codes = zeros(B * T * K * D), *told = zeros(B * steps * K * D);
    float *narrow = begin(&v, &k.net, out, (int)steps + 1 + k.net.leaf_count, block);
    double *z = video_read(&v, "z", B * T * K * D), loss = 0.0;
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t s = 0; s < K; s++)
                memcpy(codes + ((b * K + s) * T + t) * D, z + ((b * T + t) * K + s) * D,
                       (size_t)D * sizeof *codes);
    instance_set(v.i, k.codes, codes);
    instance_run(v.i, 0);
    for (int64_t t = 0; t < steps; t++) {
        double *x = video_output(&v, (int)t, B * K * D);
        for (int64_t b = 0; b < B; b++)
            memcpy(told + (b * steps + t) * K * D, x + b * K * D, (size_t)(K * D) * sizeof *told);
        free(x);
    }
    double *error = video_output(&v, (int)steps, steps * B);
    for (int64_t i = 0; i < steps * B; i++) loss += error[i] / (double)(steps * B * K * D);
    video_same(&v, "pred", told, B * steps * K * D, v.outputs);
    video_same(&v, "loss", &loss, 1, v.outputs);
    judge_gradients(&v, &k.net, (int)steps + 1, block);
    free(block), free(codes), free(told), free(z), free(error), free(narrow);
    instance_free(v.i), program_free(v.p), graph_free(k.net.g), params_clear(&p);
    return v.failures;
}

int golden_dynamics(plumb_file *file, const char *path)
{
    return judge_dynamics(file, path, false) + judge_dynamics(file, path, true);
}
