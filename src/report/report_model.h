// SPDX-License-Identifier: MIT
// The data of one model in a report, and the table of figures that can be drawn from it.
#ifndef REPORT_REPORT_MODEL_H
#define REPORT_REPORT_MODEL_H

#include "base/arena.h"
#include "base/json_tree.h"
#include "plot/drawing.h"
#include "plumb/report.h"
#include "plumb/world.h"

enum {
    REPORT_MODEL_VIDEOS = 8, ///< videos kept of a model
    REPORT_NAME_SIZE = 8,    ///< bytes of the name of a latent
    FIGURE_WIDTH = 800,      ///< of every figure, in pixels
};

/// Frames as RGB, row 0 as in the file: at the top or at the bottom, as the world says.
typedef struct report_video {
    uint8_t *rgb; ///< (items, steps, height, width, 3), or NULL
    int64_t items, steps, height, width;
} report_video;

typedef struct report_model report_model;
struct report_model {
    const char *name;
    const plumb_world_info *world; ///< or NULL

    // Parts of its records, each NULL if there is none.
    const json_tree *config, *train, *evaluate;
    const json_tree *measure, *mlp; ///< SyMetric by polynomials and by a network
    const json_tree *kappa;         ///< the record with the keys kappa and canonical
    const json_tree *forecast, *surprise, *more_concepts;
    const json_tree *probe, *dynamics, *compare;
    const json_tree *state_forecast; ///< plumb forecast of states
    const char *failed;              ///< why the run failed, or NULL

    // Arrays, each NULL if there is none.

    double *latent, *truth; ///< (count, steps, latents), (count, steps, states)
    double *readout;        ///< (count, steps, states), read off the latents by F of SyMetric
    double *variance;       ///< (latents), the mean over all trajectories
    int64_t count, steps, latents, states;
    const char *latent_names; ///< (named, REPORT_NAME_SIZE), padded with 0; NULL: none
    int64_t named;            ///< the latents, also where there is no truth to show them with
    report_video frames, prediction;
    double *tracks; ///< (objects, steps, 2): places in pixels in the first video, x before y
    int64_t objects;
    double *error; ///< relative squared error of the frames, (items, steps)
    report_video traversal;
    /// (latents, 3, traversal_steps, latents): rollouts from states with one latent at -2, 0 and 2.
    double *traversal_states;
    int64_t traversal_steps;
    report_video traversal_frames; ///< of them, (latents * 3) items

    // Means of the latents over time, and the physical constants, of `measured_count` trajectories.

    double *latent_means;                   ///< (measured_count, latents)
    double *latent_within, *latent_between; ///< (latents) deviations along and between trajectories
    double *parameters;                     ///< (measured_count, parameter_total)
    int64_t measured_count, parameter_total;
    double *frame_surprise; ///< of the first tuple, (4, frame_surprise_count)
    int64_t frame_surprise_count;
    report_video clips;           ///< of that tuple, 4 items
    report_video clip_prediction; ///< the same clips as predicted; may lack the first frame
    double *log_step, *log_loss;  ///< (log_count), of the training log
    int64_t log_count;
    report_model *next;
};

struct plumb_report {
    arena mem;
    report_model *first;
    int64_t model_count;
    buffer text; ///< result of plumb_report_figure_svg()
};

/// Finds the model of this name, or adds one. NULL if out of memory.
report_model *report_model_find(plumb_report *report, const char *name);

/// plumb_report_add_arrays() without the map from latents to states.
plumb_status report_model_add_arrays(plumb_report *report, const char *name,
                                     const plumb_named_array *arrays, int64_t count);

/// Stores the means of latents (count, steps, 2m) over time and the parameters (count, total).
plumb_status report_model_set_constants(report_model *model, arena *mem, const plumb_array *latent,
                                        const plumb_array *parameters);

/// A kind of figure. `model` is NULL for figures of all models together.
typedef struct figure {
    const char *name, *title;
    const char *caption; ///< one or two sentences for the page
    bool all;            ///< shows all models together
    bool on_request;     ///< no part of the page, and not counted
    /// Height in pixels; 0 if the data for it are missing.
    double (*height)(const plumb_report *report, const report_model *model);
    plumb_status (*draw)(drawing *canvas, arena *mem, const plumb_report *report,
                         const report_model *model);
} figure;

extern const figure figure_phase, figure_trajectory, figure_frames, figure_error, figure_traversal,
    figure_loss, figure_models, figure_correlation, figure_concepts, figure_surprise, figure_roc,
    figure_uniformity, figure_example, figure_paper_1, figure_paper_2a, figure_paper_2b,
    figure_paper_3abc, figure_paper_3d, figure_paper_3e, figure_routes, figure_probe, figure_motion,
    figure_compare;

/// All kinds of figure, in the order of the page; NULL at the end.
extern const figure *const figures[];

/// File formats of a figure: PNG, SVG, or SVG inside an HTML page.
typedef enum figure_kind { FIGURE_PNG, FIGURE_SVG, FIGURE_INLINE } figure_kind;
/// Draws a figure and appends the bytes to `out`.
plumb_status figure_render(buffer *out, const figure *entry, figure_kind kind,
                           const plumb_report *report, const report_model *model);

/// Prints text with the special characters of HTML escaped.
void html_page_text(buffer *html, const char *text);
/// Writes the HTML page.
plumb_status html_page_write(buffer *out, const plumb_report *report);

// ---- values that several figures use ----

/// True if a latent carries information: SyMetric used it and its posterior variance is below 0.5,
/// as far as both are known.
bool report_model_is_informative(const report_model *model, int64_t latent);
/// Number of frames that the model was trained to predict; 0 if unknown.
int64_t report_model_trained_frames(const report_model *model);
/// First frame of a video at which the error of the prediction exceeds the threshold. NaN if
/// unknown; the number of frames if there is none.
double report_model_vpt_frame(const report_model *model, int64_t item);
/// Valid prediction time in frames; NaN if it was not measured.
double report_model_vpt(const report_model *model);
/// kappa_score, by which models are sorted: kappa times r2_latent, 0 if the latents do not hold the
/// state. NaN if kappa was not measured.
double report_model_score(const report_model *model);
/// Is so little of the latents explained that kappa describes a part of them only?
bool report_model_is_partial(const report_model *model);
/// The place on the page of object `k` in the first video, in pixels of the frame. False if it is
/// unknown.
bool report_model_find_place(double xy[2], const report_model *model, int64_t object, int64_t step);
/// Copies one frame of a video to `rgb` (height, width, 3), row 0 at the top.
void report_model_copy_frame(uint8_t *rgb, const report_model *model, const report_video *video,
                             int64_t item, int64_t step);

/// Writes the verdict in words to `text`. Returns 1 if the model learnt the physics, or, where only
/// its motion or its surprise was measured, if that is right; 0 if not, -1 if that was not measured
/// or not determined.
int verdict_text(char *text, size_t size, const report_model *model);

#endif
