// SPDX-License-Identifier: MIT
// Tracks of training videos in units of length, and what a model starts from: which object of a
// chain is the inner one, where its pivot is, how long its links are, how far apart objects get.
#ifndef MODELS_BODIES_TRACKS_H
#define MODELS_BODIES_TRACKS_H

#include "models/bodies/perception.h"
#include "models/bodies/settings.h"

typedef struct bodies_tracks {
    int64_t count, steps;
    double *xy;     ///< (count, steps, objects, 2), continuous also in a box
    double *radius; ///< (count, objects) in pixels
    sprite *looks;  ///< (count, objects)
    int64_t *video; ///< (count): the video of each
} bodies_tracks;

/// Pixels to units of length, in place: xy (steps, objects, 2). In a periodic box places become
/// continuous.
void tracks_to_units(double *xy, int64_t steps, const bodies_config *config);

/// Places (objects, 2) in units of length to pixels, in place; in a periodic box, to within it.
void tracks_to_pixels(double *xy, const bodies_config *config);

/// A circle through points (steps, stride): centre, radius, and the standard deviation of the
/// distances from the centre.
typedef struct track_circle {
    double x, y, radius, residual;
} track_circle;
track_circle tracks_fit_circle(const double *xy, int64_t steps, int stride);

/// Exchanges the two objects of a chain in xy (steps, 2, 2) if the second one is nearer to a
/// circle: about the pivot, or about any centre if `pivot` is NULL. Returns whether it did.
bool tracks_order_chain(double *xy, int64_t steps, const double *pivot);

/// Makes tracks of what was seen. Leaves out trajectories that are not drawn well. Fails with
/// PLUMB_EVALUE, in words, if these are more than half.
plumb_status tracks_make(bodies_tracks *out, arena *mem, const track_set *seen,
                         const bodies_config *config);

/// First constants (row_size) of trajectory `index` of a chain, with the objects in order.
void tracks_start_row(double *row, const bodies_tracks *tracks, const bodies_config *config,
                      int64_t index);

/// Changes a row so that the first link has this log length: the pivot moves towards or away from
/// the mean place of the object.
void tracks_use_length(double *row, const bodies_tracks *tracks, const bodies_config *config,
                       int64_t index, double log_length);

/// Distances between objects: two in a thousand are below the first, and two above the second.
plumb_status tracks_find_range(double range[2], const bodies_tracks *tracks,
                               const bodies_config *config);

#endif
