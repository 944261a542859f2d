// SPDX-License-Identifier: MIT
// Reports: the results of one or many models as one HTML page, or as single figures.
//
//     plumb_report *report;
//     if (plumb_report_create(&report) || plumb_report_add_path(report, "run", NULL) ||
//         plumb_report_save(report, "report.html"))
//         puts(plumb_last_error());
//     plumb_report_free(report);
#ifndef PLUMB_REPORT_H
#define PLUMB_REPORT_H

#include "plumb/dataset.h"
#include "plumb/file.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The records and arrays of some models. It copies everything that is added.
typedef struct plumb_report plumb_report;

/// Creates an empty report. Free it with plumb_report_free().
PLUMB_API plumb_status plumb_report_create(plumb_report **out);
/// May be NULL: report.
PLUMB_API void plumb_report_free(plumb_report *report);

/// Adds a result record as JSON text: what --json of measure, forecast, surprise, evaluate or demo
/// prints, or config.json or results.json of a run. `name` is the name of the model; records and
/// arrays with the same name belong to the same model. Fails with PLUMB_EFORMAT if the text is not
/// JSON or has no known key.
PLUMB_API plumb_status plumb_report_add_record(plumb_report *report, const char *name,
                                               const char *text);

/// Adds arrays of a model, by the names that `plumb rollout` uses: latent and truth (trajectories,
/// steps, 2m and 2n), variance, frames and prediction (items, steps, height, width, channels),
/// traversal (m, 3, height, width, channels), traversal_states and traversal_frames; parameters
/// (trajectories, total); loss and step (of a log); surprise (tuples, 4,
/// frames), frames or truth of tuples (tuples, 4, frames, height, width, channels). Other arrays
/// are ignored. Fails with PLUMB_ESHAPE if shapes do not match.
PLUMB_API plumb_status plumb_report_add_arrays(plumb_report *report, const char *name,
                                               const plumb_named_array *arrays, int64_t count);

/// The options of plumb_report_add_path(). Take them from plumb_report_defaults() and change what
/// you need.
typedef struct plumb_report_options {
    size_t size;    ///< sizeof(plumb_report_options)
    int64_t videos; ///< Videos that a run rolls out for its figures, 0 to 64; 0 none. Default 4.
    int64_t steps;  ///< Frames per video, 0 to 100000. Default 0: those of its evaluation, or 1000.
    const char *name; ///< Name of the model. May be NULL (default): that of the file or directory.
    int threads;      ///< 0 (default): plumb_system_threads(). Does not affect the result.
    /// Steps of rollouts from states with one latent changed, 0 to 10000, for the figure paper-3e,
    /// which has 200 in the paper. Default 0: none.
    int64_t traversal_steps;
    /// A file of videos on which runs are rolled out, instead of their world: one's own videos. May
    /// be NULL. Default NULL.
    const char *data;
} plumb_report_options;
/// Sets the first `size` bytes of `options` to the defaults. plumb_report_defaults() calls it.
PLUMB_API void plumb_report_options_init(plumb_report_options *options, size_t size);

/// The defaults.
static inline plumb_report_options plumb_report_defaults(void)
{
    plumb_report_options options;
    plumb_report_options_init(&options, sizeof options);
    return options;
}

/// Adds the contents of a path: a run directory of plumb train (config, log, results, and a
/// rollout); a directory of runs; results.jsonl or another file with one record per line; arrays in
/// .npz or .h5, which are measured by every measure that applies to them. May be NULL: opt.
PLUMB_API plumb_status plumb_report_add_path(plumb_report *report, const char *path,
                                             const plumb_report_options *opt);

/// Number of figures of the page that can be drawn from what was added. The figures of the paper
/// (paper-1, paper-2a ...) are drawn by name only, and are not among them.
PLUMB_API int64_t plumb_report_figure_count(const plumb_report *report);
/// Name of the figure `index` of them; NULL past the end.
PLUMB_API const char *plumb_report_figure_name(const plumb_report *report, int64_t index);
/// Name and title of the figure `index` of all figures that exist; NULL past the end. May be NULL:
/// title.
PLUMB_API const char *plumb_figure_name(int64_t index, const char **title);

