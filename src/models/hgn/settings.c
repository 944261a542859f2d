// SPDX-License-Identifier: MIT
#include "models/hgn/settings.h"

#include <stdlib.h>
#include <string.h>

// In the order of the enumerations they stand for.
static const char *const splits[] = {"overlap_by_one", "no_overlap", "include_inference", NULL};
static const char *const directions[] = {"forward", "forward_backward", NULL};
static const char *const spaces[] = {"vector", "map", NULL};
static const char *const encoders[] = {"3x3", "2x2_4x4", NULL};
static const char *const sights[] = {"positions", "state", NULL};
static const char *const decoders[] = {"convolutions", "pixels", NULL};
static const char *const objectives[] = {"elbo", "geco", "plain", NULL};
static const char *const activations[] = {
    "none", "relu", "leaky_relu", "tf_leaky_relu", "swish", "softplus", "tanh", "sigmoid", NULL};

// clang-format off
#define AT(member) offsetof(hgn_settings, member)
const setting_spec hgn_rows[] = {
    // name, kind, where, {paper, cpu, tiny}, from, to, choices, help
    {"window", SETTINGS_INTEGER, AT(window), {"5", NULL, "3"}, 1, 1000, NULL, "frames the encoder sees", false},
    {"targets", SETTINGS_INTEGER, AT(targets), {"60", NULL, "6"}, 0, 100000, NULL, "frames to be predicted", false},
    {"split", SETTINGS_CHOICE, AT(split), {"overlap_by_one"}, 0, 0, splits, "where prediction begins", false},
    {"direction", SETTINGS_CHOICE, AT(direction), {"forward", "forward_backward", "forward"}, 0, 0, directions,
     "forward, or half of the batch backward", false},
    {"pairs", SETTINGS_INTEGER, AT(pairs), {"16", NULL, "2"}, 1, 4096, NULL, "pairs (q, p) of latents, or of channels", false},
    {"spread", SETTINGS_REAL, AT(spread), {"1", "0.1", "1"}, 1e-9, 1e9, NULL, "deviation of a latent before training, about", SETTING_ADDED_LATER},
    {"bound", SETTINGS_REAL, AT(bound), {"0"}, 0, 1e9, NULL, "of the logarithm of that deviation, smoothly; 0: none", SETTING_ADDED_LATER},
    {"standard", SETTINGS_FLAG, AT(standard), {"off", "on", "off"}, 0, 0, NULL, "the encoder sees frames less their mean, over their deviation", SETTING_ADDED_LATER},
    {"sizes", SETTINGS_FLAG, AT(sizes), {"off"}, 0, 0, NULL, "and their absolute values, in which colours are alike", SETTING_ADDED_LATER},
    {"colours", SETTINGS_REAL, AT(colours), {"0"}, 0, 1, NULL, "of sizes: part of training by which the encoder sees colours; none in its first half", SETTING_ADDED_LATER},
    {"angles", SETTINGS_FLAG, AT(angles), {"off"}, 0, 0, NULL, "positions are angles: energy and decoder see cosines and sines", SETTING_ADDED_LATER},
    {"soften", SETTINGS_REAL, AT(soften), {"0.3"}, 0, 1, NULL, "part of training by which they lie on the circle", SETTING_ADDED_LATER},
    {"seen", SETTINGS_CHOICE, AT(seen), {"positions"}, 0, 0, sights, "what frames are drawn from: q, or q and p", SETTING_ADDED_LATER},
    {"phase_space", SETTINGS_CHOICE, AT(phase_space), {"vector"}, 0, 0, spaces, "a vector, or a map of channels", false},
    {"encoder", SETTINGS_CHOICE, AT(encoder), {"3x3"}, 0, 0, encoders, "its kernels", false},
    {"encoder_width", SETTINGS_INTEGER, AT(encoder_width), {"64", "32", "4"}, 1, 4096, NULL, "its channels", false},
    {"transform_layers", SETTINGS_INTEGER, AT(transform_layers), {"0"}, 0, 16, NULL,
     "between the sample and the first state; 0: none", false},
    {"transform_width", SETTINGS_INTEGER, AT(transform_width), {"64", "32", "4"}, 1, 4096, NULL, "their channels", false},
    {"potential", SETTINGS_CHOICE, AT(potential), {"separable_net"}, 0, 0, energy_names, "form of the potential energy", false},
    {"kinetic", SETTINGS_CHOICE, AT(kinetic), {"separable_net"}, 0, 0, energy_names, "form of the kinetic energy", false},
    {"base", SETTINGS_FLAG, AT(base), {"off"}, 0, 0, NULL, "energies are added to |q|^2/2 and |p|^2/2; of angles to the latter", SETTING_ADDED_LATER},
    {"energy_layers", SETTINGS_INTEGER, AT(energy_layers), {"4", "2", "2"}, 1, 7, NULL, "hidden layers of each energy", false},
    {"energy_width", SETTINGS_INTEGER, AT(energy_width), {"250", "64", "8"}, 1, 65536, NULL, "their units", false},
    {"energy_activation", SETTINGS_CHOICE, AT(energy_activation), {"swish"}, 0, 0, activations, "after each of them", false},
    {"integrator", SETTINGS_TEXT, AT(integrator), {"leap_frog"}, 0, 0, NULL, "leap_frog, so4, so6, so8, sym4, ruth4, rk4, ..", false},
    {"dt", SETTINGS_REAL, AT(dt), {"0.125"}, 1e-9, 1e9, NULL, "model time between frames", false},
    {"substeps", SETTINGS_INTEGER, AT(substeps), {"1"}, 1, 1000, NULL, "steps of the integrator a frame", false},
    {"decoder", SETTINGS_CHOICE, AT(decoder), {"convolutions"}, 0, 0, decoders, "convolutions, or one network for all pixels that sees their place", SETTING_ADDED_LATER},
    {"decoder_width", SETTINGS_INTEGER, AT(decoder_width), {"64", "32", "4"}, 1, 4096, NULL, "channels of its first block", false},
    {"decoder_taper", SETTINGS_FLAG, AT(decoder_taper), {"off", "on", "off"}, 0, 0, NULL, "half the channels from block to block", false},
    {"decoder_start", SETTINGS_INTEGER, AT(decoder_start), {"16", "8", "2"}, 1, 4096, NULL, "channels that q is projected to", false},
    {"objective", SETTINGS_CHOICE, AT(objective), {"elbo"}, 0, 0, objectives, "what is minimised", false},
    {"beta", SETTINGS_REAL, AT(beta), {"1", "0.1", "1"}, 0, 1e9, NULL, "weight of the KL divergence", false},
    {"beta_last", SETTINGS_REAL, AT(beta_last), {"0"}, 0, 1e9, NULL, "what it grows to between 30 % and 80 % of training; 0: it stays", SETTING_ADDED_LATER},
    {"kappa", SETTINGS_REAL, AT(kappa), {"0.001"}, 0, 1, NULL, "of GECO: the squared error that will do", false},
    {"alpha", SETTINGS_REAL, AT(alpha), {"0"}, 0, 1, NULL, "of GECO: memory of its average", false},
    {"decoded", SETTINGS_INTEGER, AT(decoded), {"0", "4", "2"}, 0, 100000, NULL,
     "targets decoded of each rollout, drawn anew every step; 0: all", false},
    {"group", SETTINGS_INTEGER, AT(group), {"8", "32", "4"}, 1, 4096, NULL, "frames decoded at once: memory against speed", false},
    {"horizons", SETTINGS_TEXT, AT(horizons), {"", "10,30", ""}, 0, 0, NULL, "targets in the first stages of training, 10,30", false},
    {"extend", SETTINGS_REAL, AT(extend), {"0.1"}, 0, 1e9, NULL,
     "squared error, in variances of a pixel, below which a stage ends", false},
    {"deadlines", SETTINGS_TEXT, AT(deadlines), {"", "0.25,0.45", ""}, 0, 0, NULL, "parts of training at which it ends at the latest", false},
    {"nested", SETTINGS_FLAG, AT(nested), {"off", "on", "off"}, 0, 0, NULL,
     "items use their first 1, 2, 4, .. pairs, until one size is settled on", false},
    {"settle", SETTINGS_REAL, AT(settle), {"0.4"}, 0, 1, NULL, "part of training at which that is", false},
    {"settle_ratio", SETTINGS_REAL, AT(settle_ratio), {"1.5"}, 1, 1e9, NULL, "the smallest whose error is within this of the best,", false},
    {"settle_slack", SETTINGS_REAL, AT(settle_slack), {"0.03"}, 0, 1e9, NULL, "and so many variances of a pixel", false},
    {0},
};
#undef AT
// clang-format on

