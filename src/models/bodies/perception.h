// SPDX-License-Identifier: MIT
// From frames to the places of objects, without a network. The background is the median of frames.
// Colours are the directions in which pixels differ from it, found by spherical k-means. A first
// place is the centroid of a colour; Gauss-Newton steps on the picture make it exact, in turns with
// the radius, the colour and the edge of the sprites.
#ifndef MODELS_BODIES_PERCEPTION_H
#define MODELS_BODIES_PERCEPTION_H

#include "dataset/video.h"
#include "models/bodies/sprites.h"

typedef struct perception_options {
    int objects;    ///< in every video, 1 to SPRITES_MAX
    int colours;    ///< in all videos together, `objects` to SPRITES_MAX
    bool periodic;  ///< objects that leave the picture return on the other side
    bool own_looks; ///< radius and colour differ from video to video
    uint64_t seed;  ///< of the frames and pixels that are drawn
    int threads;    ///< does not affect the result
} perception_options;

/// What is learnt from training videos. Every number is a float, so that it can be stored as one.
typedef struct perception {
    sprite_scene scene; ///< with own looks, the sprites are not used
    int colours;
    float direction[SPRITES_MAX][SPRITES_CHANNELS]; ///< of colours, seen from the background
    float contrast[SPRITES_MAX];                    ///< of colours: their distance from it
    bool periodic, own_looks;
} perception;

/// Places of the objects in videos.
typedef struct track_set {
    int64_t count, steps;
    int objects;
    double *xy;    ///< (count, steps, objects, 2) in pixels, x before y
    double *error; ///< (count, steps): mean squared error of the picture
    sprite *looks; ///< (count, objects)
} track_set;

/// Learns background, colours and sprites. Memory is taken from `mem`. Fails with PLUMB_EVALUE and
/// says in words which assumption the videos do not meet.
plumb_status perception_learn(perception *out, arena *mem, const video_set *videos,
                              const perception_options *options);

/// Finds the objects in all frames of `videos`.
plumb_status perception_track(track_set *out, arena *mem, const perception *seen,
                              const video_set *videos, int threads);

/// The scene of one video: that of all, with its own looks.
sprite_scene perception_scene(const perception *seen, const sprite *looks);

#endif
