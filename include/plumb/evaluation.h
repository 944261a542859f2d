// SPDX-License-Identifier: MIT
// Evaluation of a trained run on data it has never seen, by every measure that applies to its
// model.
//
// A dynamics model (HGN and its variants) is measured by its predicted frames and by its phase
// space. A video model (PredRNN, PLATO) is measured by its surprise at impossible clips.
#ifndef PLUMB_EVALUATION_H
#define PLUMB_EVALUATION_H

#include "plumb/forecast.h"
#include "plumb/loops.h"
#include "plumb/phase_space.h"
#include "plumb/surprise.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How dynamics models are evaluated.
typedef enum plumb_evaluation_protocol {
    PLUMB_EVALUATION_PROTOCOL_OWN, ///< plumb's own: 30 videos, one fit of SyMetric, solved exactly.
    /// As published [Higgins21]: 10 videos of 1000 frames, forward and backward averaged; Rec and
    /// Ext over 60 frames each; SyMetric in `reference` mode, 20 fits of 5 trajectories of 60
    /// frames, and by a network on as many as it needs. Where the paper and its code differ, the
    /// code is followed, but VPTs are averaged by the mean; the result has the median too.
    PLUMB_EVALUATION_PROTOCOL_PAPER,
} plumb_evaluation_protocol;

/// The options. Take them from plumb_evaluation_defaults() and change what you need.
typedef struct plumb_evaluation_options {
    size_t size; ///< sizeof(plumb_evaluation_options)

    // All models.
    int64_t first; ///< Index of the first test item, counted from those kept for tests. Default 0.
    const char *world; ///< World of the test data. May be NULL: that of the run. Default NULL.
    int threads;       ///< 0: plumb_system_threads(). Does not affect the result. Default 0.

    // Dynamics models.
    int64_t forecast_videos;    ///< Videos of the forecast, at least 2. Default 30.
    int64_t forecast_steps;     ///< Frames that the VPT can count, at least 1. Default 1000.
    int64_t phase_trajectories; ///< Trajectories of SyMetric and kappa, at least 2. Default 100.
    const char *data; ///< A file of test data instead of a world. May be NULL. Default NULL.
    bool network; ///< SyMetric by a network too, on as many trajectories as it needs. Default true.
    /// May be NULL: the defaults. `method` is ignored; `inferred_step` comes from the model.
    const plumb_symetric_options *symetric;
    const plumb_kappa_options *kappa; ///< May be NULL: the defaults. `angles` come from the world.
    /// May be NULL: the defaults, with the mean over videos. `frames`, `inference` and `target`
    /// come from the model.
    const plumb_forecast_options *forecast;

    // Video models.
    int64_t
        tuples; ///< Probe tuples per concept, at least 2; of a file at most this many. Default 250.
    int64_t free_clips; ///< Free-scene clips whose frames are predicted; 0 none. Default 64.
    const char *const
        *probes; ///< Files of probe tuples. May be NULL: the rooms of the paper, and `more`.
    int64_t probe_count; ///< Number of `probes`. Default 0.
    const char *naive;   ///< A run trained on impossible clips, for the scorer naive. May be NULL.
    const char *save;    ///< A file for surprise, feature and concept. May be NULL.
    const plumb_surprise_options *surprise; ///< May be NULL: the defaults.

    // All models.
    /// Evaluate also on the videos that the model was trained on; else that fails. Default false.
    bool allow_training_data;
    /// The name of the protocol in the record. It sets nothing by itself: see
    /// plumb_evaluation_set_protocol(). Default PLUMB_EVALUATION_PROTOCOL_OWN.
    plumb_evaluation_protocol protocol;
    bool best; ///< The weights with the least validation error, not the last. Default false.
    /// Dynamics models: the network of SyMetric has at most this many trajectories, also if its
    /// parameters need more; 0: as many as they need, and no network if these are more than 20,000.
    /// Default 0.
    int64_t network_trajectories;
    /// Video models: larger frames of the files of probes are resized to those of the model, by
    /// the average of areas, and masks to the object at the middle of the area. Default false:
    /// another size is refused.
    bool resize;
} plumb_evaluation_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_evaluation_defaults() calls it.
PLUMB_API void plumb_evaluation_options_init(plumb_evaluation_options *options, size_t size);

