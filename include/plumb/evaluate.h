// SPDX-License-Identifier: MIT
// Evaluation: a trained run judged on films it has never seen, by every measure there is for it.
#ifndef PLUMB_EVALUATE_H
#define PLUMB_EVALUATE_H

#include "plumb/forecast.h"
#include "plumb/kappa.h"
#include "plumb/surprise.h"
#include "plumb/symetric.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_evaluation_options {
    size_t size;
    int64_t count;     ///< films of the forecast, 30
    int64_t steps;     ///< frames the VPT can count, 1000
    int64_t measured;  ///< trajectories of the phase-space measures, 100; frames 0 .. 59 of each
    int64_t first;     ///< number of the first film among those never used for training, 0
    const char *world; ///< NULL: that of the run
    const char *data;  ///< NULL; or a file of plumb simulate
    int threads;       ///< 0: plumb_system_threads(). Changes no result
    plumb_symetric_options symetric;
    plumb_forecast_options forecast; ///< `frames`, `inference` and `target` are set by the model
    /// Also measures by a network, on as many more trajectories as that wants; true. Of `symetric`
    /// it uses what is not of the polynomials alone.
    bool mlp;
    /// Of kappa, which looks at the same trajectories in the world's minimal canonical coordinates.
    /// `angles` are the world's; `drop_nonfinite` is not of use here.
    plumb_kappa_options canonical;
} plumb_evaluation_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_evaluation_defaults() calls it.
PLUMB_API void plumb_evaluation_options_init(plumb_evaluation_options *options, size_t size);

/// The published measures, with VPTs averaged over all films.
static inline plumb_evaluation_options plumb_evaluation_defaults(void)
{
    plumb_evaluation_options options;
    plumb_evaluation_options_init(&options, sizeof options);
    return options;
}

/// What was measured. Free what it points to with plumb_evaluation_clear.
typedef struct plumb_evaluation {
    char model[64], world[64];
    int64_t trained; ///< updates the run has had
    plumb_forecast forecast;
    plumb_symetric polynomial;
    int64_t latents;
    double seconds;
    plumb_symetric mlp;      ///< zeros if there is a reason why not
    char mlp_why[256];       ///< "" or that reason: too few films in a file, or not asked for
    plumb_kappa own;         ///< kappa; zeros if there is a reason why not
    char own_why[256];       ///< "" or that reason
    double sym_floor;        ///< Sym of the true state itself in the published coordinates, or NaN
    plumb_lyapunov lyapunov; ///< of the films of the forecast, per frame; NaN below 8 of them
} plumb_evaluation;

/// Judges the run directory `run`. `opt` may be NULL. On failure `out` is left as it was.
/// Fails with PLUMB_EFILE or PLUMB_EFORMAT if the run is not whole, PLUMB_ESHAPE if the films do
/// not fit the model, PLUMB_EVALUE for a model without a phase space.
PLUMB_API plumb_status plumb_evaluation_measure(plumb_evaluation *out, const char *run,
                                                const plumb_evaluation_options *opt);
PLUMB_API void plumb_evaluation_clear(plumb_evaluation *result);

/// The result under the names that `plumb evaluate --json` prints.
PLUMB_API void plumb_evaluation_record(plumb_record *record, const plumb_evaluation *result,
                                       const plumb_evaluation_options *opt);
/// The same, into the run's results.json.
PLUMB_API plumb_status plumb_evaluation_save(const char *run, const plumb_evaluation *result,
                                             const plumb_evaluation_options *opt);

/// What a run makes of films: latent (count, steps, 2m), truth (count, steps, 2n), variance
/// (count, 2m), frames and prediction (count, steps, height, width, channels), of a Lagrangian
/// model, whose latents are (q, v), momenta (count, steps, m), traversal (m, 3,
/// height, width, channels: the first frame with each latent position at -2, 0 and 2) and, where
/// the world has them, canonical coordinates, into an .npz or .h5 file that `plumb measure`, `plumb
/// forecast` and `plumb report` read. `backward`: it watches the end, not the
/// beginning. Of a model that cannot run backward all begin at the first frame it can tell of, and
/// `backward` fails with PLUMB_EVALUE. Uses count, steps (all of them), first, world, data and
/// threads of `opt`.
PLUMB_API plumb_status plumb_rollout_save(const char *path, const char *run, bool backward,
                                          const plumb_evaluation_options *opt);

