// SPDX-License-Identifier: MIT
// Settings of the HGN family: the table, the presets, and the configuration that they make.
#include "models/latent_dynamics/settings.h"

// In the order of the enumerations they stand for.
static const char *const directions[] = {"forward", "forward_backward", NULL};
static const char *const state_layouts[] = {"vector", "map", NULL};
static const char *const encoder_kernels[] = {"3x3", "2x2_4x4", NULL};
static const char *const decoder_inputs[] = {"positions", "state", NULL};
static const char *const decoders[] = {"convolutions", "pixels", "broadcast", NULL};
static const char *const output_ranges[] = {"unit", "by_videos", NULL};
static const char *const objectives[] = {"elbo", "geco", "mse", NULL};
// As activation_names, with an end.
static const char *const activations[] = {
    "none", "relu", "leaky_relu", "tf_leaky_relu", "swish", "softplus", "tanh", "sigmoid", NULL};
// The same after a word for what encoder_kernels implies.
static const char *const other_activations[] = {"by_kernels",    "none",  "relu",     "leaky_relu",
                                                "tf_leaky_relu", "swish", "softplus", "tanh",
                                                "sigmoid",       NULL};

// clang-format off
#define AT(member) offsetof(hgn_settings, member)
const setting_spec hgn_setting_specs[] = {
    // {name, type, member, words, lowest, highest, help}, {paper, cpu, tiny}, rule
    {{"window", OPTION_INT64, AT(window), NULL, 1, 1000,
      "input frames of the encoder", NULL}, {"5", NULL, "3"}, SETTING_FIXED},
    {{"targets", OPTION_INT64, AT(targets), NULL, 0, 100000,
      "frames to predict", NULL}, {"60", NULL, "6"}, SETTING_FIXED},
    {{"split", OPTION_ENUM, AT(split), hgn_split_names, 0, 0,
      "where the targets begin: at the last input frame, after it, or at the first one", NULL}, {"overlap_by_one"}, SETTING_FIXED},
    {{"direction", OPTION_ENUM, AT(direction), directions, 0, 0,
      "roll out forward in time, or half of the batch backward", NULL}, {"forward", "forward_backward", "forward"}, SETTING_FIXED},
    {{"pairs", OPTION_INT64, AT(pairs), NULL, 1, 4096,
      "pairs (q, p) of latents; with state_layout=map, of channels", NULL}, {"16", NULL, "2"}, SETTING_FIXED},
    {{"initial_posterior_scale", OPTION_DOUBLE, AT(initial_scale), NULL, 1e-9, 1e9,
      "approximate standard deviation of the posterior before training", NULL}, {"1", "0.1", "1"}, SETTING_ADDED_LATER},
    {{"log_scale_bound", OPTION_DOUBLE, AT(log_scale_bound), NULL, 0, 1e9,
      "smooth bound of the logarithm of the posterior's standard deviation; 0: none", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"standardise_frames", OPTION_BOOL, AT(standardise_frames), NULL, 0, 0,
      "the encoder takes (frames - mean) / standard deviation", NULL}, {"off", "on", "off"}, SETTING_ADDED_LATER},
    {{"add_magnitudes", OPTION_BOOL, AT(add_magnitudes), NULL, 0, 0,
      "the encoder also takes the absolute values, which are equal for all colours", NULL}, {"off"}, SETTING_ADDED_LATER},
    {{"colour_ramp_end", OPTION_DOUBLE, AT(colour_ramp_end), NULL, 0, 1,
      "with add_magnitudes: colours are faded in between half of this share of training and this share; 0: from the start", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"angular_positions", OPTION_BOOL, AT(angular_positions), NULL, 0, 0,
      "positions are angles: energy and decoder take their cosines and sines", NULL}, {"off"}, SETTING_ADDED_LATER},
    {{"circle_ramp_end", OPTION_DOUBLE, AT(circle_ramp_end), NULL, 0, 1,
      "with angular_positions: share of training after which positions lie on the circle", NULL}, {"0.3"}, SETTING_ADDED_LATER},
    {{"decoder_input", OPTION_ENUM, AT(decoder_input), decoder_inputs, 0, 0,
      "what frames are decoded from: q, or q and p", NULL}, {"positions"}, SETTING_ADDED_LATER},
    {{"state_layout", OPTION_ENUM, AT(state_layout), state_layouts, 0, 0,
      "a state is a vector, or a map of channels", NULL}, {"vector"}, SETTING_FIXED},
    {{"encoder_kernels", OPTION_ENUM, AT(encoder_kernels), encoder_kernels, 0, 0,
      "kernel sizes of the encoder: those of HGN++, or of HGN", NULL}, {"3x3"}, SETTING_FIXED},
    {{"encoder_activation", OPTION_ENUM, AT(encoder_activation), other_activations, 0, 0,
      "activation of the encoder; by_kernels: leaky_relu of HGN++, relu of HGN", NULL}, {"by_kernels"}, SETTING_ADDED_LATER},
    {{"encoder_kernel", OPTION_INT64, AT(encoder_kernel), NULL, 0, 15,
      "height and width of all kernels of the encoder; 0: as encoder_kernels says", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"separate_encoders", OPTION_BOOL, AT(separate_encoders), NULL, 0, 0,
      "one encoder for q and another for p", NULL}, {"off"}, SETTING_ADDED_LATER},
    {{"encoder_width", OPTION_INT64, AT(encoder_width), NULL, 1, 4096,
      "channels of the encoder", NULL}, {"64", "32", "4"}, SETTING_FIXED},
    {{"transform_layers", OPTION_INT64, AT(transform_layers), NULL, 0, 16,
      "layers between the posterior sample and the first state; 0: none", NULL}, {"0"}, SETTING_FIXED},
    {{"transform_width", OPTION_INT64, AT(transform_width), NULL, 1, 4096,
      "channels or units of these layers", NULL}, {"64", "32", "4"}, SETTING_FIXED},
    {{"potential", OPTION_ENUM, AT(potential), energy_names, 0, 0,
      "form of the potential energy", NULL}, {"separable_net"}, SETTING_FIXED},
    {{"kinetic", OPTION_ENUM, AT(kinetic), energy_names, 0, 0,
      "form of the kinetic energy", NULL}, {"separable_net"}, SETTING_FIXED},
    {{"add_spring_energy", OPTION_BOOL, AT(add_spring_energy), NULL, 0, 0,
      "add |q|^2/2 to the potential and |p|^2/2 to the kinetic energy; for angles only the latter", NULL}, {"off"}, SETTING_ADDED_LATER},
    {{"energy_layers", OPTION_INT64, AT(energy_layers), NULL, 1, 7,
      "hidden layers of each energy", NULL}, {"4", "2", "2"}, SETTING_FIXED},
    {{"energy_width", OPTION_INT64, AT(energy_width), NULL, 1, 65536,
      "units of each hidden layer", NULL}, {"250", "64", "8"}, SETTING_FIXED},
    {{"energy_activation", OPTION_ENUM, AT(energy_activation), activations, 0, 0,
      "activation after each hidden layer", NULL}, {"swish"}, SETTING_FIXED},
    {{"integrator", OPTION_STRING, AT(integrator), NULL, 0, 0,
      "leap_frog, so4, so6, so8, sym4, ruth4, rk4, ..", NULL}, {"leap_frog"}, SETTING_FIXED},
    {{"dt", OPTION_DOUBLE, AT(dt), NULL, 1e-9, 1e9, "model time between two frames", NULL}, {"0.125"}, SETTING_FIXED},
    {{"substeps", OPTION_INT64, AT(substeps), NULL, 1, 1000, "integrator steps per frame", NULL}, {"1"}, SETTING_FIXED},
    {{"decoder", OPTION_ENUM, AT(decoder), decoders, 0, 0,
      "convolutions; one network for all pixels that takes pixel coordinates; or convolutions of full size of the state at every pixel", NULL}, {"convolutions"}, SETTING_ADDED_LATER},
    {{"decoder_width", OPTION_INT64, AT(decoder_width), NULL, 1, 4096,
      "channels of the decoder's first block", NULL}, {"64", "32", "4"}, SETTING_FIXED},
    {{"decoder_halve_width", OPTION_BOOL, AT(decoder_halve_width), NULL, 0, 0,
      "each decoder block has half the channels of the one before", NULL}, {"off", "on", "off"}, SETTING_FIXED},
    {{"decoder_input_channels", OPTION_INT64, AT(decoder_input_channels), NULL, 1, 4096,
      "channels of the map that q is projected to", NULL}, {"16", "8", "2"}, SETTING_FIXED},
    {{"decoder_activation", OPTION_ENUM, AT(decoder_activation), other_activations, 0, 0,
      "activation of the decoder; by_kernels: leaky_relu of HGN++, tf_leaky_relu of HGN", NULL}, {"by_kernels"}, SETTING_ADDED_LATER},
    {{"decoder_kernel", OPTION_INT64, AT(decoder_kernel), NULL, 1, 15,
      "height and width of all kernels of the decoder", NULL}, {"3"}, SETTING_ADDED_LATER},
    {{"output_range", OPTION_ENUM, AT(output_range), output_ranges, 0, 0,
      "range of decoded pixels: 0 to 1, or wider if most pixels of the videos are black or white", NULL}, {"unit", "by_videos", "unit"}, SETTING_ADDED_LATER},
    {{"objective", OPTION_ENUM, AT(objective), objectives, 0, 0,
      "loss function: ELBO, GECO, or mean squared error", NULL}, {"elbo"}, SETTING_FIXED},
    {{"beta", OPTION_DOUBLE, AT(beta), NULL, 0, 1e9,
      "weight of the KL divergence", NULL}, {"1", "0.1", "1"}, SETTING_FIXED},
    {{"beta_delay", OPTION_INT64, AT(beta_delay), NULL, 0, 1e12,
      "steps over which beta rises from 0", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"state_weight", OPTION_DOUBLE, AT(state_weight), NULL, 0, 1e9,
      "weight of the squared difference of the state rolled out to the end of a clip and the one inferred there", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"beta_final", OPTION_DOUBLE, AT(beta_final), NULL, 0, 1e9,
      "what beta changes to between 30 % and 80 % of training; 0: it stays", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"geco_tolerance", OPTION_DOUBLE, AT(geco_tolerance), NULL, 0, 1,
      "with objective=geco: the squared error per pixel to reach", NULL}, {"0.001"}, SETTING_FIXED},
    {{"geco_alpha", OPTION_DOUBLE, AT(geco_alpha), NULL, 0, 1,
      "with objective=geco: weight of the past in the moving average of the error", NULL}, {"0"}, SETTING_FIXED},
    {{"decoded_targets", OPTION_INT64, AT(decoded_targets), NULL, 0, 100000,
      "targets of each rollout that are decoded, drawn at random in every step; 0: all", NULL}, {"0", "4", "2"}, SETTING_FIXED},
    {{"decoder_microbatch", OPTION_INT64, AT(decoder_microbatch), NULL, 1, 4096,
      "frames decoded together; more take more memory and less time", NULL}, {"8", "32", "4"}, SETTING_FIXED},
    {{"curriculum_targets", OPTION_STRING, AT(curriculum_targets), NULL, 0, 0,
      "targets of the first stages of training, as 10,30; empty: one stage", NULL}, {"", "10,30", ""}, SETTING_FIXED},
    {{"curriculum_error", OPTION_DOUBLE, AT(curriculum_error), NULL, 0, 1e9,
      "squared error, in units of the pixel variance, below which a stage ends", NULL}, {"0.1"}, SETTING_FIXED},
    {{"curriculum_deadlines", OPTION_STRING, AT(curriculum_deadlines), NULL, 0, 0,
      "shares of training at which the stages end at the latest", NULL}, {"", "0.25,0.45", ""}, SETTING_FIXED},
    {{"nested_pairs", OPTION_BOOL, AT(nested_pairs), NULL, 0, 0,
      "clips use their first 1, 2, 4, .. pairs until one number is selected", NULL}, {"off", "on", "off"}, SETTING_FIXED},
    {{"selection_start", OPTION_DOUBLE, AT(selection_start), NULL, 0, 1,
      "with nested_pairs: share of training after which the number of pairs is selected", NULL}, {"0.4"}, SETTING_FIXED},
    {{"selection_ratio", OPTION_DOUBLE, AT(selection_ratio), NULL, 1, 1e9,
      "select the smallest number whose error is at most this times the best,", NULL}, {"1.5"}, SETTING_FIXED},
    {{"selection_slack", OPTION_DOUBLE, AT(selection_slack), NULL, 0, 1e9,
      "plus this, in units of the pixel variance", NULL}, {"0.03"}, SETTING_FIXED},
    {.option = {0}},
};
#undef AT
// clang-format on

