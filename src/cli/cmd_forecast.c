// SPDX-License-Identifier: MIT
// plumb forecast: compares predicted frames with true frames.
// The arrays come from one file, or each from a file of its own. They belong to the files,
// which are closed after the output.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_forecast_states.h"

// What is predicted; by default the number of axes tells: frames have five.
typedef enum forecast_kind { KIND_AUTO, KIND_FRAMES, KIND_STATES } forecast_kind;
static const char *const kind_words[] = {"auto", "frames", "states", NULL};

typedef struct forecast_command {
    const char *truth, *prediction, *backward, *state;
    const char *items, *require;
    plumb_forecast_options opt;
    cli_format format;
    forecast_kind kind;
    const char *world;
    int64_t cut;
    cli_align align;
    plumb_state_forecast_options states;
} forecast_command;

// clang-format off
#define AT(member) .offset = offsetof(forecast_command, member)
static const cli_option command_options[] = {
    {.name = "truth", .group = "input", .kind = OPTION_STRING, AT(truth), .value = "F",
     .help = "true frames (trajectories, steps, height, width, channels)"},
    {.name = "prediction", .kind = OPTION_STRING, AT(prediction), .value = "F",
     .help = "predicted frames"},
    {.name = "backward", .kind = OPTION_STRING, AT(backward), .value = "F",
     .help = "frames predicted backward from the last ones, as of plumb rollout --backward"},
    {.name = "state", .kind = OPTION_STRING, AT(state), .value = "F",
     .help = "true states (trajectories, steps, dimension): VPT in Lyapunov times too"},
    {.name = "kind", .kind = OPTION_ENUM, .words = kind_words, AT(kind),
     .help = "frames (trajectories, steps, height, width, channels), or states and fields "
             "(trajectories, steps, ..., columns); auto: five axes are frames"},
    {.name = "context", FROM(state_forecast_options, states, "context"), .group = "states"},
    {.name = "deviations", FROM(state_forecast_options, states, "deviations")},
    {.name = "samples-axis", FROM(state_forecast_options, states, "samples_axis")},
    {.name = "world", .kind = OPTION_STRING, AT(world), .value = "NAME",
     .complete = CLI_COMPLETE_WORLDS,
     .help = "states: they are those of this world; measures the drift of its energy"},
    {.name = "cut", .kind = OPTION_INT64, AT(cut), .value = "N",
     .help = "states: cut trajectories, or one long (steps, columns), into pieces of N steps"},
    {.name = "align", .kind = OPTION_ENUM, .words = cli_align_words, AT(align),
     .help = "states: where truth and prediction have different numbers of steps, take those at "
             "the start or at the end"},
    {.name = "frames", FROM(forecast_options, opt, "frames"), .group = "frames"},
    {.name = "split", FROM(forecast_options, opt, "split")},
    {.name = "inference", FROM(forecast_options, opt, "inference")},
    {.name = "target", FROM(forecast_options, opt, "target")},
    {.name = "extrapolate", FROM(forecast_options, opt, "extrapolate")},
    {.name = "threshold", FROM(forecast_options, opt, "threshold"), .group = "measure"},
    {.name = "backward-count", FROM(forecast_options, opt, "backward_count")},
    {.name = "average", FROM(forecast_options, opt, "average")},
    {.name = "batch", FROM(forecast_options, opt, "batch")},
    {.name = "resamples", FROM(forecast_options, opt, "resamples")},
    {.name = "seed", FROM(forecast_options, opt, "seed")},
    {.name = "threads", FROM(forecast_options, opt, "threads")},
    {.name = "items", .group = "output", .kind = OPTION_STRING, AT(items), .value = "F.jsonl",
     .help = "write one record per trajectory, with the error of every frame"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .help = "exit 3 if vpt, vpt_relative, vpt_forward or vpt_backward is below its threshold, or "
             "rec_mse, ext_mse, rec_mse_relative or ext_mse_relative above it"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

// The word of --frames.
static const char *get_protocol_name(const plumb_forecast_options *opt)
{
    // Member 0 of the options table is "frames"; its words are the protocols.
    plumb_option_info info;
    return plumb_option_info_at(&info, "forecast_options", 0) ? info.words[opt->frames] : "";
}

static void defaults(void *given)
{
    forecast_command *cmd = given;
    cmd->opt = plumb_forecast_defaults();
    cmd->states = plumb_state_forecast_defaults();
}

// The arrays and the files they belong to.
typedef struct forecast_input {
    plumb_file *files[4];
    plumb_array truth, prediction, backward, state;
    bool has_backward;
} forecast_input;

// Closes all files; the arrays belong to them.
static void close_input(forecast_input *in)
{
    for (int i = 0; i < 4; i++) plumb_file_close(in->files[i]);
}

// Reads each array from a file of its own.
static int read_apart(forecast_input *in, const forecast_command *cmd)
{
    if (plumb_file_read_spec(&in->truth, &in->files[0], cmd->truth, "truth") ||
        plumb_file_read_spec(&in->prediction, &in->files[1], cmd->prediction, "prediction"))
        return cli_last_error(&cmd_forecast);
    in->has_backward = cmd->backward;
    if (cmd->backward &&
        plumb_file_read_spec(&in->backward, &in->files[2], cmd->backward, "prediction_backward"))
        return cli_last_error(&cmd_forecast);
    return EXIT_DONE;
}

// A rollout has the true states as "truth" and the true frames as "frames".
static plumb_status read_truth(forecast_input *in)
{
    const bool frames = plumb_file_has_array(in->files[0], "frames");
    if (!frames || plumb_file_has_array(in->files[0], "truth")) {
        // An array "truth" with five dimensions is frames; with three it holds states.
        const plumb_status st = plumb_file_read_array(&in->truth, in->files[0], "truth");
        if (st || !frames || in->truth.ndim == 5) return st;
    }
    return plumb_file_read_array(&in->truth, in->files[0], "frames");
}

// Reads the backward prediction from a file of its own. A file of plumb rollout --backward has it
// as "prediction", next to the true frames, which must be those of the forward one.
static int read_backward(forecast_input *in, const char *spec, const char *forward)
{
    static const char *const names[] = {"prediction_backward", "backward", "prediction"};
    const cli_command *c = &cmd_forecast;
    in->has_backward = true;
    // "F.npz:name" names its array, and a .npy file has only one.
    const char *dot = strrchr(spec, '.');
    if ((dot && !strcmp(dot, ".npy")) || plumb_file_open(&in->files[2], spec)) {
        if (plumb_file_read_spec(&in->backward, &in->files[2], spec, "prediction_backward"))
            return cli_last_error(c);
        return EXIT_DONE;
    }
    int i = 0;
    while (i < 2 && !plumb_file_has_array(in->files[2], names[i])) i++;
    if (plumb_file_read_array(&in->backward, in->files[2], names[i])) return cli_last_error(c);
    plumb_array frames;
    if (!plumb_file_has_array(in->files[2], "frames")) return EXIT_DONE;
    if (plumb_file_read_array(&frames, in->files[2], "frames")) return cli_last_error(c);
    bool same = frames.ndim == in->truth.ndim && frames.dtype == in->truth.dtype;
    for (int k = 0; same && k < frames.ndim; k++) same = frames.shape[k] == in->truth.shape[k];
    if (!same || memcmp(frames.data, in->truth.data,
                        (size_t)plumb_array_count(&frames) * plumb_dtype_size(frames.dtype)))
        return cli_error(c, EXIT_FAILED, "%s and %s have different true frames", forward, spec);
    return EXIT_DONE;
}

// Reads all arrays from one file, the backward prediction also from a second; it has one of two
// names.
static int read_together(forecast_input *in, const forecast_command *cmd, const char *path)
{
    const char *backward = cmd->backward;
    const int samples = cmd->states.samples_axis > 0;
    static const char *const backward_names[] = {"prediction_backward", "backward"};
    if (plumb_file_open(&in->files[0], path) ||
        plumb_file_read_array(&in->prediction, in->files[0], "prediction"))
        return cli_last_error(&cmd_forecast);
    // A rollout has true states and true frames; the prediction tells which are meant.
    const bool states =
        cmd->kind == KIND_STATES || (cmd->kind == KIND_AUTO && in->prediction.ndim - samples != 5);
    if (states ? plumb_file_read_array(&in->truth, in->files[0], "truth") : read_truth(in))
        return cli_last_error(&cmd_forecast);
    if (backward) return read_backward(in, backward, path);
    for (int i = 0; i < 2 && !in->has_backward; i++) {
        if (!plumb_file_has_array(in->files[0], backward_names[i])) continue;
        if (plumb_file_read_array(&in->backward, in->files[0], backward_names[i]))
            return cli_last_error(&cmd_forecast);
        in->has_backward = true;
    }
    return EXIT_DONE;
}

// Checks which arrays are given, and reads them.
static int read_input(forecast_input *in, forecast_command *cmd, int files, char **file)
{
    const cli_command *c = &cmd_forecast;
    // F --truth T: F has the prediction.
    if (files == 1 && cmd->truth && !cmd->prediction) cmd->prediction = file[--files];
    const bool apart = cmd->truth || cmd->prediction;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; of two: --truth F --prediction F2",
                         files);
    if (files && apart)
        return cli_error(c, EXIT_USAGE,
                         "takes a file, a file and --truth, or --prediction and --truth");
    if (apart && (!cmd->truth || !cmd->prediction))
        return cli_error(c, EXIT_USAGE, "--%s is missing", cmd->truth ? "prediction" : "truth");
    if (!files && !apart)
        return cli_error(c, EXIT_USAGE,
                         "needs F.npz or --truth F --prediction F; see plumb %s --help", c->name);
    const int code = apart ? read_apart(in, cmd) : read_together(in, cmd, file[0]);
    if (code == EXIT_DONE && cmd->state &&
        plumb_file_read_spec(&in->state, &in->files[3], cmd->state, "truth"))
        return cli_last_error(c);
    return code;
}

// One line of --items.
static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_forecast_item_record(record, result, index);
}

