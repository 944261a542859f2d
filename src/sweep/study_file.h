// SPDX-License-Identifier: MIT
// A study: which models are to be trained on which worlds with which settings, and how they are
// judged. Read from YAML, written out as a list of runs, and checked to the last setting before
// anything runs.
#ifndef SWEEP_STUDY_FILE_H
#define SWEEP_STUDY_FILE_H

#include "plumb/evaluation.h"
#include "train/run_config.h"

enum { STUDY_FILE_MAX = 10000 }; ///< runs

/// A setting that a run is given, and the line that gives it.
typedef struct study_setting {
    const char *name, *value;
    int line;
} study_setting;

typedef struct study_run {
    const char *name; ///< of its directory; no two are alike
    const char *model, *preset;
    const char *world, *data; ///< one of them, the other NULL
    int line, model_line, preset_line, where_line;
    study_setting *set; ///< each once, seed and steps among them
    int64_t sets;
} study_run;

typedef struct study_file {
    arena mem;
    const char *path, *name;
    study_run *run;
    int64_t count;
    plumb_evaluation_options evaluate;
    plumb_symetric_options symetric; // the nested options of `evaluate`
    plumb_kappa_options kappa;
    plumb_surprise_options surprise;
    char options[33]; ///< identity of what decides an evaluation
} study_file;

/// Reads and checks. Fails with PLUMB_EFORMAT, "path:line: ...".
plumb_status study_file_open(study_file *out, const char *path);
/// The same from a text, without a look at worlds, files and models where `deep` is false.
plumb_status study_file_read(study_file *out, const char *text, size_t size, const char *path,
                             bool deep);
void study_file_clear(study_file *s);

/// All settings of a run, resolved.
plumb_status study_file_run_config(run_config *out, arena *mem, const study_file *s,
                                   const study_run *run);

/// Equal for runs whose steps cost the same: model, sizes, shares, frames.
plumb_status study_file_cost_class(char out[33], const run_config *r);

#endif
