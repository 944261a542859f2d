// SPDX-License-Identifier: MIT
// plumb evaluate: a trained run judged on films it has never seen.
#include <math.h>
#include <stdio.h>

#include "cli/cmd_evaluate_video.h"
#include "cli/common/command.h"

typedef struct settings {
    plumb_evaluation_options opt;
    plumb_symetric_options symetric; // the nested options of `opt`
    plumb_kappa_options kappa;
    plumb_surprise_options surprise;
    option_list probes;
    const char *require;
    int method;
    bool json;
} settings;

static const char *const methods[] = {"both", "pr", NULL};

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "count", .letter = 'n', .kind = OPTION_INTEGER, AT(opt.forecast_videos), .value = "N",
     .help = "films of the forecast"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(opt.forecast_steps), .value = "T",
     .help = "frames the valid prediction time can count"},
    {.name = "measured", .kind = OPTION_INTEGER, AT(opt.phase_trajectories), .value = "N",
     .help = "trajectories of R2, Sym and SyMetric"},
    {.name = "method", .kind = OPTION_CHOICE, AT(method), .choices = methods,
     .help = "R2, Sym and SyMetric by polynomials and by a network, or by polynomials alone"},
    {.name = "updates", .kind = OPTION_INTEGER, AT(symetric.network_updates), .value = "N",
     .help = "steps of training that network"},
    {.name = "few-points", .kind = OPTION_FLAG, AT(symetric.network_few_points),
     .help = "train it on the films of --data even if they are too few"},
    {.name = "symplectic", .kind = OPTION_FLAG, AT(kappa.symplectic),
     .help = "symplectic_r2 too: fit a map that is symplectic by design; takes seconds"},
    {.name = "first", .kind = OPTION_INTEGER, AT(opt.first), .value = "I",
     .help = "number of the first film among those that training never sees"},
    {.name = "world", .kind = OPTION_TEXT, AT(opt.world), .value = "W",
     .help = "another world than the run's own; of a model of films: whose free clips"},
    {.name = "data", .kind = OPTION_TEXT, AT(opt.data), .value = "F",
     .help = "or a file of plumb simulate"},
    {.name = "tuples", .kind = OPTION_INTEGER, AT(opt.tuples), .value = "N",
     .help = "of a model of films: tuples of each concept"},
    {.name = "films", .kind = OPTION_INTEGER, AT(opt.free_clips), .value = "N",
     .help = "of a model of films: free clips whose frames it predicts"},
    {.name = "k", .letter = 'k', .kind = OPTION_INTEGER, AT(surprise.k), .value = "K",
     .help = "which neighbour among the impossible clips known; a fifth of the tuples is known"},
    {.name = "probes", .kind = OPTION_LIST, AT(probes), .value = "F",
     .help = "files of tuples instead of the rooms; may be given often"},
    {.name = "naive", .kind = OPTION_TEXT, AT(opt.naive), .value = "RUN",
     .help = "a run trained on impossible clips (--world rooms/impossible), for the naive scorer"},
    {.name = "save", .kind = OPTION_TEXT, AT(opt.save), .value = "F",
     .help = "surprise and features of all tuples into a file that plumb surprise reads"},
    {.name = "threads", .kind = OPTION_INT, AT(opt.threads), .help = "0: all cores; changes no result"},
    {.name = "require", .kind = OPTION_TEXT, AT(require), .value = "BARS",
     .help = "exit 3 below a bar: canonical, kappa, symetric, vpt=900, r2, sym, vpt_forward, vpt_backward; "
             "of films accuracy=0.8, relative_surprise, auroc"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    settings *s = given;
    s->opt = plumb_evaluation_defaults();
    s->symetric = plumb_symetric_defaults();
    s->kappa = plumb_kappa_defaults();
    s->surprise = plumb_surprise_defaults();
}

static void row(const char *name, double value, plumb_interval ci, const char *note)
{
    char text[64];
    printf("  %-14s %-11.4g %-29s %s\n", name, value, cli_format_interval(text, sizeof text, ci),
           note);
}

static void print_direction(const char *name, const plumb_forecast_direction *d)
{
    char note[64];
    printf("\n%s\n", name);
    row("MSE Rec", d->rec.published, d->rec.published_ci, "");
    row("MSE Ext", d->ext.published, d->ext.published_ci, "");
    snprintf(note, sizeof note, "of %lld frames", (long long)d->length);
    row("VPT", d->vpt, d->vpt_ci, note);
}

