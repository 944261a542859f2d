// SPDX-License-Identifier: MIT
// Losses of other benchmarks, arranged in tuples of four clips.
#ifndef MEASURES_SURPRISE_LOSS_TUPLES_H
#define MEASURES_SURPRISE_LOSS_TUPLES_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// slot (clips): 4 * tuple + place of each clip, from labels (clips), 1 possible and 0 impossible,
/// in matched pairs one after the other. Two pairs form a tuple if `quadruples`, else one. Fails
/// with PLUMB_EVALUE if a pair does not have one of each.
plumb_status loss_tuples_assign_slots(int64_t *slot, const plumb_array *labels, bool quadruples);

/// Sets surprise, pairs and padded of `out`, in `mem`, from losses (clips, contexts, windows) and
/// slot (clips); a clip with a negative slot is left out. Places 0 and 1 are possible, 2 and 3
/// impossible. If only places 0 and 2 are taken, the file has pairs. `context` and `frames` are
/// those of plumb_surprise_losses_options. Fails with PLUMB_ESHAPE, PLUMB_EVALUE or PLUMB_ENUMERIC.
plumb_status loss_tuples_make(plumb_surprise_losses *out, arena *mem, const plumb_array *losses,
                              const int64_t *slot, int64_t context, plumb_surprise_frames frames);

#endif
