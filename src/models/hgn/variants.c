// SPDX-License-Identifier: MIT
// The relatives of HGN++ in the published code: LGN, ODE, RGN and AR. They share its encoder,
// decoder, objective, training and settings, and differ in what moves the state; so a row here is
// the table of HGN without the settings that mean nothing to it, and with its own.
#include <string.h>

#include "models/hgn/train.h"
#include "models/registry_rows.h"

enum { MOST_ROWS = 64 };

static const char *const cores[] = {"vanilla", "lstm", "gru", NULL}; // as hgn_core

#define AT(member) offsetof(hgn_settings, member)
// clang-format off
static const setting_spec residual = {"residual", SETTINGS_FLAG, AT(residual), {"on"}, 0, 0, NULL,
                                      "the map adds to the state, or else gives the next one", false};
static const setting_spec core = {"core", SETTINGS_CHOICE, AT(core), {"vanilla", "gru", "gru"}, 0, 0, cores,
                                  "kind of the recurrent cores; energy_layers and energy_width are theirs", false};
// clang-format on
#undef AT

static const char *const not_lgn[] = {"phase_space", "potential", "kinetic", "angles",
                                      "soften",      "seen",      NULL};
static const char *const not_rgn[] = {"base",        "angles",    "soften",   "seen",
                                      "phase_space", "potential", "kinetic",  "direction",
                                      "integrator",  "dt",        "substeps", NULL};
static const char *const not_ar[] = {"base",
                                     "angles",
                                     "soften",
                                     "seen",
                                     "spread",
                                     "bound",
                                     "phase_space",
                                     "potential",
                                     "kinetic",
                                     "direction",
                                     "integrator",
                                     "dt",
                                     "substeps",
                                     "split",
                                     "objective",
                                     "beta",
                                     "beta_last",
                                     "kappa",
                                     "alpha",
                                     "nested",
                                     "settle",
                                     "settle_ratio",
                                     "settle_slack",
                                     "transform_layers",
                                     "transform_width",
                                     NULL};

static setting_spec lgn_rows[MOST_ROWS], ode_rows[MOST_ROWS], rgn_rows[MOST_ROWS],
    ar_rows[MOST_ROWS];

static bool among(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name)) list++;
    return *list != NULL;
}

static void derive(setting_spec *out, const char *const *without, const setting_spec *with)
{
    int count = 0;
    for (const setting_spec *row = hgn_rows; row->name && count < MOST_ROWS - 2; row++)
        if (!among(row->name, without)) out[count++] = *row;
    if (with) out[count++] = *with;
}

__attribute__((constructor)) static void fill_tables(void)
{
    derive(lgn_rows, not_lgn, NULL);
    derive(ode_rows, not_lgn, NULL);
    derive(rgn_rows, not_rgn, &residual);
    derive(ar_rows, not_ar, &core);
}

// The settings with those that have no row.
static hgn_settings whole(const void *own, hgn_dynamics dynamics)
{
    hgn_settings s = *(const hgn_settings *)own;
    s.dynamics = dynamics;
    if (dynamics == HGN_MAP || dynamics == HGN_RECURRENT) {
        s.integrator = "general_euler"; // there is none
        s.dt = 1.0;
        s.substeps = 1;
    }
    if (dynamics == HGN_RECURRENT) s.objective = HGN_PLAIN;
    return s;
}

static plumb_status create(trainable_model *out, arena *mem, const void *own, hgn_dynamics dynamics,
                           const char *model, const training_settings *training,
                           const video_set *film)
{
    hgn_settings *s = ARENA_ALLOC(mem, hgn_settings, 1);
    if (!s) return PLUMB_EMEMORY;
    *s = whole(own, dynamics);
    return hgn_train_create(out, mem, s, model, training, film);
}

static int64_t clip(const void *own, hgn_dynamics dynamics)
{
    hgn_settings s = whole(own, dynamics);
    return hgn_train_clip_length(&s);
}

#define RELATIVE(id, text, dynamics)                                                          \
    static plumb_status create_##id(trainable_model *out, arena *mem, const void *own,        \
                                    const training_settings *training, const video_set *film) \
    {                                                                                         \
        return create(out, mem, own, dynamics, text, training, film);                         \
    }                                                                                         \
    static int64_t clip_##id(const void *own)                                                 \
    {                                                                                         \
        return clip(own, dynamics);                                                           \
    }
RELATIVE(lgn, "lgn", HGN_LAGRANGIAN)
RELATIVE(ode, "ode", HGN_FIELD)
RELATIVE(rgn, "rgn", HGN_MAP)
RELATIVE(ar, "ar", HGN_RECURRENT)

static const char *const flow_paper[] = {"integrator=rk2", NULL};
static const char *const flow_cpu[] = {"integrator=rk2", "steps=2000", "hold=0.4", NULL};
static const char *const map_cpu[] = {"steps=2000", "hold=0.4", NULL};
// All frames of a clip are encoded, not five: a narrower encoder and shorter clips make up for it.
static const char *const ar_cpu[] = {"steps=2000", "hold=0.4",    "encoder_width=16",
                                     "targets=30", "horizons=10", "deadlines=0.25",
                                     NULL};

const registry_entry lgn_row = {
    .name = "lgn",
    .summary = "Lagrangian generative network: positions and velocities [Higgins21, code]",
    .settings = lgn_rows,
    .settings_size = sizeof(hgn_settings),
    .adjust = {flow_paper, flow_cpu, flow_paper},
    .clip = clip_lgn,
    .create = create_lgn,
};

const registry_entry ode_row = {
    .name = "ode",
    .summary = "the same with a field that need not conserve anything, dz/dt = f(z)",
    .settings = ode_rows,
    .settings_size = sizeof(hgn_settings),
    .adjust = {flow_paper, flow_cpu, flow_paper},
    .clip = clip_ode,
    .create = create_ode,
};

const registry_entry rgn_row = {
    .name = "rgn",
    .summary = "the same with a map from frame to frame, forward only",
    .settings = rgn_rows,
    .settings_size = sizeof(hgn_settings),
    .adjust = {[SETTINGS_CPU] = map_cpu},
    .clip = clip_rgn,
    .create = create_rgn,
};

const registry_entry ar_row = {
    .name = "ar",
    .summary = "autoregressive: recurrent cores shown frame after frame, forward only",
    .settings = ar_rows,
    .settings_size = sizeof(hgn_settings),
    .adjust = {[SETTINGS_CPU] = ar_cpu},
    .clip = clip_ar,
    .create = create_ar,
};
