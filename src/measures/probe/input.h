// SPDX-License-Identifier: MIT
// What is probed: the latents, which stay where they are, and the columns of all targets.
#ifndef MEASURES_PROBE_INPUT_H
#define MEASURES_PROBE_INPUT_H

#include "base/arena.h"
#include "plumb/probe.h"

/// A column of a target, or the sine or cosine of one.
typedef struct probe_column {
    const plumb_array *array;
    int64_t width, index; ///< columns of the array, and which of them this is
    bool per_step;
    enum { PROBE_VALUE, PROBE_SINE, PROBE_COSINE } part;
    int64_t target;     ///< of plumb_probe.line
    bool constant;      ///< it never changes
    double mean, scale; ///< in `y` it is (value - mean) scale
} probe_column;

typedef struct probe_data {
    const plumb_array *latent, *frames, *action; ///< the latter two may be NULL
    int64_t trajectories, steps, dims;
    int64_t rows;          ///< of all trajectories
    int64_t flat_rows;     ///< rows of the arrays if they have no axis of steps; else 0
    const int64_t *length; ///< (trajectories) steps of each
    const int64_t *row;    ///< (trajectories) first row of each in the arrays
    const int64_t *start;  ///< (trajectories) first row of each in `y`
    int64_t columns, targets;
    probe_column *column; ///< (columns); those of one target follow each other
    /// (rows, columns) shifted to mean 0 and, but for sines and cosines, divided by the deviation.
    /// No score depends on that, but sums of squares lose no digits.
    double *y;
    int64_t shuffles;
    const int64_t *partner; ///< (shuffles, trajectories) whose targets a trajectory gets
    const double *ood;      ///< (trajectories) mean value that divides them, or NULL
    int threads;
} probe_data;

/// Checks the input and reads all targets. Lines, without scores, and names are in `mem` too.
/// Fails as plumb_probe_measure().
plumb_status probe_data_read(probe_data *out, plumb_probe_line **lines, arena *mem,
                             const plumb_probe_input *in, const plumb_probe_options *opt);

#endif