// Two rows of an MSE: as published, and relative.
static void print_mse(const char *name, const plumb_forecast_mse *mse)
{
    char note[96];
    if (mse->why) {
        table_text(name, "undefined: %s", mse->why);
        return;
    }
    snprintf(note, sizeof note, "frames %lld to %lld", (long long)mse->first,
             (long long)(mse->first + mse->frames - 1));
    table_row(name, mse->published, mse->published_ci, note);
    table_row("  relative", mse->relative, mse->ci, "not divided by the number of pixels");
}

// MSE and VPT of one direction.
static void print_direction(const char *name, const plumb_forecast_direction *direction)
{
    char note[96];
    printf("\n%s\n", name);
    print_mse("MSE Rec", &direction->rec);
    print_mse("MSE Ext", &direction->ext);
    snprintf(note, sizeof note, "of %lld frames", (long long)direction->length);
    table_row("VPT", direction->vpt, direction->vpt_ci, note);
    if (direction->vpt_published != direction->vpt)
        table_value("  published", direction->vpt_published,
                    "counted from the far end, as in the published code");
    table_stills(direction);
}

// VPT in units of the Lyapunov time of the true states.
static void print_lyapunov(const plumb_forecast *result)
{
    const plumb_lyapunov *lyapunov = &result->lyapunov;
    puts("\nchaos");
    table_row("Lyapunov", lyapunov->exponent, lyapunov->ci, "per frame, of the true states");
    table_row("VPT", result->vpt * lyapunov->exponent,
              (plumb_interval){result->vpt_ci.low * lyapunov->exponent,
                               result->vpt_ci.high * lyapunov->exponent},
              "in Lyapunov times");
}