// ---- video models ----
//
// Expectation: a trained model of films judged by what surprises it. It watches probes, tuples of
// two possible and two impossible clips, and every scorer there is says whether the impossible ones
// stand out; beside it stand predictors that need no training.

/// Predictors that need no training.
typedef enum plumb_baseline {
    PLUMB_BASELINE_COPY,   ///< the last frame again
    PLUMB_BASELINE_LINEAR, ///< every pixel goes on as it went; the floor: no physics in it
    PLUMB_BASELINE_ORACLE, ///< what began as a possible clip goes on as it; the ceiling
    PLUMB_BASELINE_COUNT,
} plumb_baseline;
PLUMB_API const char *plumb_baseline_name(plumb_baseline reference);

typedef struct plumb_evaluation_video_options {
    size_t size;
    int64_t tuples;            ///< of each concept, 250; of a file at most so many
    int64_t first;             ///< number of the first among those never used for training, 0
    int64_t films;             ///< free clips whose frames are predicted, 64; 0 none
    const char *const *probes; ///< files of tuples; none: the five rooms
    int64_t probe_count;
    const char *naive; ///< a run trained on impossible clips, for the scorer of that name; or NULL
    const char *save;  ///< a file for surprise, feature and concept, as `plumb surprise` reads them
    int threads;       ///< 0: plumb_system_threads(). Changes no result
    plumb_surprise_options surprise;
    const char *world; ///< of the free clips; NULL: the one the run was trained on, if it was one
} plumb_evaluation_video_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_evaluation_video_defaults()
/// calls it.
PLUMB_API void plumb_evaluation_video_options_init(plumb_evaluation_video_options *options,
                                                   size_t size);

/// The paper's settings on fewer tuples.
static inline plumb_evaluation_video_options plumb_evaluation_video_defaults(void)
{
    plumb_evaluation_video_options options;
    plumb_evaluation_video_options_init(&options, sizeof options);
    return options;
}

/// Mean squared error of frames 1 .. of many clips.
typedef struct plumb_evaluation_errors {
    int64_t clips;                                  ///< 0: not measured
    double model, references[PLUMB_BASELINE_COUNT]; ///< of free clips there is no oracle: NaN
} plumb_evaluation_errors;

/// What was measured. Free what it points to with plumb_evaluation_video_clear.
typedef struct plumb_evaluation_video {
    char model[64], world[512];
    int64_t trained; ///< updates the run has had
    plumb_surprise surprise;
    plumb_surprise
        references[PLUMB_BASELINE_COUNT]; ///< plain, on the tuples that `surprise` tested
    plumb_evaluation_errors free;         ///< free clips it has never seen
    plumb_evaluation_errors
        *possible; ///< possible clips of each concept, in the order of its names
    double seconds;
    void *memory; ///< private
} plumb_evaluation_video;

/// Is that the run of a model of films, one that can be judged here?
PLUMB_API plumb_status plumb_evaluation_video_applies(bool *out, const char *run);

/// Judges the run directory `run`. `opt` may be NULL. On failure `out` is left as it was. Fails as
/// plumb_surprise_measure does, and with PLUMB_EFILE or PLUMB_EFORMAT if the run is not whole,
/// PLUMB_ESHAPE if the clips do not fit the model, PLUMB_EVALUE for a model of something else.
PLUMB_API plumb_status plumb_evaluation_video_measure(plumb_evaluation_video *out, const char *run,
                                                      const plumb_evaluation_video_options *opt);
PLUMB_API void plumb_evaluation_video_clear(plumb_evaluation_video *result);

/// The result under the names that `plumb evaluate --json` prints.
PLUMB_API void plumb_evaluation_video_record(plumb_record *record,
                                             const plumb_evaluation_video *result,
                                             const plumb_evaluation_video_options *opt);
/// The same, into the run's results.json.
PLUMB_API plumb_status plumb_evaluation_video_save(const char *run,
                                                   const plumb_evaluation_video *result,
                                                   const plumb_evaluation_video_options *opt);

#ifdef __cplusplus
}
#endif
#endif
