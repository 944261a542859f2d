// SPDX-License-Identifier: MIT
// Patches, cells and whole networks of PredRNN against its published code: values, losses,
// gradients, steps of Adam; in double and in float.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/adam.h"
#include "golden/golden_video.h"
#include "models/predrnn/predrnn.h"

int golden_patch(plumb_file *file, const char *path)
{
    int64_t n = 0, m = 0;
    double *image = golden_read(&n, file, "img"), *patched = golden_read(&m, file, "patched");
    // (.., height, width, channels)
    plumb_array shape;
    if (plumb_file_read_array(&shape, file, "img") || shape.ndim < 3) {
        printf("%s: img has no height, width and channels\n", path);
        free(image), free(patched);
        return 1;
    }
    predrnn_config c = {.height = shape.shape[shape.ndim - 3],
                        .width = shape.shape[shape.ndim - 2],
                        .channels = shape.shape[shape.ndim - 1]};
    c.patch = (int64_t)golden_scalar(file, "patch", 4);
    int64_t frame = c.height * c.width * c.channels;
    int failures = 0;
    if (!image || !patched || n != m || n % frame) {
        printf("%s: img and patched do not fit together\n", path);
        free(image), free(patched);
        return 1;
    }
    float *in = malloc((size_t)frame * sizeof *in), *out = malloc((size_t)frame * sizeof *out);
    uint8_t *bytes = malloc((size_t)frame);
    if (!in || !out || !bytes) abort();
    for (int64_t f = 0; f < n / frame; f++) {
        for (int64_t i = 0; i < frame; i++) in[i] = (float)patched[f * frame + i];
        predrnn_unpatch(out, in, &c);
        for (int64_t i = 0; i < frame; i++)
            failures += golden_near(path, "img", f * frame + i, (double)out[i],
                                    image[f * frame + i], 0.0, 0.0);
        // Bytes into patches and back are the bytes.
        for (int64_t i = 0; i < frame; i++) bytes[i] = (uint8_t)(i * 37 % 251);
        predrnn_patch(in, bytes, &c);
        predrnn_unpatch(out, in, &c);
        for (int64_t i = 0; i < frame; i++)
            failures += golden_near(path, "bytes", i, (double)out[i],
                                    (double)((float)bytes[i] / 255.0f), 0.0, 0.0);
    }
    free(image), free(patched), free(in), free(out), free(bytes);
    return failures;
}

// Where an entry of a tensor of the published code lies in our block. Its convolutions of x are cut
// in two, for those of h and of m are joined to them.
typedef struct tensor {
    const params *p;
    int64_t hidden;
    bool norm;
    int64_t layer; // or -1
    char what[32]; // conv_x.0.weight
} tensor;

static int64_t at(const params *p, int64_t layer, const char *name, int64_t a, int64_t b,
                  int64_t in, int64_t out)
{
    char full[64];
    if (layer < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "cell%lld.%s", (long long)layer, name);
    int i = params_find(p, full);
    if (i < 0) {
        printf("no parameter %s\n", full);
        abort();
    }
    const int64_t *s = p->at[i].shape.size;
    return p->at[i].offset + ((a * s[1] + b) * s[2] + in) * s[3] + out;
}

static int64_t inputs_of(const params *p, int64_t layer, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "cell%lld.%s", (long long)layer, name);
    return p->at[params_find(p, full)].shape.size[2];
}

static int64_t place(const tensor *t, int64_t out, int64_t in, int64_t a, int64_t b)
{
    int64_t H = t->hidden;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(t->what, "."), t->what);
    if (t->norm || !strcmp(name, "conv_o") || !strcmp(name, "conv_last") ||
        !strcmp(name, "adapter"))
        return at(t->p, t->layer, name, a, b, in, out);
    if (!strcmp(name, "conv_x")) {
        if (out >= 3 * H && out < 6 * H) return at(t->p, t->layer, "conv_m", a, b, in, out - 3 * H);
        return at(t->p, t->layer, "conv_c", a, b, in, out < 3 * H ? out : out - 3 * H);
    }
    bool own = !strcmp(name, "conv_h");
    const char *joined = own ? "conv_c" : "conv_m";
    return at(t->p, t->layer, joined, a, b, inputs_of(t->p, t->layer, joined) - H + in, out);
}

