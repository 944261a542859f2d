// SPDX-License-Identifier: MIT
// A study: which models are to be trained on which worlds with which settings, and how they are
// judged. Read from YAML, written out as a list of runs, and checked to the last setting before
// anything runs.
#ifndef SWEEP_STUDY_FILE_H
#define SWEEP_STUDY_FILE_H

#include "plumb/evaluate.h"
#include "plumb/expect.h"
#include "train/run_config.h"

enum { STUDYFILE_MOST = 10000 }; ///< runs

/// A setting that a run is given, and the line that gives it.
typedef struct studyfile_setting {
    const char *name, *value;
    int line;
} studyfile_setting;

typedef struct studyfile_run {
    const char *name; ///< of its directory; no two are alike
    const char *model, *preset;
    const char *world, *data; ///< one of them, the other NULL
    int line, model_line, preset_line, where_line;
    studyfile_setting *set; ///< each once, seed and steps among them
    int64_t sets;
} studyfile_run;

typedef struct studyfile {
    arena mem;
    const char *path, *name;
    studyfile_run *run;
    int64_t count;
    plumb_evaluate_options evaluate;
    plumb_expect_options expect;
    char options[33]; ///< identity of what decides an evaluation
} studyfile;

/// Reads and checks. Fails with PLUMB_EFORMAT, "path:line: ...".
plumb_status studyfile_open(studyfile *out, const char *path);
/// The same from a text, without a look at worlds, files and models where `deep` is false.
plumb_status studyfile_read(studyfile *out, const char *text, size_t size, const char *path,
                            bool deep);
void studyfile_clear(studyfile *s);

/// All settings of a run, resolved.
plumb_status studyfile_recipe(recipe *out, arena *mem, const studyfile *s,
                              const studyfile_run *run);

/// Equal for runs whose steps cost the same: model, sizes, shares, frames.
plumb_status studyfile_kind(char out[33], const recipe *r);

#endif
