// SPDX-License-Identifier: MIT
// plumb forecast of states: the same command for numbers that are not pictures.
#include "cli/cmd_forecast_states.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Energies (trajectories, steps) of states of a world; NaN where it has none. NULL, with a message,
// on failure.
static double *compute_energies(plumb_array *out, const plumb_world *world,
                                const plumb_array *states)
{
    const int64_t rows = states->shape[0] * states->shape[1], size = states->shape[2];
    double *energy = malloc((size_t)(rows + 1) * sizeof *energy), state[256];
    if (!energy) {
        cli_error(&cmd_forecast, EXIT_FAILED, "out of memory");
        return NULL;
    }
    plumb_world_quantity quantity = {0};
    int64_t index = 0;
    while (plumb_world_quantity_at(&quantity, world, index) && strcmp(quantity.name, "energy"))
        index++;
    for (int64_t i = 0; i < rows; i++) {
        plumb_array_to_double(state, states, i * size, size);
        const plumb_status st =
            plumb_world_quantity_compute(energy + i, world, index, state, 1, NULL);
        // A predicted state may be none of this world.
        if (st == PLUMB_EVALUE) energy[i] = (double)NAN;
        else if (st) {
            cli_last_error(&cmd_forecast);
            free(energy);
            return NULL;
        }
    }
    *out = plumb_array_view(energy, PLUMB_FLOAT64, 2, states->shape);
    return energy;
}

// Finds the world and checks that the states are its own.
static int find_world(const plumb_world **out, const forecast_states *cmd)
{
    if (plumb_world_find(out, cmd->world))
        return cli_error(&cmd_forecast, EXIT_USAGE, "--world: %s", plumb_last_error());
    const plumb_world_info *info = plumb_world_get_info(*out);
    if (!plumb_world_quantity_count(*out) || cmd->truth.ndim != 3 ||
        cmd->truth.shape[2] != 2 * info->n || cmd->opt.samples_axis) {
        char shape[200];
        return cli_error(&cmd_forecast, EXIT_FAILED,
                         "truth has shape %s; states of %s are (trajectories, steps, %lld), "
                         "without samples",
                         plumb_array_shape_string(shape, sizeof shape, &cmd->truth), cmd->world,
                         (long long)(2 * info->n));
    }
    for (int64_t i = 0; i < info->parameter_count; i++)
        if (info->parameters[i].count && strchr(cmd->world, '+'))
            return cli_error(&cmd_forecast, EXIT_USAGE,
                             "--world: the constants of %s differ between trajectories; give "
                             "arrays \"energy\" and \"prediction_energy\"",
                             cmd->world);
    return EXIT_DONE;
}

// Context of cli_print().
typedef struct states_output {
    const forecast_states *cmd;
    const plumb_state_forecast *result;
} states_output;

static void print_baseline(const char *name, plumb_state_forecast_baseline baseline,
                           const char *what)
{
    char note[160];
    if (isnan(baseline.vrmse)) return;
    snprintf(note, sizeof note, "VRMSE of %s; its VPT is %.3g steps", what, baseline.vpt);
    table_value(name, baseline.vrmse, note);
}

