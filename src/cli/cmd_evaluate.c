// SPDX-License-Identifier: MIT
// plumb evaluate: a trained run judged on films it has never seen.
#include <math.h>
#include <stdio.h>

#include "cli/cmd_evaluate_video.h"
#include "cli/common/command.h"

typedef struct evaluate_command {
    plumb_evaluation_options opt;
    plumb_symetric_options symetric; // the nested options of `opt`
    plumb_kappa_options kappa;
    plumb_surprise_options surprise;
    option_list probes;
    const char *require;
    int method;
    bool json;
} evaluate_command;

static const char *const methods[] = {"both", "pr", NULL};

// clang-format off
#define AT(member) .offset = offsetof(evaluate_command, member)
static const cli_option rows[] = {
    {.name = "world", .group = "test data", FROM(evaluation_options, opt, "world"), .value = "W",
     .complete = CLI_COMPLETE_WORLDS},
    {.name = "data", FROM(evaluation_options, opt, "data"), .value = "F"},
    {.name = "first", FROM(evaluation_options, opt, "first"), .value = "I"},
    {.name = "count", .letter = 'n', .group = "dynamics models (HGN and variants)",
     FROM(evaluation_options, opt, "forecast_videos"), .value = "N"},
    {.name = "steps", FROM(evaluation_options, opt, "forecast_steps"), .value = "T"},
    {.name = "measured", FROM(evaluation_options, opt, "phase_trajectories"), .value = "N"},
    {.name = "method", .kind = OPTION_ENUM, AT(method), .words = methods,
     .help = "SyMetric by polynomials and a network, or by polynomials alone"},
    {.name = "updates", FROM(symetric_options, symetric, "network_updates")},
    {.name = "few-points", FROM(symetric_options, symetric, "network_few_points")},
    {.name = "symplectic", FROM(kappa_options, kappa, "symplectic")},
    {.name = "tuples", .group = "video models (PredRNN, PLATO)", FROM(evaluation_options, opt, "tuples"), .value = "N"},
    {.name = "films", FROM(evaluation_options, opt, "free_clips"), .value = "N"},
    {.name = "k", .letter = 'k', FROM(surprise_options, surprise, "k")},
    {.name = "probes", .is_list = true, .kind = OPTION_POINTER, AT(probes), .value = "F",
     .help = "a file of probe tuples instead of the five rooms; can be repeated"},
    {.name = "naive", FROM(evaluation_options, opt, "naive"), .value = "RUN"},
    {.name = "save", FROM(evaluation_options, opt, "save"), .value = "F"},
    {.name = "threads", .group = "output", FROM(evaluation_options, opt, "threads")},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .help = "exit 3 if canonical, kappa, symetric, r2 or vpt is below its threshold, or sym above "
             "it; video models: accuracy, relative_surprise, auroc"},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    evaluate_command *cmd = given;
    cmd->opt = plumb_evaluation_defaults();
    cmd->symetric = plumb_symetric_defaults();
    cmd->kappa = plumb_kappa_defaults();
    cmd->surprise = plumb_surprise_defaults();
}

static void print_kappa(const plumb_kappa *kappa)
{
    const plumb_interval none = {(double)NAN, (double)NAN};
    if (!kappa->measured) {
        printf("\nkappa: %s\n", kappa->why);
        return;
    }
    puts("\nkappa, in minimal canonical coordinates");
    table_row("kappa", kappa->kappa, kappa->kappa_ci, "");
    table_row("R2 of state", kappa->r2_state, none, "latents to truth, held out");
    if (isfinite(kappa->symplectic_r2))
        table_row("symplectic R2", kappa->symplectic_r2, none,
                  "truth to latents by a map symplectic by design, held out");
    if (kappa->reduced) printf("  %-14s %s\n", "reduced", kappa->reduced);
    if (kappa->canonical == PLUMB_VERDICT_NOT_DETERMINED) printf("  canonical ?: %s\n", kappa->why);
    else printf("  canonical %d: %s\n", (int)kappa->canonical, kappa->why);
}

