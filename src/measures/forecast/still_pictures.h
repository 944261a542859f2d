// SPDX-License-Identifier: MIT
// What predictors that never move score: the mean of all true frames, and a copy of the last frame
// before those that the VPT counts. A VPT says something only where these are shorter.
#ifndef MEASURES_FORECAST_STILL_PICTURES_H
#define MEASURES_FORECAST_STILL_PICTURES_H

#include "measures/forecast/frame_errors.h"

/// The errors of the two pictures: of every frame that the VPT counts, (trajectories, plan.vpt).
typedef struct still_pictures {
    double *mean; ///< of the mean frame
    double *copy; ///< of the copy; NULL if no frame comes before
} still_pictures;

/// The mean of all frames of the truth, (height, width, channels). NULL if out of memory.
const double *still_pictures_mean_frame(arena *mem, const plumb_array *truth);

/// The truth is finite. Memory is taken from `mem`. Fails with PLUMB_EMEMORY or PLUMB_ESTOPPED.
plumb_status still_pictures_compute(still_pictures *out, arena *mem,
                                    const frame_errors_source *from, const frame_errors *table,
                                    const double *mean_frame);

/// The mean of `count` errors; black frames, where it is NaN or infinite, are left out.
double still_pictures_mean_error(const double *errors, int64_t count);

#endif
