// SPDX-License-Identifier: MIT
// Ridge regressions of all targets on one kind of features, for all folds and penalties.
//
// The rows are read twice. The first time gives sums and products of each fold, from which every
// fit to some of the folds follows, and also its error on a fold that was left out. The second time
// the chosen readouts predict the trajectories of the folds that they were not fitted to.
#ifndef MEASURES_PROBE_READOUT_H
#define MEASURES_PROBE_READOUT_H

#include "measures/probe/features.h"

enum { PROBE_MAX_FOLDS = 21 }; ///< Of the option, and one that is only for testing.

/// Which trajectories are fitted to and which are tested.
typedef struct probe_split {
    int folds;
    const int *fold;              ///< (trajectories) 0 .. folds-1
    const bool *fitted;           ///< (trajectories) false: not fitted to, in any fold
    bool tested[PROBE_MAX_FOLDS]; ///< whether a fold is predicted from the others
} probe_split;

/// Sums over the rows of a trajectory of the target y and its readout p.
typedef struct probe_sums {
    double rows, y, yy, p, pp, yp;
    double error;    ///< sum of (y - p)^2
    double relative; ///< the same / variance of y in the rows fitted to
} probe_sums;

typedef struct probe_readout_input {
    const probe_features *features;
    const probe_split *split;
    int64_t shuffles;      ///< of the targets, which are read out too
    const double *penalty; ///< (penalties) ascending
    int64_t penalties;
    /// Rows to be read out too, by the readouts of the fold of each trajectory; may be NULL. Both
    /// predictions (rows, columns of the targets) are in the units of the targets; NULL: not
    /// wanted.
    const probe_features *other;
    double *predicted, *other_predicted;
    double progress, share; ///< where the progress starts, and how much of all this is
} probe_readout_input;

typedef struct probe_readout {
    int64_t columns; ///< of the targets times (1 + shuffles)
    int64_t targets; ///< likewise
    const probe_split *split;
    probe_sums *sums;       ///< (trajectories, columns); zeros if not tested
    double *penalty;        ///< (folds, targets) that was chosen
    double *left_out_error; ///< (folds, targets) with it, per row, while choosing
} probe_readout;

/// The arithmetic of such a fit, in floating-point operations: of `rows` rows of `dims` numbers,
/// for `columns` columns of targets, shuffles included.
double probe_readout_flops(double rows, int64_t dims, int64_t columns, int folds,
                           int64_t penalties);
/// Its memory in bytes; `threads` becomes the threads that it would use.
double probe_readout_bytes(int *threads, int64_t dims, int64_t columns, int folds);

/// Fits and predicts. All memory is in `mem`. Fails with PLUMB_EMEMORY, PLUMB_ESTOPPED,
/// PLUMB_ENUMERIC if no penalty makes a fit possible.
plumb_status probe_readout_run(probe_readout *out, arena *mem, const probe_readout_input *in);

#endif
