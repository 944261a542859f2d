// SPDX-License-Identifier: MIT
// What a readout is made from: rows of numbers, one per step. They are computed when they are
// needed and never held all at once.
#ifndef MEASURES_PROBE_FEATURES_H
#define MEASURES_PROBE_FEATURES_H

#include "measures/probe/input.h"

enum { PROBE_CHUNK = 256 }; ///< Rows at a time.

typedef enum probe_features_kind {
    PROBE_LATENT,     ///< the latents of the step
    PROBE_KERNEL,     ///< and Gaussian kernels at some of them
    PROBE_PAST,       ///< a random projection of the latents of earlier steps
    PROBE_PROJECTION, ///< a random projection of the frame
    PROBE_PIXELS,     ///< the pixels of the frame, or means over squares of pixels
    PROBE_ACTION,     ///< the actions of the step
} probe_features_kind;

typedef struct probe_features {
    const probe_data *data;
    probe_features_kind kind;
    int64_t dims;   ///< numbers per row
    int64_t stride; ///< every Nth step is a row
    /// (dims) Rows are (x - shift) scale: about mean 0 and deviation 1. A constant has scale 0.
    double *shift, *scale;
    // Projections and pixels: number i of `inputs` is added to column bucket[i], times weight[i].
    int64_t inputs, window;
    int64_t *bucket;
    double *weight;
    // Kernels.
    const struct probe_features *latents;
    double *centre, *centre_square; ///< (centres, latents), (centres)
    int64_t centres;
    double sharpness; ///< kernel = exp(-sharpness |x - centre|^2)
} probe_features;

/// The features of a kind; for kernels see below. `stride` as above. Fails with PLUMB_EMEMORY,
/// PLUMB_ENUMERIC if a number is not finite.
plumb_status probe_features_create(probe_features *out, arena *mem, const probe_data *data,
                                   probe_features_kind kind, int64_t stride,
                                   const plumb_probe_options *opt);

/// Latents and kernels. The width of a kernel is the root mean square of the latents / `scale`.
plumb_status probe_features_create_kernel(probe_features *out, arena *mem,
                                          const probe_features *latents, double scale,
                                          const plumb_probe_options *opt);

/// Rows of a trajectory.
int64_t probe_features_row_count(const probe_features *features, int64_t trajectory);

/// Doubles of scratch memory for probe_features_get().
int64_t probe_features_scratch(const probe_features *features);

/// out (count, dims) = rows first .. first+count-1 of a trajectory; count at most PROBE_CHUNK.
void probe_features_get(double *out, const probe_features *features, int64_t trajectory,
                        int64_t first, int64_t count, double *scratch);

#endif
