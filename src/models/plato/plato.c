// SPDX-License-Identifier: MIT
// PLATO: the encoder and decoder of objects, and the dynamics of their codes.
#include "models/plato/plato.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

plumb_status plato_check(const plato_config *config)
{
    // Strides of 2 with padding take any size. Coordinates go from -1 to 1, so a side has two ends.
    if (config->height < 2 || config->width < 2)
        return fail(PLUMB_ESHAPE, "frames of %lld x %lld; PLATO needs 2 x 2 or more",
                    (long long)config->height, (long long)config->width);
    if (config->clip_length < 2)
        return fail(PLUMB_EVALUE, "clip_length=%lld; a clip has at least 2 frames",
                    (long long)config->clip_length);
    return PLUMB_OK;
}

// A pixel belongs to one slot: there it has its colour and a 1, elsewhere zeros.
void plato_pack_input(float *out, const uint8_t *frame, const uint8_t *mask,
                      const plato_config *config)
{
    int64_t pixels = config->height * config->width, last = config->slots - 1;
    memset(out, 0, (size_t)(config->slots * pixels * 4) * sizeof *out);
    for (int64_t i = 0; i < pixels; i++) {
        int64_t slot = mask[i] < last ? mask[i] : last;
        float *to = out + (slot * pixels + i) * 4;
        for (int k = 0; k < 3; k++) to[k] = (float)frame[3 * i + k] / 255.0f;
        to[3] = 1.0f;
    }
}

// First and last column are -1 and 1, and so are the rows.
void plato_coordinates(float *out, const plato_config *config)
{
    for (int64_t y = 0; y < config->height; y++)
        for (int64_t x = 0; x < config->width; x++) {
            *out++ = 2.0f * (float)x / (float)(config->width - 1) - 1.0f;
            *out++ = 2.0f * (float)y / (float)(config->height - 1) - 1.0f;
        }
}

// ---- layers ----

// Weights and biases start uniform in -1 .. 1, divided by sqrt(inputs).
static graph_node *add_weights(network_builder *net, const char *name, const char *what, int rank,
                               const int64_t *size)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, what);
    return network_param(net, full, rank, size, PARAM_INIT_UNIFORM, 0.0);
}

static graph_node *add_bias(network_builder *net, const char *name, const char *what, int64_t out,
                            int64_t inputs)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, what);
    return network_param(net, full, 1, &out, PARAM_INIT_UNIFORM, (double)inputs);
}

// Layer "PARTwhich": a convolution with padding on both sides, and a bias.
static graph_node *conv_layer(network_builder *net, const char *part, int which, graph_node *x,
                              int64_t out, int64_t kernel, int stride)
{
    char name[48];
    snprintf(name, sizeof name, "%s%d", part, which);
    int64_t in = x->shape.size[3];
    graph_node *w = add_weights(net, name, "w", 4, (int64_t[]){kernel, kernel, in, out});
    graph_node *b = add_bias(net, name, "b", out, kernel * kernel * in);
    return op_bias(net->g, op_conv(net->g, x, w, stride, OP_CENTRED), b);
}

static graph_node *dense_layer(network_builder *net, const char *name, graph_node *x, int64_t out)
{
    int64_t in = x->shape.size[1];
    graph_node *w = add_weights(net, name, "w", 2, (int64_t[]){in, out});
    return op_dense(net->g, x, w, add_bias(net, name, "b", out, in));
}

static graph_node *apply_relu(network_builder *net, graph_node *x)
{
    return op_leaky_relu(net->g, x, 0.0);
}

static graph_node *to_matrix(network_builder *net, graph_node *x, int64_t rows, int64_t columns)
{
    return op_reshape(net->g, x, 2, (int64_t[]){rows, columns});
}

// ---- perception ----

