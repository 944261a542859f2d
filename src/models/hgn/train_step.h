// SPDX-License-Identifier: MIT
// One training step of an HGN on a share of the batch: the programs, shared by all replicas, and a
// replica's memory.
#ifndef MODELS_HGN_TRAIN_STEP_H
#define MODELS_HGN_TRAIN_STEP_H

#include "models/hgn/hgn.h"

typedef struct hgn_step hgn_step;
typedef struct hgn_replica hgn_replica;

/// Programs for `batch` items whose rollouts are scored at `decoded` frames each (at most the
/// targets), `group` frames at a time. With `nested`, items say which pairs of latents they use.
plumb_status hgn_step_create(hgn_step **out, params *p, const hgn_config *c, int64_t batch,
                             int64_t decoded, int64_t group, bool nested);
void hgn_step_free(hgn_step *s);
/// The rollout's and the decoder's programs, for reports.
const graph_program *hgn_step_program(const hgn_step *s, bool decoder);

/// `value` is the block of parameters, read where it is.
plumb_status hgn_replica_create(hgn_replica **out, const hgn_step *s, const float *value);
void hgn_replica_free(hgn_replica *r);

/// An item: a clip of hgn_frame_plan_make(c).length frames of bytes, and what was drawn for it.
typedef struct hgn_item {
    const uint8_t *clip;
    bool backward;        // the rollout runs into the past from the clip's last frames
    int64_t pairs;        // in use; only if nested
    const float *noise;   // of the state's size
    const int64_t *times; // (decoded), which targets are decoded
    const double *weight; // (decoded), of the squared error of each
} hgn_item;

/// Adds the gradient of sum over items of (sum_j weight_j l2_j + kl_weight KL) to `gradient`, a
/// block like the parameters'. l2 (batch, decoded) and kl (batch) are filled.
void hgn_replica_run(hgn_replica *r, const hgn_item *item, double kl_weight, float *gradient,
                     double *l2, double *kl);

/// bytes / 255 of `count` frames, side by side in the channels: (image, image, count * channels).
void hgn_pack_window(float *out, const uint8_t *frames, const hgn_config *c, int64_t count);

#endif
