// SPDX-License-Identifier: MIT
// plumb evaluate: evaluates a trained run on data it has never seen, and prints the result as
// tables or JSON.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd_evaluate_video.h"
#include "cli/common/command.h"
#include "cli/common/scorers.h"

typedef struct evaluate_command {
    plumb_evaluation_options opt;
    plumb_symetric_options symetric; // the nested options of `opt`
    plumb_kappa_options kappa;
    plumb_forecast_options forecast;
    plumb_surprise_options surprise;
    plumb_evaluation_loops_options loops;
    option_list probes;
    const char *require, *items, *figure;
    scorer_words scorers;
    int method;
    bool no_save;
    cli_format format;
} evaluate_command;

// The words of --method: with the network of SyMetric, or without it.
static const char *const methods[] = {"both", "pr", NULL};

// clang-format off
#define AT(member) .offset = offsetof(evaluate_command, member)
static const cli_option command_options[] = {
    {.name = "world", .group = "test data", FROM(evaluation_options, opt, "world"), .value = "W",
     .complete = CLI_COMPLETE_WORLDS},
    {.name = "data", FROM(evaluation_options, opt, "data"), .value = "F"},
    {.name = "first", FROM(evaluation_options, opt, "first"), .value = "I"},
    {.name = "best", FROM(evaluation_options, opt, "best")},
    {.name = "allow-training-data", FROM(evaluation_options, opt, "allow_training_data")},
    {.name = "protocol", .group = "dynamics models (HGN and variants)",
     FROM(evaluation_options, opt, "protocol")},
    {.name = "count", .letter = 'n', FROM(evaluation_options, opt, "forecast_videos"),
     .value = "N"},
    {.name = "steps", FROM(evaluation_options, opt, "forecast_steps"), .value = "T"},
    {.name = "measured", FROM(evaluation_options, opt, "phase_trajectories"), .value = "N"},
    {.name = "method", .kind = OPTION_ENUM, AT(method), .words = methods,
     .help = "SyMetric by polynomials and a network, or by polynomials alone"},
    {.name = "average", FROM(forecast_options, forecast, "average")},
    {.name = "mode", FROM(symetric_options, symetric, "mode")},
    {.name = "mask", FROM(symetric_options, symetric, "mask")},
    {.name = "points", FROM(symetric_options, symetric, "points")},
    {.name = "updates", FROM(symetric_options, symetric, "network_updates")},
    {.name = "network-trajectories", FROM(evaluation_options, opt, "network_trajectories"),
     .value = "N"},
    {.name = "few-points", FROM(symetric_options, symetric, "network_few_points")},
    {.name = "symplectic", FROM(kappa_options, kappa, "symplectic")},
    {.name = "loops", .kind = OPTION_INT64, AT(loops.loops), .value = "K",
     .help = "measure K closed loops of states through the encoder instead: their actions are kept by "
             "every canonical map; needs frames only, no regression"},
    {.name = "loop-states", .kind = OPTION_INT64, AT(loops.loop_states), .value = "S",
     .help = "states of each loop"},
    {.name = "tuples", .group = "video models (PredRNN, PLATO)", FROM(evaluation_options, opt, "tuples"), .value = "N"},
    {.name = "films", FROM(evaluation_options, opt, "free_clips"), .value = "N"},
    {.name = "probes", .is_list = true, .kind = OPTION_POINTER, AT(probes), .value = "F",
     .help = "a file of probe tuples instead of the five rooms; can be repeated"},
    {.name = "resize", FROM(evaluation_options, opt, "resize")},
    {.name = "naive", FROM(evaluation_options, opt, "naive"), .value = "RUN"},
    {.name = "save", FROM(evaluation_options, opt, "save"), .value = "F"},
    SCORER_OPTIONS(surprise, scorers),
    {.name = "threads", .group = "output", FROM(evaluation_options, opt, "threads")},
    {.name = "resamples", FROM(surprise_options, surprise, "resamples")},
    {.name = "seed", FROM(surprise_options, surprise, "seed")},
    {.name = "items", .kind = OPTION_STRING, AT(items), .value = "F.jsonl",
     .help = "write one record per tuple, with the scores of its clips"},
    {.name = "figure", .kind = OPTION_STRING, AT(figure), .value = "F.svg",
     .help = "draw the ROC curves of single clips to a .svg or .png file"},
    {.name = "no-save", .kind = OPTION_BOOL, AT(no_save),
     .help = "do not write the result to results.json of the run"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .help = "exit 3 if verdict, canonical, kappa, symetric, r2 or vpt is below its threshold, or sym "
             "above it; video models: accuracy, relative_surprise, auroc"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

// All options structs get the defaults of the library, so that --help can show them.
static void defaults(void *given)
{
    evaluate_command *cmd = given;
    cmd->opt = plumb_evaluation_defaults();
    cmd->symetric = plumb_symetric_defaults();
    cmd->kappa = plumb_kappa_defaults();
    cmd->forecast = plumb_forecast_defaults();
    cmd->forecast.average = PLUMB_FORECAST_AVERAGE_MEAN;
    cmd->surprise = plumb_surprise_defaults();
    cmd->scorers = scorer_words_defaults();
    cmd->loops = plumb_evaluation_loops_defaults();
    cmd->loops.loops = 0; // none, unless --loops names their number
}

// --protocol stands for other options.
static bool set_protocol(void *given)
{
    evaluate_command *cmd = given;
    if (cmd->opt.protocol == PLUMB_EVALUATION_PROTOCOL_OWN) return false;
    return !plumb_evaluation_set_protocol(&cmd->opt, &cmd->symetric, &cmd->forecast,
                                          cmd->opt.protocol);
}

// The table of kappa, or why it was not measured.
static void print_kappa(const plumb_kappa *kappa)
{
    // An interval of NaN is not printed.
    const plumb_interval none = {(double)NAN, (double)NAN};
    if (!kappa->measured) {
        putchar('\n');
        table_paragraph("kappa: %s", kappa->why);
        return;
    }
    puts("\nkappa, in minimal canonical coordinates");
    table_row("kappa", kappa->kappa, kappa->kappa_ci, "");
    table_row("R2 of state", kappa->r2_state, none, "latents to truth, held out");
    table_kappa(kappa);
}

// SyMetric by a network, or why it was not measured.
static void print_network(const plumb_evaluation_dynamics *result)
{
    const plumb_symetric *network = &result->phase_space.network;
    putchar('\n');
    if (!result->phase_space.has_network) {
        table_paragraph("phase space by a network: %s", result->network_why);
        return;
    }
    table_paragraph("phase space by a network, %lld trajectories, trained on %lld others",
                    (long long)network->trajectories, (long long)network->training.trajectories);
    table_row("R2", network->r2, network->r2_ci, "");
    table_row("Sym", network->sym, network->sym_ci, "");
    char note[400];
    snprintf(note, sizeof note, "%lld parameters", (long long)network->training.parameters);
    table_value("SyMetric", network->symetric, note);
    if (network->training.components)
        table_text("input", "%lld principal components of %lld latents",
                   (long long)network->training.components, (long long)network->latents);
}

// The tables of SyMetric and kappa.
static void print_phase_space(const plumb_evaluation_dynamics *result)
{
    const plumb_symetric *symetric = &result->phase_space.polynomial;
    char note[400];
    printf("\nphase space, %lld trajectories of %lld frames\n", (long long)symetric->trajectories,
           (long long)symetric->steps);
    table_row("R2", symetric->r2, symetric->r2_ci, "");
    table_row("R2 held out", symetric->r2_heldout, symetric->r2_heldout_ci, "");
    snprintf(note, sizeof note, "of the true state %.3g", result->phase_space.sym_floor);
    table_row("Sym", symetric->sym, symetric->sym_ci, note);
    snprintf(note, sizeof note, "order %d, %lld of %lld latents used: %s", symetric->order,
             (long long)symetric->latents, (long long)result->latents, symetric->why);
    table_value("SyMetric", symetric->symetric, note);
    print_kappa(&result->phase_space.kappa);
    table_flow(&result->phase_space.flow);
    print_network(result);
}

// The tables of MSE and VPT, forward and backward.
static void print_forecast(const char *model, const plumb_forecast *forecast)
{
    char note[64];
    table_direction("forward", &forecast->forward);
    if (!forecast->backward.measured) {
        printf("\nbackward: %s cannot run backward in time\n", model);
        return;
    }
    table_direction("backward", &forecast->backward);
    puts("\nboth");
    // Lyapunov times are shown only where the true motion is chaotic enough to matter.
    const double times = forecast->vpt * forecast->lyapunov.exponent;
    snprintf(note, sizeof note, "mean of the two; %.2g Lyapunov times", times);
    table_row("VPT", forecast->vpt, forecast->vpt_ci, times >= 0.1 ? note : "mean of the two");
    table_averages(forecast);
}

// Sym or R2 by a network and by polynomials, with a star where SyMetric is 1, as the paper prints
// them: "0.03* / 0.04*". NaN is a dash.
static const char *format_both(char text[40], double network, bool network_star, double polynomial,
                               bool polynomial_star)
{
    char parts[2][16];
    const double values[] = {network, polynomial};
    const bool stars[] = {network_star, polynomial_star};
    for (int i = 0; i < 2; i++)
        if (isnan(values[i])) snprintf(parts[i], sizeof parts[i], "-");
        else
            snprintf(parts[i], sizeof parts[i], values[i] < 100 ? "%.2f%s" : "%.0f%s", values[i],
                     stars[i] ? "*" : "");
    snprintf(text, 40, "%s / %s", parts[0], parts[1]);
    return text;
}

// One row in the form of the paper's table. `vpt` is a text: ours has two averages.
static void print_published_row(const char *name, const char *vpt,
                                const plumb_published_scores *scores)
{
    char sym[40], r2[40];
    printf("  %-10s %8.4g %8.4g  %-13s %-18s %s\n", name, 1e7 * scores->rec_mse,
           1e7 * scores->ext_mse, vpt,
           format_both(sym, scores->sym_network, scores->symetric_network, scores->sym_polynomial,
                       scores->symetric_polynomial),
           format_both(r2, scores->r2_network, scores->symetric_network, scores->r2_polynomial,
                       scores->symetric_polynomial));
}

// Our numbers beside those of [Higgins21], for its 13 worlds.
static void print_published(const plumb_evaluation *result)
{
    plumb_published_row row;
    if (!plumb_published_find(&row, result->world)) return;
    const plumb_evaluation_dynamics *dynamics = &result->dynamics;
    const plumb_forecast *forecast = &dynamics->forecast;
    const plumb_symetric *network = &dynamics->phase_space.network,
                         *polynomial = &dynamics->phase_space.polynomial;
    const bool has_network = dynamics->phase_space.has_network;
    const plumb_published_scores ours = {
        .rec_mse = forecast->forward.rec.published,
        .ext_mse = forecast->forward.ext.published,
        .sym_network = has_network ? network->sym : (double)NAN,
        .sym_polynomial = polynomial->sym,
        .r2_network = has_network ? network->r2 : (double)NAN,
        .r2_polynomial = polynomial->r2,
        .symetric_network = has_network && network->symetric >= 1.0,
        .symetric_polynomial = polynomial->symetric >= 1.0,
    };
    char vpt[32];
    puts("\npublished [Higgins21, Table 1], best seed; * SyMetric 1; VPT mean (median);\n"
         "Sym and R2 by a network / by polynomials");
    printf("  %-10s %8s %8s  %-13s %-18s %s\n", "", "Rec 1e-7", "Ext 1e-7", "VPT", "Sym", "R2");
    snprintf(vpt, sizeof vpt, "%.4g (%.4g)", forecast->vpt_mean, forecast->vpt_median);
    print_published_row("this run", vpt, &ours);
    snprintf(vpt, sizeof vpt, "%.4g", row.hgnpp.vpt);
    print_published_row("HGN++", vpt, &row.hgnpp);
    snprintf(vpt, sizeof vpt, "%.4g", row.hgn.vpt);
    print_published_row("HGN", vpt, &row.hgn);
}

// All tables of a dynamics model. `data`: the test data come from a file.
static void print_dynamics(const char *run, const plumb_evaluation *result, bool data)
{
    table_paragraph("%s: %s after %lld steps on %s, %lld latents", run, result->model,
                    (long long)result->training_steps, result->world,
                    (long long)result->dynamics.latents);
    print_phase_space(&result->dynamics);
    print_forecast(result->model, &result->dynamics.forecast);
    if (!data) print_published(result);
    printf("\nVerdict: %s\n", plumb_verdict_name(result->dynamics.phase_space.verdict));
}

// ---- requirements ----

// Requirements for a dynamics model. Default of the VPT: all frames.
static int check_dynamics(const evaluate_command *cmd, const plumb_evaluation *result,
                          require_use *use)
{
    const plumb_forecast *forecast = &result->dynamics.forecast;
    const plumb_phase_space *phase_space = &result->dynamics.phase_space;
    const double all_frames = (double)cmd->opt.forecast_steps, none = (double)NAN;
    // With two fits the lower SyMetric counts, so a requirement must hold for both.
    const bool network_is_less = phase_space->has_network &&
                                 phase_space->network.symetric < phase_space->polynomial.symetric;
    // A verdict that is not determined becomes NaN, and NaN meets no requirement.
    const bool known =
        phase_space->kappa.measured && phase_space->kappa.canonical != PLUMB_VERDICT_NOT_DETERMINED;
    const bool decided = phase_space->verdict != PLUMB_VERDICT_NOT_DETERMINED;
    const requirement list[] = {
        {"verdict", decided ? (double)phase_space->verdict : none, 1.0, false},
        {"canonical", known ? (double)phase_space->kappa.canonical : none, 1.0, false},
        {"kappa", phase_space->kappa.measured ? phase_space->kappa.kappa : none, 0.9, false},
        {"symetric",
         network_is_less ? phase_space->network.symetric : phase_space->polynomial.symetric, 1.0,
         false},
        {"r2", phase_space->polynomial.r2, 0.9, false},
        {"sym", phase_space->polynomial.sym, 0.05, true},
        {"vpt", forecast->vpt, all_frames, false},
        {"vpt_forward", forecast->forward.vpt, all_frames, false},
        {"vpt_backward", forecast->backward.measured ? forecast->backward.vpt : none, all_frames,
         false},
    };
    return use(&cmd_evaluate, cmd->require, list, sizeof list / sizeof *list);
}

// Requirements for a video model, about the scorer plain.
static int check_video(const evaluate_command *cmd, const plumb_evaluation *result,
                       require_use *use)
{
    const plumb_surprise_metrics *plain = &result->video.surprise.scorers[PLUMB_SCORER_PLAIN].all;
    const requirement list[] = {
        {"accuracy", plain->accuracy, 0.8, false},
        {"relative_surprise", plain->relative_surprise, 0.0, false},
        {"auroc", plain->auroc, 0.5, false},
    };
    return use(&cmd_evaluate, cmd->require, list, sizeof list / sizeof *list);
}

// `use` is require_parse before measuring and require_check after it.
static int check_requirements(const evaluate_command *cmd, const plumb_evaluation *result,
                              require_use *use)
{
    if (!cmd->require) return EXIT_DONE;
    return result->kind == PLUMB_EVALUATION_VIDEO ? check_video(cmd, result, use)
                                                  : check_dynamics(cmd, result, use);
}

// ---- output ----

// Context of cli_print().
typedef struct evaluation_output {
    const char *run;
    const plumb_evaluation *result;
    const plumb_evaluation_options *options;
} evaluation_output;

// The record of --json. It has the name that the user wrote, not the path in the zoo.
static void fill_record(plumb_record *record, const void *context)
{
    const evaluation_output *output = context;
    plumb_record_set_string(record, "run", output->run);
    plumb_evaluation_record(record, output->result, output->options);
    plumb_record_set_string(record, "version", plumb_version());
}

// The text output, by the kind of the model.
static void print_tables(const void *context)
{
    const evaluation_output *output = context;
    if (output->result->kind == PLUMB_EVALUATION_VIDEO)
        print_evaluation_video(output->run, output->result);
    else print_dynamics(output->run, output->result, output->options->data);
}

// Shows the present stage in the progress line.
static void show_stage(void *context, const char *line)
{
    // progress_stage() keeps the pointer, so the text must outlive this call.
    static char what[160];
    (void)context;
    snprintf(what, sizeof what, "evaluate: %s", line);
    progress_stage(what);
}

// Writes the result to results.json of the run, if that is wanted. A model that is installed, or a
// directory that cannot be written, stays as it is: the result is printed, so this is no failure.
static int save_result(const evaluate_command *cmd, const char *path, const char *name,
                       const plumb_evaluation *result)
{
    const cli_command *c = &cmd_evaluate;
    // `path` differs from `name` if the model was found in the zoo by its name.
    if (cmd->no_save || strcmp(path, name)) return EXIT_DONE;
    const bool installed = zoo_has(path);
    if (installed || access(path, W_OK)) {
        cli_error(c, EXIT_DONE,
                  "%s %s, so the result is not saved in it; --no-save hides this line", path,
                  installed ? "is a model of the zoo" : "cannot be written");
        return EXIT_DONE;
    }
    return plumb_evaluation_save(path, result, &cmd->opt) ? cli_last_error(c) : EXIT_DONE;
}

static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_surprise_item_record(record, result, index);
}

// The files of --items and --figure, for a video model.
static int write_files(const evaluate_command *cmd, const plumb_evaluation *result)
{
    const cli_command *c = &cmd_evaluate;
    const plumb_surprise *surprise = &result->video.surprise;
    int code = EXIT_DONE;
    if (cmd->items) code = cli_write_items(c, cmd->items, surprise->tested, fill_item, surprise);
    if (code != EXIT_DONE || !cmd->figure) return code;
    plumb_report *report = NULL;
    plumb_record *record = plumb_record_create();
    const char *text = NULL;
    if (record) plumb_surprise_record(record, surprise, &cmd->surprise);
    plumb_status st = record ? plumb_record_to_json(&text, record) : PLUMB_EMEMORY;
    if (!st) st = plumb_report_create(&report);
    if (!st) st = plumb_report_add_record(report, "surprise", text);
    if (!st) st = plumb_report_save_figure(report, "roc", cmd->figure);
    plumb_report_free(report);
    plumb_record_free(record);
    return st ? cli_last_error(c) : EXIT_DONE;
}

// ---- loops ----

// Context of cli_print().
typedef struct loops_output {
    const char *run;
    const plumb_loops *result;
} loops_output;

static void fill_loops(plumb_record *record, const void *context)
{
    const loops_output *output = context;
    plumb_record_set_string(record, "run", output->run);
    plumb_loops_record(record, output->result);
    plumb_record_set_string(record, "version", plumb_version());
}

static void print_loops(const void *context)
{
    const loops_output *output = context;
    const plumb_loops *r = output->result;
    table_paragraph("%s: %lld closed loops of %lld states through the encoder", output->run,
                    (long long)r->loops, (long long)r->states);
    putchar('\n');
    table_loops(r);
}

// --loops: nothing else is measured, and nothing is saved.
static int evaluate_loops(evaluate_command *cmd, const char *path, const char *name)
{
    const cli_command *c = &cmd_evaluate;
    plumb_loops result = {0};
    cmd->loops.world = cmd->opt.world, cmd->loops.threads = cmd->opt.threads;
    cli_show_log(c);
    progress_begin("evaluate: loops");
    const plumb_status st = plumb_evaluation_loops(&result, path, &cmd->loops);
    progress_end();
    if (st) return cli_status_error(c, st);
    const loops_output output = {name, &result};
    int code = cli_print(c, cmd->format, fill_loops, print_loops, &output);
    // A negative constant, q and p exchanged, is canonical too.
    const requirement list[] = {{"loops", fabs(result.cosine), 0.99, false}};
    if (code == EXIT_DONE && cmd->require) code = require_check(c, cmd->require, list, 1);
    plumb_loops_clear(&result);
    return code;
}

// Evaluates the run in `path`. `name` is what the user wrote.
static int evaluate_run(evaluate_command *cmd, const char *path, const char *name)
{
    const cli_command *c = &cmd_evaluate;
    if (cmd->loops.loops) return evaluate_loops(cmd, path, name);
    plumb_evaluation result = {0};
    cli_show_log(c); // old names of settings
    if (plumb_evaluation_find_kind(&result.kind, path)) return cli_last_error(c);
    // Which names --require accepts depends on the kind of the model.
    int code = check_requirements(cmd, &result, require_parse);
    if (code) return code;
    plumb_set_log(show_stage, NULL);
    progress_begin(result.kind == PLUMB_EVALUATION_VIDEO ? "evaluate: predicting probes"
                                                         : "evaluate");
    const plumb_status st = plumb_evaluation_measure(&result, path, &cmd->opt);
    progress_end();
    if (st) return cli_status_error(c, st);
    const evaluation_output output = {name, &result, &cmd->opt};
    code = cli_print(c, cmd->format, fill_record, print_tables, &output);
    if (!code && result.kind == PLUMB_EVALUATION_VIDEO) code = write_files(cmd, &result);
    if (!code) code = save_result(cmd, path, name, &result);
    if (!code) code = check_requirements(cmd, &result, require_check);
    plumb_evaluation_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    evaluate_command *cmd = given;
    if (files != 1)
        return cli_error(&cmd_evaluate, EXIT_USAGE,
                         "takes one run directory, not %d; see plumb evaluate --help", files);
    const int parsed = scorer_words_parse(&cmd->surprise, &cmd_evaluate, &cmd->scorers);
    if (parsed != EXIT_DONE) return parsed;
    // The nested options are pointers.
    cmd->opt.network = cmd->method == 0;
    cmd->opt.symetric = &cmd->symetric;
    cmd->opt.kappa = &cmd->kappa;
    cmd->opt.forecast = &cmd->forecast;
    cmd->opt.surprise = &cmd->surprise;
    cmd->opt.probes = cmd->probes.item;
    cmd->opt.probe_count = cmd->probes.count;
    // `naive` is a buffer of run() because the options keep a pointer to it.
    char path[SHARE_PATH_SIZE], naive[SHARE_PATH_SIZE];
    if (!zoo_find(path, &cmd_evaluate, file[0])) return EXIT_FAILED;
    if (cmd->opt.naive) {
        if (!zoo_find(naive, &cmd_evaluate, cmd->opt.naive)) return EXIT_FAILED;
        cmd->opt.naive = naive;
    }
    // SIGTERM and SIGUSR1 end with exit code 75: the same command can be started again.
    signals_begin_resumable();
    return signals_end(evaluate_run(cmd, path, file[0]));
}

const cli_command cmd_evaluate = {
    .name = "evaluate",
    .summary = "evaluate a trained run on data it has never seen",
    .usage = "RUN [options]",
    .text =
        "Evaluates a run directory of plumb train, or a trained model that is installed with plumb "
        "(hgn++-mass-spring), on data that training never used. A dynamics model: MSE of "
        "reconstruction and extrapolation and valid prediction time, forward and backward, on long "
        "videos; R2, Sym, SyMetric and kappa of its latents on many short ones.\n\n"
        "A video model: accuracy and relative surprise on probes of five concepts, for every "
        "scorer, next to predictors that need no training. The numbers are also written to "
        "results.json of a run directory, unless it is a model of the zoo or cannot be written.",
    .example = "plumb evaluate hgn++-mass-spring --count 30",
    .options = command_options,
    .options_size = sizeof(evaluate_command),
    .defaults = defaults,
    .preset = set_protocol,
    .run = run,
};
