// SPDX-License-Identifier: MIT
// Curricula of the HGN family. Rollouts get longer from stage to stage, the number of latent pairs
// in use is selected, and angles and colours are introduced gradually.
#ifndef MODELS_LATENT_DYNAMICS_CURRICULUM_H
#define MODELS_LATENT_DYNAMICS_CURRICULUM_H

#include "models/latent_dynamics/settings.h"

enum {
    HGN_MAX_STAGES = 8,
    HGN_MAX_PAIR_COUNTS = 13, ///< 1, 2, 4, .. 4096 pairs
};

/// Frames to predict, stage after stage of training, and the part of training at which a stage ends
/// at the latest. The last stage has all targets.
typedef struct hgn_stages {
    int count;
    int64_t targets[HGN_MAX_STAGES];
    double deadline[HGN_MAX_STAGES]; ///< 0 to 1
} hgn_stages;
plumb_status hgn_stages_read(hgn_stages *out, const hgn_settings *options);

/// State of the curricula in a checkpoint, in this order; then a mean error per pair count.
enum {
    HGN_STATE_STAGE,          ///< index of the stage
    HGN_STATE_STAGE_ERROR,    ///< mean squared error over about 100 steps of the stage
    HGN_STATE_STAGE_START,    ///< step at which the stage began
    HGN_STATE_GECO_AVERAGE,   ///< moving average of GECO's constraint
    HGN_STATE_SELECTED_PAIRS, ///< pairs in use; 0: not selected yet
    HGN_STATE_PAIR_ERRORS
};

typedef struct hgn_curriculum {
    const hgn_settings *settings;
    const hgn_config *config;
    double pixel_variance; ///< of the training videos
    hgn_stages stages;
    int pair_counts; ///< nested sizes; 0: not nested
    int64_t pair_count[HGN_MAX_PAIR_COUNTS];
    const params *layout;
    float *parameters;
    double *state; ///< (HGN_STATE_PAIR_ERRORS + pair_counts)
} hgn_curriculum;

/// Fills the list of pair counts: 1, 2, 4, .. and all.
void hgn_curriculum_list_pairs(hgn_curriculum *curriculum);
/// Sets state and fixed parameters as before the first step.
void hgn_curriculum_start(hgn_curriculum *curriculum);
/// What follows a step: `l2` is the batch's squared error per pixel; pair_error[2 i] is the sum of
/// errors of the items with pair_count[i] pairs, pair_error[2 i + 1] their number. `done` is the
/// part of training that is over, 0 to 1.
void hgn_curriculum_after_step(hgn_curriculum *curriculum, int64_t step, double done, double l2,
                               const double *pair_error);
/// Weight of the KL divergence in `step`, when the part `done` of training is over.
double hgn_curriculum_kl_weight(const hgn_curriculum *curriculum, int64_t step, double done);

#endif