static void print_network(const plumb_evaluation_dynamics *r)
{
    const plumb_symetric *m = &r->phase_space.network;
    printf("\nphase space by a network");
    if (!r->phase_space.has_network) {
        printf(": %s\n", r->network_why);
        return;
    }
    printf(", %lld trajectories, trained on %lld others\n", (long long)m->trajectories,
           (long long)m->training.trajectories);
    table_row("R2", m->r2, m->r2_ci, "");
    table_row("Sym", m->sym, m->sym_ci, "");
    printf("  %-14s %-11g %lld parameters\n", "SyMetric", m->symetric,
           (long long)m->training.parameters);
    if (m->training.components)
        printf("  %-14s %lld principal components of %lld latents\n", "input",
               (long long)m->training.components, (long long)m->latents);
}

static void print_phase_space(const plumb_evaluation_dynamics *r)
{
    const plumb_symetric *p = &r->phase_space.polynomial;
    char note[64];
    printf("\nphase space, %lld trajectories of %lld frames\n", (long long)p->trajectories,
           (long long)p->steps);
    table_row("R2", p->r2, p->r2_ci, "");
    table_row("R2 held out", p->r2_heldout, p->r2_heldout_ci, "");
    snprintf(note, sizeof note, "of the true state %.3g", r->phase_space.sym_floor);
    table_row("Sym", p->sym, p->sym_ci, note);
    printf("  %-14s %-11g order %d, %lld of %lld latents used\n", "SyMetric", p->symetric, p->order,
           (long long)p->latents, (long long)r->latents);
    printf("  %s\n", p->why);
    print_kappa(&r->phase_space.kappa);
    print_network(r);
}

static void print_forecast(const char *model, const plumb_forecast *f)
{
    char note[64];
    table_direction("forward", &f->forward);
    if (!f->backward.measured) {
        printf("\nbackward: %s cannot be run backward in time\n", model);
        return;
    }
    table_direction("backward", &f->backward);
    puts("\nboth");
    const double times = f->vpt * f->lyapunov.exponent;
    snprintf(note, sizeof note, "mean of the two; %.2g Lyapunov times", times);
    table_row("VPT", f->vpt, f->vpt_ci, times >= 0.1 ? note : "mean of the two");
}

static void print_dynamics(const char *run, const plumb_evaluation *r)
{
    printf("%s: %s after %lld steps on %s, %lld latents\n", run, r->model,
           (long long)r->training_steps, r->world, (long long)r->dynamics.latents);
    print_phase_space(&r->dynamics);
    print_forecast(r->model, &r->dynamics.forecast);
    printf("\nVerdict: %s\n", plumb_verdict_name(r->dynamics.phase_space.verdict));
}

static int check_dynamics(const evaluate_command *cmd, const plumb_evaluation *r, require_use *use)
{
    const plumb_forecast *f = &r->dynamics.forecast;
    const plumb_phase_space *p = &r->dynamics.phase_space;
    const double all_frames = (double)cmd->opt.forecast_steps, none = (double)NAN;
    const bool network_is_less = p->has_network && p->network.symetric < p->polynomial.symetric;
    const bool known = p->kappa.measured && p->kappa.canonical != PLUMB_VERDICT_NOT_DETERMINED;
    const requirement bars[] = {
        {"canonical", known ? (double)p->kappa.canonical : none, 1.0, false},
        {"kappa", p->kappa.measured ? p->kappa.kappa : none, 0.9, false},
        {"symetric", network_is_less ? p->network.symetric : p->polynomial.symetric, 1.0, false},
        {"r2", p->polynomial.r2, 0.9, false},
        {"sym", p->polynomial.sym, 0.05, true},
        {"vpt", f->vpt, all_frames, false},
        {"vpt_forward", f->forward.vpt, all_frames, false},
        {"vpt_backward", f->backward.measured ? f->backward.vpt : none, all_frames, false},
    };
    return use(&cmd_evaluate, cmd->require, bars, sizeof bars / sizeof *bars);
}