// Gains and biases of layer norms, (channels, height, width) there and (height, width, channels)
// here.
static int64_t place_norm(const tensor *t, int64_t channel, int64_t i)
{
    char full[64];
    bool gain = strstr(t->what, ".1.weight") != NULL;
    snprintf(full, sizeof full, "cell%lld.%.6s.%s", (long long)t->layer, t->what,
             gain ? "gain" : "bias");
    const param *p = &t->p->at[params_find(t->p, full)];
    return p->offset + i * p->shape.size[2] + channel;
}

// "cell_list.0.conv_x.0.weight", or for a lone cell "conv_x.0.weight".
static tensor tensor_of(const params *p, const predrnn_config *c, const char *name, bool lone)
{
    tensor t = {.p = p, .hidden = c->hidden, .norm = c->layer_norm, .layer = lone ? 0 : -1};
    if (!strncmp(name, "cell_list.", 10)) {
        char *end;
        t.layer = strtol(name + 10, &end, 10);
        name = end + 1;
    }
    snprintf(t.what, sizeof t.what, "%s", name);
    return t;
}

// Between the block and the array PREFIX + name: `into` the block, or out of it.
static void exchange(video_case *v, const tensor *t, const int64_t *size, int rank, double *block,
                     double *array, bool into)
{
    (void)v;
    int64_t k = 0, places = rank == 3 ? size[1] * size[2] : size[2] * size[3];
    for (int64_t o = 0; o < size[0]; o++)
        for (int64_t i = 0; i < (rank == 3 ? 1 : size[1]); i++)
            for (int64_t p = 0; p < places; p++, k++) {
                int64_t where =
                    rank == 3 ? place_norm(t, o, p) : place(t, o, i, p / size[3], p % size[3]);
                if (into) block[where] = array[k];
                else array[k] = block[where];
            }
}

// Walks all tensors w/NAME: loads the block, or compares it with PREFIX + NAME.
static void each_tensor(video_case *v, const params *p, const predrnn_config *c, bool lone,
                        double *block, const char *prefix, double tolerance)
{
    bool into = !strcmp(prefix, "w/");
    int64_t names = plumb_file_array_count(v->file);
    for (int64_t k = 0; k < names; k++) {
        const char *full = plumb_file_array_name(v->file, k);
        if (strncmp(full, "w/", 2)) continue;
        plumb_array a;
        if (plumb_file_read_array(&a, v->file, full)) abort();
        int64_t size[4] = {1, 1, 1, 1}, count = plumb_array_count(&a);
        int rank = (int)a.ndim;
        for (int i = 0; i < rank; i++) size[i] = a.shape[i];
        tensor t = tensor_of(p, c, full + 2, lone);
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, full + 2);
        double *x = into ? video_read(v, name, count) : calloc((size_t)count, sizeof *x);
        if (!x) abort();
        exchange(v, &t, size, rank, block, x, into);
        if (!into) video_same(v, name, x, count, tolerance);
        free(x);
    }
}

static void set_params(video_case *v, const network_builder *n, const double *block, float *narrow)
{
    for (int k = 0; k < n->leaf_count; k++) {
        const param *p = &n->params->at[n->leaves[k].param];
        if (!narrow) {
            instance_set(v->i, n->leaves[k].node, block + p->offset);
            continue;
        }
        for (int64_t i = 0; i < shape_count(&p->shape); i++)
            narrow[p->offset + i] = (float)block[p->offset + i];
        instance_bind(v->i, n->leaves[k].node, narrow + p->offset);
    }
}

