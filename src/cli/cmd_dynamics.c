// SPDX-License-Identifier: MIT
// plumb dynamics: does the model move as the world moves?
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

enum { MAX_COLUMNS = 4096 };

typedef struct dynamics_command {
    const char *encoded, *truth, *require;
    option_list angles;
    bool linear_only;
    cli_format format;
    int64_t cut;
    cli_align align;
    plumb_dynamics_options opt;
} dynamics_command;

// clang-format off
#define AT(member) .offset = offsetof(dynamics_command, member)
static const cli_option command_options[] = {
    {.name = "encoded", .group = "input", .kind = OPTION_STRING, AT(encoded), .value = "F",
     .help = "the encoded latents, if they are in another file"},
    {.name = "truth", .kind = OPTION_STRING, AT(truth), .value = "NAME",
     .help = "the array with the true states, if it is not \"truth\": as canonical, or q,p, which "
             "joins two"},
    {.name = "cut", .kind = OPTION_INT64, AT(cut), .value = "N",
     .help = "cut trajectories, or one long (steps, d), into pieces of N steps"},
    {.name = "align", .kind = OPTION_ENUM, .words = cli_align_words, AT(align),
     .help = "where arrays have different numbers of steps, take those at the start or at the end"},
    {.name = "angle", .kind = OPTION_STRING, AT(angles), .is_list = true, .value = "K",
     .help = "column K of the truth, from 0, is an angle in radians; repeatable"},
    {.name = "truth-layout", FROM(dynamics_options, opt, "truth_layout")},
    {.name = "context", FROM(dynamics_options, opt, "context"), .group = "measure"},
    {.name = "deviations", FROM(dynamics_options, opt, "deviations")},
    {.name = "folds", FROM(dynamics_options, opt, "folds")},
    {.name = "linear-only", .kind = OPTION_BOOL, AT(linear_only),
     .help = "read out by a linear probe only"},
    {.name = "resamples", FROM(dynamics_options, opt, "resamples")},
    {.name = "seed", FROM(dynamics_options, opt, "seed")},
    {.name = "threads", FROM(dynamics_options, opt, "threads")},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .group = "output",
     .help = "exit 3 if right (the verdict), r2, vpt or vpt_relative is below its threshold"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    dynamics_command *cmd = given;
    cmd->opt = plumb_dynamics_defaults();
}

// Context of cli_print().
typedef struct dynamics_output {
    const dynamics_command *cmd;
    const plumb_dynamics *result;
} dynamics_output;

static void print_conserved(const char *name, const plumb_dynamics_conserved *quantity)
{
    char note[160];
    if (!quantity->measured) return;
    snprintf(note, sizeof note,
             "change in deviations, first to last third; encoded latents %.3g, truth %.3g",
             quantity->encoded, quantity->truth);
    table_value(name, quantity->rollout, note);
}

static void print_baseline(const char *name, plumb_state_forecast_baseline baseline,
                           const char *what)
{
    char note[160];
    if (isnan(baseline.vrmse)) return;
    snprintf(note, sizeof note, "VPT of %s, without a model", what);
    table_value(name, baseline.vpt, note);
}