// Context of cli_print().
typedef struct forecast_output {
    const forecast_command *cmd;
    const plumb_forecast *result;
} forecast_output;

// The text output.
static void print_tables(const void *context)
{
    const forecast_command *cmd = ((const forecast_output *)context)->cmd;
    const plumb_forecast *result = ((const forecast_output *)context)->result;
    table_paragraph("%lld trajectories of %lld frames, %lld x %lld x %lld, frames %s, threshold %g",
                    (long long)result->trajectories, (long long)result->steps,
                    (long long)result->height, (long long)result->width,
                    (long long)result->channels, get_protocol_name(&cmd->opt), cmd->opt.threshold);
    print_direction("forward", &result->forward);
    if (result->backward.measured) {
        print_direction("backward", &result->backward);
        puts("\nboth");
        table_row("VPT", result->vpt, result->vpt_ci, "mean of the two");
        table_averages(result);
    }
    if (cmd->state) print_lyapunov(result);
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const forecast_output *output = context;
    plumb_forecast_record(record, output->result, &output->cmd->opt);
}

// Before measuring with require_parse, after it with require_check.
static int check_requirements(const forecast_command *cmd, const plumb_forecast *result,
                              require_use *use)
{
    // Before measuring all values are 0, and only the names are checked.
    const plumb_forecast_direction *forward = &result->forward, *backward = &result->backward;
    const double all_frames = backward->measured
                                  ? 0.5 * (double)(forward->length + backward->length)
                                  : (double)forward->length;
    const double pixels = (double)(result->height * result->width * result->channels);
    // Default thresholds: valid to the last frame, and an error of at most --threshold.
    const requirement list[] = {
        {"vpt", result->vpt, all_frames, false},
        {"vpt_relative", result->vpt_relative, 1.0, false},
        {"vpt_forward", forward->vpt, (double)forward->length, false},
        {"vpt_backward", backward->measured ? backward->vpt : (double)NAN, (double)backward->length,
         false},
        {"rec_mse", forward->rec.published, cmd->opt.threshold / pixels, true},
        {"ext_mse", forward->ext.published, cmd->opt.threshold / pixels, true},
        {"rec_mse_relative", forward->rec.relative, cmd->opt.threshold, true},
        {"ext_mse_relative", forward->ext.relative, cmd->opt.threshold, true},
    };
    return use(&cmd_forecast, cmd->require, list, sizeof list / sizeof *list);
}

