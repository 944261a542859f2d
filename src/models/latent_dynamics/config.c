// SPDX-License-Identifier: MIT
// The published configurations, checks, and which frames of a clip are used [Higgins21, code].
#include "models/latent_dynamics/config.h"

const char *const hgn_split_names[HGN_SPLITS + 1] = {"overlap_by_one", "no_overlap",
                                                     "include_inference", NULL};

// HGN++ as published: 32x32 frames, 16 pairs, networks of 4 hidden layers of 250 units.
hgn_config hgn_config_plus_plus(void)
{
    hgn_config config = {.height = 32,
                         .width = 32,
                         .channels = 3,
                         .window = 5,
                         .targets = 60,
                         .split = HGN_OVERLAP,
                         .latent = 32,
                         .encoder_blocks = 3,
                         .encoder_act = ACT_LEAKY,
                         .potential = ENERGY_NET,
                         .kinetic = ENERGY_NET,
                         .integrator = "leap_frog",
                         .dt = 0.125,
                         .substeps = 1,
                         .decoder_blocks = 3,
                         .decoder_input_channels = 16,
                         .decoder_act = ACT_LEAKY,
                         .objective = HGN_ELBO,
                         .beta = 1.0,
                         .geco_tolerance = 0.001};
    // Three blocks of 3x3 convolutions with 64 channels, each halving the image: 32, 16, 8, 4.
    for (int b = 0; b < 3; b++) {
        hgn_block *e = &config.encoder[b];
        e->layers = b == 2 ? 3 : 2;
        for (int i = 0; i < e->layers; i++) e->width[i] = 64, e->kernel[i] = 3;
        config.decoder_depth[b] = 2;
        for (int i = 0; i < 2; i++) config.decoder_width[b][i] = 64;
    }
    config.energy = (energy_net){.layers = 5, .width = {250, 250, 250, 250}, .act = ACT_SWISH};
    return config;
}

// HGN: states are maps, the window is reconstructed, and energies are convolutions.
hgn_config hgn_config_original(void)
{
    hgn_config config = hgn_config_plus_plus();
    config.window = 31;
    config.targets = 0;
    config.split = HGN_INCLUDE;
    config.state_layout = HGN_STATE_MAP;
    config.encoder_act = ACT_RELU;
    for (int b = 0; b < 3; b++)
        config.encoder[b] = (hgn_block){.layers = 2,
                                        .width = {b ? 64 : 32, 64},
                                        .kernel = {2, 4},
                                        .padding = {OP_VALID, OP_SAME}};
    // The posterior sample passes five layers before it is the first state [Toth20].
    config.transform_layers = 5;
    for (int i = 0; i < 5; i++) config.transform_width[i] = 64;
    // A 3x3 convolution, then 2x2 ones, every second of which halves the map.
    config.energy = (energy_net){.conv = true,
                                 .layers = 5,
                                 .width = {32, 64, 64, 64},
                                 .kernel = {3, 2, 2, 2, 2},
                                 .stride = {1, 2, 1, 2, 1},
                                 .padding = {OP_SAME, OP_VALID, OP_SAME, OP_VALID, OP_SAME},
                                 .act = ACT_SOFTPLUS};
    config.decoder_act = ACT_LEAKY2;
    config.objective = HGN_GECO;
    return config;
}

// ---- shapes ----

int64_t hgn_frame_size(const hgn_config *config)
{
    return config->height * config->width * config->channels;
}

int64_t hgn_map_height(const hgn_config *config)
{
    return config->height >> config->decoder_blocks;
}

int64_t hgn_map_width(const hgn_config *config)
{
    return config->width >> config->decoder_blocks;
}

tensor_shape hgn_state_shape(const hgn_config *config, int64_t items)
{
    const int64_t n = config->latent / 2;
    return config->state_layout == HGN_STATE_MAP
               ? (tensor_shape){4, {items, hgn_map_height(config), hgn_map_width(config), n}}
               : (tensor_shape){2, {items, n}};
}

tensor_shape hgn_decoder_input_shape(const hgn_config *config, int64_t items)
{
    tensor_shape shape = hgn_state_shape(config, items);
    // Angles have two values each, and p may come after q.
    shape.size[shape.rank - 1] *=
        1 + config->angular_positions + (config->decoder_input == HGN_DECODE_STATE);
    return shape;
}

// ---- checks ----

bool hgn_config_reversible(const hgn_config *config)
{
    return config->dynamics != HGN_MAP && config->dynamics != HGN_RECURRENT;
}

int64_t hgn_first_step(const hgn_config *config)
{
    if (config->dynamics == HGN_RECURRENT) return 1;
    // A map goes forward only, so the frames before the inferred one are not predicted.
    return config->dynamics == HGN_MAP ? hgn_frame_plan_make(config).inferred : 0;
}