/// The defaults: the published measures, with VPTs averaged over all videos.
static inline plumb_evaluation_options plumb_evaluation_defaults(void)
{
    plumb_evaluation_options options;
    plumb_evaluation_options_init(&options, sizeof options);
    return options;
}

/// Sets the members of `options`, `symetric` and `forecast` that a protocol decides, and nothing
/// else; `options` then points to the other two, which must live as long. Members can be changed
/// afterwards. Fails with PLUMB_EVALUE if the protocol is unknown.
PLUMB_API plumb_status plumb_evaluation_set_protocol(plumb_evaluation_options *options,
                                                     plumb_symetric_options *symetric,
                                                     plumb_forecast_options *forecast,
                                                     plumb_evaluation_protocol protocol);

/// What kind of model was evaluated.
typedef enum plumb_evaluation_kind {
    PLUMB_EVALUATION_DYNAMICS, ///< It has a phase space: `dynamics` is filled.
    PLUMB_EVALUATION_VIDEO,    ///< It predicts frames of clips: `video` is filled.
} plumb_evaluation_kind;

/// The result for a dynamics model.
typedef struct plumb_evaluation_dynamics {
    int64_t latents;               ///< Dimension of the latent state.
    plumb_forecast forecast;       ///< Frames and VPT; `lyapunov` is per frame, NaN below 8 videos.
    plumb_phase_space phase_space; ///< SyMetric, kappa and the verdict.
    char network_why[256];         ///< Why there is no SyMetric by a network, or "".
    plumb_forecast_protocol frames; ///< Which frames the model predicts, as it was trained.
    int64_t inference;              ///< Its input frames.
    int64_t target;                 ///< The frames it was trained to predict.
    char latent_names[512]; ///< Names of the latents, separated by spaces; "" if they have none.
} plumb_evaluation_dynamics;

/// Predictors that need no training.
typedef enum plumb_baseline {
    PLUMB_BASELINE_COPY,   ///< Repeats the last frame.
    PLUMB_BASELINE_LINEAR, ///< Extrapolates every pixel linearly. The lower bound: it has no
                           ///< physics.
    PLUMB_BASELINE_ORACLE, ///< Continues each clip as the possible one. The upper bound.
    PLUMB_BASELINE_COUNT,
} plumb_baseline;

/// "copy", "linear" or "oracle".
PLUMB_API const char *plumb_baseline_name(plumb_baseline baseline);

/// Mean squared error of frames 1 .. of many clips.
typedef struct plumb_evaluation_errors {
    int64_t clips; ///< Number of clips; 0: not measured.
    double model;  ///< Error of the model.
    double
        baselines[PLUMB_BASELINE_COUNT]; ///< Errors of the baselines; no oracle of free clips: NaN.
} plumb_evaluation_errors;

/// The result for a video model.
typedef struct plumb_evaluation_video {
    plumb_surprise surprise; ///< All scorers.
    plumb_surprise
        baselines[PLUMB_BASELINE_COUNT]; ///< Scorer plain, on the tuples `surprise` tested.
    plumb_evaluation_errors free_clips;  ///< Free-scene clips that training never used.
    plumb_evaluation_errors
        *possible; ///< Possible clips of each concept, in the order of its names.
    /// All scorers on concepts that the paper does not have, support and collision. They are no
    /// part of `surprise`. No tuples where the probes were named.
    plumb_surprise more;
    plumb_surprise more_baselines[PLUMB_BASELINE_COUNT]; ///< As `baselines`, of `more`.
    plumb_evaluation_errors *more_possible;              ///< As `possible`, of `more`.
} plumb_evaluation_video;

/// The result. Free it with plumb_evaluation_clear().
typedef struct plumb_evaluation {
    char model[64];                     ///< Name of the model.
    char world[512];                    ///< World or file it was trained on.
    int64_t training_steps;             ///< Training steps of the run.
    plumb_evaluation_kind kind;         ///< Which of the next two members is filled.
    plumb_evaluation_dynamics dynamics; ///< Zeros for a video model.
    plumb_evaluation_video video;       ///< Zeros for a dynamics model.
    double seconds;                     ///< Time it took.
    void *memory;                       ///< Private.
} plumb_evaluation;

