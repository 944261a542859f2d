// SPDX-License-Identifier: MIT
// Encoder of the HGN family. Blocks of convolutions, each halving the image, then a dense layer
// [Higgins21]. Beyond the paper, inputs can be standardised, split into sign and magnitude, and
// their colours can be hidden at first.
#include "models/latent_dynamics/encoder.h"

#include <stdio.h>

// ---- inputs ----

// (x - mean) / std over all training videos.
static graph_node *standardise_frames(network_builder *net, graph_node *frames)
{
    graph *g = net->g;
    graph_node *mean = network_param(net, "frames.mean", 0, NULL, PARAM_INIT_FIXED, 0.0);
    graph_node *deviation = network_param(net, "frames.std", 0, NULL, PARAM_INIT_FIXED, 1.0);
    graph_node *centred = op_subtract(g, frames, op_broadcast_like(g, mean, frames));
    return op_divide(g, centred, op_broadcast_like(g, deviation, frames));
}

// (x - mean) / std over each item: (batch, height, width, frames).
static graph_node *standardise_items(graph *g, graph_node *x)
{
    const int64_t *s = x->shape.size;
    const double share = 1.0 / (double)(s[1] * s[2] * s[3]);
    graph_node *mean = op_scale(g, op_sum(g, x, 1, 3), share);
    graph_node *centred = op_subtract(g, x, op_broadcast(g, mean, 1, 3, s + 1));
    graph_node *variance = op_scale(g, op_sum(g, op_square(g, centred), 1, 3), share);
    graph_node *deviation = op_sqrt(g, op_add_scalar(g, variance, 1e-6));
    return op_divide(g, centred, op_broadcast(g, deviation, 1, 3, s + 1));
}

// Mean over the channels of each frame, standardised: the contrast is the same for all colours.
static graph_node *remove_colours(graph *g, graph_node *x, int64_t channels)
{
    const int64_t *s = x->shape.size, frames = s[3] / channels;
    graph_node *apart = op_reshape(g, x, 5, (int64_t[]){s[0], s[1], s[2], frames, channels});
    return standardise_items(g, op_scale(g, op_sum(g, apart, 4, 1), 1.0 / (double)channels));
}

// x / (1 + |x|) and |x| / (1 + |x|). An object changes pixels with a sign and strength that depend
// on its colour; where it changes them does not. With a colour gate only the mean magnitude over
// colours is returned, and both parts times the gate are put into `*coloured`.
static graph_node *add_magnitudes(network_builder *net, const hgn_config *config, graph_node *x,
                                  graph_node **coloured)
{
    graph *g = net->g;
    graph_node *positive = network_activate(net, x, ACT_RELU);
    graph_node *magnitude = op_subtract(g, op_scale(g, positive, 2.0), x);
    graph_node *scale = op_add_scalar(g, magnitude, 1.0);
    graph_node *part[] = {op_divide(g, x, scale), op_divide(g, magnitude, scale)};
    graph_node *both = op_concat(g, part, 2, x->shape.rank - 1);
    if (!config->colour_gate) return both;
    graph_node *gate = network_param(net, "colour_gate", 0, NULL, PARAM_INIT_FIXED, 1.0);
    *coloured = op_multiply(g, both, op_broadcast_like(g, gate, both));
    return remove_colours(g, part[1], config->channels);
}

// ---- layers ----

// What colours add to the first layer. Weights start at zero, so nothing changes when the gate
// opens.
static graph_node *colour_layer(network_builder *net, graph_node *coloured, const hgn_block *block,
                                const char *part, int64_t out)
{
    const int64_t size[] = {block->kernel[0], block->kernel[0], coloured->shape.size[3], out};
    char name[64];
    snprintf(name, sizeof name, "%s.colours.w", part);
    graph_node *w = network_param(net, name, 4, size, PARAM_INIT_VALUE, 0.0);
    return op_conv(net->g, coloured, w, 2, block->padding[0]);
}

// What an encoder takes: frames, and their colours apart if there is a gate.
typedef struct encoder_input {
    graph_node *frames, *coloured;
} encoder_input;