// Rollouts to both sides start in the middle of the window, so the window is predicted too.
const setting_implication hgn_setting_implications[] = {
    {"direction", "forward_backward", "split", "include_inference"},
    {0},
};

// What the presets change beyond the table.
// As published [Higgins21]: both ways, 50,000 videos, 39 GB, which are read from disk.
const char *const hgn_plus_plus_paper[] = {"trajectories=50000", "direction=forward_backward",
                                           NULL};
const char *const hgn_plus_plus_cpu[] = {"steps=2000", "decay_start=0.4", NULL};

// Presets for other worlds. Videos that are hard to predict far ahead need more clips, a learning
// rate that falls before the horizon is long, and a small bound on the gradient, so that no single
// clip dominates a step.
#define FURTHER                                                                              \
    "initial_posterior_scale=0.1", "standardise_frames=on", "nested_pairs=off",              \
        "trajectories=1000", "batch=32", "decoded_targets=2", "curriculum_targets=10,20,40", \
        "decay_start=0.2", "clip_norm=0.03"
const char *const hgn_plus_plus_angles[] = {FURTHER,
                                            "angular_positions=on",
                                            "trajectories=500",
                                            "pairs=1",
                                            "kinetic=pure_quad",
                                            "learning_rate=0.0015",
                                            "curriculum_deadlines=0.2,0.35,0.5",
                                            "curriculum_error=0.04",
                                            "steps=4000",
                                            NULL};