// Four convolutions of stride 2, a dense layer, then mean and log variance [Piloto22].
plato_codes plato_encode(network_builder *net, const plato_config *config, graph_node *masked)
{
    graph_node *x = masked;
    for (int i = 0; i < PLATO_BLOCKS; i++)
        x = apply_relu(net, conv_layer(net, "encoder", i, x, config->encoder_channels[i], 3, 2));
    int64_t items = x->shape.size[0];
    x = to_matrix(net, x, items, shape_count(&x->shape) / (items ? items : 1));
    x = dense_layer(net, "codes",
                    apply_relu(net, dense_layer(net, "dense", x, config->dense_units)),
                    2 * config->code_size);
    return (plato_codes){op_slice(net->g, x, 1, 0, config->code_size),
                         op_slice(net->g, x, 1, config->code_size, config->code_size)};
}

// log of the sum of exponentials, two at a time: log(e^a + e^b) = a + softplus(b - a).
static graph_node *log_sum_exp(graph *g, graph_node *const *x, int64_t count)
{
    graph_node *sum = x[0];
    for (int64_t k = 1; k < count; k++)
        sum = op_add(g, sum, op_softplus(g, op_subtract(g, x[k], sum)));
    return sum;
}

// Slot k of (frames, slots, rest), as (frames, rest).
static graph_node *take_slot(network_builder *net, graph_node *x, int64_t k)
{
    const int64_t *s = x->shape.size;
    return to_matrix(net, op_slice(net->g, x, 1, k, 1), s[0], s[2]);
}

plato_image plato_decode(network_builder *net, const plato_config *config, graph_node *code,
                         graph_node *coordinates)
{
    graph *g = net->g;
    int64_t items = code->shape.size[0], size[] = {config->height, config->width};
    int64_t frames = items / config->slots, pixels = config->height * config->width;
    // Spatial broadcast: the code at every pixel, beside the coordinates of the pixel.
    graph_node *both[] = {op_broadcast(g, code, 1, 2, size),
                          op_broadcast(g, coordinates, 0, 1, &items)};
    graph_node *x = op_concat(g, both, 2, 3);
    for (int i = 0; i < 4; i++)
        x = apply_relu(net, conv_layer(net, "decoder", i, x, config->decoder_channels, 3, 1));
    // Four channels: three of colour and one logit of the share in the pixel.
    x = conv_layer(net, "decoder", 4, x, 4, 1, 1);
    plato_image image = {.colour = op_slice(g, x, 3, 0, 3)};
    graph_node *logit =
        op_reshape(g, op_slice(g, x, 3, 3, 1), 3, (int64_t[]){frames, config->slots, pixels});
    image.log_share = ARENA_ALLOC(graph_memory(g), graph_node *, config->slots);
    if (!image.log_share) {
        graph_error(g, PLUMB_EMEMORY);
        return image;
    }
    // Softmax over slots, in logarithms: shares of all slots in a pixel sum to 1.
    for (int64_t k = 0; k < config->slots; k++) image.log_share[k] = take_slot(net, logit, k);
    graph_node *all = log_sum_exp(g, image.log_share, config->slots);
    for (int64_t k = 0; k < config->slots; k++)
        image.log_share[k] = op_subtract(g, image.log_share[k], all);
    return image;
}

// sum over slots of share * colour.
graph_node *plato_compose(network_builder *net, const plato_config *config, plato_image image)
{
    graph *g = net->g;
    int64_t frames = image.colour->shape.size[0] / config->slots,
            pixels = config->height * config->width, three = 3;
    graph_node *colour =
        op_reshape(g, image.colour, 3, (int64_t[]){frames, config->slots, 3 * pixels});
    graph_node *sum = NULL;
    for (int64_t k = 0; image.log_share && k < config->slots; k++) {
        graph_node *slot =
            op_reshape(g, take_slot(net, colour, k), 3, (int64_t[]){frames, pixels, 3});
        graph_node *share = op_broadcast(g, op_exp(g, image.log_share[k]), 2, 1, &three);
        graph_node *part = op_multiply(g, share, slot);
        sum = sum ? op_add(g, sum, part) : part;
    }
    return sum ? sum : image.colour;
}

