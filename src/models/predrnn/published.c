// SPDX-License-Identifier: MIT
// PredRNN's parameters under the names of its published code: cell_list.0.conv_x.0.weight (out, in,
// height, width), and so on. There x, h and m have a convolution each. Here those of x and h that
// make the gates of c are one, conv_c, and so are those of x and m, conv_m; with layer norm they
// are separate here too.
#include "models/predrnn/published.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

typedef struct published_layer {
    exchange_list *out;
    arena *mem;
    const predrnn_config *config;
    const params *layout;
    int64_t index; // -1: tensors that all layers share
} published_layer;

// A parameter of plumb's layout; it exists, because the layout was built from the configuration.
static const param *find_param(const published_layer *layer, const char *name)
{
    char full[96];
    if (layer->index < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "cell%lld.%s", (long long)layer->index, name);
    const int at = params_find(layer->layout, full);
    return at < 0 ? NULL : &layer->layout->at[at];
}

static exchange_tensor *add_tensor(const published_layer *layer, const char *name, int rank,
                                   const int64_t *shape)
{
    char full[96];
    if (layer->index < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "cell_list.%lld.%s", (long long)layer->index, name);
    return exchange_add(layer->out, layer->mem, full, rank, shape);
}

// Where output channels of a published convolution are here.
typedef struct channel_range {
    const char *param;    // of plumb
    int64_t first, count; // published output channels
    int64_t to;           // the first of them there
    int64_t from;         // input channel that the first published one is there
} channel_range;

// A convolution (out, in, kernel, kernel) whose output channels are in up to three parameters.
static plumb_status add_conv(const published_layer *layer, const char *name, int64_t kernel,
                             int64_t in, int64_t out, const channel_range *range, int ranges)
{
    exchange_tensor *tensor = add_tensor(layer, name, 4, (int64_t[]){out, in, kernel, kernel});
    if (!tensor) return PLUMB_EMEMORY;
    for (int r = 0; r < ranges; r++) {
        const param *p = find_param(layer, range[r].param);
        if (!p) return fail(PLUMB_EVALUE, "PredRNN has no parameter %s", range[r].param);
        const int64_t *s = p->shape.size;
        for (int64_t o = 0; o < range[r].count; o++)
            for (int64_t i = 0; i < in; i++)
                for (int64_t k = 0; k < kernel * kernel; k++)
                    tensor->place[((range[r].first + o) * in + i) * kernel * kernel + k] =
                        p->offset + (k * s[2] + range[r].from + i) * s[3] + range[r].to + o;
    }
    return PLUMB_OK;
}

// Gain and bias of a layer norm: (channels, height, width) there, (height, width, channels) here.
static plumb_status add_norm(const published_layer *layer, const char *name, int64_t channels)
{
    static const char *const part[2][2] = {{"1.weight", "gain"}, {"1.bias", "bias"}};
    const tensor_shape map = predrnn_map(layer->config, 1);
    const int64_t places = map.size[1] * map.size[2];
    for (int k = 0; k < 2; k++) {
        char there[64], here[64];
        snprintf(there, sizeof there, "%s.%s", name, part[k][0]);
        snprintf(here, sizeof here, "%s.%s", name, part[k][1]);
        const param *p = find_param(layer, here);
        exchange_tensor *tensor =
            add_tensor(layer, there, 3, (int64_t[]){channels, map.size[1], map.size[2]});
        if (!tensor) return PLUMB_EMEMORY;
        if (!p) return fail(PLUMB_EVALUE, "PredRNN has no parameter %s", here);
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < places; i++)
                tensor->place[c * places + i] = p->offset + i * channels + c;
    }
    return PLUMB_OK;
}

// Without layer norm: channels of conv_x are i, f, g, i', f', g', o, and o belongs to conv_c.
static plumb_status add_joined(const published_layer *layer, int64_t in)
{
    const int64_t H = layer->config->hidden, k = layer->config->kernel;
    const channel_range x[] = {{"conv_c", 0, 3 * H, 0, 0},
                               {"conv_m", 3 * H, 3 * H, 0, 0},
                               {"conv_c", 6 * H, H, 3 * H, 0}},
                        h = {"conv_c", 0, 4 * H, 0, in}, m = {"conv_m", 0, 3 * H, 0, in};
    plumb_status st = add_conv(layer, "conv_x.0.weight", k, in, 7 * H, x, 3);
    if (!st) st = add_conv(layer, "conv_h.0.weight", k, H, 4 * H, &h, 1);
    if (!st) st = add_conv(layer, "conv_m.0.weight", k, H, 3 * H, &m, 1);
    return st;
}

