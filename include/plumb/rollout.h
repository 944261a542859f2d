// SPDX-License-Identifier: MIT
// Rollouts: what a trained model predicts for videos it has never seen, as arrays in a file.
#ifndef PLUMB_ROLLOUT_H
#define PLUMB_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The options. Take them from plumb_rollout_defaults() and change what you need.
typedef struct plumb_rollout_options {
    size_t size;       ///< sizeof(plumb_rollout_options)
    int64_t count;     ///< Videos, at least 2. Default 10.
    int64_t steps;     ///< Frames per video, at least 1. Default 120.
    int64_t first;     ///< Index of the first test video, at least 0. Default 0.
    const char *world; ///< World of the videos. May be NULL: that of the run. Default NULL.
    const char *data;  ///< A file of videos instead of a world. May be NULL. Default NULL.
    bool backward; ///< Take the last frames as input and predict the earlier ones. Default false.
    int threads;   ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
    /// The trajectories on which plumb evaluate measures R2, Sym and kappa, 100 of 60 steps by its
    /// defaults, instead of those of its forecast. Writes latents and states, no frames. `steps`
    /// are those of the file. Default false.
    bool measured;
    /// Steps of rollouts that start from the first state of the first video with one latent, q or
    /// p, at -2, 0 and 2, 0 to 100000. Default 0: none.
    int64_t traversal_steps;
    /// Write `encoded` too: the latents that the model infers around each frame, from true frames
    /// alone. Default true.
    bool encoded;
} plumb_rollout_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_rollout_defaults() calls it.
PLUMB_API void plumb_rollout_options_init(plumb_rollout_options *options, size_t size);

/// The defaults.
static inline plumb_rollout_options plumb_rollout_defaults(void)
{
    plumb_rollout_options options;
    plumb_rollout_options_init(&options, sizeof options);
    return options;
}

/// Writes the rollout of the run directory `run` to `path`, an .npz or .h5 file that `plumb
/// measure`, `plumb forecast` and `plumb report` read: latent (count, steps, 2m), truth (count,
/// steps, 2n), variance (count, 2m), frames and prediction (count, steps, height, width, channels);
/// momenta (count, steps, m) of a Lagrangian model, whose latents are (q, v); traversal (m, 3,
/// height, width, channels), the first frame with each latent position at -2, 0 and 2; and
/// canonical coordinates if the world has them; parameters (count, total) of the trajectories if
/// they are simulated, in the order of plumb_world_info. With `traversal_steps` T it also has
/// traversal_states (2m, 3, T, 2m) and traversal_frames (2m, 3, 5, height, width, channels), five
/// steps of each evenly spaced. A model that cannot run backward starts at the
/// first frame it can predict. With `measured` there are no frames, prediction and traversal.
/// encoded (count, steps, 2m) has the latents that the model infers from the true frames around
/// each step, NaN where there are too few frames before or after it; together with latent it is the
/// input of `plumb dynamics`. It is left out backward and with `measured`. energy (count, steps) is
/// that of the true states. latent_names (2m, 8) are bytes, padded with 0, if the latents of the
/// model have names. tracks (count, steps, objects, 2) are the predicted places of objects in
/// pixels, x (the column) before y (the row), if the model has them; not with `measured`.
///
/// A video model predicts each frame from the true frames before it. `count` is tuples of each
/// probe room, or of the one that `world` names, or of the file `data`: truth (tuples, 4, frames,
/// height, width, channels), prediction of all frames but the first, feature (tuples, 4, d),
/// concept and surprise (tuples, 4, frames - 1) in sums over pixels, which `plumb surprise` reads.
/// With another `world` it is clips: frames and prediction (count, frames, height, width,
/// channels), feature (count, d). `steps` does not count.
///
/// May be NULL: options. Fails with PLUMB_EVALUE for `backward` of a model that cannot run
/// backward, and for `backward` with `measured`.
PLUMB_API plumb_status plumb_rollout_save(const char *path, const char *run,
                                          const plumb_rollout_options *options);

#ifdef __cplusplus
}
#endif
#endif