const char *const hgn_plus_plus_cpu[] = {"steps=2000", "hold=0.4", NULL};

// What the first trials of other worlds needed beyond that: films that are hard to predict far
// ahead take more clips, a rate that falls before the horizon is long, and no step led by one
// clip's gradient.
#define FURTHER                                                                              \
    "spread=0.1", "standard=on", "nested=off", "trajectories=1000", "batch=32", "decoded=2", \
        "horizons=10,20,40", "hold=0.2", "clip=0.03"
const char *const hgn_plus_plus_angles[] = {FURTHER,
                                            "angles=on",
                                            "trajectories=500",
                                            "pairs=1",
                                            "kinetic=pure_quad",
                                            "rate=0.0015",
                                            "deadlines=0.2,0.35,0.5",
                                            "extend=0.04",
                                            "steps=4000",
                                            NULL};
const char *const hgn_plus_plus_state[] = {
    FURTHER, "seen=state", "pairs=1", "deadlines=0.2,0.3,0.4", "extend=0.02", "steps=2500", NULL};

// What differs from film to film and stays, a mass or a colour, needs places where nothing moves,
// and a window long enough to see where the middle of a swing is. A film leaves open by how much
// its masses and its forces are too large alike: forces that are the same in all films settle it.
const char *const hgn_plus_plus_constants[] = {FURTHER,
                                               "trajectories=3000",
                                               "frames=100",
                                               "window=25",
                                               "pairs=6",
                                               "kinetic=graded_masses",
                                               "sizes=on",
                                               "colours=0.8",
                                               "bound=8",
                                               "beta2=0.99",
                                               "beta=0.3",
                                               "beta_last=5",
                                               "horizons=5,15,30",
                                               "deadlines=0.15,0.25,0.35",
                                               "extend=0.08",
                                               "hold=0.5",
                                               "steps=12000",
                                               NULL};