static void print_tables(const void *context)
{
    const forecast_states *cmd = ((const states_output *)context)->cmd;
    const plumb_state_forecast *r = ((const states_output *)context)->result;
    char note[160];
    table_paragraph("%lld trajector%s of %lld steps, %lld scored, %lld column%s",
                    (long long)r->trajectories, r->trajectories == 1 ? "y" : "ies",
                    (long long)r->steps, (long long)r->scored, (long long)r->columns,
                    r->columns == 1 ? "" : "s");
    if (r->space > 1) table_paragraph("fields of %lld points", (long long)r->space);
    if (r->samples) table_paragraph("mean of %lld samples", (long long)r->samples);
    putchar('\n');
    table_row("MSE", r->mse.value, r->mse.ci, "mean over trajectories, steps, then columns");
    table_row("RMSE", r->rmse.value, r->rmse.ci, "root for each column, then the mean");
    table_row("NRMSE", r->nrmse.value, r->nrmse.ci, "/ root mean square of each column");
    table_row("VRMSE", r->vrmse.value, r->vrmse.ci, "/ standard deviation of each column");
    table_row("sMAPE", r->smape.value, r->smape.ci, "per cent, 0 to 200");
    snprintf(note, sizeof note, "of %lld steps with an error below %.3g deviations",
             (long long)r->scored, cmd->opt.deviations);
    table_row("VPT", r->vpt.value, r->vpt.ci, note);
    table_value("  median", r->vpt_median, "over trajectories");
    if (isfinite(r->lyapunov.exponent) && r->lyapunov.exponent > 0.0)
        table_value("  Lyapunov", r->vpt.value * r->lyapunov.exponent, "VPT in Lyapunov times");
    if (r->diverged) {
        snprintf(note, sizeof note, "trajectories are NaN or infinite from some step on");
        table_value("diverged", (double)r->diverged, note);
    }
    if (!isnan(r->energy_drift)) {
        table_value("energy drift", r->energy_drift, "in deviations of the true energies");
        table_value("  of the truth", r->energy_drift_truth, "");
    }
    if (!isnan(r->crps)) {
        table_value("CRPS", r->crps, "of the samples, in deviations");
        table_value("energy score", r->energy_score, "of whole states, in deviations");
    }
    puts("\nwhat needs no model");
    print_baseline("last state", r->last, "the last known state");
    print_baseline("linear", r->linear, "a line through the last two");
    print_baseline("mean", r->mean, "the mean of the truth");
}

static void fill_record(plumb_record *record, const void *context)
{
    const states_output *output = context;
    plumb_state_forecast_record(record, output->result, &output->cmd->opt);
}

// Before measuring with require_parse, after it with require_check.
static int check_requirements(const forecast_states *cmd, const plumb_state_forecast *r,
                              require_use *use)
{
    const double scored = r->scored ? (double)r->scored : 1.0;
    const requirement list[] = {
        {"vpt", r->vpt.value, scored, false},   {"vpt_relative", r->vpt.value / scored, 1.0, false},
        {"mse", r->mse.value, 0.0, true},       {"rmse", r->rmse.value, 0.0, true},
        {"nrmse", r->nrmse.value, 1.0, true},   {"vrmse", r->vrmse.value, 1.0, true},
        {"smape", r->smape.value, 100.0, true},
    };
    return use(&cmd_forecast, cmd->require, list, sizeof list / sizeof *list);
}

int forecast_states_run(const forecast_states *cmd, const char *file)
{
    int code = check_requirements(cmd, &(plumb_state_forecast){0}, require_parse);
    if (code != EXIT_DONE) return code;
    const plumb_world *world = NULL;
    plumb_array energy = cmd->energy, prediction_energy = cmd->prediction_energy;
    double *made[2] = {NULL, NULL};
    if (cmd->world) code = find_world(&world, cmd);
    if (code != EXIT_DONE) return code;
    bool done = true;
    if (world) {
        made[0] = compute_energies(&energy, world, &cmd->truth);
        made[1] = made[0] ? compute_energies(&prediction_energy, world, &cmd->prediction) : NULL;
        done = made[1];
    }
    const bool has_energy = energy.ndim && prediction_energy.ndim;
    const plumb_state_forecast_input in = {.size = sizeof in,
                                           .truth = &cmd->truth,
                                           .prediction = &cmd->prediction,
                                           .energy = has_energy ? &energy : NULL,
                                           .prediction_energy =
                                               has_energy ? &prediction_energy : NULL};
    plumb_state_forecast result;
    cli_show_log(&cmd_forecast);
    progress_begin("forecast");
    const plumb_status st =
        done ? plumb_state_forecast_measure(&result, &in, &cmd->opt) : PLUMB_EMEMORY;
    progress_end();
    if (!done) code = EXIT_FAILED;
    else if (st)
        code = cli_error(&cmd_forecast, st == PLUMB_EVALUE ? EXIT_USAGE : EXIT_FAILED, "%s%s%s",
                         file ? file : "", file ? ": " : "", plumb_last_error());
    if (code == EXIT_DONE) {
        const states_output output = {cmd, &result};
        code = cli_print(&cmd_forecast, cmd->format, fill_record, print_tables, &output);
        if (code == EXIT_DONE) code = check_requirements(cmd, &result, require_check);
        plumb_state_forecast_clear(&result);
    }
    free(made[0]);
    free(made[1]);
    return code;
}