// `part` is the first word of the names of its parameters.
static graph_node *encoder_layers(network_builder *net, const hgn_config *config,
                                  const encoder_input *in, const char *part, int64_t out)
{
    graph_node *x = in->frames, *coloured = in->coloured;
    char name[64];
    // Angles need two values per position; the dense layer makes them of 2 latent channels.
    const int64_t channels = config->angular_positions ? 2 * config->latent : out;
    for (int b = 0; b < config->encoder_blocks; b++) {
        const hgn_block *block = &config->encoder[b];
        for (int i = 0; i < block->layers; i++) {
            bool last = b == config->encoder_blocks - 1 && i == block->layers - 1;
            snprintf(name, sizeof name, "%s.block%d.conv%d", part, b, i);
            x = network_conv(net, name, x, last ? channels : block->width[i], block->kernel[i],
                             i ? 1 : 2, block->padding[i]);
            if (coloured)
                x = op_add(net->g, x, colour_layer(net, coloured, block, part, x->shape.size[3]));
            coloured = NULL;
            if (!last) x = network_activate(net, x, config->encoder_act);
        }
    }
    if (config->state_layout == HGN_STATE_MAP) return x;
    int64_t flat = x->shape.size[1] * x->shape.size[2] * x->shape.size[3];
    x = op_reshape(net->g, x, 2, (int64_t[]){x->shape.size[0], flat});
    snprintf(name, sizeof name, "%s.proj", part);
    return network_dense(net, name, x, out);
}

// Moving pairs are encoded without colours, constant ones with them: a mix per pair, by how much
// the pair moves. (batch, kinds * pairs): the values of all pairs, one kind after the other.
static graph_node *mix_by_motion(graph *g, graph_node *without, graph_node *with, int64_t pairs)
{
    const int64_t kinds = without->shape.size[1] / pairs;
    graph_node *share = op_broadcast(g, energy_scales(g, pairs), 0, 1, &kinds);
    share = op_reshape(g, share, 1, (int64_t[]){kinds * pairs});
    share = op_broadcast(g, share, 0, 1, with->shape.size);
    return op_add(g, with, op_multiply(g, share, op_subtract(g, without, with)));
}

// One encoder, or with masses that differ a mix of one with and one without colours.
static graph_node *encode(network_builder *net, const hgn_config *config, const encoder_input *in,
                          const char *part, int64_t out)
{
    graph_node *y = encoder_layers(net, config, in, part, out);
    const bool moves_by_pair = config->kinetic == ENERGY_GRADED_MASSES &&
                               config->state_layout == HGN_STATE_VECTOR &&
                               !config->angular_positions;
    if (!in->coloured || !moves_by_pair) return y;
    const encoder_input plain = {.frames = in->frames};
    return mix_by_motion(net->g, encoder_layers(net, config, &plain, part, out), y,
                         config->latent / 2);
}

// Means of q and p, log deviations of q and p, and what angles need beyond that. The encoder of q
// gives all of the latter.
static graph_node *encode_separately(network_builder *net, const hgn_config *config,
                                     const encoder_input *in, int64_t out)
{
    graph *g = net->g;
    const int64_t L = config->latent, n = L / 2;
    graph_node *q = encode(net, config, in, "enc", out - L);
    graph_node *p = encode(net, config, in, "enc_p", L);
    const int last = q->shape.rank - 1;
    graph_node *part[] = {op_slice(g, q, last, 0, n), op_slice(g, p, last, 0, n),
                          op_slice(g, q, last, n, n), op_slice(g, p, last, n, n), NULL};
    if (out > 2 * L) part[4] = op_slice(g, q, last, L, out - 2 * L);
    return op_concat(g, part, part[4] ? 5 : 4, last);
}

graph_node *hgn_encoder(network_builder *net, const hgn_config *config, graph_node *x, int64_t out)
{
    encoder_input in = {.frames = x};
    if (config->standardise_frames) in.frames = standardise_frames(net, in.frames);
    if (config->add_magnitudes) in.frames = add_magnitudes(net, config, in.frames, &in.coloured);
    return config->separate_encoders ? encode_separately(net, config, &in, out)
                                     : encode(net, config, &in, "enc", out);
}

graph_node *hgn_latent_transform(network_builder *net, const hgn_config *config, graph_node *z)
{
    const bool map = config->state_layout == HGN_STATE_MAP;
    for (int i = 0; i < config->transform_layers; i++) {
        char name[64];
        bool last = i == config->transform_layers - 1;
        int64_t width = last ? config->latent : config->transform_width[i];
        snprintf(name, sizeof name, "transform.%s%d", map ? "conv" : "ff", i);
        z = map ? network_conv(net, name, z, width, 3, 1, OP_SAME)
                : network_dense(net, name, z, width);
        if (!last) z = network_activate(net, z, config->encoder_act);
    }
    return z;
}

void hgn_pack_window(float *out, const uint8_t *frames, const hgn_config *config, int64_t count)
{
    int64_t pixels = config->height * config->width, C = config->channels;
    for (int64_t t = 0; t < count; t++)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t k = 0; k < C; k++)
                out[(i * count + t) * C + k] = (float)frames[(t * pixels + i) * C + k] / 255.0f;
}
