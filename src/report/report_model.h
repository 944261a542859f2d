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
typedef struct subject_film {
    uint8_t *rgb; ///< (items, steps, height, width, 3); NULL: none
    int64_t items, steps, height, width;
} subject_film;

typedef struct subject subject;
struct subject {
    const char *name;
    const plumb_world_facts *world; ///< or NULL
    const tree *config, *train, *evaluate;
    const tree *measure, *mlp; ///< phase space: by polynomial, by MLP
    const tree *own;           ///< where kappa and canonical are
    const tree *forecast, *surprise;
    const char *failed; ///< why there is no more of it; or NULL

    double *latent, *truth, *variance; ///< (count, steps, latents), .., (latents) mean over films
    int64_t count, steps, latents, states;
    subject_film frames, prediction;
    double *error; ///< of the frames, (items, steps)
    subject_film traversal;
    double *moments; ///< surprise of one tuple, (4, moment_count)
    int64_t moment_count;
    subject_film clips; ///< of that tuple, 4 items
    double *log_step, *log_loss;
    int64_t log_count;
    subject *next;
};

struct plumb_report {
    arena mem;
    subject *first;
    int64_t subjects;
    buffer text; ///< of plumb_report_svg
};

/// The model of this name, made if it is not there; NULL if memory runs out.
subject *subject_named(plumb_report *r, const char *name);

/// A figure is a row. `height` is 0 where there is not enough to draw it from. `s` is the model it
/// is about; NULL for figures of all models together.
typedef struct figure {
    const char *name, *title;
    const char *caption; ///< one or two sentences for a page
    bool all;            ///< of all models together
    double (*height)(const plumb_report *r, const subject *s);
    plumb_status (*draw)(sketch *k, arena *mem, const plumb_report *r, const subject *s);
} figure;

extern const figure figure_phase, figure_trajectory, figure_film, figure_error, figure_traversal,
    figure_loss, figure_models, figure_correlation, figure_concepts, figure_surprise,
    figure_uniformity, figure_example;

/// All of them, in the order of a page; NULL at the end.
extern const figure *const figures[];

/// Draws one into a sketch that fits it, made by one of the three makers.
typedef enum figure_kind { FIGURE_PNG, FIGURE_SVG, FIGURE_INSIDE } figure_kind;
plumb_status figure_make(buffer *out, const figure *f, figure_kind kind, const plumb_report *r,
                         const subject *s);

/// The page.
plumb_status page_write(buffer *out, const plumb_report *r);

// ---- what several figures ask ----

/// Does this latent say something? By the measure's own choice, else by its variance, else yes.
bool subject_informative(const subject *s, int64_t latent);
/// Frames the model was trained to predict, from the beginning; 0 if unknown.
int64_t subject_trained(const subject *s);
/// The frame at which the prediction of a film is wrong for the first time; NaN if unknown, the
/// number of frames if never.
double subject_vpt_frame(const subject *s, int64_t item);
double subject_vpt(const subject *s); ///< NaN if it was not measured
/// One picture of a film, the right way up, into (height, width, 3).
void subject_picture(uint8_t *rgb, const subject *s, const subject_film *f, int64_t item,
                     int64_t step);

/// The verdict in words: 1 it learnt the physics, 0 it did not, -1 nobody asked. `text` holds it.
int verdict_of(char *text, size_t size, const subject *s);

#endif
