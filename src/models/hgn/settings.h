// SPDX-License-Identifier: MIT
// What a user may set of HGN and HGN++, and the configuration it makes.
#ifndef MODELS_HGN_SETTINGS_H
#define MODELS_HGN_SETTINGS_H

#include "dataset/video.h"
#include "models/hgn/hgn.h"
#include "models/settings.h"

enum { HGN_STAGES = 8 }; // of the horizon

typedef struct hgn_settings {
    int64_t window, targets;
    int split, direction;
    int64_t pairs;
    double spread, bound;
    bool standard, sizes;
    double colours;
    bool angles;
    double soften;
    int seen;
    int phase_space, encoder;
    int64_t encoder_width, transform_layers, transform_width;
    int potential, kinetic;
    bool base;
    int64_t energy_layers, energy_width;
    int energy_activation;
    const char *integrator;
    double dt;
    int64_t substeps;
    int decoder;
    int64_t decoder_width, decoder_start;
    bool decoder_taper;
    int objective;
    double beta, beta_last, kappa, alpha;
    int64_t decoded, group;
    const char *horizons;
    double extend;
    const char *deadlines;
    bool nested;
    double settle, settle_ratio, settle_slack;
    // Of the relatives; they have no rows in the table of HGN.
    hgn_dynamics dynamics;
    bool residual;
    int core;
} hgn_settings;

/// One table for both models; HGN differs in the values of its presets.
extern const setting_spec hgn_rows[];
/// What the presets set beyond the table, NULL at the end.
extern const char *const hgn_plus_plus_cpu[],
    *const hgn_plus_plus_angles[], *const hgn_plus_plus_state[], *const hgn_plus_plus_constants[];
extern const char *const hgn_original_paper[], *const hgn_original_cpu[],
                                                   *const hgn_original_tiny[];

/// The configuration for images of this size. Fails with PLUMB_EVALUE if sizes do not fit.
plumb_status hgn_settings_config(hgn_config *out, const hgn_settings *s, int64_t image,
                                 int64_t channels);

/// Frames to be predicted, stage after stage of training, and the part of training at which a stage
/// ends at the latest. The last stage has all targets.
typedef struct hgn_horizons {
    int count;
    int64_t targets[HGN_STAGES];
    double deadline[HGN_STAGES];
} hgn_horizons;
plumb_status hgn_settings_horizons(hgn_horizons *out, const hgn_settings *s);

#endif
