// SPDX-License-Identifier: MIT
// Pictures of trajectories: a film strip, and the path through phase space below it; of tuples of
// clips, four strips.
#ifndef PLUMB_FILM_H
#define PLUMB_FILM_H

#include "plumb/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_film_options {
    size_t size;
    int64_t frames; ///< on the strip, evenly from the first to the last; 0: 10, of a tuple 20
    int64_t steps;  ///< only so many frames of the trajectory, 0: all
} plumb_film_options;
PLUMB_API plumb_film_options plumb_film_defaults(void);

/// How large the picture became, in pixels.
typedef struct plumb_film {
    int64_t width, height;
} plumb_film;

/// Draws an item of a dataset to `path`, which ends in .png or .svg. Frames are shown the right way
/// up: as the file says (upright), or else its world, or else as they are. The portrait is of
/// `canonical`, or else of `state`; a file with neither gets the strip alone, and one without
/// frames the portrait alone. A tuple of four clips becomes four strips, with a red line where an
/// impossible one goes over from one possible clip to the other. `opt` may be NULL. The picture
/// appears whole or not at all, replacing what was there.
PLUMB_API plumb_status plumb_film_draw(plumb_film *out, const char *path, plumb_dataset *dataset,
                                       int64_t item, const plumb_film_options *opt);

#ifdef __cplusplus
}
#endif
#endif