// Items are written first: if that fails, nothing is printed.
static int print_result(const forecast_command *cmd, const plumb_forecast *result)
{
    const forecast_output output = {cmd, result};
    int code = EXIT_DONE;
    if (cmd->items)
        code = cli_write_items(&cmd_forecast, cmd->items, result->trajectories, fill_item, result);
    if (code == EXIT_DONE)
        code = cli_print(&cmd_forecast, cmd->format, fill_record, print_tables, &output);
    return code == EXIT_DONE ? check_requirements(cmd, result, require_check) : code;
}

// Measures the arrays and prints the result. `file` is NULL if there are several files.
static int measure_input(const forecast_command *cmd, const forecast_input *in, const char *file)
{
    plumb_forecast result;
    cli_show_log(&cmd_forecast);
    progress_begin("forecast");
    const plumb_status st =
        plumb_forecast_measure(&result, &in->prediction, in->has_backward ? &in->backward : NULL,
                               &in->truth, cmd->state ? &in->state : NULL, &cmd->opt);
    progress_end();
    // With several files the message itself names the array.
    if (st && file)
        return cli_error(&cmd_forecast, EXIT_FAILED, "%s: %s", file, plumb_last_error());
    if (st) return cli_last_error(&cmd_forecast);
    // States were given, but their Lyapunov exponent cannot be measured: this is an error.
    const int code = result.lyapunov.why
                         ? cli_error(&cmd_forecast, EXIT_FAILED, "%s", result.lyapunov.why)
                         : print_result(cmd, &result);
    plumb_forecast_clear(&result);
    return code;
}

// The energies of one file; ndim 0 if it has none.
static int read_energies(forecast_states *states, const forecast_input *in)
{
    plumb_file *file = in->files[0];
    if (!file || !plumb_file_has_array(file, "energy") ||
        !plumb_file_has_array(file, "prediction_energy"))
        return EXIT_DONE;
    if (plumb_file_read_array(&states->energy, file, "energy") ||
        plumb_file_read_array(&states->prediction_energy, file, "prediction_energy"))
        return cli_last_error(&cmd_forecast);
    return EXIT_DONE;
}

// One trajectory (steps, columns) is a forecast of its own; only --cut makes pieces of it.
static void add_trajectory_axis(plumb_array *array)
{
    if (array->ndim != 2) return;
    array->shape[2] = array->shape[1];
    array->shape[1] = array->shape[0];
    array->shape[0] = 1;
    array->ndim = 3;
}

