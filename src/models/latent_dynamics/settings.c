// SPDX-License-Identifier: MIT
// Settings of the HGN family: the table, the presets, and the configuration that they make.
#include "models/latent_dynamics/settings.h"

// In the order of the enumerations they stand for.
static const char *const directions[] = {"forward", "forward_backward", NULL};
static const char *const state_layouts[] = {"vector", "map", NULL};
static const char *const encoder_kernels[] = {"3x3", "2x2_4x4", NULL};
static const char *const decoder_inputs[] = {"positions", "state", NULL};
static const char *const decoders[] = {"convolutions", "pixels", NULL};
static const char *const objectives[] = {"elbo", "geco", "mse", NULL};
static const char *const activations[] = {
    "none", "relu", "leaky_relu", "tf_leaky_relu", "swish", "softplus", "tanh", "sigmoid", NULL};

// clang-format off
#define AT(member) offsetof(hgn_settings, member)
const setting_spec hgn_setting_specs[] = {
    // name, kind, where, {paper, cpu, tiny}, from, to, choices, help
    {"window", SETTINGS_INTEGER, AT(window), {"5", NULL, "3"}, 1, 1000, NULL, "input frames of the encoder", false},
    {"targets", SETTINGS_INTEGER, AT(targets), {"60", NULL, "6"}, 0, 100000, NULL, "frames to predict", false},
    {"split", SETTINGS_CHOICE, AT(split), {"overlap_by_one"}, 0, 0, hgn_split_names,
     "where the targets begin: at the last input frame, after it, or at the first one", false},
    {"direction", SETTINGS_CHOICE, AT(direction), {"forward", "forward_backward", "forward"}, 0, 0, directions,
     "roll out forward in time, or half of the batch backward", false},
    {"pairs", SETTINGS_INTEGER, AT(pairs), {"16", NULL, "2"}, 1, 4096, NULL,
     "pairs (q, p) of latents; with state_layout=map, of channels", false},
    {"initial_posterior_scale", SETTINGS_REAL, AT(initial_scale), {"1", "0.1", "1"}, 1e-9, 1e9, NULL,
     "approximate standard deviation of the posterior before training", SETTING_ADDED_LATER},
    {"log_scale_bound", SETTINGS_REAL, AT(log_scale_bound), {"0"}, 0, 1e9, NULL,
     "smooth bound of the logarithm of the posterior's standard deviation; 0: none", SETTING_ADDED_LATER},
    {"standardise_frames", SETTINGS_FLAG, AT(standardise_frames), {"off", "on", "off"}, 0, 0, NULL,
     "the encoder takes (frames - mean) / standard deviation", SETTING_ADDED_LATER},
    {"add_magnitudes", SETTINGS_FLAG, AT(add_magnitudes), {"off"}, 0, 0, NULL,
     "the encoder also takes the absolute values, which are equal for all colours", SETTING_ADDED_LATER},
    {"colour_ramp_end", SETTINGS_REAL, AT(colour_ramp_end), {"0"}, 0, 1, NULL,
     "with add_magnitudes: colours are faded in between half of this share of training and this share; 0: from the start",
     SETTING_ADDED_LATER},
    {"angular_positions", SETTINGS_FLAG, AT(angular_positions), {"off"}, 0, 0, NULL,
     "positions are angles: energy and decoder take their cosines and sines", SETTING_ADDED_LATER},
    {"circle_ramp_end", SETTINGS_REAL, AT(circle_ramp_end), {"0.3"}, 0, 1, NULL,
     "with angular_positions: share of training after which positions lie on the circle", SETTING_ADDED_LATER},
    {"decoder_input", SETTINGS_CHOICE, AT(decoder_input), {"positions"}, 0, 0, decoder_inputs,
     "what frames are decoded from: q, or q and p", SETTING_ADDED_LATER},
    {"state_layout", SETTINGS_CHOICE, AT(state_layout), {"vector"}, 0, 0, state_layouts,
     "a state is a vector, or a map of channels", false},
    {"encoder_kernels", SETTINGS_CHOICE, AT(encoder_kernels), {"3x3"}, 0, 0, encoder_kernels,
     "kernel sizes of the encoder: those of HGN++, or of HGN", false},
    {"encoder_width", SETTINGS_INTEGER, AT(encoder_width), {"64", "32", "4"}, 1, 4096, NULL, "channels of the encoder", false},
    {"transform_layers", SETTINGS_INTEGER, AT(transform_layers), {"0"}, 0, 16, NULL,
     "layers between the posterior sample and the first state; 0: none", false},
    {"transform_width", SETTINGS_INTEGER, AT(transform_width), {"64", "32", "4"}, 1, 4096, NULL,
     "channels or units of these layers", false},
    {"potential", SETTINGS_CHOICE, AT(potential), {"separable_net"}, 0, 0, energy_names, "form of the potential energy", false},
    {"kinetic", SETTINGS_CHOICE, AT(kinetic), {"separable_net"}, 0, 0, energy_names, "form of the kinetic energy", false},
    {"add_spring_energy", SETTINGS_FLAG, AT(add_spring_energy), {"off"}, 0, 0, NULL,
     "add |q|^2/2 to the potential and |p|^2/2 to the kinetic energy; for angles only the latter", SETTING_ADDED_LATER},
    {"energy_layers", SETTINGS_INTEGER, AT(energy_layers), {"4", "2", "2"}, 1, 7, NULL, "hidden layers of each energy", false},
    {"energy_width", SETTINGS_INTEGER, AT(energy_width), {"250", "64", "8"}, 1, 65536, NULL, "units of each hidden layer", false},
    {"energy_activation", SETTINGS_CHOICE, AT(energy_activation), {"swish"}, 0, 0, activations,
     "activation after each hidden layer", false},
    {"integrator", SETTINGS_TEXT, AT(integrator), {"leap_frog"}, 0, 0, NULL, "leap_frog, so4, so6, so8, sym4, ruth4, rk4, ..", false},
    {"dt", SETTINGS_REAL, AT(dt), {"0.125"}, 1e-9, 1e9, NULL, "model time between two frames", false},
    {"substeps", SETTINGS_INTEGER, AT(substeps), {"1"}, 1, 1000, NULL, "integrator steps per frame", false},
    {"decoder", SETTINGS_CHOICE, AT(decoder), {"convolutions"}, 0, 0, decoders,
     "convolutions, or one network for all pixels that takes pixel coordinates", SETTING_ADDED_LATER},
    {"decoder_width", SETTINGS_INTEGER, AT(decoder_width), {"64", "32", "4"}, 1, 4096, NULL, "channels of the decoder's first block", false},
    {"decoder_halve_width", SETTINGS_FLAG, AT(decoder_halve_width), {"off", "on", "off"}, 0, 0, NULL,
     "each decoder block has half the channels of the one before", false},
    {"decoder_input_channels", SETTINGS_INTEGER, AT(decoder_input_channels), {"16", "8", "2"}, 1, 4096, NULL,
     "channels of the map that q is projected to", false},
    {"objective", SETTINGS_CHOICE, AT(objective), {"elbo"}, 0, 0, objectives, "loss function: ELBO, GECO, or mean squared error", false},
    {"beta", SETTINGS_REAL, AT(beta), {"1", "0.1", "1"}, 0, 1e9, NULL, "weight of the KL divergence", false},
    {"beta_final", SETTINGS_REAL, AT(beta_final), {"0"}, 0, 1e9, NULL,
     "what beta changes to between 30 % and 80 % of training; 0: it stays", SETTING_ADDED_LATER},
    {"geco_tolerance", SETTINGS_REAL, AT(geco_tolerance), {"0.001"}, 0, 1, NULL,
     "with objective=geco: the squared error per pixel to reach", false},
    {"geco_alpha", SETTINGS_REAL, AT(geco_alpha), {"0"}, 0, 1, NULL,
     "with objective=geco: weight of the past in the moving average of the error", false},
    {"decoded_targets", SETTINGS_INTEGER, AT(decoded_targets), {"0", "4", "2"}, 0, 100000, NULL,
     "targets of each rollout that are decoded, drawn at random in every step; 0: all", false},
    {"decoder_microbatch", SETTINGS_INTEGER, AT(decoder_microbatch), {"8", "32", "4"}, 1, 4096, NULL,
     "frames decoded together; more take more memory and less time", false},
    {"curriculum_targets", SETTINGS_TEXT, AT(curriculum_targets), {"", "10,30", ""}, 0, 0, NULL,
     "targets of the first stages of training, as 10,30; empty: one stage", false},
    {"curriculum_error", SETTINGS_REAL, AT(curriculum_error), {"0.1"}, 0, 1e9, NULL,
     "squared error, in units of the pixel variance, below which a stage ends", false},
    {"curriculum_deadlines", SETTINGS_TEXT, AT(curriculum_deadlines), {"", "0.25,0.45", ""}, 0, 0, NULL,
     "shares of training at which the stages end at the latest", false},
    {"nested_pairs", SETTINGS_FLAG, AT(nested_pairs), {"off", "on", "off"}, 0, 0, NULL,
     "clips use their first 1, 2, 4, .. pairs until one number is selected", false},
    {"selection_start", SETTINGS_REAL, AT(selection_start), {"0.4"}, 0, 1, NULL,
     "with nested_pairs: share of training after which the number of pairs is selected", false},
    {"selection_ratio", SETTINGS_REAL, AT(selection_ratio), {"1.5"}, 1, 1e9, NULL,
     "select the smallest number whose error is at most this times the best,", false},
    {"selection_slack", SETTINGS_REAL, AT(selection_slack), {"0.03"}, 0, 1e9, NULL,
     "plus this, in units of the pixel variance", false},
    {0},
};
#undef AT
// clang-format on