static plumb_status add_separate(const published_layer *layer, int64_t in)
{
    const int64_t H = layer->config->hidden, k = layer->config->kernel;
    const struct {
        const char *name;
        int64_t in, out;
    } conv[] = {{"conv_x", in, 7 * H}, {"conv_h", H, 4 * H}, {"conv_m", H, 3 * H}};
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < 3 && !st; i++) {
        char name[64];
        const channel_range whole = {conv[i].name, 0, conv[i].out, 0, 0};
        snprintf(name, sizeof name, "%s.0.weight", conv[i].name);
        st = add_conv(layer, name, k, conv[i].in, conv[i].out, &whole, 1);
        if (!st) st = add_norm(layer, conv[i].name, conv[i].out);
    }
    return st;
}

static plumb_status add_layer(const published_layer *layer)
{
    const predrnn_config *config = layer->config;
    const int64_t H = config->hidden, pixels = config->patch * config->patch * config->channels,
                  in = layer->index ? H : pixels;
    const channel_range o = {"conv_o", 0, H, 0, 0}, last = {"conv_last", 0, H, 0, 0};
    plumb_status st = config->layer_norm ? add_separate(layer, in) : add_joined(layer, in);
    if (!st) st = add_conv(layer, "conv_o.0.weight", config->kernel, 2 * H, H, &o, 1);
    if (!st && config->layer_norm) st = add_norm(layer, "conv_o", H);
    if (!st) st = add_conv(layer, "conv_last.weight", 1, 2 * H, H, &last, 1);
    return st;
}

plumb_status predrnn_list_published(exchange_list *out, arena *mem, const predrnn_config *config,
                                    const params *layout)
{
    published_layer layer = {.out = out, .mem = mem, .config = config, .layout = layout};
    const int64_t H = config->hidden, pixels = config->patch * config->patch * config->channels;
    const channel_range last = {"conv_last", 0, pixels, 0, 0}, adapter = {"adapter", 0, H, 0, 0};
    plumb_status st = PLUMB_OK;
    for (; layer.index < config->layers && !st; layer.index++) st = add_layer(&layer);
    layer.index = -1;
    if (!st) st = add_conv(&layer, "conv_last.weight", 1, H, pixels, &last, 1);
    if (!st && config->decoupling_weight > 0.0)
        st = add_conv(&layer, "adapter.weight", 1, H, H, &adapter, 1);
    return st;
}

// ---- settings of a state dict ----

static const exchange_tensor *find_tensor(const exchange_tensor *tensors, int64_t count,
                                          const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(tensors[i].name, name)) return &tensors[i];
    return NULL;
}

// The side of square patches of 3 colours or, if that is no whole number, of 1. 0: neither.
static int64_t find_patch(int64_t channels)
{
    for (int64_t colours = 3; colours >= 1; colours -= 2)
        for (int64_t p = 1; p <= 64; p++)
            if (p * p * colours == channels) return p;
    return 0;
}

plumb_status predrnn_guess_settings(const char *const **set, int64_t *count, arena *mem,
                                    const exchange_tensor *tensors, int64_t tensor_count)
{
    enum { MAX_SETTINGS = 8 };
    char name[64], text[48];
    const exchange_tensor *x = find_tensor(tensors, tensor_count, "cell_list.0.conv_x.0.weight");
    if (!x || x->rank != 4 || x->shape[0] % 7 || x->shape[2] != x->shape[3])
        return fail(PLUMB_EFORMAT, "has no tensor \"cell_list.0.conv_x.0.weight\" (7 hidden, "
                                   "channels, kernel, kernel), so it is not PredRNN's");
    int64_t layers = 0;
    do {
        snprintf(name, sizeof name, "cell_list.%lld.conv_x.0.weight", (long long)++layers);
    } while (find_tensor(tensors, tensor_count, name));
    const int64_t patch = find_patch(x->shape[1]);
    if (!patch)
        return fail(PLUMB_EFORMAT,
                    "takes %lld channels, which are no square patches of 1 or 3 colours",
                    (long long)x->shape[1]);
    const exchange_tensor *norm = find_tensor(tensors, tensor_count, "cell_list.0.conv_x.1.weight");
    const bool second = find_tensor(tensors, tensor_count, "adapter.weight");
    const char **list = ARENA_ALLOC(mem, const char *, MAX_SETTINGS);
    if (!list) return PLUMB_EMEMORY;
    *count = 0;
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"patch", patch}, {"layers", layers}, {"hidden", x->shape[0] / 7}, {"kernel", x->shape[2]}};
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "%s=%lld", number[i].name, (long long)number[i].value);
        if (!(list[(*count)++] = arena_strdup(mem, text))) return PLUMB_EMEMORY;
    }
    list[(*count)++] = norm ? "layer_norm=on" : "layer_norm=off";
    list[(*count)++] = "residual=off";
    list[(*count)++] = second ? "decoupling_weight=0.1" : "decoupling_weight=0";
    if (norm && norm->rank == 3) {
        snprintf(text, sizeof text, "image=%lld", (long long)(norm->shape[1] * patch));
        if (!(list[(*count)++] = arena_strdup(mem, text))) return PLUMB_EMEMORY;
    }
    *set = list;
    return PLUMB_OK;
}