// The original: maps, a long window that is rebuilt backwards, GECO [Higgins21, code].
#define ORIGINAL                                                                         \
    "targets=0", "split=include_inference", "direction=forward", "phase_space=map",      \
        "encoder=2x2_4x4", "energy_activation=softplus", "objective=geco", "nested=off", \
        "horizons=", "deadlines="
const char *const hgn_original_paper[] = {
    ORIGINAL, "window=31", "transform_layers=5", "energy_layers=4", "energy_width=64", NULL};
const char *const hgn_original_cpu[] = {ORIGINAL,          "window=31",       "transform_layers=3",
                                        "energy_layers=4", "energy_width=32", "decoder_start=16",
                                        "steps=2000",      "hold=0.4",        NULL};
const char *const hgn_original_tiny[] = {ORIGINAL,          "window=5",       "transform_layers=2",
                                         "energy_layers=4", "energy_width=4", NULL};

static void set_encoder(hgn_config *c, const hgn_settings *s)
{
    bool original = s->encoder == 1;
    c->encoder_act = original ? ACT_RELU : ACT_LEAKY;
    for (int b = 0; b < c->encoder_blocks; b++) {
        hgn_block *e = &c->encoder[b];
        *e = (hgn_block){.layers = 2};
        if (!original && b == c->encoder_blocks - 1) e->layers = 3;
        for (int i = 0; i < e->layers; i++) {
            e->width[i] = s->encoder_width;
            e->kernel[i] = original ? (i ? 4 : 2) : 3;
            e->padding[i] = original && !i ? OP_VALID : OP_SAME;
        }
        if (original && !b) e->width[0] = (s->encoder_width + 1) / 2;
    }
}

static void set_energy(hgn_config *c, const hgn_settings *s)
{
    energy_net *e = &c->energy;
    *e = (energy_net){.conv = c->maps,
                      .layers = (int)s->energy_layers + 1,
                      .act = (activation)s->energy_activation};
    int64_t map = c->image >> c->decoder_blocks;
    for (int i = 0; i < e->layers; i++) {
        e->width[i] = s->energy_width;
        if (!c->maps) continue;
        // 3x3 first, then 2x2, every second of which halves the map while there is one to halve.
        e->kernel[i] = i ? 2 : 3;
        bool halves = i % 2 == 1 && map >= 2;
        e->stride[i] = halves ? 2 : 1;
        e->padding[i] = halves ? OP_VALID : OP_SAME;
        if (halves) map /= 2;
    }
    if (c->maps) e->width[0] = (s->energy_width + 1) / 2;
}