const char *const hgn_plus_plus_cpu[] = {"steps=2000", "decay_start=0.4", NULL};

// What the first trials of other worlds needed beyond that: videos that are hard to predict far
// ahead take more clips, a rate that falls before the horizon is long, and no step led by one
// clip's gradient.
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

// What differs from video to video and stays, a mass or a colour, needs places where nothing moves,
// and a window long enough to see where the middle of a swing is. A video leaves open by how much
// its masses and its forces are too large alike: forces that are the same in all videos settle it.
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
    ORIGINAL, "window=31", "transform_layers=5", "energy_layers=4", "energy_width=64", NULL};
const char *const hgn_original_cpu[] = {
    ORIGINAL,          "window=31",       "transform_layers=3",
    "energy_layers=4", "energy_width=32", "decoder_input_channels=16",
    "steps=2000",      "decay_start=0.4", NULL};
const char *const hgn_original_tiny[] = {ORIGINAL,          "window=5",       "transform_layers=2",
                                         "energy_layers=4", "energy_width=4", NULL};

static void set_encoder(hgn_config *c, const hgn_settings *options)
{
    bool original = options->encoder_kernels == 1;
    c->encoder_act = original ? ACT_RELU : ACT_LEAKY;
    for (int b = 0; b < c->encoder_blocks; b++) {
        hgn_block *e = &c->encoder[b];
        *e = (hgn_block){.layers = 2};
        if (!original && b == c->encoder_blocks - 1) e->layers = 3;
        for (int i = 0; i < e->layers; i++) {
            e->width[i] = options->encoder_width;
            e->kernel[i] = original ? (i ? 4 : 2) : 3;
            e->padding[i] = original && !i ? OP_VALID : OP_SAME;
        }
        if (original && !b) e->width[0] = (options->encoder_width + 1) / 2;
    }
}

