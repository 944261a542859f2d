// SPDX-License-Identifier: MIT
// A study file: which models are trained on which worlds with which settings, and how they are
// evaluated. It is read from YAML, expanded to a list of runs, and checked completely before
// anything runs.
#ifndef SWEEP_STUDY_FILE_H
#define SWEEP_STUDY_FILE_H

#include "plumb/evaluation.h"
#include "train/run_config.h"

enum { STUDY_FILE_MAX_RUNS = 10000 };

/// A setting of a run, and the line of the file that gives it.
typedef struct study_setting {
    const char *name, *value;
    int line;
} study_setting;

typedef struct study_run {
    const char *name;           ///< of its directory; unique in the study
    const char *model, *preset; ///< `preset` is NULL if the file does not give one
    const char *world, *data;   ///< one of them, the other is NULL
    int line, model_line, preset_line, data_line; ///< lines of the file, for messages
    study_setting *settings;                      ///< each name once; seed and steps are among them
    int64_t setting_count;
} study_run;

typedef struct study_file {
    arena mem; ///< owns everything below
    const char *path, *name;
    study_run *runs;
    int64_t run_count, run_room; ///< how many there are, and for how many there is memory
    plumb_evaluation_options evaluate;
    plumb_symetric_options symetric; ///< the nested options of `evaluate`
    plumb_forecast_options forecast;
    plumb_kappa_options kappa;
    plumb_surprise_options surprise;
    char options_hash[33];    ///< of all options that decide an evaluation
    const char **records;     ///< (run_count) lines of runs that were finished elsewhere; or NULL
    const char *records_path; ///< the file they are from
} study_file;

/// Reads and checks a study file. Fails with PLUMB_EFORMAT, "path:line: ...".
plumb_status study_file_open(study_file *out, const char *path);
/// The same from text. If `deep` is false, worlds, files and models are not checked.
plumb_status study_file_read(study_file *out, const char *text, size_t size, const char *path,
                             bool deep);
void study_file_clear(study_file *study);

#endif