// Brings states to (trajectories, steps, columns). Fields and samples have their own axes.
static int shape_states(cli_trajectories *all, forecast_states *states, const forecast_command *cmd,
                        plumb_file *file)
{
    if (states->truth.ndim > 3 || states->opt.samples_axis) {
        if (!cmd->cut && !cmd->align) return EXIT_DONE;
        return cli_error(&cmd_forecast, EXIT_USAGE,
                         "--cut and --align are for states (trajectories, steps, columns) without "
                         "samples");
    }
    const bool divided = cmd->cut || plumb_file_has_array(file, "ep_len") ||
                         plumb_file_has_array(file, "trajectory");
    // More columns than steps are rather trajectories of one column, which must be said.
    if (!divided && states->truth.ndim == 2 && states->prediction.ndim == 2 &&
        states->truth.shape[1] < states->truth.shape[0]) {
        add_trajectory_axis(&states->truth);
        add_trajectory_axis(&states->prediction);
    }
    cli_trajectories_add(all, "truth", &states->truth, 3);
    cli_trajectories_add(all, "prediction", &states->prediction, 3);
    if (states->energy.ndim) {
        cli_trajectories_add(all, "energy", &states->energy, 2);
        cli_trajectories_add(all, "prediction_energy", &states->prediction_energy, 2);
    }
    return cli_trajectories_shape(all, &cmd_forecast, file, cmd->cut, cmd->align);
}

static int measure_states(const forecast_command *cmd, const forecast_input *in, const char *file)
{
    forecast_states states = {.truth = in->truth,
                              .prediction = in->prediction,
                              .world = cmd->world,
                              .require = cmd->require,
                              .format = cmd->format,
                              .opt = cmd->states};
    states.opt.resamples = cmd->opt.resamples;
    states.opt.seed = cmd->opt.seed;
    states.opt.threads = cmd->opt.threads;
    if (cmd->items || cmd->state || in->has_backward)
        return cli_error(&cmd_forecast, EXIT_USAGE,
                         "--items, --state and --backward are for frames, not for states");
    cli_trajectories all = {0};
    int code = read_energies(&states, in);
    if (code == EXIT_DONE) code = shape_states(&all, &states, cmd, in->files[0]);
    if (code == EXIT_DONE) code = forecast_states_run(&states, file);
    cli_trajectories_free(&all);
    return code;
}

static int run(void *given, int files, char **file)
{
    forecast_command *cmd = given;
    // --split would have no effect here, so it is rejected.
    if (cmd->opt.frames != PLUMB_FORECAST_PROTOCOL_PLAIN &&
        cmd->opt.split != plumb_forecast_defaults().split)
        return cli_error(&cmd_forecast, EXIT_USAGE,
                         "--split is for --frames plain; %s is set by --inference and --target",
                         get_protocol_name(&cmd->opt));
    forecast_input in = {0};
    int code = read_input(&in, cmd, files, file);
    const bool frames = in.truth.ndim == 5 && in.prediction.ndim == 5;
    const char *name = files ? file[0] : NULL;
    if (code == EXIT_DONE && (cmd->kind == KIND_STATES || (cmd->kind == KIND_AUTO && !frames))) {
        code = measure_states(cmd, &in, name);
        close_input(&in);
        return code;
    }
    if (code == EXIT_DONE) code = check_requirements(cmd, &(plumb_forecast){0}, require_parse);
    if (code == EXIT_DONE) code = measure_input(cmd, &in, name);
    close_input(&in);
    return code;
}

const cli_command cmd_forecast = {
    .name = "forecast",
    .summary = "predicted frames or states: errors and valid prediction time",
    .usage = "F.npz [--truth F] [--backward F] | --prediction F --truth F [options]",
    .text =
        "Compares predicted frames with true ones. F.npz has arrays \"truth\" (or \"frames\") and "
        "\"prediction\", and may have \"prediction_backward\" (or \"backward\"). The error of a "
        "frame is |x - y|^2 / |x|^2. MSE Rec is its mean over the frames that the model was "
        "trained to predict, MSE Ext over those after them, both divided by height x width x "
        "channels as "
        "published. VPT, the valid prediction time, is the number of extrapolated frames before "
        "the first whose error exceeds the threshold.\n\n"
        "States (trajectories, steps, columns), and fields with axes of space between, are "
        "measured by MSE, RMSE, NRMSE, VRMSE, sMAPE and VPT in standard deviations, beside "
        "predictions that need no model.",
    .example = "plumb forecast frames.npz --split 60 --require vpt=40 --json",
    .options = command_options,
    .options_size = sizeof(forecast_command),
    .defaults = defaults,
    .run = run,
};