// One value per frame: x (frames * slots, ..) summed over slots and everything else.
static graph_node *sum_per_frame(network_builder *net, const plato_config *config, graph_node *x)
{
    int64_t frames = x->shape.size[0] / config->slots;
    return op_sum(net->g, to_matrix(net, x, frames, shape_count(&x->shape) / (frames ? frames : 1)),
                  1, 1);
}

static void add_losses(plato_perception *perception, const plato_config *config)
{
    network_builder *net = &perception->net;
    graph *g = net->g;
    const int64_t *s = perception->masked->shape.size;
    int64_t slots = config->slots, frames = s[0] / slots, pixels = s[1] * s[2], three = 3;
    // Negative log likelihood of the image, each slot within its mask.
    graph_node *mask = op_reshape(g, op_slice(g, perception->masked, 3, 3, 1), 3, s);
    graph_node *image = op_reshape(g, op_broadcast(g, perception->image, 1, 1, &slots), 4,
                                   (int64_t[]){s[0], s[1], s[2], 3});
    graph_node *square = op_square(g, op_subtract(g, perception->decoded.colour, image));
    double level = 3.0 * (log(config->sigma) + 0.5 * log(2.0 * 3.14159265358979323846));
    graph_node *far = op_scale(g, op_multiply(g, square, op_broadcast(g, mask, 3, 1, &three)),
                               0.5 / (config->sigma * config->sigma));
    perception->error = op_add(g, sum_per_frame(net, config, far),
                               op_scale(g, sum_per_frame(net, config, mask), level));

    // KL to a standard normal: (m^2 + e^v - v - 1) / 2, v the log variance.
    graph_node *m = perception->codes.mean, *v = perception->codes.log_variance;
    graph_node *kl =
        op_add_scalar(g, op_subtract(g, op_add(g, op_square(g, m), op_exp(g, v)), v), -1.0);
    perception->kl = op_scale(g, sum_per_frame(net, config, kl), 0.5);

    // Cross entropy of the true masks and the shares of the slots.
    graph_node *truth = op_reshape(g, mask, 3, (int64_t[]){frames, slots, pixels}), *cross = NULL;
    for (int64_t i = 0; perception->decoded.log_share && i < slots; i++) {
        graph_node *part =
            op_multiply(g, take_slot(net, truth, i), perception->decoded.log_share[i]);
        cross = cross ? op_add(g, cross, part) : part;
    }
    if (cross) perception->mask_loss = op_scale(g, op_sum(g, cross, 1, 1), -1.0);
}

// One gradient per leaf of the graph.
static graph_node **add_gradients(network_builder *net, graph_node *const *y,
                                  graph_node *const *seed, int ys)
{
    graph_node **d = ARENA_ALLOC(graph_memory(net->g), graph_node *, net->leaf_count);
    if (!d) graph_error(net->g, PLUMB_EMEMORY);
    else network_gradients(net, d, y, seed, ys);
    return d;
}

plumb_status plato_perception_build(plato_perception *out, params *layout,
                                    const plato_config *config, int64_t frames, int64_t batch)
{
    plato_perception perception = {.net = {.params = layout}};
    plumb_status st = plato_check(config);
    if (!st) st = graph_create(&perception.net.g);
    if (st) return st;
    graph *g = perception.net.g;
    int64_t items = frames * config->slots;
    // Inputs.
    perception.masked =
        op_input(g, "masked", 0, 4, (int64_t[]){items, config->height, config->width, 4});
    perception.image =
        op_input(g, "image", 0, 4, (int64_t[]){frames, config->height, config->width, 3});
    perception.noise = op_input(g, "noise", 0, 2, (int64_t[]){items, config->code_size});
    perception.coordinates =
        op_input(g, "coordinates", 0, 3, (int64_t[]){config->height, config->width, 2});
    perception.codes = plato_encode(&perception.net, config, perception.masked);
    // A sample of each code, mean + deviation * noise.
    graph_node *deviation = op_exp(g, op_scale(g, perception.codes.log_variance, 0.5));
    graph_node *code =
        op_add(g, perception.codes.mean, op_multiply(g, deviation, perception.noise));
    perception.decoded = plato_decode(&perception.net, config, code, perception.coordinates);
    add_losses(&perception, config);
    if (batch && !graph_status(g)) {
        // Weights of error, KL and masks in the loss.
        double share = 1.0 / (double)batch;
        graph_node *y[] = {perception.error, perception.kl, perception.mask_loss}, *seed[3];
        double weight[] = {share, config->beta * share, config->mask_weight * share};
        for (int i = 0; i < 3; i++) seed[i] = op_constant(g, weight[i], &y[i]->shape);
        perception.gradient = add_gradients(&perception.net, y, seed, 3);
    }
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = perception;
    return st;
}