const char *const hgn_plus_plus_state[] = {FURTHER,
                                           "decoder_input=state",
                                           "pairs=1",
                                           "curriculum_deadlines=0.2,0.3,0.4",
                                           "curriculum_error=0.02",
                                           "steps=2500",
                                           NULL};

// Constants of a video, such as a mass or a colour, need pairs that do not move, and a window long
// enough to see the centre of the oscillation. One video does not determine masses and forces: both
// may be too large by the same factor. Forces that all videos share determine it.
const char *const hgn_plus_plus_constants[] = {FURTHER,
                                               "trajectories=3000",
                                               "frames=100",
                                               "window=25",
                                               "pairs=6",
                                               "kinetic=graded_masses",
                                               "add_magnitudes=on",
                                               "colour_ramp_end=0.8",
                                               "log_scale_bound=8",
                                               "beta2=0.99",
                                               "beta=0.3",
                                               "beta_final=5",
                                               "curriculum_targets=5,15,30",
                                               "curriculum_deadlines=0.15,0.25,0.35",
                                               "curriculum_error=0.08",
                                               "decay_start=0.5",
                                               "steps=12000",
                                               NULL};

// The original: maps, a long window that is rebuilt backwards, GECO [Higgins21, code].
#define ORIGINAL                                                                     \
    "targets=0", "split=include_inference", "direction=forward", "state_layout=map", \
        "encoder_kernels=2x2_4x4", "energy_activation=softplus", "objective=geco",   \
        "nested_pairs=off", "curriculum_targets=", "curriculum_deadlines="
