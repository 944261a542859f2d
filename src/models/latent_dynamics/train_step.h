// SPDX-License-Identifier: MIT
// One training step of the HGN family on a shard of the batch: the programs, shared by all
// replicas, and the memory of a replica.
#ifndef MODELS_LATENT_DYNAMICS_TRAIN_STEP_H
#define MODELS_LATENT_DYNAMICS_TRAIN_STEP_H

#include "engine/program.h"
#include "models/latent_dynamics/config.h"

typedef struct hgn_step hgn_step;
typedef struct hgn_replica hgn_replica;

typedef struct hgn_step_spec {
    int64_t batch;      ///< items of a shard
    int64_t decoded;    ///< frames per rollout that are decoded, at most the targets
    int64_t microbatch; ///< frames that are decoded at once
    bool nested;        ///< items say how many pairs of latents they use
} hgn_step_spec;
plumb_status hgn_step_create(hgn_step **out, params *layout, const hgn_config *config,
                             const hgn_step_spec *spec);
void hgn_step_free(hgn_step *step);
/// The programs of the rollout and of the decoder, for reports.
const graph_program *hgn_step_rollout_program(const hgn_step *step);
const graph_program *hgn_step_decoder_program(const hgn_step *step);

/// `parameters` is the block of parameters; it is read in place.
plumb_status hgn_replica_create(hgn_replica **out, const hgn_step *step, const float *parameters);
void hgn_replica_free(hgn_replica *replica);

/// An item: a clip of hgn_frame_plan_make(config).length frames, and what was drawn for it.
typedef struct hgn_item {
    const uint8_t *clip;
    bool backward;        ///< the rollout runs backward in time from the clip's last frames
    int64_t pairs;        ///< in use; only if nested
    const float *noise;   ///< of the state's size
    const int64_t *times; ///< (decoded), which targets are decoded
    const double *weight; ///< (decoded), of the squared error of each
} hgn_item;

/// What a step computes, besides gradients, and what its parts weigh.
typedef struct hgn_step_errors {
    double kl_weight, state_weight;
    double *l2; ///< (batch, decoded), squared error of each decoded frame
    double *kl; ///< (batch), KL divergence
    double
        *state; ///< (batch), of the state at the far end; zeros if the config has no state_weight
} hgn_step_errors;

/// Adds the gradient of the sum over items of (sum_j weight_j l2_j + kl_weight KL + state_weight
/// state) to `gradient`, a block like the parameters', and fills `errors`.
void hgn_replica_run(hgn_replica *replica, const hgn_item *items, float *gradient,
                     hgn_step_errors *errors);

#endif