static void get_gradients(const video_case *v, const network_builder *n, int first, double *block)
{
    for (int k = 0; k < n->leaf_count; k++)
        instance_get(v->i, first + k, block + n->params->at[n->leaves[k].param].offset);
}

static double *zeros(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (!x) abort();
    return x;
}

// One form of a case: tolerances of golden/voe/README.md, in double tighter.
static video_case form_of(plumb_file *file, const char *path, bool fast)
{
    return (video_case){.file = file,
                        .path = path,
                        .form = fast ? "float" : "double",
                        .outputs = fast ? 2e-5 : 1e-11,
                        .gradients = fast ? 2e-4 : 1e-11};
}

static void same_map(video_case *v, const char *name, int index, const graph_node *n,
                     double tolerance)
{
    int64_t count = shape_count(&n->shape);
    double *x = video_output(v, index, count), *torch = zeros(count);
    video_to_torch(torch, x, &n->shape);
    video_same(v, name, torch, count, tolerance);
    free(x), free(torch);
}

static int judge_cell(plumb_file *file, const char *path, bool fast)
{
    static const char *const inputs[] = {"x", "h", "c", "m"};
    static const char *const ups[] = {"up_h", "up_c", "up_m"};
    static const char *const outs[] = {"out/h_new", "out/c_new", "out/m_new", "out/delta_c",
                                       "out/delta_m"};
    static const char *const slopes[] = {"grad_in/x", "grad_in/h", "grad_in/c", "grad_in/m"};
    video_case v = form_of(file, path, fast);
    int64_t B = (int64_t)golden_scalar(file, "meta/batch", 0);
    predrnn_config c = {.height = (int64_t)golden_scalar(file, "meta/H", 0),
                        .width = (int64_t)golden_scalar(file, "meta/W", 0),
                        .patch = 1,
                        .layers = 1,
                        .hidden = (int64_t)golden_scalar(file, "meta/hidden", 0),
                        .kernel = (int64_t)golden_scalar(file, "meta/filter", 0),
                        .layer_norm = golden_scalar(file, "meta/layer_norm", 0) > 0};
    c.channels = (int64_t)golden_scalar(file, "meta/in_channels", 0);
    params p = {0};
    network_builder n = {.params = &p};
    if (graph_create(&n.g)) abort();
    graph *g = n.g;
    tensor_shape map = predrnn_map(&c, B), in = predrnn_frame(&c, B);
    graph_node *leaf[4], *up[3], *out[9 + 64];
    for (int k = 0; k < 4; k++) leaf[k] = op_input(g, inputs[k], 0, 4, k ? map.size : in.size);
    for (int k = 0; k < 3; k++) up[k] = op_input(g, ups[k], 0, 4, map.size);
    predrnn_state s = predrnn_layer(&n, &c, 0, leaf[0],
                                    (predrnn_state){.h = leaf[1], .c = leaf[2], .m = leaf[3]});
    graph_node *y[] = {s.h, s.c, s.m};
    memcpy(out, (graph_node *[]){s.h, s.c, s.m, s.dc, s.dm}, 5 * sizeof *out);
    graph_gradient(g, out + 5, leaf, 4, y, up, 3);
    int outputs = 9 + network_gradients(&n, out + 9, y, up, 3);
    if (graph_status(g) ||
        program_build(&v.p, g, out, outputs, fast ? PROGRAM_FAST : PROGRAM_REFERENCE) ||
        instance_create(&v.i, v.p)) {
        printf("%s: %s\n", path, plumb_last_error());
        abort();
    }
    double *block = zeros(p.size);
    float *narrow = fast ? calloc((size_t)p.size, sizeof *narrow) : NULL;
    each_tensor(&v, &p, &c, true, block, "w/", 0.0);
    set_params(&v, &n, block, narrow);
    for (int k = 0; k < 7; k++) {
        graph_node *l = k < 4 ? leaf[k] : up[k - 4];
        int64_t count = shape_count(&l->shape);
        double *torch = video_read(&v, k < 4 ? inputs[k] : ups[k - 4], count), *x = zeros(count);
        video_from_torch(x, torch, &l->shape);
        instance_set(v.i, l, x);
        free(torch), free(x);
    }
    instance_run(v.i, 0);
    for (int k = 0; k < 5; k++) same_map(&v, outs[k], k, out[k], v.outputs);
    for (int k = 0; k < 4; k++) same_map(&v, slopes[k], 5 + k, out[5 + k], v.gradients);
    memset(block, 0, (size_t)p.size * sizeof *block);
    get_gradients(&v, &n, 9, block);
    each_tensor(&v, &p, &c, true, block, "grad_w/", v.gradients);
    free(block), free(narrow);
    instance_free(v.i), program_free(v.p), graph_free(g), params_clear(&p);
    return v.failures;
}

