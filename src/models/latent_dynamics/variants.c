// SPDX-License-Identifier: MIT
// The variants of HGN++ in the published code: LGN, ODE, RGN and AR. They share its encoder,
// decoder, objective, training and settings, and differ in what advances the state. So the settings
// of a variant are those of HGN without the ones that do not apply, and with its own.
#include <string.h>

#include "models/latent_dynamics/model.h"
#include "models/registry_entries.h"

enum { MAX_SPECS = 64 };

static const char *const cores[] = {"vanilla", "lstm", "gru", NULL}; // as hgn_core

#define AT(member) offsetof(hgn_settings, member)
// clang-format off
static const setting_spec residual_spec = {{"residual", OPTION_BOOL, AT(residual), NULL, 0, 0,
      "the network gives the change of the state, not the next state", NULL}, {"on"}, SETTING_FIXED};
static const setting_spec core_spec = {{"recurrent_core", OPTION_ENUM, AT(recurrent_core), cores, 0, 0,
      "kind of the recurrent cores; energy_layers and energy_width are their layers and units", NULL}, {"vanilla", "gru", "gru"}, SETTING_FIXED};
// clang-format on
#undef AT

// Settings of HGN that mean nothing to a variant.
static const char *const not_lgn[] = {
    "state_layout",    "potential",     "kinetic", "angular_positions",
    "circle_ramp_end", "decoder_input", NULL};
static const char *const not_rgn[] = {"add_spring_energy", "angular_positions",
                                      "circle_ramp_end",   "decoder_input",
                                      "state_layout",      "potential",
                                      "kinetic",           "direction",
                                      "integrator",        "dt",
                                      "substeps",          NULL};
static const char *const not_ar[] = {"add_spring_energy",
                                     "angular_positions",
                                     "circle_ramp_end",
                                     "decoder_input",
                                     "initial_posterior_scale",
                                     "log_scale_bound",
                                     "state_layout",
                                     "potential",
                                     "kinetic",
                                     "direction",
                                     "integrator",
                                     "dt",
                                     "substeps",
                                     "split",
                                     "objective",
                                     "beta",
                                     "beta_final",
                                     "beta_delay",
                                     "state_weight",
                                     "separate_encoders",
                                     "geco_tolerance",
                                     "geco_alpha",
                                     "nested_pairs",
                                     "selection_start",
                                     "selection_ratio",
                                     "selection_slack",
                                     "transform_layers",
                                     "transform_width",
                                     NULL};

// Tables of the variants, filled before main().
static setting_spec lgn_specs[MAX_SPECS], ode_specs[MAX_SPECS], rgn_specs[MAX_SPECS],
    ar_specs[MAX_SPECS];

static bool is_among(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name)) list++;
    return *list != NULL;
}

// The table of HGN without some rows and with one more; `with` may be NULL.
static void derive_specs(setting_spec *out, const char *const *without, const setting_spec *with)
{
    int count = 0;
    for (const setting_spec *spec = hgn_setting_specs; spec->option.name && count < MAX_SPECS - 2;
         spec++)
        if (!is_among(spec->option.name, without)) out[count++] = *spec;
    if (with) out[count++] = *with;
}

__attribute__((constructor)) static void fill_tables(void)
{
    derive_specs(lgn_specs, not_lgn, NULL);
    derive_specs(ode_specs, not_lgn, NULL);
    derive_specs(rgn_specs, not_rgn, &residual_spec);
    derive_specs(ar_specs, not_ar, &core_spec);
}

// The settings, with those that have no entry in the table of the variant.
static hgn_settings complete_settings(const void *options, hgn_dynamics dynamics)
{
    hgn_settings s = *(const hgn_settings *)options;
    s.dynamics = dynamics;
    if (dynamics == HGN_MAP || dynamics == HGN_RECURRENT) {
        s.integrator = "general_euler"; // not used
        s.dt = 1.0;
        s.substeps = 1;
    }
    if (dynamics == HGN_RECURRENT) s.objective = HGN_MSE;
    return s;
}

