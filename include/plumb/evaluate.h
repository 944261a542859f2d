// SPDX-License-Identifier: MIT
// Evaluation: a trained run judged on films it has never seen, by every measure there is for it.
#ifndef PLUMB_EVALUATE_H
#define PLUMB_EVALUATE_H

#include "plumb/canonical.h"
#include "plumb/forecast.h"
#include "plumb/symetric.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_evaluate_options {
    size_t size;
    int64_t count;     ///< films of the forecast, 30
    int64_t steps;     ///< frames the VPT can count, 1000
    int64_t measured;  ///< trajectories of the phase-space measures, 100; frames 0 .. 59 of each
    int64_t first;     ///< number of the first film among those never used for training, 0
    const char *world; ///< NULL: that of the run
    const char *data;  ///< NULL; or a file of plumb simulate
    int threads;       ///< 0: plumb_machine_threads(). Changes no result
    plumb_symetric_options symetric;
    plumb_forecast_options forecast; ///< `frames`, `inference` and `target` are set by the model
    /// Also measures by a network, on as many more trajectories as that wants; true. Of `symetric`
    /// it uses what is not of the polynomials alone.
    bool mlp;
    /// Of kappa, which looks at the same trajectories in the world's minimal canonical coordinates.
    /// `angles` are the world's; `drop_nonfinite` is not of use here.
    plumb_canonical_options canonical;
} plumb_evaluate_options;

/// The published measures, with VPTs averaged over all films.
PLUMB_API plumb_evaluate_options plumb_evaluate_defaults(void);

/// What was measured. Free what it points to with plumb_evaluate_clear.
typedef struct plumb_evaluate {
    char model[64], world[64];
    int64_t trained; ///< updates the run has had
    plumb_forecast forecast;
    plumb_symetric polynomial;
    int64_t latents;
    double seconds;
    plumb_symetric mlp;      ///< zeros if there is a reason why not
    char mlp_why[256];       ///< "" or that reason: too few films in a file, or not asked for
    plumb_canonical own;     ///< kappa; zeros if there is a reason why not
    char own_why[256];       ///< "" or that reason
    double sym_floor;        ///< Sym of the true state itself in the published coordinates, or NaN
    plumb_lyapunov lyapunov; ///< of the films of the forecast, per frame; NaN below 8 of them
} plumb_evaluate;

/// Judges the run directory `run`. `opt` may be NULL. On failure `out` is left as it was.
/// Fails with PLUMB_EFILE or PLUMB_EFORMAT if the run is not whole, PLUMB_ESHAPE if the films do
/// not fit the model, PLUMB_EVALUE for a model without a phase space.
PLUMB_API plumb_status plumb_evaluate_run(plumb_evaluate *out, const char *run,
                                          const plumb_evaluate_options *opt);
PLUMB_API void plumb_evaluate_clear(plumb_evaluate *result);

/// The result under the names that `plumb evaluate --json` prints.
PLUMB_API void plumb_evaluate_record(plumb_record *record, const plumb_evaluate *result,
                                     const plumb_evaluate_options *opt);
/// The same, into the run's results.json.
PLUMB_API plumb_status plumb_evaluate_save(const char *run, const plumb_evaluate *result,
                                           const plumb_evaluate_options *opt);

/// What a run makes of films: latent (count, steps, 2m), truth (count, steps, 2n), variance
/// (count, 2m), frames and prediction (count, steps, height, width, channels), traversal (m, 3,
/// height, width, channels: the first frame with each latent position at -2, 0 and 2) and, where
/// the world has them, canonical coordinates, into an .npz or .h5 file that `plumb measure`, `plumb
/// forecast` and `plumb report` read. `backward`: it watches the end, not the
/// beginning. Uses count, steps (all of them), first, world, data and threads of `opt`.
PLUMB_API plumb_status plumb_evaluate_rollout(const char *path, const char *run, bool backward,
                                              const plumb_evaluate_options *opt);

#ifdef __cplusplus
}
#endif
#endif