int golden_cell(plumb_file *file, const char *path)
{
    return judge_cell(file, path, false) + judge_cell(file, path, true);
}

typedef struct whole {
    video_case v;
    predrnn_config c;
    int64_t batch;
    params p;
    predrnn_clip k;
    int first_state, first_error, first_gradient;
} whole;

static predrnn_config config_of(plumb_file *f)
{
    predrnn_config c = {.patch = (int64_t)golden_scalar(f, "meta/patch", 0),
                        .channels = (int64_t)golden_scalar(f, "meta/channels", 0),
                        .layers = (int64_t)golden_scalar(f, "meta/layers", 0),
                        .hidden = (int64_t)golden_scalar(f, "meta/hidden", 0),
                        .kernel = (int64_t)golden_scalar(f, "meta/filter", 0),
                        .layer_norm = golden_scalar(f, "meta/layer_norm", 0) > 0,
                        .decoupling_weight = golden_scalar(f, "meta/decouple_beta", 0),
                        .clip_length = (int64_t)golden_scalar(f, "meta/total_length", 0),
                        .input_frames = (int64_t)golden_scalar(f, "meta/input_length", 0),
                        .sampling = PREDRNN_SCHEDULED};
    // frames_patched is (batch, time, height / patch, width / patch, patch * patch * channels).
    plumb_array frames;
    if (!plumb_file_read_array(&frames, f, "frames_patched") && frames.ndim == 5) {
        c.height = frames.shape[2] * c.patch;
        c.width = frames.shape[3] * c.patch;
    }
    if (golden_scalar(f, "meta/reverse_scheduled_sampling", 0) > 0) c.sampling = PREDRNN_REVERSE;
    // Where every token is 1 there is nothing to choose.
    int64_t tokens = 0, ones = 0;
    double *token = golden_read(&tokens, f, "mask_tokens");
    for (int64_t i = 0; i < tokens; i++) ones += token[i] == 1.0;
    if (ones == tokens) c.sampling = PREDRNN_TEACHER;
    free(token);
    return c;
}

static void build(whole *w, bool fast)
{
    int64_t steps = w->c.clip_length - 1, states = steps * w->c.layers;
    graph_node *out[1024];
    int count = 0;
    if (predrnn_clip_build(&w->k, &w->p, &w->c, w->batch, w->batch)) goto broken;
    for (int64_t t = 0; t < steps; t++) out[count++] = w->k.prediction[t];
    w->first_state = count;
    for (int64_t i = 0; i < states; i++) {
        out[count++] = w->k.state[i].h;
        out[count++] = w->k.state[i].c;
        out[count++] = w->k.state[i].m;
    }
    w->first_error = count;
    out[count++] = w->k.error;
    out[count++] = w->k.decoupling ? w->k.decoupling : w->k.error;
    w->first_gradient = count;
    for (int k = 0; k < w->k.net.leaf_count; k++) out[count++] = w->k.gradient[k];
    if (!program_build(&w->v.p, w->k.net.g, out, count, fast ? PROGRAM_FAST : PROGRAM_REFERENCE) &&
        !instance_create(&w->v.i, w->v.p))
        return;
broken:
    printf("%s: %s\n", w->v.path, plumb_last_error());
    abort();
}