/// Finds out what kind of model the run directory `run` holds. Reads its config.json only.
PLUMB_API plumb_status plumb_evaluation_find_kind(plumb_evaluation_kind *kind, const char *run);

/// Evaluates the run directory `run`. May be NULL: options. On failure `result` is unchanged.
/// Fails with PLUMB_EFILE or PLUMB_EFORMAT if the run is incomplete, PLUMB_ESHAPE if the test data
/// do not fit the model, PLUMB_EVALUE if an option is out of range or does not apply to the model,
/// and as the measures do.
PLUMB_API plumb_status plumb_evaluation_measure(plumb_evaluation *result, const char *run,
                                                const plumb_evaluation_options *options);

/// The loops of plumb_evaluation_loops().
typedef struct plumb_evaluation_loops_options {
    size_t size;         ///< sizeof(plumb_evaluation_loops_options)
    int64_t loops;       ///< Closed loops of states, 2 to 100000. Default 32.
    int64_t loop_states; ///< States of each, 8 to 4096. Default 32.
    const char *world;   ///< World of the loops. May be NULL: that of the run. Default NULL.
    int threads;         ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
} plumb_evaluation_loops_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_evaluation_loops_defaults()
/// calls it.
PLUMB_API void plumb_evaluation_loops_options_init(plumb_evaluation_loops_options *options,
                                                   size_t size);

/// The defaults.
static inline plumb_evaluation_loops_options plumb_evaluation_loops_defaults(void)
{
    plumb_evaluation_loops_options options;
    plumb_evaluation_loops_options_init(&options, sizeof options);
    return options;
}

/// Measures closed loops of states through the encoder of the run directory `run`: frames of the
/// loops are drawn, latents inferred from them, and their actions compared with the true ones. No
/// regression, no rollout. Free the result with plumb_loops_clear(). May be NULL: options. On
/// failure `result` is unchanged. Fails with PLUMB_EVALUE for a model without a phase space, and as
/// plumb_rollout_save() and plumb_loops_measure() do.
PLUMB_API plumb_status plumb_evaluation_loops(plumb_loops *result, const char *run,
                                              const plumb_evaluation_loops_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_evaluation_clear(plumb_evaluation *result);

/// Writes the result under the names that `plumb evaluate --json` prints. May be NULL: options.
PLUMB_API void plumb_evaluation_record(plumb_record *record, const plumb_evaluation *result,
                                       const plumb_evaluation_options *options);
/// Writes the same to results.json of the run. May be NULL: options.
PLUMB_API plumb_status plumb_evaluation_save(const char *run, const plumb_evaluation *result,
                                             const plumb_evaluation_options *options);

// ---- published results ----

/// The numbers of one model on one world in [Higgins21, Table 1], the best seed.
typedef struct plumb_published_scores {
    double rec_mse, ext_mse; ///< As plumb_forecast_mse.published; the table is in units of 1e-7.
    double vpt;              ///< Mean of forward and backward, of 256 to 1000 frames.
    double sym_network, sym_polynomial;         ///< At most 1000, "max" in the table.
    double r2_network, r2_polynomial;           ///< Best 1.
    bool symetric_network, symetric_polynomial; ///< The star of the table: SyMetric is 1.
} plumb_published_scores;

/// One row of the table.
typedef struct plumb_published_row {
    const char *world;            ///< Name of the world, as in plumb_world_find().
    plumb_published_scores hgnpp; ///< HGN++
    plumb_published_scores hgn;   ///< HGN
} plumb_published_row;

/// Gets row `index` of the 13. Returns false past the end.
PLUMB_API bool plumb_published_at(plumb_published_row *out, int64_t index);
/// Gets the row of a world. Returns false if the table does not have it.
PLUMB_API bool plumb_published_find(plumb_published_row *out, const char *world);

#ifdef __cplusplus
}
#endif
#endif
