// SPDX-License-Identifier: MIT
// The losses of one run of a study, (clips, contexts, windows), and how its clips form tuples. The
// ranks of a parallel run each save a file, NAME_rank0.pth, NAME_rank1.pth, ..., which are joined.
#ifndef EVALUATE_LOSS_SET_H
#define EVALUATE_LOSS_SET_H

#include "base/arena.h"
#include "plumb/surprise.h"

typedef struct loss_set {
    const char *path;     ///< of the first file
    const char *block;    ///< the property that the clips test; "" if the file does not say
    int64_t frame_step;   ///< 0 if the file does not say
    plumb_array losses;   ///< (clips, contexts, windows) float64
    const char **context; ///< (contexts) "2", "4", ..; "" if the file does not say
    int64_t *slot;        ///< (clips) 4 tuple + place; places 0 and 1 are possible
    int64_t tuples;
    const char **concept; ///< (tuples) from the table of the clips; NULL without one
    int64_t files;        ///< that were joined
    int64_t repeated;     ///< clips of a later rank that an earlier one has too; left out
} loss_set;

/// Reads a file and, if it is of a rank, those of all other ranks. Everything lives in `mem`. The
/// option metadata names the table of clips that have names and no labels. Fails as
/// plumb_surprise_losses_read() does.
plumb_status loss_set_read(loss_set *out, arena *mem, const char *path,
                           const plumb_surprise_losses_options *opt);

/// The length of a path without _rankN.pth; 0 if it has no such end.
int64_t loss_set_stem(const char *path);

#endif