/// Draws a figure to `path`, which ends in .svg or .png. A figure of one model shows the first
/// model that has the data. Fails with PLUMB_EVALUE if there is no such figure, or its data are
/// missing.
PLUMB_API plumb_status plumb_report_save_figure(plumb_report *report, const char *figure,
                                                const char *path);
/// The same as SVG text, for a notebook. The text belongs to the report and is valid until the next
/// call.
PLUMB_API plumb_status plumb_report_figure_svg(const char **out, plumb_report *report,
                                               const char *figure);

/// Spearman's rank correlation between a measure and the valid prediction time.
typedef struct plumb_rank_correlation {
    double rho;            ///< -1 to 1; equal values share their mean rank.
    plumb_interval rho_ci; ///< 95 % interval, bootstrap over models. NaN: too few models.
    double p;              ///< Two-sided p-value by Student's t.
    int64_t n;             ///< Models. 0: too few, the rest is not defined.
} plumb_rank_correlation;

/// How a measure correlates with the valid prediction time over the models of a report.
typedef struct plumb_report_correlation {
    const char *measure;        ///< "r2", "sym_mlp", "kappa" ...
    bool lower_is_better;       ///< The sign of rho was changed, so that higher is always better.
    plumb_rank_correlation all; ///< Over all models.
    plumb_rank_correlation
        best; ///< Over the fifth with the longest VPT; n is 0 if they are too few.
    /// |rho| over the best fifth of its 119 models as printed in [Higgins21], or NULL. To be
    /// compared with |best.rho|.
    const char *paper;
} plumb_report_correlation;

/// Gets the correlation `index`. Returns false past the end, and if fewer than three models have a
/// valid prediction time.
PLUMB_API bool plumb_report_correlation_at(plumb_report_correlation *out,
                                           const plumb_report *report, int64_t index);

/// Writes the page: one HTML file that needs no other file. It is written atomically.
PLUMB_API plumb_status plumb_report_save(plumb_report *report, const char *path);

// ---- figures of one item ----
//
// A trajectory: a strip of frames, and the path through phase space below it. A tuple of clips:
// four strips.

/// The options. Take them from plumb_item_figure_defaults() and change what you need.
typedef struct plumb_item_figure_options {
    size_t size;    ///< sizeof(plumb_item_figure_options)
    int64_t frames; ///< Frames shown, evenly spaced, 0 to 1000. Default 0: 10, for a tuple 20.
    int64_t steps;  ///< Use only the first `steps` frames of the item. Default 0: all.
} plumb_item_figure_options;
/// Sets the first `size` bytes of `options` to the defaults. plumb_item_figure_defaults() calls it.
PLUMB_API void plumb_item_figure_options_init(plumb_item_figure_options *options, size_t size);

/// The defaults.
static inline plumb_item_figure_options plumb_item_figure_defaults(void)
{
    plumb_item_figure_options options;
    plumb_item_figure_options_init(&options, sizeof options);
    return options;
}

/// Size of an image.
typedef struct plumb_image_size {
    int64_t width, height; ///< In pixels.
} plumb_image_size;

/// Draws an item of a dataset to `path`, which ends in .png or .svg, and sets `*out` to its size.
/// Frames are shown with the top up, as the file (array upright) or else its world says. The path
/// is that of `canonical`, or else of `state`; an item with neither gets the strip alone, and one
/// without frames the path alone. A tuple of four clips becomes four strips, with a red line where
/// an impossible clip changes from one possible clip to the other. The file is written atomically
/// and replaces an existing one. May be NULL: opt.
PLUMB_API plumb_status plumb_item_figure_save(plumb_image_size *out, const char *path,
                                              plumb_dataset *dataset, int64_t item,
                                              const plumb_item_figure_options *opt);

#ifdef __cplusplus
}
#endif
#endif