// The model of HGN with other dynamics. The completed settings live as long as the model.
static plumb_status create_variant(trainable_model *out, arena *mem, const void *options,
                                   hgn_dynamics dynamics, const char *name,
                                   const training_settings *training, const video_set *videos)
{
    hgn_settings *s = ARENA_ALLOC(mem, hgn_settings, 1);
    if (!s) return PLUMB_EMEMORY;
    *s = complete_settings(options, dynamics);
    return hgn_model_create(out, mem, s, name, training, videos);
}

// Frames of a training clip of a variant.
static int64_t variant_clip_length(const void *options, hgn_dynamics dynamics)
{
    hgn_settings s = complete_settings(options, dynamics);
    return hgn_model_clip_length(&s);
}

#define VARIANT(id, text, dynamics)                                                             \
    static plumb_status create_##id(trainable_model *out, arena *mem, const void *options,      \
                                    const training_settings *training, const video_set *videos) \
    {                                                                                           \
        return create_variant(out, mem, options, dynamics, text, training, videos);             \
    }                                                                                           \
    static int64_t clip_##id(const void *options)                                               \
    {                                                                                           \
        return variant_clip_length(options, dynamics);                                          \
    }
VARIANT(lgn, "lgn", HGN_LAGRANGIAN)
VARIANT(ode, "ode", HGN_FIELD)
VARIANT(rgn, "rgn", HGN_MAP)
VARIANT(ar, "ar", HGN_RECURRENT)

// Presets. General flows are not separable, so they need a Runge-Kutta method.
static const char *const flow_paper[] = {"integrator=rk2", NULL};
static const char *const flow_cpu[] = {"integrator=rk2", "steps=2000", "decay_start=0.4", NULL};
static const char *const map_cpu[] = {"steps=2000", "decay_start=0.4", NULL};
// All frames of a clip are encoded, not five: a narrower encoder and shorter clips save the time.
static const char *const ar_cpu[] = {
    "steps=2000", "decay_start=0.4",       "encoder_width=16",
    "targets=30", "curriculum_targets=10", "curriculum_deadlines=0.25",
    NULL};

const registry_entry lgn_entry = {
    .name = "lgn",
    .summary = "Lagrangian generative network: positions and velocities [Higgins21, code]",
    .setting_specs = lgn_specs,
    .renamed_settings = renames_latent_dynamics,
    .implications = hgn_setting_implications,
    .settings_size = sizeof(hgn_settings),
    .preset_changes = {flow_paper, flow_cpu, flow_paper},
    .clip_length = clip_lgn,
    .create = create_lgn,
};

const registry_entry ode_entry = {
    .name = "ode",
    .summary = "the same with a field that need not conserve anything, dz/dt = f(z)",
    .setting_specs = ode_specs,
    .renamed_settings = renames_latent_dynamics,
    .implications = hgn_setting_implications,
    .settings_size = sizeof(hgn_settings),
    .preset_changes = {flow_paper, flow_cpu, flow_paper},
    .clip_length = clip_ode,
    .create = create_ode,
};

const registry_entry rgn_entry = {
    .name = "rgn",
    .summary = "the same with a map from frame to frame, forward only",
    .setting_specs = rgn_specs,
    .renamed_settings = renames_latent_dynamics,
    .implications = hgn_setting_implications,
    .settings_size = sizeof(hgn_settings),
    .preset_changes = {[SETTINGS_CPU] = map_cpu},
    .clip_length = clip_rgn,
    .create = create_rgn,
};

const registry_entry ar_entry = {
    .name = "ar",
    .summary = "autoregressive: recurrent cores shown frame after frame, forward only",
    .setting_specs = ar_specs,
    .renamed_settings = renames_latent_dynamics,
    .implications = hgn_setting_implications,
    .settings_size = sizeof(hgn_settings),
    .preset_changes = {[SETTINGS_CPU] = ar_cpu},
    .clip_length = clip_ar,
    .create = create_ar,
};