// ---- dynamics ----

// A network of pairs of objects: three layers of (self, other), GELU after each. self and other are
// (items * slots, ..); the result is (items, slots, slots, units).
static graph_node *pair_network(network_builder *net, const plato_config *config, const char *name,
                                graph_node *self, graph_node *other, int64_t items)
{
    graph *g = net->g;
    char layer[3][32];
    for (int i = 0; i < 3; i++) snprintf(layer[i], sizeof layer[i], "%s%d", name, i);
    int64_t K = config->slots, U = config->interaction_units, a = self->shape.size[1],
            b = other->shape.size[1];
    // The first layer is computed for each object before pairing, which is cheaper.
    graph_node *w = add_weights(net, layer[0], "w", 2, (int64_t[]){a + b, U});
    graph_node *from = op_matmul(g, self, op_slice(g, w, 0, 0, a), false, false);
    graph_node *to = op_matmul(g, other, op_slice(g, w, 0, a, b), false, false);
    int64_t three[] = {items, K, U};
    from = op_broadcast(g, op_reshape(g, from, 3, three), 2, 1, &K);
    to = op_broadcast(g, op_reshape(g, to, 3, three), 1, 1, &K);
    graph_node *x = op_bias(g, op_add(g, from, to), add_bias(net, layer[0], "b", U, a + b));
    x = to_matrix(net, op_gelu(g, x), items * K * K, U);
    for (int i = 1; i < 3; i++) x = op_gelu(g, dense_layer(net, layer[i], x, U));
    return op_reshape(g, x, 4, (int64_t[]){items, K, K, U});
}

// (items, slots, slots, units) -> (items * slots, 2 units): sum and maximum over the other object.
static graph_node *pool_pairs(network_builder *net, const plato_config *config, graph_node *e,
                              int64_t items)
{
    graph *g = net->g;
    int64_t rows = items * config->slots, U = config->interaction_units;
    graph_node *most = NULL;
    for (int64_t j = 0; j < config->slots; j++) {
        graph_node *one = to_matrix(net, op_slice(g, e, 2, j, 1), rows, U);
        most = most ? op_maximum(g, most, one) : one;
    }
    return op_concat(g, (graph_node *[]){to_matrix(net, op_sum(g, e, 2, 1), rows, U), most}, 2, 1);
}

typedef struct object_memory {
    graph_node *buffer; // before its activation
    graph_node *h, *c;  // of the LSTM
} object_memory;

