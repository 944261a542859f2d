// SPDX-License-Identifier: MIT
// Decoder of the HGN family. Upsampling convolutions from a small map [Higgins21]; or one dense
// network that is applied to every pixel and takes its coordinates; or convolutions of full size
// over the state and the coordinates, the same state at every pixel [Watters19].
#include "models/latent_dynamics/decoder.h"

#include <math.h>
#include <stdio.h>

// Pixel centres along one side, from -1 to 1: (size).
static graph_node *side_coordinates(graph *g, int64_t size)
{
    graph_node **x = ARENA_ALLOC(graph_memory(g), graph_node *, size);
    if (!x) return graph_error(g, PLUMB_EMEMORY);
    for (int64_t i = 0; i < size; i++)
        x[i] = op_constant(g, (double)(2 * i + 1) / (double)size - 1.0, &(tensor_shape){1, {1}});
    return op_concat(g, x, (int)size, 0);
}

// Coordinates of every pixel, (column, row): (height * width, 2).
static graph_node *pixel_coordinates(graph *g, int64_t height, int64_t width)
{
    const int64_t flat[] = {height * width, 1};
    // A row of columns is repeated down, a column of rows is repeated across.
    graph_node *column = op_broadcast(g, side_coordinates(g, width), 0, 1, &height);
    graph_node *row = op_broadcast(g, side_coordinates(g, height), 1, 1, &width);
    return op_concat(
        g, (graph_node *[]){op_reshape(g, column, 2, flat), op_reshape(g, row, 2, flat)}, 2, 1);
}

// The colours of all pixels: a logistic function, and its range.
static graph_node *output_frames(network_builder *net, const hgn_config *config, graph_node *x)
{
    graph *g = net->g;
    x = network_activate(net, x, ACT_SIGMOID);
    if (!config->scale_output) return x;
    graph_node *low = network_param(net, "frames.low", 0, NULL, PARAM_INIT_FIXED, 0.0);
    graph_node *range = network_param(net, "frames.range", 0, NULL, PARAM_INIT_FIXED, 1.0);
    x = op_multiply(g, x, op_broadcast_like(g, range, x));
    return op_add(g, x, op_broadcast_like(g, low, x));
}

// One network for all pixels. A moving object is the same function of pixel minus position
// everywhere, so it need not be learnt at every pixel.
static graph_node *decode_pixels(network_builder *net, const hgn_config *config, graph_node *q)
{
    graph *g = net->g;
    int64_t items = q->shape.size[0], pixels = config->height * config->width;
    int64_t width = config->decoder_width[0][0], flat[] = {items * pixels, width};
    graph_node *x =
        op_broadcast(g,
                     network_dense(net, "dec.coordinates",
                                   pixel_coordinates(g, config->height, config->width), width),
                     0, 1, &items);
    x = op_reshape(g, x, 2, flat);
    // Each layer adds a projection of the state to that of the pixel.
    for (int i = 0; i < config->decoder_depth[0] + 1; i++) {
        char name[64];
        snprintf(name, sizeof name, "dec.pixel%d", i);
        if (i) x = network_dense(net, name, x, width);
        snprintf(name, sizeof name, "dec.state%d", i);
        graph_node *state = op_broadcast(g, network_dense(net, name, q, width), 1, 1, &pixels);
        x = network_activate(net, op_add(g, x, op_reshape(g, state, 2, flat)), config->decoder_act);
    }
    x = output_frames(net, config, network_dense(net, "dec.colour", x, config->channels));
    return op_reshape(g, x, 4, (int64_t[]){items, config->height, config->width, config->channels});
}

static int64_t kernel_size(const hgn_config *config)
{
    return config->decoder_kernel ? config->decoder_kernel : 3;
}

// The state at every pixel with the pixel's coordinates, then convolutions that keep the size: two
// more than a block of the other decoder has, and one for the colours.
static graph_node *decode_broadcast(network_builder *net, const hgn_config *config, graph_node *q)
{
    graph *g = net->g;
    const int64_t items = q->shape.size[0], height = config->height, width = config->width;
    graph_node *x = op_broadcast(g, q, 1, 2, (int64_t[]){height, width});
    graph_node *place = op_broadcast(
        g, op_reshape(g, pixel_coordinates(g, height, width), 3, (int64_t[]){height, width, 2}), 0,
        1, &items);
    x = op_concat(g, (graph_node *[]){place, x}, 2, 3);
    for (int i = 0; i < config->decoder_depth[0] + 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "dec.broadcast%d", i);
        x = network_conv(net, name, x, config->decoder_width[0][0], kernel_size(config), 1,
                         OP_SAME);
        x = network_activate(net, x, config->decoder_act);
    }
    x = network_conv(net, "dec.colour", x, config->channels, 1, 1, OP_SAME);
    return output_frames(net, config, x);
}

// Every value becomes a square of 2 x 2, then a convolution. 3x3 has an operation of its own.
static graph_node *upsample(network_builder *net, const hgn_config *config, const char *name,
                            graph_node *x, int64_t channels)
{
    if (kernel_size(config) == 3) return network_upconv(net, name, x, channels);
    graph *g = net->g;
    const int64_t two = 2, *s = x->shape.size, B = s[0], H = s[1], W = s[2], C = s[3];
    x = op_broadcast(g, x, 3, 1, &two);
    x = op_reshape(g, x, 4, (int64_t[]){B, H, 2 * W, C});
    x = op_broadcast(g, x, 2, 1, &two);
    x = op_reshape(g, x, 4, (int64_t[]){B, 2 * H, 2 * W, C});
    return network_conv(net, name, x, channels, kernel_size(config), 1, OP_SAME);
}

