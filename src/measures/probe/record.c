// SPDX-License-Identifier: MIT
// The result as a record. Keys are always the same; what was not measured is null.
#include <math.h>

#include "base/options_struct.h"
#include "measures/probe/options.h"

static void put_score(plumb_record *record, const char *key, const plumb_probe_score *score)
{
    if (isnan(score->r2)) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "r2", score->r2);
    plumb_record_set_interval(record, "r2_ci", score->r2_ci);
    plumb_record_set_double(record, "r", score->r);
    plumb_record_set_interval(record, "r_ci", score->r_ci);
    plumb_record_set_double(record, "nmse", score->nmse);
    plumb_record_set_interval(record, "nmse_ci", score->nmse_ci);
    plumb_record_set_double(record, "penalty", score->penalty);
    plumb_record_end(record);
}

static void put_controls(plumb_record *record, const plumb_probe_line *line)
{
    plumb_record_begin_object(record, "controls");
    plumb_record_set_double(record, "shuffled", line->shuffled);
    plumb_record_set_double(record, "shuffled_max", line->shuffled_max);
    plumb_record_set_double(record, "nonlinear_shuffled", line->nonlinear_shuffled);
    plumb_record_set_double(record, "nonlinear_shuffled_max", line->nonlinear_shuffled_max);
    plumb_record_set_double(record, "past", line->past);
    plumb_record_set_double(record, "projection", line->projection);
    plumb_record_set_double(record, "pixels", line->pixels);
    plumb_record_set_double(record, "action", line->action);
    plumb_record_end(record);
}

static void put_line(plumb_record *record, const plumb_probe_line *line)
{
    static const char *const words[] = {"none", "nonlinear", "linear"};
    plumb_record_begin_object(record, NULL);
    plumb_record_set_string(record, "name", line->name);
    plumb_record_set_string(record, "group", line->group);
    plumb_record_set_bool(record, "angle", line->angle);
    plumb_record_set_bool(record, "constant", line->constant);
    plumb_record_set_string(record, "found", words[line->found]);
    put_score(record, "linear", &line->linear);
    put_score(record, "nonlinear", &line->nonlinear);
    put_controls(record, line);
    plumb_record_set_doubles(record, "fractions", line->fractions, PLUMB_PROBE_FRACTIONS);
    put_score(record, "ood", &line->ood);
    plumb_record_end(record);
}

void plumb_probe_record(plumb_record *record, const plumb_probe *result,
                        const plumb_probe_options *options)
{
    if (!record || !result) return;
    plumb_probe_options opt = plumb_probe_defaults();
    if (options_resolve(&opt, sizeof opt, options, "plumb_probe_options")) return;
    plumb_record_set_double(record, "r2", result->r2);
    plumb_record_set_double(record, "r2_nonlinear", result->r2_nonlinear);
    if (result->hint) plumb_record_set_string(record, "hint", result->hint);
    else plumb_record_set_null(record, "hint");
    plumb_record_begin_array(record, "targets");
    for (int64_t i = 0; i < result->count; i++) put_line(record, &result->line[i]);
    plumb_record_end(record);
    plumb_record_begin_array(record, "groups");
    for (int64_t i = 0; i < result->group_count; i++) put_line(record, &result->group[i]);
    plumb_record_end(record);

    // The division of the trajectories.
    plumb_record_set_int(record, "n", result->trajectories);
    plumb_record_set_int(record, "steps", result->steps);
    plumb_record_set_int(record, "dims", result->dims);
    plumb_record_set_int(record, "rows", result->rows);
    plumb_record_set_int(record, "nonlinear_rows", result->nonlinear_rows);
    plumb_record_set_int(record, "folds", result->folds);
    plumb_record_set_ints(record, "fold", result->fold, result->trajectories);
    plumb_record_set_ints(record, "fitted", result->fitted, PLUMB_PROBE_FRACTIONS + 1);
    plumb_record_set_int(record, "ood_fitted", result->ood_fitted);
    plumb_record_set_int(record, "ood_tested", result->ood_tested);
    plumb_record_set_double(record, "ood_limit", result->ood_limit);

    // Options, and what is needed to repeat the measurement.
    plumb_record_set_int(record, "penalties", opt.penalties);
    plumb_record_set_double(record, "penalty_low", opt.penalty_low);
    plumb_record_set_double(record, "penalty_high", opt.penalty_high);
    plumb_record_set_int(record, "centres", opt.centres);
    plumb_record_set_int(record, "shuffles", opt.controls ? opt.shuffles : 0);
    plumb_record_set_int(record, "window", opt.window);
    plumb_record_set_int(record, "resamples", opt.resamples);
    plumb_record_set_int(record, "seed", (int64_t)opt.seed);
    plumb_record_set_string(record, "input_hash", result->input_hash);
    plumb_record_set_int(record, "measure_version", PLUMB_PROBE_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_double(record, "seconds", result->seconds);
}
