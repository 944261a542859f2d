// SPDX-License-Identifier: MIT
// Checks that a model fits what it is evaluated on: videos, probes, or another model. All of them
// are here, and every message names both.
#ifndef EVALUATE_MATCH_H
#define EVALUATE_MATCH_H

#include "evaluate/trained_model.h"

/// Fails with PLUMB_ESHAPE unless frames of `name`, a file or a world, have the shape that the
/// model was trained on. Only height, width and channels of `videos` are used.
plumb_status match_frames(const trained_model *trained, const char *name, const video_set *videos);

/// The naive model predicts the same clips as the model and is subtracted from it. Fails with
/// PLUMB_EVALUE if it is the same run or another kind of model, PLUMB_ESHAPE if its frames differ.
plumb_status match_naive(const trained_model *trained, const trained_model *naive);

/// Fails with PLUMB_EVALUE if the file `path` holds the videos that the model was trained on. The
/// videos are compared, not the paths: a copy is found too.
plumb_status match_unseen(const trained_model *trained, const char *path);

#endif
