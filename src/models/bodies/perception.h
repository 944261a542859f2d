// SPDX-License-Identifier: MIT
// From frames to the places of objects, without a network. The background is the median of frames.
// Colours are the directions in which pixels differ from it, found by spherical k-means. A first
// place is the centroid of a colour; Gauss-Newton steps on the picture make it exact, in turns with
// the radius, the colour and the edge of the sprites. Objects of one colour are told apart by the
// continuity of their tracks.
#ifndef MODELS_BODIES_PERCEPTION_H
#define MODELS_BODIES_PERCEPTION_H

#include "dataset/video.h"
#include "models/bodies/sprites.h"

/// Pixels outside of the picture in which an object is looked for; none if it is periodic.
enum { PERCEPTION_MARGIN = 3 };

typedef struct perception_options {
    int objects;    ///< in every video, 1 to SPRITES_MAX
    int colours;    ///< in all videos together; fewer than `objects`: some share a colour
    bool periodic;  ///< objects that leave the picture return on the other side
    bool own_looks; ///< radius and colour differ from video to video
    bool profile;   ///< learn how the cover falls off from the centre; not with own looks
    bool quick;     ///< fewer frames and rounds, to compare numbers of objects
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
    int colour_of[SPRITES_MAX];    ///< colour of each object, increasing; not with own looks
    bool grouped;                  ///< objects share colours
    bool textured;                 ///< the background has many colours
    double mean[SPRITES_CHANNELS]; ///< of the background
} perception;

/// Sets mean, textured and grouped from the other members.
void perception_prepare(perception *seen);

/// Places of the objects in videos.
typedef struct track_set {
    int64_t count, steps;
    int objects;
    double *xy;    ///< (count, steps, objects, 2) in pixels, x before y
    double *error; ///< (count, steps): mean squared error of the picture
    double *mass;  ///< (count, steps, objects): sum of contrasts of the pixels of its colour
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

/// The number of objects, if the user does not know it: the smallest whose error of the picture is
/// within a margin of the least. `text` says what was tried. Fails with PLUMB_EVALUE if no number
/// explains the frames.
typedef struct perception_choice {
    int objects, colours;
    char text[400];
} perception_choice;
plumb_status perception_choose(perception_choice *out, const video_set *videos,
                               const perception_options *options);

#endif
