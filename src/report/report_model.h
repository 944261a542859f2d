// SPDX-License-Identifier: MIT
// What a report knows of one model, and the figures that can be drawn of it.
#ifndef REPORT_REPORT_MODEL_H
#define REPORT_REPORT_MODEL_H

#include "base/arena.h"
#include "base/json_tree.h"
#include "plot/drawing.h"
#include "plumb/report.h"
#include "plumb/world.h"

enum {
    SUBJECT_ITEMS = 8,  ///< films kept of a model
    FIGURE_WIDTH = 800, ///< of every figure
};

/// Pictures as RGB, upright or not as their world says.
typedef struct report_video {
    uint8_t *rgb; ///< (items, steps, height, width, 3); NULL: none
    int64_t items, steps, height, width;
} report_video;

typedef struct report_model report_model;
struct report_model {
    const char *name;
    const plumb_world_info *world; ///< or NULL
    const json_tree *config, *train, *evaluate;
    const json_tree *measure, *mlp; ///< phase space: by polynomial, by MLP
    const json_tree *own;           ///< where kappa and canonical are
    const json_tree *forecast, *surprise;
    const char *failed; ///< why there is no more of it; or NULL

    double *latent, *truth, *variance; ///< (count, steps, latents), .., (latents) mean over films
    int64_t count, steps, latents, states;
    report_video frames, prediction;
    double *error; ///< of the frames, (items, steps)
    report_video traversal;
    double *moments; ///< surprise of one tuple, (4, moment_count)
    int64_t moment_count;
    report_video clips; ///< of that tuple, 4 items
    double *log_step, *log_loss;
    int64_t log_count;
    report_model *next;
};

struct plumb_report {
    arena mem;
    report_model *first;
    int64_t subjects;
    buffer text; ///< of plumb_report_figure_svg
};

/// The model of this name, made if it is not there; NULL if memory runs out.
report_model *report_model_find(plumb_report *r, const char *name);

/// A figure is a row. `height` is 0 where there is not enough to draw it from. `s` is the model it
/// is about; NULL for figures of all models together.
typedef struct figure {
    const char *name, *title;
    const char *caption; ///< one or two sentences for a page
    bool all;            ///< of all models together
    double (*height)(const plumb_report *r, const report_model *s);
    plumb_status (*draw)(drawing *k, arena *mem, const plumb_report *r, const report_model *s);
} figure;

extern const figure figure_phase, figure_trajectory, figure_film, figure_error, figure_traversal,
    figure_loss, figure_models, figure_correlation, figure_concepts, figure_surprise,
    figure_uniformity, figure_example;

/// All of them, in the order of a page; NULL at the end.
extern const figure *const figures[];

/// Draws one into a sketch that fits it, made by one of the three makers.
typedef enum figure_kind { FIGURE_PNG, FIGURE_SVG, FIGURE_INSIDE } figure_kind;
plumb_status figure_render(buffer *out, const figure *f, figure_kind kind, const plumb_report *r,
                           const report_model *s);

/// The page.
plumb_status html_page_write(buffer *out, const plumb_report *r);

// ---- what several figures ask ----

/// Does this latent say something? By the measure's own choice, else by its variance, else yes.
bool report_model_informative(const report_model *s, int64_t latent);
/// Frames the model was trained to predict, from the beginning; 0 if unknown.
int64_t report_model_trained(const report_model *s);
/// The frame at which the prediction of a film is wrong for the first time; NaN if unknown, the
/// number of frames if never.
double report_model_vpt_frame(const report_model *s, int64_t item);
double report_model_vpt(const report_model *s); ///< NaN if it was not measured
/// One picture of a film, the right way up, into (height, width, 3).
void report_model_picture(uint8_t *rgb, const report_model *s, const report_video *f, int64_t item,
                          int64_t step);

/// The verdict in words: 1 it learnt the physics, 0 it did not, -1 nobody asked. `text` holds it.
int verdict_text(char *text, size_t size, const report_model *s);

#endif
