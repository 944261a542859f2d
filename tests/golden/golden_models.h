// SPDX-License-Identifier: MIT
// What the judges of golden/models share: a case, a graph run in either form, comparisons, and a
// model taken through its training steps.
#ifndef TESTS_GOLDEN_MODELS_H
#define TESTS_GOLDEN_MODELS_H

#include "engine/program.h"
#include "golden/golden.h"
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/rollout_graph.h"
#include "models/renames.h"

// ---- comparisons, relative to the largest entry of an array ----

/// What is compared: frames and states; gradients and moments; losses.
typedef enum golden_class {
    GOLDEN_STATE,
    GOLDEN_GRADIENT,
    GOLDEN_LOSS,
    GOLDEN_CLASSES
} golden_class;

/// The double form is held to 1e-11, the float form to what its class allows.
typedef struct golden_judgement {
    plumb_file *file;
    const char *path;
    program_form form;
    int failures;
    double worst[GOLDEN_CLASSES]; // relative errors seen
} golden_judgement;

/// Against the array `name`, which must have `count` numbers.
void golden_close(golden_judgement *j, const char *name, const double *got, int64_t count,
                  golden_class class);
/// Against numbers at hand; `scale` is what errors are measured by, 0 for the largest of `want`.
void golden_close_to(golden_judgement *j, const char *name, const double *got, const double *want,
                     int64_t count, double scale, golden_class class);
/// Something that is not a number is wrong.
void golden_wrong(golden_judgement *j, const char *what);
/// The worst errors, in one line.
void golden_tell(const golden_judgement *j);

/// The same, with a printed name.
#define GOLDEN_NAME(text, ...) \
    char text[160];            \
    snprintf(text, sizeof text, __VA_ARGS__)

// ---- a graph in either form ----

typedef struct golden_machine {
    graph_program *p;
    program_instance *i;
} golden_machine;

/// False, with the reason printed, if it cannot be built.
bool golden_start(golden_machine *m, graph *g, graph_node *const *output, int outputs,
                  program_form form);
void golden_stop(golden_machine *m);

// ---- models ----

enum { GOLDEN_NAMES = 128 };

typedef struct golden_model {
    arena mem;
    plumb_file *file;
    const char *path;
    hgn_config c;
    hgn_frame_plan times;
    int64_t batch, steps, extra; // clips, updates, frames beyond training in the evaluation
    double rate;
    bool formula;
    uint64_t seed;
    int names;
    const char *name[GOLDEN_NAMES];
    const double *x, *noise; // bytes (steps, batch, time, image, image, channels)
} golden_model;

/// Reads and checks the configuration; prints what is wrong and returns false.
bool golden_model_read(golden_model *m, plumb_file *file, const char *path);

/// A model with its parameters, moments, and what its last step gave. All numbers in double,
/// whatever they were computed in.
typedef struct golden_rig {
    const golden_model *m;
    program_form form;
    arena mem;
    params params;
    hgn_rollout_graph roll;
    hgn_decoder_graph decode;
    golden_machine roller, decoder;
    int64_t group; // frames decoded at once
    double *value, *gradient, *mean, *square;
    float *value4, *gradient4, *mean4, *square4;
    // (times, batch, ..) each, and per sample
    double *q, *p, *energy, *frames, *targets, *l2, *dq;
    double *window, *loc, *log_scale, *z0, *kl;
    double loss, ema, lambda;
} golden_rig;

/// Index of a parameter by its name in the file, which is the name of version 0.1.0; or -1.
int golden_rig_param(const params *layout, const char *name);
bool golden_rig_create(golden_rig *r, const golden_model *m, program_form form);
void golden_rig_free(golden_rig *r);
/// Forwards and backwards on the clips of one step; gradients are left in the rig.
void golden_rig_step(golden_rig *r, int64_t step);
/// Adam.
void golden_rig_update(golden_rig *r, int64_t step);
/// Lets the leaves of a graph be the rig's parameters.
void golden_rig_bind(const golden_rig *r, golden_machine *to, const network_builder *n);
/// The window of K frames from `start` on of a clip (time, image, image, channels) in bytes, as
/// the encoder sees it.
void golden_window(double *out, const golden_model *m, const double *clip, int64_t start);

void golden_eval(golden_judgement *j, const golden_rig *r);      ///< eval.*
void golden_layers_of(golden_judgement *j, const golden_rig *r); ///< act.*, z_raw
void golden_carry(golden_judgement *j, const golden_rig *r);     ///< z_traj, step by step

#endif