const char *const hgn_original_paper[] = {
    ORIGINAL,          "trajectories=50000", "window=31", "transform_layers=5",
    "energy_layers=4", "energy_width=64",    NULL};
const char *const hgn_original_cpu[] = {
    ORIGINAL,          "window=31",       "transform_layers=3",
    "energy_layers=4", "energy_width=32", "decoder_input_channels=16",
    "steps=2000",      "decay_start=0.4", NULL};
const char *const hgn_original_tiny[] = {ORIGINAL,          "window=5",       "transform_layers=2",
                                         "energy_layers=4", "energy_width=4", NULL};

// Blocks of the encoder: 3x3 convolutions as in HGN++, or 2x2 and 4x4 ones as in HGN.
static void set_encoder(hgn_config *config, const hgn_settings *options)
{
    bool original = options->encoder_kernels == 1;
    config->encoder_act = original ? ACT_RELU : ACT_LEAKY;
    for (int b = 0; b < config->encoder_blocks; b++) {
        hgn_block *e = &config->encoder[b];
        *e = (hgn_block){.layers = 2};
        // HGN++ has a third layer in its last block; HGN has half the channels in its first layer.
        if (!original && b == config->encoder_blocks - 1) e->layers = 3;
        for (int i = 0; i < e->layers; i++) {
            e->width[i] = options->encoder_width;
            e->kernel[i] = original ? (i ? 4 : 2) : 3;
            e->padding[i] = original && !i ? OP_VALID : OP_SAME;
        }
        if (original && !b) e->width[0] = (options->encoder_width + 1) / 2;
        for (int i = 0; options->encoder_kernel && i < e->layers; i++) {
            e->kernel[i] = options->encoder_kernel;
            e->padding[i] = OP_SAME;
        }
    }
    if (options->encoder_activation)
        config->encoder_act = (activation)(options->encoder_activation - 1);
}