static void print_tables(const void *context)
{
    const plumb_dynamics *r = ((const dynamics_output *)context)->result;
    const plumb_state_forecast *motion = &r->motion;
    char note[160];
    table_paragraph("%s: %s.", plumb_dynamics_verdict_name(r->verdict), r->why);
    if (r->hint) table_paragraph("Note: %s", r->hint);
    if (r->unencoded_before || r->unencoded_after)
        table_paragraph("%lld steps at the start and %lld at the end are left out: they have no "
                        "encoded latents.",
                        (long long)r->unencoded_before, (long long)r->unencoded_after);
    printf("\n%lld trajectories of %lld steps, %lld scored, %lld columns\n",
           (long long)motion->trajectories, (long long)motion->steps, (long long)motion->scored,
           (long long)motion->columns);
    snprintf(note, sizeof note, "of the state from encoded latents; worst column %.3g",
             r->r2_worst);
    table_value("R2", r->r2, note);
    snprintf(note, sizeof note, "of %lld steps; of encoded latents %.3g", (long long)motion->scored,
             r->floor.vpt.value);
    table_row("VPT", motion->vpt.value, motion->vpt.ci, note);
    print_baseline("  last state", motion->last, "the last state");
    print_baseline("  linear", motion->linear, "a line");
    print_baseline("  mean", motion->mean, "the mean");
    snprintf(note, sizeof note, "/ deviations; of encoded latents %.3g", r->floor.vrmse.value);
    table_row("VRMSE", motion->vrmse.value, motion->vrmse.ci, note);
    if (isfinite(r->growth)) {
        if (isfinite(r->growth_lyapunov))
            snprintf(note, sizeof note,
                     "of the log of the error per step: %.3g of the Lyapunov "
                     "exponent",
                     r->growth_lyapunov);
        else snprintf(note, sizeof note, "of the log of the error per step");
        table_value("growth", r->growth, note);
    }
    if (r->driven)
        table_paragraph("An action drives the world: energy and kept quantities decide nothing.");
    print_conserved("energy", &r->energy);
    print_conserved("kept", &r->found);
    snprintf(note, sizeof note, "distance of distributions, deviations; of encoded latents %.3g",
             r->histogram_floor);
    table_value("histogram", r->histogram, note);
    snprintf(note, sizeof note, "distance of spectra, 0 to 1; of encoded latents %.3g",
             r->spectrum_floor);
    table_value("spectrum", r->spectrum, note);
    if (isfinite(r->phase_rate)) table_value("phase", r->phase_rate, "radians per step");
    table_value("range", r->range, "of the motion in the last third, / true one");
    table_flow(&r->flow);
}

static void fill_record(plumb_record *record, const void *context)
{
    const dynamics_output *output = context;
    plumb_dynamics_record(record, output->result, &output->cmd->opt);
}

// Before measuring with require_parse, after it with require_check.
static int check_requirements(const dynamics_command *cmd, const plumb_dynamics *r,
                              require_use *use)
{
    const double scored = r->motion.scored ? (double)r->motion.scored : 1.0;
    const requirement list[] = {
        {"right", r->verdict == PLUMB_DYNAMICS_RIGHT ? 1.0 : 0.0, 1.0, false},
        {"r2", r->r2, 0.9, false},
        {"vpt", r->motion.vpt.value, scored, false},
        {"vpt_relative", r->motion.vpt.value / scored, 1.0, false},
    };
    return use(&cmd_dynamics, cmd->require, list, sizeof list / sizeof *list);
}

// The arrays and the files they belong to.
typedef struct dynamics_arrays {
    plumb_file *file[2];
    plumb_array latent, encoded, truth, energy, action;
    bool has_energy, has_action;
    cli_trajectories trajectories;
    bool angle[MAX_COLUMNS];
} dynamics_arrays;

static int read_arrays(dynamics_arrays *in, const dynamics_command *cmd, const char *path)
{
    if (plumb_file_open(&in->file[0], path) ||
        plumb_file_read_array(&in->latent, in->file[0], "latent") ||
        plumb_file_read_array(&in->truth, in->file[0], cmd->truth ? cmd->truth : "truth"))
        return cli_last_error(&cmd_dynamics);
    if (cmd->encoded) {
        if (plumb_file_read_spec(&in->encoded, &in->file[1], cmd->encoded, "encoded"))
            return cli_last_error(&cmd_dynamics);
    } else if (!plumb_file_has_array(in->file[0], "encoded")) {
        return cli_error(&cmd_dynamics, EXIT_FAILED,
                         "%s has no array \"encoded\": the latents that the model gives for the "
                         "true frames, shaped as \"latent\"; from them the state is read out",
                         path);
    } else if (plumb_file_read_array(&in->encoded, in->file[0], "encoded")) {
        return cli_last_error(&cmd_dynamics);
    }
    in->has_energy = plumb_file_has_array(in->file[0], "energy");
    if (in->has_energy && plumb_file_read_array(&in->energy, in->file[0], "energy"))
        return cli_last_error(&cmd_dynamics);
    cli_trajectories *all = &in->trajectories;
    cli_trajectories_add(all, "latent", &in->latent, 3);
    cli_trajectories_add(all, "encoded", &in->encoded, 3);
    cli_trajectories_add(all, "truth", &in->truth, 3);
    if (in->has_energy) cli_trajectories_add(all, "energy", &in->energy, 2);
    const int code =
        cli_trajectories_add_action(all, &in->has_action, &in->action, &cmd_dynamics, in->file[0]);
    if (code != EXIT_DONE) return code;
    return cli_trajectories_shape(all, &cmd_dynamics, in->file[0], cmd->cut, cmd->align);
}