// One frame: its codes are added to the object buffer, pairs interact, each LSTM advances.
static object_memory advance_objects(network_builder *net, const plato_config *config,
                                     object_memory m, graph_node *code, int64_t t, int64_t items)
{
    graph *g = net->g;
    int64_t H = config->hidden, D = config->code_size, all = config->clip_length * D, G = 4 * H;
    int64_t in = config->buffer_units + 2 * config->interaction_units;
    graph_node *w = add_weights(net, "buffer", "w", 2, (int64_t[]){all, config->buffer_units});
    // The buffer is a linear layer of the codes of all frames; later ones are zero, so each frame
    // adds its part.
    m.buffer = op_add(g, m.buffer, op_matmul(g, code, op_slice(g, w, 0, t * D, D), false, false));
    graph_node *b =
        op_elu(g, op_bias(g, m.buffer, add_bias(net, "buffer", "b", config->buffer_units, all)));
    // Interactions with the buffers and with the states of all objects, then the LSTM. The order of
    // these lines is the order of the parameters.
    graph_node *with_buffers = pair_network(net, config, "buffer_pairs", m.h, b, items);
    graph_node *with_states = pair_network(net, config, "state_pairs", m.h, m.h, items);
    graph_node *e = op_add(g, with_states, with_buffers);
    graph_node *x = op_concat(g, (graph_node *[]){b, pool_pairs(net, config, e, items)}, 2, 1);
    graph_node *from_x =
        op_matmul(g, x, add_weights(net, "lstm", "w", 2, (int64_t[]){in, G}), false, false);
    graph_node *from_h =
        op_matmul(g, m.h, add_weights(net, "lstm", "u", 2, (int64_t[]){H, G}), false, false);
    // Two biases, as in PyTorch: together they learn twice as fast.
    from_h = op_bias(g, from_h, add_bias(net, "lstm", "recurrent_b", G, H));
    from_x = op_bias(g, from_x, add_bias(net, "lstm", "b", G, H));
    graph_node *gates = op_add(g, from_x, from_h);
    // i, f, g, o: c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c).
    graph_node *part[4];
    for (int i = 0; i < 4; i++) part[i] = op_slice(g, gates, 1, i * H, H);
    m.c = op_add(g, op_multiply(g, op_sigmoid(g, part[1]), m.c),
                 op_multiply(g, op_sigmoid(g, part[0]), op_tanh(g, part[2])));
    m.h = op_multiply(g, op_sigmoid(g, part[3]), op_tanh(g, m.c));
    return m;
}

plumb_status plato_dynamics_build(plato_dynamics *out, params *layout, const plato_config *config,
                                  int64_t items, int64_t batch)
{
    plato_dynamics dynamics = {.net = {.params = layout}};
    plumb_status st = plato_check(config);
    if (!st) st = graph_create(&dynamics.net.g);
    if (st) return st;
    graph *g = dynamics.net.g;
    int64_t rows = items * config->slots, D = config->code_size, steps = config->clip_length - 1;
    graph_node **error = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    dynamics.prediction = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    if (!error || !dynamics.prediction) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    dynamics.codes = op_input(g, "codes", 0, 3, (int64_t[]){rows, config->clip_length, D});
    tensor_shape buffer = {2, {rows, config->buffer_units}}, hidden = {2, {rows, config->hidden}};
    object_memory m = {op_constant(g, 0.0, &buffer), op_constant(g, 0.0, &hidden),
                       op_constant(g, 0.0, &hidden)};
    for (int64_t t = 0; t < steps; t++) {
        graph_node *now = to_matrix(&dynamics.net, op_slice(g, dynamics.codes, 1, t, 1), rows, D);
        graph_node *next =
            to_matrix(&dynamics.net, op_slice(g, dynamics.codes, 1, t + 1, 1), rows, D);
        m = advance_objects(&dynamics.net, config, m, now, t, items);
        graph_node *output = dense_layer(&dynamics.net, "head", m.h, D);
        dynamics.prediction[t] = config->residual ? op_add(g, now, output) : output;
        graph_node *e = op_square(g, op_subtract(g, dynamics.prediction[t], next));
        error[t] = op_reshape(g, sum_per_frame(&dynamics.net, config, e), 2, (int64_t[]){1, items});
    }
    dynamics.hidden = m.h;
    dynamics.error = op_concat(g, error, (int)steps, 0);
    if (batch && !graph_status(g)) {
        double numbers = (double)(batch * steps * config->slots * D);
        graph_node *seed = op_constant(g, 1.0 / numbers, &dynamics.error->shape);
        dynamics.gradient = add_gradients(&dynamics.net, &dynamics.error, &seed, 1);
    }
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = dynamics;
    return st;
}
