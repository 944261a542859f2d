// SPDX-License-Identifier: MIT
// Settings of the HGN family that a user can set, and the configuration that they make.
#ifndef MODELS_LATENT_DYNAMICS_SETTINGS_H
#define MODELS_LATENT_DYNAMICS_SETTINGS_H

#include "dataset/video.h"
#include "models/latent_dynamics/config.h"
#include "models/settings.h"

/// In the order of the table; each member is explained there.
typedef struct hgn_settings {
    int64_t window, targets;
    int split, direction;
    int64_t pairs;
    double initial_scale, log_scale_bound;
    bool standardise_frames, add_magnitudes;
    double colour_ramp_end;
    bool angular_positions;
    double circle_ramp_end;
    int decoder_input;
    int state_layout, encoder_kernels;
    int encoder_activation;
    int64_t encoder_kernel;
    bool separate_encoders;
    int64_t encoder_width, transform_layers, transform_width;
    int potential, kinetic;
    bool add_spring_energy;
    int64_t energy_layers, energy_width;
    int energy_activation;
    const char *integrator;
    double dt;
    int64_t substeps;
    int decoder;
    int64_t decoder_width, decoder_input_channels;
    bool decoder_halve_width;
    int decoder_activation;
    int64_t decoder_kernel;
    int output_range;
    int objective;
    int64_t beta_delay;
    double state_weight;
    double beta, beta_final, geco_tolerance, geco_alpha;
    int64_t decoded_targets, decoder_microbatch;
    const char *curriculum_targets;
    double curriculum_error;
    const char *curriculum_deadlines;
    bool nested_pairs;
    double selection_start, selection_ratio, selection_slack;
    // Of the variants; they have no entries in the table of HGN.
    hgn_dynamics dynamics;
    bool residual;
    int recurrent_core;
} hgn_settings;

/// One table for HGN++ and HGN, which differ in the values of their presets.
extern const setting_spec hgn_setting_specs[];
/// What follows from the direction of time. For models that have these settings.
extern const setting_implication hgn_setting_implications[];
/// What the presets set beyond the table, NULL at the end.
extern const char *const hgn_plus_plus_paper[],
    *const hgn_plus_plus_cpu[], *const hgn_plus_plus_angles[], *const hgn_plus_plus_state[],
                                                                   *const hgn_plus_plus_constants[];
extern const char *const hgn_original_paper[], *const hgn_original_cpu[],
                                                   *const hgn_original_tiny[];

/// The configuration for frames of the shape of `frames`, of which only height, width and channels
/// are used. Fails with PLUMB_EVALUE if settings do not fit together.
plumb_status hgn_settings_config(hgn_config *out, const hgn_settings *options,
                                 const video_set *frames);

#endif