static void set_energy(hgn_config *c, const hgn_settings *options)
{
    const bool is_map = c->state_layout == HGN_STATE_MAP;
    energy_net *e = &c->energy;
    *e = (energy_net){.conv = is_map,
                      .layers = (int)options->energy_layers + 1,
                      .act = (activation)options->energy_activation};
    int64_t map = c->image >> c->decoder_blocks;
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

plumb_status hgn_settings_config(hgn_config *out, const hgn_settings *options, int64_t image,
                                 int64_t channels)
{
    hgn_config c = {.image = image,
                    .channels = channels,
                    .window = options->window,
                    .targets = options->targets,
                    .split = (hgn_split)options->split,
                    .direction = (hgn_direction)options->direction,
                    .latent = 2 * options->pairs,
                    .state_layout = (hgn_state_layout)options->state_layout,
                    .initial_scale = options->initial_scale == 1.0 ? 0.0 : options->initial_scale,
                    .log_scale_bound = options->log_scale_bound,
                    .standardise_frames = options->standardise_frames,
                    .add_magnitudes = options->add_magnitudes,
                    .colour_gate = options->add_magnitudes && options->colour_ramp_end > 0.0,
                    .angular_positions = options->angular_positions,
                    .nested_pairs = options->nested_pairs,
                    .transform_layers = (int)options->transform_layers,
                    .transform_width = options->transform_width,
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
                    .decoder_depth = 2,
                    .decoder_input_channels = options->decoder_input_channels,
                    .objective = (hgn_objective)options->objective,
                    .beta = options->beta,
                    .geco_tolerance = options->geco_tolerance,
                    .geco_alpha = options->geco_alpha};
    // Without positions and momenta apart, no half of a state is a position.
    if (options->dynamics >= HGN_FIELD) c.decoder_input = HGN_DECODE_STATE;
    const bool is_map = c.state_layout == HGN_STATE_MAP;
    const bool takes_state = c.decoder_input == HGN_DECODE_STATE;
    // Blocks halve the image until it is 4 pixels wide, as 32 -> 4 in the paper.
    while (image >> (c.decoder_blocks + 1) >= 4 && c.decoder_blocks < HGN_MAX_BLOCKS)
        c.decoder_blocks++;
    c.encoder_blocks = c.decoder_blocks;
    c.decoder_act = options->encoder_kernels == 1 ? ACT_LEAKY2 : ACT_LEAKY;
    for (int b = 0; b < c.decoder_blocks; b++) {
        int64_t width =
            options->decoder_halve_width ? options->decoder_width >> b : options->decoder_width;
        c.decoder_width[b] = width > 4                    ? width
                             : options->decoder_width < 4 ? options->decoder_width
                                                          : 4;
    }
    set_encoder(&c, options);
    set_energy(&c, options);
    if (is_map && options->nested_pairs)
        return fail(PLUMB_EVALUE,
                    "nested_pairs=on needs state_layout=vector; a map has no pairs to leave out");
    if (options->colour_ramp_end > 0.0 && !options->add_magnitudes)
        return fail(PLUMB_EVALUE, "colour_ramp_end=%g needs add_magnitudes=on",
                    options->colour_ramp_end);
    if (is_map && (options->angular_positions || takes_state || c.decoder == HGN_DECODER_PIXELS))
        return fail(PLUMB_EVALUE, "%s needs state_layout=vector",
                    options->angular_positions ? "angular_positions=on"
                    : takes_state              ? "decoder_input=state"
                                               : "decoder=pixels");
    if (c.direction == HGN_FORWARD_BACKWARD) c.split = HGN_INCLUDE;
    plumb_status st = hgn_config_check(&c);
    if (!st) *out = c;
    return st;
}