// Marks the columns of --angle.
static int mark_angles(dynamics_arrays *in, const option_list *angles)
{
    const int64_t columns = in->truth.ndim ? in->truth.shape[in->truth.ndim - 1] : 0;
    for (int i = 0; i < angles->count; i++) {
        char *end;
        const long long column = strtoll(angles->item[i], &end, 10);
        if (*end || end == angles->item[i] || column < 0 || column >= columns ||
            columns > MAX_COLUMNS)
            return cli_error(&cmd_dynamics, EXIT_USAGE,
                             "--angle takes a column of the truth, 0 to %lld, not \"%s\"",
                             (long long)columns - 1, angles->item[i]);
        in->angle[column] = true;
    }
    return EXIT_DONE;
}

static int measure_arrays(const dynamics_command *cmd, const dynamics_arrays *in, const char *path)
{
    const plumb_dynamics_input input = {.size = sizeof input,
                                        .latent = &in->latent,
                                        .encoded = &in->encoded,
                                        .truth = &in->truth,
                                        .energy = in->has_energy ? &in->energy : NULL,
                                        .angles = cmd->angles.count ? in->angle : NULL,
                                        .action = in->has_action ? &in->action : NULL};
    plumb_dynamics result;
    cli_show_log(&cmd_dynamics);
    progress_begin("dynamics");
    const plumb_status st = plumb_dynamics_measure(&result, &input, &cmd->opt);
    progress_end();
    if (st)
        return cli_error(&cmd_dynamics, st == PLUMB_EVALUE ? EXIT_USAGE : EXIT_FAILED, "%s: %s",
                         path, plumb_last_error());
    const dynamics_output output = {cmd, &result};
    int code = cli_print(&cmd_dynamics, cmd->format, fill_record, print_tables, &output);
    if (code == EXIT_DONE) code = check_requirements(cmd, &result, require_check);
    plumb_dynamics_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    dynamics_command *cmd = given;
    cmd->opt.nonlinear = !cmd->linear_only;
    if (files != 1)
        return cli_error(&cmd_dynamics, EXIT_USAGE,
                         "takes one file, not %d; see plumb dynamics --help", files);
    int code = check_requirements(cmd, &(plumb_dynamics){0}, require_parse);
    if (code != EXIT_DONE) return code;
    dynamics_arrays in = {0};
    code = read_arrays(&in, cmd, file[0]);
    if (code == EXIT_DONE) code = mark_angles(&in, &cmd->angles);
    if (code == EXIT_DONE) code = measure_arrays(cmd, &in, file[0]);
    for (int i = 0; i < 2; i++) plumb_file_close(in.file[i]);
    cli_trajectories_free(&in.trajectories);
    return code;
}

const cli_command cmd_dynamics = {
    .name = "dynamics",
    .summary = "does the model move as the world moves?",
    .usage = "F.npz [options]",
    .text =
        "F.npz has \"encoded\", latents of true frames, \"latent\", the model's own rollouts from "
        "the first of them, and \"truth\", the true states, all (trajectories, steps, ...); it may "
        "have \"energy\" (trajectories, steps) and \"action\" (trajectories, steps, a), what "
        "drives "
        "the world. The state is read out of the encoded latents by a "
        "probe, and the same readout is applied to the rollouts. Measured are the valid prediction "
        "time, the growth of the error, conserved quantities, long-run statistics and phase, "
        "beside predictions that need no model.",
    .example = "plumb dynamics rollouts.npz --require right",
    .options = command_options,
    .options_size = sizeof(dynamics_command),
    .defaults = defaults,
    .run = run,
};
