// SPDX-License-Identifier: MIT
// The two kinds of evaluation behind plumb_evaluation_measure().
#ifndef EVALUATE_EVALUATE_H
#define EVALUATE_EVALUATE_H

#include "evaluate/trained_model.h"
#include "plumb/evaluation.h"

/// Options with all nested ones resolved; `threads` is above 0.
typedef struct evaluation_config {
    plumb_evaluation_options all;
    plumb_symetric_options symetric;
    plumb_kappa_options kappa;
    plumb_forecast_options forecast;
    plumb_surprise_options surprise;
} evaluation_config;

/// Evaluates a dynamics model. `out` is cleared by the caller, also after a failure.
plumb_status evaluate_dynamics(plumb_evaluation_dynamics *out, trained_model *trained,
                               const evaluation_config *config);
void evaluate_dynamics_clear(plumb_evaluation_dynamics *result);
void evaluate_dynamics_record(plumb_record *record, const plumb_evaluation_dynamics *result,
                              const evaluation_config *config);

/// Writes the row of a world in [Higgins21, Table 1] as "paper"; null if the table has none.
void evaluate_dynamics_record_published(plumb_record *record, const char *world);

/// Evaluates a video model. What `out` points to is in `keep`. `out` is cleared by the caller, also
/// after a failure.
plumb_status evaluate_video(plumb_evaluation_video *out, arena *keep, trained_model *trained,
                            const evaluation_config *config);
void evaluate_video_clear(plumb_evaluation_video *result);
void evaluate_video_record(plumb_record *record, const plumb_evaluation_video *result,
                           const evaluation_config *config);

#endif