static void print_kappa(const plumb_kappa *kappa)
{
    const plumb_interval none = {(double)NAN, (double)NAN};
    if (!kappa->measured) {
        printf("\nkappa: %s\n", kappa->why);
        return;
    }
    puts("\nkappa, in minimal canonical coordinates");
    row("kappa", kappa->kappa, kappa->kappa_ci, "");
    row("R2 of state", kappa->r2_state, none, "latents to truth, held out");
    if (isfinite(kappa->symplectic_r2))
        row("symplectic R2", kappa->symplectic_r2, none,
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
    row("R2", m->r2, m->r2_ci, "");
    row("Sym", m->sym, m->sym_ci, "");
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
    row("R2", p->r2, p->r2_ci, "");
    row("R2 held out", p->r2_heldout, p->r2_heldout_ci, "");
    snprintf(note, sizeof note, "of the true state %.3g", r->phase_space.sym_floor);
    row("Sym", p->sym, p->sym_ci, note);
    printf("  %-14s %-11g order %d, %lld of %lld latents used\n", "SyMetric", p->symetric, p->order,
           (long long)p->latents, (long long)r->latents);
    printf("  %s\n", p->why);
    print_kappa(&r->phase_space.kappa);
    print_network(r);
}

static void print_forecast(const char *model, const plumb_forecast *f)
{
    char note[64];
    print_direction("forward", &f->forward);
    if (!f->backward.measured) {
        printf("\nbackward: %s cannot be run backward in time\n", model);
        return;
    }
    print_direction("backward", &f->backward);
    puts("\nboth");
    const double times = f->vpt * f->lyapunov.exponent;
    snprintf(note, sizeof note, "mean of the two; %.2g Lyapunov times", times);
    row("VPT", f->vpt, f->vpt_ci, times >= 0.1 ? note : "mean of the two");
}

static void print_dynamics(const char *run, const plumb_evaluation *r)
{
    printf("%s: %s after %lld steps on %s, %lld latents\n", run, r->model,
           (long long)r->training_steps, r->world, (long long)r->dynamics.latents);
    print_phase_space(&r->dynamics);
    print_forecast(r->model, &r->dynamics.forecast);
    printf("\nVerdict: %s\n", plumb_verdict_name(r->dynamics.phase_space.verdict));
}

static int check_dynamics(const settings *s, const plumb_evaluation *r, require_use *use)
{
    const plumb_forecast *f = &r->dynamics.forecast;
    const plumb_phase_space *p = &r->dynamics.phase_space;
    const double all_frames = (double)s->opt.forecast_steps, none = (double)NAN;
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
    return use(&cmd_evaluate, s->require, bars, sizeof bars / sizeof *bars);
}

static int check_video(const settings *s, const plumb_evaluation *r, require_use *use)
{
    const plumb_surprise_metrics *m = &r->video.surprise.scorers[PLUMB_SCORER_PLAIN].all;
    const requirement bars[] = {
        {"accuracy", m->accuracy, 0.8, false},
        {"relative_surprise", m->relative_surprise, 0.0, false},
        {"auroc", m->auroc, 0.5, false},
    };
    return use(&cmd_evaluate, s->require, bars, sizeof bars / sizeof *bars);
}

static int check_requirements(const settings *s, const plumb_evaluation *r, require_use *use)
{
    if (!s->require) return EXIT_DONE;
    return r->kind == PLUMB_EVALUATION_VIDEO ? check_video(s, r, use) : check_dynamics(s, r, use);
}

static int print_json(const settings *s, const char *run, const plumb_evaluation *r)
{
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_evaluate, EXIT_FAILED, "out of memory");
    plumb_record_set_string(record, "run", run);
    plumb_evaluation_record(record, r, &s->opt);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_evaluate, record);
    plumb_record_free(record);
    return code;
}

static int print_result(const settings *s, const char *run, const plumb_evaluation *r)
{
    if (s->json) return print_json(s, run, r);
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

static int evaluate_run(settings *s, const char *path)
{
    const cli_command *c = &cmd_evaluate;
    plumb_evaluation result = {0};
    if (plumb_evaluation_find_kind(&result.kind, path)) return cli_last_error(c);
    int code = check_requirements(s, &result, require_parse);
    if (code) return code;
    plumb_set_log(show_stage, NULL);
    progress_begin(result.kind == PLUMB_EVALUATION_VIDEO ? "evaluate: predicting probes"
                                                         : "evaluate");
    const plumb_status st = plumb_evaluation_measure(&result, path, &s->opt);
    progress_end();
    if (st == PLUMB_EVALUE) return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
    if (st) return cli_last_error(c);
    code = print_result(s, path, &result);
    if (!code && plumb_evaluation_save(path, &result, &s->opt)) code = cli_last_error(c);
    if (!code) code = check_requirements(s, &result, require_check);
    plumb_evaluation_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    if (files != 1)
        return cli_error(&cmd_evaluate, EXIT_USAGE,
                         "takes one run directory, not %d; see plumb evaluate --help", files);
    s->opt.network = s->method == 0;
    s->opt.symetric = &s->symetric;
    s->opt.kappa = &s->kappa;
    s->opt.surprise = &s->surprise;
    s->opt.probes = s->probes.item;
    s->opt.probe_count = s->probes.count;
    signals_begin_resumable();
    return signals_end(evaluate_run(s, file[0]));
}

const cli_command cmd_evaluate = {
    .name = "evaluate",
    .summary = "a trained run judged on films it has never seen",
    .usage = "RUN [options]",
    .text =
        "Error of reconstruction and extrapolation and valid prediction time, forward and\n"
        "backward, on long films; R2, Sym and SyMetric of its latents on many short ones,\n"
        "by polynomials and by a small network, and kappa, plumb's own score. The films are of the "
        "world the run was trained\n"
        "on, and none of them was used to train. A model of films is judged by what surprises\n"
        "it: accuracy and relative surprise on probes of five concepts, for every scorer, beside\n"
        "predictors that need no training. The numbers also go into results.json of the run.",
    .example = "plumb evaluate run --count 30",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