static graph_node *decode_convolutions(network_builder *net, const hgn_config *config,
                                       graph_node *q)
{
    graph *g = net->g;
    int64_t height = hgn_map_height(config), width = hgn_map_width(config);
    int64_t items = q->shape.size[0];
    int64_t start = config->decoder_input_channels;
    graph_node *x = q;
    // A vector is projected to a small map first.
    if (config->state_layout == HGN_STATE_VECTOR) {
        x = network_dense(net, "dec.proj", q, height * width * start);
        x = op_reshape(g, x, 4, (int64_t[]){items, height, width, start});
    }
    // Two learnt channels that are the same for all states [Higgins21, code].
    graph_node *h =
        network_param(net, "dec.start", 3, (int64_t[]){height, width, 2}, PARAM_INIT_VALUE, 1.0);
    x = op_concat(g, (graph_node *[]){op_broadcast(g, h, 0, 1, &items), x}, 2, 3);
    // Each block doubles the map; the last layer gives the colours.
    for (int b = 0; b < config->decoder_blocks; b++) {
        bool last = b == config->decoder_blocks - 1;
        for (int i = 0; i < config->decoder_depth[b] + last; i++) {
            char name[64];
            bool end = last && i == config->decoder_depth[b];
            int64_t channels = end ? config->channels : config->decoder_width[b][i];
            snprintf(name, sizeof name, "dec.block%d.conv%d", b, i);
            x = i ? network_conv(net, name, x, channels, kernel_size(config), 1, OP_SAME)
                  : upsample(net, config, name, x, channels);
            x = end ? output_frames(net, config, x) : network_activate(net, x, config->decoder_act);
        }
    }
    return x;
}

static plumb_status build_graph(hgn_decoder_graph *d, const hgn_config *config, int64_t count,
                                bool train)
{
    network_builder *net = &d->net;
    graph *g = net->g;
    tensor_shape input = hgn_decoder_input_shape(config, count);
    d->q = op_input(g, "q", 0, input.rank, input.size);
    graph_node *frames = config->decoder == HGN_DECODER_PIXELS ? decode_pixels(net, config, d->q)
                         : config->decoder == HGN_DECODER_BROADCAST
                             ? decode_broadcast(net, config, d->q)
                             : decode_convolutions(net, config, d->q);
    d->outputs = ARENA_ALLOC(graph_memory(g), graph_node *, (HGN_DECODE_OUTPUTS + net->leaf_count));
    if (!d->outputs) return PLUMB_EMEMORY;
    d->outputs[d->output_count++] = frames;
    if (!train) return graph_status(g);
    // Squared error per frame, its gradient by the input, its gradients by the parameters.
    d->target = op_input(g, "target", 0, frames->shape.rank, frames->shape.size);
    d->weight = op_input(g, "weight", 0, 1, &count);
    graph_node *l2 = op_sum_per_item(g, op_square(g, op_subtract(g, frames, d->target)));
    d->outputs[d->output_count++] = l2;
    graph_gradient(g, &d->outputs[d->output_count++], &d->q, 1, &l2, &d->weight, 1);
    d->output_count += network_gradients(net, d->outputs + HGN_DECODE_OUTPUTS, &l2, &d->weight, 1);
    return graph_status(g);
}

plumb_status hgn_decoder_build(hgn_decoder_graph *out, params *layout, const hgn_config *config,
                               int64_t count, bool train)
{
    *out = (hgn_decoder_graph){.net = {.params = layout}};
    plumb_status st = graph_create(&out->net.g);
    if (!st) st = build_graph(out, config, count, train);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}

// ---- initial values ----

// What the pixels of a channel are, over all videos.
typedef struct channel_statistics {
    double mean;      // 0 to 1
    double saturated; // share of pixels that are black or white, within 0.05
} channel_statistics;

static channel_statistics count_pixels(const video_set *videos, int64_t channel)
{
    const int64_t pixels = videos->count * videos->steps * videos->height * videos->width;
    const uint8_t near = 12; // 0.05 of 255
    int64_t sum = 0, saturated = 0;
    for (int64_t i = 0; i < pixels; i++) {
        const uint8_t value = videos->frames[i * videos->channels + channel];
        sum += value;
        saturated += value <= near || value >= 255 - near;
    }
    return (channel_statistics){(double)sum / (255.0 * (double)pixels),
                                (double)saturated / (double)pixels};
}

// Pixels are a logistic function. Where nearly all of them are black, all layers learn to make
// frames darker, within 30 steps, and go too far: the function is 0 to the last bit, its slope too,
// and nothing is learnt any more. With a wider range black and white have a slope like grey. A disc
// on black that covers 15 % of the frame ended so, one of 25 % did not. Frames without such a
// background, as those of all worlds, keep the range 0 to 1: less than half of them is saturated.
void hgn_decoder_set_range(const hgn_config *config, const params *layout, float *parameters,
                           const video_set *videos)
{
    const double most = 0.6, low = -0.5, range = 2.0;
    bool wide = false;
    for (int64_t c = 0; c < config->channels && !wide; c++)
        wide = count_pixels(videos, c).saturated > most;
    if (!wide) return;
    *params_value(layout, parameters, "frames.low") = (float)low;
    *params_value(layout, parameters, "frames.range") = (float)range;
    // The bias of the last layer: the logistic function of it is the mean colour.
    char name[64] = "dec.colour.b";
    if (config->decoder == HGN_DECODER_CONVOLUTIONS)
        snprintf(name, sizeof name, "dec.block%d.conv%d.b", config->decoder_blocks - 1,
                 config->decoder_depth[config->decoder_blocks - 1]);
    float *bias = params_value(layout, parameters, name);
    for (int64_t c = 0; c < config->channels; c++) {
        const double share = (count_pixels(videos, c).mean - low) / range;
        bias[c] = (float)log(share / (1.0 - share));
    }
}
