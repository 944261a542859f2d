// SPDX-License-Identifier: MIT
// The stages of SyMetric: input, batches or network, intervals.
#ifndef MEASURES_SYMETRIC_SYMETRIC_H
#define MEASURES_SYMETRIC_SYMETRIC_H

#include "measures/symetric/batch.h"

// The streams of random numbers drawn from the seed.
enum { STREAM_POINTS = 1, STREAM_BOOTSTRAP, STREAM_HELDOUT, STREAM_SHUFFLE, STREAM_WEIGHTS };

typedef struct symetric_work {
    arena mem;
    symetric_batch *batches; // (count)
    arena *batch_memory;
    int64_t count;
    int64_t size; // trajectories per batch
} symetric_work;

/// Checks the arrays and options and prepares what all batches share, in work->mem.
plumb_status symetric_input(symetric_batch_input *in, int64_t *dropped, symetric_work *work,
                            const plumb_array *latent, const plumb_array *truth,
                            const plumb_array *variance, const plumb_symetric_options *opt);

plumb_status symetric_batches(symetric_work *out, const symetric_batch_input *in);

/// The same by a network: one batch, of the held-out trajectories, which `in` then has first.
plumb_status symetric_network(symetric_work *out, plumb_symetric_training *training,
                              symetric_batch_input *in);

/// Fills in the intervals; scratch comes from work->mem.
plumb_status symetric_intervals(plumb_symetric *out, symetric_work *work,
                                const symetric_batch_input *in);

/// Sym of the true state itself, used as latents: no model can have a lower Sym. It is above 0 if
/// the truth is redundant, as a centre of mass at rest. Writes no log. Fails as
/// plumb_symetric_measure() does.
plumb_status symetric_floor(double *sym, const plumb_array *truth,
                            const plumb_symetric_options *opt);

/// How many trajectories PLUMB_SYMETRIC_METHOD_MLP needs, the held-out ones included, for `latents`
/// latents that are used, `states` true coordinates and `steps` steps.
int64_t symetric_required_trajectories(int64_t latents, int64_t states, int64_t steps,
                                       const plumb_symetric_options *opt);

/// Frees the memory, also after a failure.
void symetric_work_clear(symetric_work *work);

#endif