// Frames, and a mask that has its numbers where it is looked at.
static void set_inputs(whole *w)
{
    int64_t T = w->c.clip_length, B = w->batch;
    tensor_shape f = predrnn_frame(&w->c, 1);
    int64_t n = shape_count(&f), tokens = 0;
    double *frames = video_read(&w->v, "frames_patched", B * T * n), *x = zeros(B * n);
    for (int64_t t = 0; t < T; t++) {
        for (int64_t b = 0; b < B; b++)
            memcpy(x + b * n, frames + (b * T + t) * n, (size_t)n * sizeof *x);
        instance_set(w->v.i, w->k.frame[t], x);
    }
    free(frames), free(x);
    if (!w->k.mask) return;
    double *token = golden_read(&tokens, w->v.file, "mask_tokens"), *mask = zeros((T - 1) * B);
    int64_t first = w->c.sampling == PREDRNN_REVERSE ? 1 : w->c.input_frames, kept = T - 1 - first;
    if (!token || tokens != kept * B) w->v.failures++, printf("%s: mask_tokens\n", w->v.path);
    else
        for (int64_t t = 0; t < kept; t++)
            for (int64_t b = 0; b < B; b++) mask[(first + t) * B + b] = token[b * kept + t];
    instance_set(w->v.i, w->k.mask, mask);
    free(token), free(mask);
}

static void judge_predictions(whole *w)
{
    int64_t T = w->c.clip_length, B = w->batch, n = w->c.height * w->c.width * w->c.channels;
    double *all = zeros(B * (T - 1) * n);
    float *narrow = calloc((size_t)n, sizeof *narrow), *flat = calloc((size_t)n, sizeof *flat);
    // Patches are moved as numbers of places, so that nothing is lost in float.
    for (int64_t i = 0; i < n; i++) narrow[i] = (float)i;
    predrnn_unpatch(flat, narrow, &w->c);
    for (int64_t t = 0; t < T - 1; t++) {
        double *x = video_output(&w->v, (int)t, B * n);
        for (int64_t b = 0; b < B; b++)
            for (int64_t i = 0; i < n; i++)
                all[(b * (T - 1) + t) * n + i] = x[b * n + (int64_t)flat[i]];
        free(x);
    }
    video_same(&w->v, "f64/pred", all, B * (T - 1) * n, w->v.outputs);
    free(all), free(narrow), free(flat);
}

static void judge_states(whole *w)
{
    static const char letter[] = "hcm";
    int64_t steps = w->c.clip_length - 1, B = w->batch, L = w->c.layers;
    tensor_shape map = predrnn_map(&w->c, 1);
    int64_t n = shape_count(&map);
    double *all = zeros(B * steps * n), *torch = zeros(n);
    for (int64_t l = 0; l < L; l++)
        for (int which = 0; which < 3; which++) {
            for (int64_t t = 0; t < steps; t++) {
                int index = w->first_state + (int)(t * L + l) * 3 + which;
                double *x = video_output(&w->v, index, B * n);
                for (int64_t b = 0; b < B; b++) {
                    video_to_torch(torch, x + b * n, &map);
                    memcpy(all + (b * steps + t) * n, torch, (size_t)n * sizeof *all);
                }
                free(x);
            }
            char name[32];
            snprintf(name, sizeof name, "f64/trace_%c%d", letter[which], (int)l);
            video_same(&w->v, name, all, B * steps * n, w->v.outputs);
        }
    free(all), free(torch);
}

