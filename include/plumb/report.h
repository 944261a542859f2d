// SPDX-License-Identifier: MIT
// Reports: what was measured of one model or of many, as one page that opens from disk, and as
// figures of their own.
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

/// What is known of some models. Everything given is copied.
typedef struct plumb_report plumb_report;

PLUMB_API plumb_status plumb_report_create(plumb_report **out);
/// NULL is allowed.
PLUMB_API void plumb_report_free(plumb_report *report);

/// A result record as JSON text, what --json of measure, forecast, surprise, evaluate or demo
/// prints, or a run's config.json or results.json. `name` is the model's: what has one name stands
/// together. Fails with PLUMB_EFORMAT if it is not JSON, or nothing of it is known.
PLUMB_API plumb_status plumb_report_add_record(plumb_report *report, const char *name,
                                               const char *text);

/// Arrays of a model, by the names that `plumb rollout` gives them: latent and truth
/// (trajectories, steps, 2m and 2n), variance, frames and prediction (items, steps, height, width,
/// channels), traversal (m, 3, height, width, channels); loss and step (of a log); surprise
/// (tuples, 4, frames), frames or truth of tuples (tuples, 4, frames, height, width, channels).
/// Others are passed over. Fails with PLUMB_ESHAPE if shapes do not fit together.
PLUMB_API plumb_status plumb_report_add_arrays(plumb_report *report, const char *name,
                                               const plumb_named_array *arrays, int64_t count);

/// How plumb_report_add_path looks at what it finds.
typedef struct plumb_report_options {
    size_t size;      ///< sizeof(plumb_report_options)
    int64_t videos;   ///< of a run that are rolled out for its figures, 4; 0 none
    int64_t steps;    ///< frames of each; 0: as many as its forecast was judged on, or 1000
    const char *name; ///< of the model; NULL: that of the file or directory
    int threads;      ///< 0: plumb_system_threads(). Changes nothing
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

/// Adds what a path holds: a run directory of plumb train (config, log, results, and films rolled
/// out); a directory of those; results.jsonl or any file of records, one a line; arrays in .npz or
/// .h5, measured by every measure they have the arrays for. `opt` may be NULL.
PLUMB_API plumb_status plumb_report_add_path(plumb_report *report, const char *path,
                                             const plumb_report_options *opt);

/// The figures there are to draw now, and what each shows.
PLUMB_API int64_t plumb_report_figure_count(const plumb_report *report);
PLUMB_API const char *plumb_report_figure_name(const plumb_report *report, int64_t index);
/// All names a figure can have, and its title; NULL behind the last.
PLUMB_API const char *plumb_figure_name(int64_t index, const char **title);

/// Draws one to `path`, which ends in .svg or .png: of the model that was added first, where it is
/// about one. Fails with PLUMB_EVALUE if there is no such figure, or not enough was given for it.
PLUMB_API plumb_status plumb_report_save_figure(plumb_report *report, const char *figure,
                                                const char *path);
/// The same as the text of an SVG, for a notebook. It belongs to the report, until the next call.
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
    const char *measure; ///< "r2", "sym_mlp", "kappa" ...
    bool smaller;        ///< is better: the sign was turned, so more is always good
    plumb_rank_correlation all,
        best;          ///< over all models; over the fifth with the longest, n 0: too few
    const char *paper; ///< what is printed for its 119 models [Higgins21], or NULL
} plumb_report_correlation;

/// Number `index` of those there are. Returns false behind the last, and for fewer than three
/// models that have a valid prediction time.
PLUMB_API bool plumb_report_correlation_at(plumb_report_correlation *out,
                                           const plumb_report *report, int64_t index);

/// The page: one HTML file that needs nothing else. It appears whole or not at all.
PLUMB_API plumb_status plumb_report_save(plumb_report *report, const char *path);

// ---- figures of one item ----
//
// Pictures of trajectories: a film strip, and the path through phase space below it; of tuples of
// clips, four strips.

typedef struct plumb_item_figure_options {
    size_t size;
    int64_t frames; ///< on the strip, evenly from the first to the last; 0: 10, of a tuple 20
    int64_t steps;  ///< only so many frames of the trajectory, 0: all
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

/// How large the picture became, in pixels.
typedef struct plumb_image_size {
    int64_t width, height;
} plumb_image_size;

/// Draws an item of a dataset to `path`, which ends in .png or .svg. Frames are shown the right way
/// up: as the file says (upright), or else its world, or else as they are. The portrait is of
/// `canonical`, or else of `state`; a file with neither gets the strip alone, and one without
/// frames the portrait alone. A tuple of four clips becomes four strips, with a red line where an
/// impossible one goes over from one possible clip to the other. `opt` may be NULL. The picture
/// appears whole or not at all, replacing what was there.
PLUMB_API plumb_status plumb_item_figure_save(plumb_image_size *out, const char *path,
                                              plumb_dataset *dataset, int64_t item,
                                              const plumb_item_figure_options *opt);

#ifdef __cplusplus
}
#endif
#endif