plumb_status hgn_settings_config(hgn_config *out, const hgn_settings *s, int64_t image,
                                 int64_t channels)
{
    hgn_config c = {.image = image,
                    .channels = channels,
                    .window = s->window,
                    .targets = s->targets,
                    .split = (hgn_split)s->split,
                    .both_ways = s->direction == 1,
                    .latent = 2 * s->pairs,
                    .maps = s->phase_space == 1,
                    .spread = s->spread == 1.0 ? 0.0 : s->spread,
                    .bound = s->bound,
                    .standard = s->standard,
                    .sizes = s->sizes,
                    .hues = s->sizes && s->colours > 0.0,
                    .angles = s->angles,
                    .chooses = s->nested,
                    .transform_layers = (int)s->transform_layers,
                    .transform_width = s->transform_width,
                    .dynamics = s->dynamics,
                    .whole = s->seen == 1 ||
                             s->dynamics >= HGN_FIELD, // there, no half of it is a position
                    .residual = s->residual,
                    .core = (hgn_core)s->core,
                    .potential = (energy_form)s->potential,
                    .kinetic = (energy_form)s->kinetic,
                    .base = s->base,
                    .integrator = s->integrator,
                    .dt = s->dt,
                    .parts = (int)s->substeps,
                    .pixels = s->decoder == 1,
                    .decoder_depth = 2,
                    .decoder_start = s->decoder_start,
                    .objective = (hgn_objective)s->objective,
                    .beta = s->beta,
                    .kappa = s->kappa,
                    .alpha = s->alpha};
    // Blocks halve the image until it is 4 pixels wide, as 32 -> 4 in the paper.
    while (image >> (c.decoder_blocks + 1) >= 4 && c.decoder_blocks < HGN_BLOCKS)
        c.decoder_blocks++;
    c.encoder_blocks = c.decoder_blocks;
    c.decoder_act = s->encoder == 1 ? ACT_LEAKY2 : ACT_LEAKY;
    for (int b = 0; b < c.decoder_blocks; b++) {
        int64_t width = s->decoder_taper ? s->decoder_width >> b : s->decoder_width;
        c.decoder_width[b] = width > 4 ? width : s->decoder_width < 4 ? s->decoder_width : 4;
    }
    set_encoder(&c, s);
    set_energy(&c, s);
    if (c.maps && s->nested)
        return fail(PLUMB_EVALUE,
                    "nested=on needs phase_space=vector; a map has no pairs to leave out");
    if (s->colours > 0.0 && !s->sizes)
        return fail(PLUMB_EVALUE, "colours=%g needs sizes=on", s->colours);
    if (c.maps && (s->angles || c.whole || c.pixels))
        return fail(PLUMB_EVALUE, "%s needs phase_space=vector",
                    s->angles ? "angles=on"
                    : c.whole ? "seen=state"
                              : "decoder=pixels");
    if (c.both_ways) c.split = HGN_INCLUDE;
    plumb_status st = hgn_config_check(&c);
    if (!st) *out = c;
    return st;
}

// Numbers with commas between them.
static plumb_status read_list(double *out, int *count, const char *text, const char *what)
{
    *count = 0;
    for (const char *at = text; *at;) {
        char *end;
        double x = strtod(at, &end);
        if (end == at || (*end && *end != ',') || *count == HGN_STAGES - 1)
            return fail(PLUMB_EVALUE, "%s=%s: want up to %d numbers with commas between them", what,
                        text, HGN_STAGES - 1);
        out[(*count)++] = x;
        at = *end ? end + 1 : end;
    }
    return PLUMB_OK;
}

plumb_status hgn_settings_horizons(hgn_horizons *out, const hgn_settings *s)
{
    double targets[HGN_STAGES], deadline[HGN_STAGES];
    int stages, deadlines;
    plumb_status st = read_list(targets, &stages, s->horizons, "horizons");
    if (!st) st = read_list(deadline, &deadlines, s->deadlines, "deadlines");
    if (st) return st;
    if (deadlines != stages)
        return fail(PLUMB_EVALUE, "horizons=%s has %d stages and deadlines=%s has %d; want as many",
                    s->horizons, stages, s->deadlines, deadlines);
    *out = (hgn_horizons){.count = stages + 1};
    for (int i = 0; i < stages; i++) {
        double before = i ? targets[i - 1] : 0.0, due = i ? deadline[i - 1] : 0.0;
        if (targets[i] < 1 || targets[i] <= before || targets[i] >= (double)s->targets)
            return fail(PLUMB_EVALUE, "horizons=%s; want rising numbers below targets=%lld",
                        s->horizons, (long long)s->targets);
        if (deadline[i] < due || deadline[i] > 1)
            return fail(PLUMB_EVALUE, "deadlines=%s; want rising numbers from 0 to 1",
                        s->deadlines);
        out->targets[i] = (int64_t)targets[i];
        out->deadline[i] = deadline[i];
    }
    out->targets[stages] = s->targets;
    out->deadline[stages] = 1.0;
    return PLUMB_OK;
}