static double judge_losses(whole *w, bool compare)
{
    int64_t steps = w->c.clip_length - 1, B = w->batch;
    double pixels = (double)(w->c.height * w->c.width * w->c.channels), mse = 0.0, apart = 0.0;
    double *error = video_output(&w->v, w->first_error, steps * B), *sum = zeros(steps * B);
    for (int64_t t = 0; t < steps; t++)
        for (int64_t b = 0; b < B; b++) {
            sum[b * steps + t] = error[t * B + b];
            mse += error[t * B + b] / ((double)(steps * B) * pixels);
        }
    if (w->k.decoupling) {
        double *d = video_output(&w->v, w->first_error + 1, B);
        for (int64_t b = 0; b < B; b++) apart += d[b] / (double)B;
        free(d);
    }
    double loss = mse + w->c.decoupling_weight * apart;
    if (compare) {
        video_same(&w->v, "f64/surprise_t_sum", sum, steps * B, w->v.outputs);
        video_same(&w->v, "f64/mse", &mse, 1, w->v.outputs);
        if (w->k.decoupling) video_same(&w->v, "f64/decouple", &apart, 1, w->v.outputs);
        video_same(&w->v, "f64/loss", &loss, 1, w->v.outputs);
    }
    free(error), free(sum);
    return loss;
}

// Steps of Adam on the one batch, in double: parameters after the first, and the curve of losses.
static void judge_training(whole *w, double *block)
{
    plumb_file *f = w->v.file;
    adam_options a = {golden_scalar(f, "meta/beta1", 0), golden_scalar(f, "meta/beta2", 0),
                      golden_scalar(f, "meta/eps", 0)};
    int64_t n = w->p.size, losses = 0;
    double rate = golden_scalar(f, "meta/lr", 0);
    double *curve = golden_read(&losses, f, "f64/loss_curve"), *seen = zeros(losses);
    double *m = zeros(n), *v = zeros(n), *d = zeros(n);
    for (int64_t t = 0; t < losses; t++) {
        set_params(&w->v, &w->k.net, block, NULL);
        instance_run(w->v.i, 0);
        seen[t] = judge_losses(w, false);
        get_gradients(&w->v, &w->k.net, w->first_gradient, d);
        if (t + 1 < losses)
            adam_step_reference(block, m, v, d, n, &(adam_update){&a, rate, 1.0, t + 1});
        if (!t) each_tensor(&w->v, &w->p, &w->c, false, block, "f64/step1/", 1e-9);
    }
    video_same(&w->v, "f64/loss_curve", seen, losses, 1e-9);
    free(curve), free(seen), free(m), free(v), free(d);
}

static int judge_whole(plumb_file *file, const char *path, bool fast)
{
    whole w = {.v = form_of(file, path, fast), .c = config_of(file)};
    w.batch = (int64_t)golden_scalar(file, "meta/batch", 0);
    build(&w, fast);
    double *block = zeros(w.p.size), *d = zeros(w.p.size);
    float *narrow = fast ? calloc((size_t)w.p.size, sizeof *narrow) : NULL;
    each_tensor(&w.v, &w.p, &w.c, false, block, "w/", 0.0);
    set_params(&w.v, &w.k.net, block, narrow);
    set_inputs(&w);
    instance_run(w.v.i, 0);
    judge_predictions(&w);
    judge_states(&w);
    judge_losses(&w, true);
    get_gradients(&w.v, &w.k.net, w.first_gradient, d);
    each_tensor(&w.v, &w.p, &w.c, false, d, "f64/grad/", w.v.gradients);
    if (!fast) judge_training(&w, block);
    free(block), free(d), free(narrow);
    instance_free(w.v.i), program_free(w.v.p), graph_free(w.k.net.g), params_clear(&w.p);
    return w.v.failures;
}

int golden_predrnn(plumb_file *file, const char *path)
{
    return judge_whole(file, path, false) + judge_whole(file, path, true);
}