// What only some dynamics allow.
static plumb_status check_dynamics(const hgn_config *config)
{
    if (config->dynamics != HGN_HAMILTONIAN && config->state_layout == HGN_STATE_MAP)
        return fail(PLUMB_EVALUE, "states that are maps need Hamiltonian dynamics");
    if (hgn_config_reversible(config)) return PLUMB_OK;
    if (config->direction == HGN_FORWARD_BACKWARD ||
        (config->split == HGN_INCLUDE && config->window > 1))
        return fail(PLUMB_EVALUE, "this model cannot be run backward in time; frames before the "
                                  "inferred one cannot be targets");
    if (config->dynamics == HGN_RECURRENT && config->targets < 2)
        return fail(PLUMB_EVALUE,
                    "targets=%lld; at least 2 are needed, one as input and one to predict",
                    (long long)config->targets);
    if (config->dynamics == HGN_RECURRENT && config->window > config->targets)
        return fail(PLUMB_EVALUE, "a window of %lld frames is longer than clips of %lld",
                    (long long)config->window, (long long)config->targets);
    return PLUMB_OK;
}

plumb_status hgn_config_check(const hgn_config *config)
{
    int64_t divisor = INT64_C(1) << config->decoder_blocks;
    if (config->decoder_blocks < 1)
        return fail(PLUMB_EVALUE, "frames of %lld x %lld; height and width must be even",
                    (long long)config->height, (long long)config->width);
    if (config->height % divisor || config->height < divisor || config->width % divisor ||
        config->width < divisor)
        return fail(PLUMB_EVALUE, "frames of %lld x %lld; %d decoder blocks need multiples of %lld",
                    (long long)config->height, (long long)config->width, config->decoder_blocks,
                    (long long)divisor);
    if (config->latent < 2 || config->latent % 2)
        return fail(PLUMB_EVALUE, "latent %lld; q and p need an even number",
                    (long long)config->latent);
    if (config->direction == HGN_FORWARD_BACKWARD && config->window % 2 == 0)
        return fail(PLUMB_EVALUE,
                    "a window of %lld frames; direction=forward_backward needs an odd number",
                    (long long)config->window);
    if (!integrator_find(config->integrator))
        return fail(PLUMB_EVALUE, "there is no integrator %s", config->integrator);
    if (!energy_of_positions(config->potential))
        return fail(PLUMB_EVALUE,
                    "potential=%s is a form of kinetic energy; it takes separable_net, dep_net, "
                    "embed_quad or rest_quad",
                    energy_names[config->potential]);
    if (config->state_layout == HGN_STATE_MAP && config->encoder_blocks != config->decoder_blocks)
        return fail(PLUMB_EVALUE,
                    "%d encoder blocks and %d decoder blocks; maps need equal numbers",
                    config->encoder_blocks, config->decoder_blocks);
    if (config->state_weight > 0.0 && hgn_frame_plan_make(config).length <= config->window)
        return fail(PLUMB_EVALUE, "state_weight=%g needs frames after the window; targets=%lld",
                    config->state_weight, (long long)config->targets);
    return check_dynamics(config);
}

// ---- frames ----

// With a window of K frames and T targets, see hgn_split.
hgn_frame_plan hgn_frame_plan_make(const hgn_config *config)
{
    // The state of frame `inferred` is inferred; `backward` and `forward` steps start there.
    int64_t K = config->window, T = config->targets;
    hgn_frame_plan plan = {.inferred = K - 1, .decode_start = true};
    if (config->dynamics == HGN_RECURRENT)
        return (hgn_frame_plan){
            .inferred = K - 1, .length = T, .forward = T - 1, .first_target = 1, .targets = T - 1};
    // Both directions start in the middle of the window and cover window and targets.
    if (config->direction == HGN_FORWARD_BACKWARD) {
        plan.inferred = K / 2;
        plan.length = plan.targets = K + T;
        plan.backward = plan.inferred;
        plan.forward = plan.length - plan.inferred - 1;
    } else if (config->split == HGN_OVERLAP) {
        plan.length = K + T - 1;
        plan.forward = T - 1;
        plan.first_target = K - 1;
        plan.targets = T;
    } else if (config->split == HGN_NO_OVERLAP) {
        plan.length = K + T;
        plan.forward = T;
        plan.decode_start = false;
        plan.first_target = K;
        plan.targets = T;
    } else {
        plan.length = plan.targets = K + T;
        plan.backward = K - 1;
        plan.forward = T;
    }
    return plan;
}

// The far window has the last frames of the clip, or its first ones if the rollout runs backward.
// An odd window is symmetric, so both are the same number of steps away.
int64_t hgn_frame_plan_end(const hgn_config *config)
{
    const hgn_frame_plan plan = hgn_frame_plan_make(config);
    return plan.length - config->window + plan.inferred - plan.first_target;
}