// Layers of all networks of the dynamics; one more than energy_layers, for the output.
static void set_energy(hgn_config *config, const hgn_settings *options)
{
    const bool is_map = config->state_layout == HGN_STATE_MAP;
    energy_net *e = &config->energy;
    *e = (energy_net){.conv = is_map,
                      .layers = (int)options->energy_layers + 1,
                      .act = (activation)options->energy_activation};
    const int64_t height = hgn_map_height(config), width = hgn_map_width(config);
    int64_t map = height < width ? height : width;
    for (int i = 0; i < e->layers; i++) {
        e->width[i] = options->energy_width;
        if (!is_map) continue;
        // 3x3 first, then 2x2, every second of which halves the map while there is one to halve.
        e->kernel[i] = i ? 2 : 3;
        bool halves = i % 2 == 1 && map >= 2;
        e->stride[i] = halves ? 2 : 1;
        e->padding[i] = halves ? OP_VALID : OP_SAME;
        if (halves) map /= 2;
    }
    if (is_map) e->width[0] = (options->energy_width + 1) / 2;
}

plumb_status hgn_settings_config(hgn_config *out, const hgn_settings *options,
                                 const video_set *frames)
{
    const int64_t side = frames->height < frames->width ? frames->height : frames->width;
    // Most members are settings; the sizes of blocks follow from the frames below.
    hgn_config config = {.height = frames->height,
                         .width = frames->width,
                         .channels = frames->channels,
                         .window = options->window,
                         .targets = options->targets,
                         .split = (hgn_split)options->split,
                         .direction = (hgn_direction)options->direction,
                         .latent = 2 * options->pairs,
                         .state_layout = (hgn_state_layout)options->state_layout,
                         .initial_scale =
                             options->initial_scale == 1.0 ? 0.0 : options->initial_scale,
                         .log_scale_bound = options->log_scale_bound,
                         .standardise_frames = options->standardise_frames,
                         .add_magnitudes = options->add_magnitudes,
                         .colour_gate = options->add_magnitudes && options->colour_ramp_end > 0.0,
                         .angular_positions = options->angular_positions,
                         .nested_pairs = options->nested_pairs,
                         .transform_layers = (int)options->transform_layers,
                         .dynamics = options->dynamics,
                         .decoder_input = (hgn_decoder_input)options->decoder_input,
                         .residual = options->residual,
                         .recurrent_core = (hgn_recurrent_core)options->recurrent_core,
                         .potential = (energy_form)options->potential,
                         .kinetic = (energy_form)options->kinetic,
                         .add_spring_energy = options->add_spring_energy,
                         .integrator = options->integrator,
                         .dt = options->dt,
                         .substeps = (int)options->substeps,
                         .decoder = (hgn_decoder_kind)options->decoder,
                         .scale_output = options->output_range == 1,
                         .decoder_input_channels = options->decoder_input_channels,
                         .objective = (hgn_objective)options->objective,
                         .beta = options->beta,
                         .state_weight = options->state_weight,
                         .separate_encoders = options->separate_encoders,
                         .decoder_kernel = options->decoder_kernel,
                         .geco_tolerance = options->geco_tolerance,
                         .geco_alpha = options->geco_alpha};
    // Without positions and momenta apart, no half of a state is a position.
    if (options->dynamics >= HGN_FIELD) config.decoder_input = HGN_DECODE_STATE;
    const bool is_map = config.state_layout == HGN_STATE_MAP;
    const bool takes_state = config.decoder_input == HGN_DECODE_STATE;
    // Blocks halve the frames until the shorter side has 4 pixels, as 32 -> 4 in the paper, or a
    // side is odd.
    while ((!config.decoder_blocks || side >> (config.decoder_blocks + 1) >= 4) &&
           config.decoder_blocks < HGN_MAX_BLOCKS && side >> (config.decoder_blocks + 1) >= 1 &&
           ((frames->height | frames->width) >> config.decoder_blocks) % 2 == 0)
        config.decoder_blocks++;
    for (int i = 0; i < config.transform_layers && i < HGN_MAX_TRANSFORM; i++)
        config.transform_width[i] = options->transform_width;
    config.encoder_blocks = config.decoder_blocks;
    config.decoder_act = options->encoder_kernels == 1 ? ACT_LEAKY2 : ACT_LEAKY;
    if (options->decoder_activation)
        config.decoder_act = (activation)(options->decoder_activation - 1);
    for (int b = 0; b < config.decoder_blocks; b++) {
        int64_t width =
            options->decoder_halve_width ? options->decoder_width >> b : options->decoder_width;
        // At least 4 channels, unless fewer were asked for.
        const int64_t channels = width > 4                    ? width
                                 : options->decoder_width < 4 ? options->decoder_width
                                                              : 4;
        config.decoder_depth[b] = 2;
        for (int i = 0; i < 2; i++) config.decoder_width[b][i] = channels;
    }
    set_encoder(&config, options);
    set_energy(&config, options);
    // Settings that exclude each other.
    if (is_map && options->nested_pairs)
        return fail(PLUMB_EVALUE,
                    "nested_pairs=on needs state_layout=vector; a map has no pairs to leave out");
    if (options->colour_ramp_end > 0.0 && !options->add_magnitudes)
        return fail(PLUMB_EVALUE, "colour_ramp_end=%g needs add_magnitudes=on",
                    options->colour_ramp_end);
    if (is_map &&
        (options->angular_positions || takes_state || config.decoder != HGN_DECODER_CONVOLUTIONS))
        return fail(PLUMB_EVALUE, "%s needs state_layout=vector",
                    options->angular_positions             ? "angular_positions=on"
                    : takes_state                          ? "decoder_input=state"
                    : config.decoder == HGN_DECODER_PIXELS ? "decoder=pixels"
                                                           : "decoder=broadcast");
    if (config.direction == HGN_FORWARD_BACKWARD && config.split != HGN_INCLUDE)
        return fail(PLUMB_EVALUE,
                    "split=%s; direction=forward_backward predicts the input frames too, which is "
                    "split=include_inference",
                    hgn_split_names[config.split]);
    plumb_status st = hgn_config_check(&config);
    if (!st) *out = config;
    return st;
}