static int check_video(const evaluate_command *cmd, const plumb_evaluation *r, require_use *use)
{
    const plumb_surprise_metrics *m = &r->video.surprise.scorers[PLUMB_SCORER_PLAIN].all;
    const requirement bars[] = {
        {"accuracy", m->accuracy, 0.8, false},
        {"relative_surprise", m->relative_surprise, 0.0, false},
        {"auroc", m->auroc, 0.5, false},
    };
    return use(&cmd_evaluate, cmd->require, bars, sizeof bars / sizeof *bars);
}

static int check_requirements(const evaluate_command *cmd, const plumb_evaluation *r,
                              require_use *use)
{
    if (!cmd->require) return EXIT_DONE;
    return r->kind == PLUMB_EVALUATION_VIDEO ? check_video(cmd, r, use)
                                             : check_dynamics(cmd, r, use);
}

static int print_json(const evaluate_command *cmd, const char *run, const plumb_evaluation *r)
{
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_evaluate, EXIT_FAILED, "out of memory");
    plumb_record_set_string(record, "run", run);
    plumb_evaluation_record(record, r, &cmd->opt);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_evaluate, record);
    plumb_record_free(record);
    return code;
}

static int print_result(const evaluate_command *cmd, const char *run, const plumb_evaluation *r)
{
    if (cmd->json) return print_json(cmd, run, r);
    if (r->kind == PLUMB_EVALUATION_VIDEO) print_evaluation_video(run, r);
    else print_dynamics(run, r);
    return EXIT_DONE;
}

// Shows the present stage in the progress line.
static void show_stage(void *context, const char *line)
{
    static char what[160];
    (void)context;
    snprintf(what, sizeof what, "evaluate: %s", line);
    progress_stage(what);
}

static int evaluate_run(evaluate_command *cmd, const char *path)
{
    const cli_command *c = &cmd_evaluate;
    plumb_evaluation result = {0};
    cli_show_log(c); // old names of settings
    if (plumb_evaluation_find_kind(&result.kind, path)) return cli_last_error(c);
    int code = check_requirements(cmd, &result, require_parse);
    if (code) return code;
    plumb_set_log(show_stage, NULL);
    progress_begin(result.kind == PLUMB_EVALUATION_VIDEO ? "evaluate: predicting probes"
                                                         : "evaluate");
    const plumb_status st = plumb_evaluation_measure(&result, path, &cmd->opt);
    progress_end();
    if (st == PLUMB_EVALUE) return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
    if (st) return cli_last_error(c);
    code = print_result(cmd, path, &result);
    if (!code && plumb_evaluation_save(path, &result, &cmd->opt)) code = cli_last_error(c);
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
    cmd->opt.network = cmd->method == 0;
    cmd->opt.symetric = &cmd->symetric;
    cmd->opt.kappa = &cmd->kappa;
    cmd->opt.surprise = &cmd->surprise;
    cmd->opt.probes = cmd->probes.item;
    cmd->opt.probe_count = cmd->probes.count;
    signals_begin_resumable();
    return signals_end(evaluate_run(cmd, file[0]));
}

const cli_command cmd_evaluate = {
    .name = "evaluate",
    .summary = "evaluate a trained run on data it has never seen",
    .usage = "RUN [options]",
    .text =
        "Evaluates a trained run on data that training never used. A dynamics model: MSE of "
        "reconstruction and extrapolation and valid prediction time, forward and backward, on long "
        "videos; R2, Sym, SyMetric and kappa of its latents on many short ones.\n\n"
        "A video model: accuracy and relative surprise on probes of five concepts, for every "
        "scorer, next to predictors that need no training. The numbers are also written to "
        "results.json of the run.",
    .example = "plumb evaluate run --count 30",
    .options = rows,
    .options_size = sizeof(evaluate_command),
    .defaults = defaults,
    .run = run,
};
