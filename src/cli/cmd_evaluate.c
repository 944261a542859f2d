// SPDX-License-Identifier: MIT
// plumb evaluate: a trained run judged on films it has never seen.
#include <math.h>
#include <stdio.h>

#include "cli/cmd_evaluate_video.h"
#include "cli/common/command.h"

typedef struct settings {
    plumb_evaluation_options opt;
    plumb_evaluation_video_options films;
    option_list probes;
    const char *require;
    int method;
    bool json;
} settings;

static const char *const methods[] = {"both", "pr", NULL};

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "count", .letter = 'n', .kind = OPTION_INTEGER, AT(opt.count), .value = "N",
     .help = "films of the forecast"},
    {.name = "steps", .kind = OPTION_INTEGER, AT(opt.steps), .value = "T",
     .help = "frames the valid prediction time can count"},
    {.name = "measured", .kind = OPTION_INTEGER, AT(opt.measured), .value = "N",
     .help = "trajectories of R2, Sym and SyMetric"},
    {.name = "method", .kind = OPTION_CHOICE, AT(method), .choices = methods,
     .help = "R2, Sym and SyMetric by polynomials and by a network, or by polynomials alone"},
    {.name = "updates", .kind = OPTION_INTEGER, AT(opt.symetric.network_updates), .value = "N",
     .help = "steps of training that network"},
    {.name = "few-points", .kind = OPTION_FLAG, AT(opt.symetric.network_few_points),
     .help = "train it on the films of --data even if they are too few"},
    {.name = "symplectic", .kind = OPTION_FLAG, AT(opt.canonical.symplectic),
     .help = "symplectic_r2 too: fit a map that is symplectic by design; takes seconds"},
    {.name = "first", .kind = OPTION_INTEGER, AT(opt.first), .value = "I",
     .help = "number of the first film among those that training never sees"},
    {.name = "world", .kind = OPTION_TEXT, AT(opt.world), .value = "W",
     .help = "another world than the run's own; of a model of films: whose free clips"},
    {.name = "data", .kind = OPTION_TEXT, AT(opt.data), .value = "F",
     .help = "or a file of plumb simulate"},
    {.name = "tuples", .kind = OPTION_INTEGER, AT(films.tuples), .value = "N",
     .help = "of a model of films: tuples of each concept"},
    {.name = "films", .kind = OPTION_INTEGER, AT(films.films), .value = "N",
     .help = "of a model of films: free clips whose frames it predicts"},
    {.name = "k", .letter = 'k', .kind = OPTION_INTEGER, AT(films.surprise.k), .value = "K",
     .help = "which neighbour among the impossible clips known; a fifth of the tuples is known"},
    {.name = "probes", .kind = OPTION_LIST, AT(probes), .value = "F",
     .help = "files of tuples instead of the rooms; may be given often"},
    {.name = "naive", .kind = OPTION_TEXT, AT(films.naive), .value = "RUN",
     .help = "a run trained on impossible clips (--world rooms/impossible), for the naive scorer"},
    {.name = "save", .kind = OPTION_TEXT, AT(films.save), .value = "F",
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
    ((settings *)given)->opt = plumb_evaluation_defaults();
    ((settings *)given)->films = plumb_evaluation_video_defaults();
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

static void print_own(const plumb_evaluation *r)
{
    const plumb_interval none = {(double)NAN, (double)NAN};
    const plumb_kappa *own = &r->own;
    if (r->own_why[0]) {
        printf("\nkappa: %s\n", r->own_why);
        return;
    }
    puts("\nplumb's own score, in minimal canonical coordinates");
    row("kappa", own->kappa, own->kappa_ci, "");
    row("R2 of state", own->r2_state, none, "latents to truth, held out");
    if (isfinite(own->symplectic_r2))
        row("symplectic R2", own->symplectic_r2, none,
            "truth to latents by a map symplectic by design, held out");
    if (own->reduced) printf("  %-14s %s\n", "reduced", own->reduced);
    if (own->canonical == PLUMB_VERDICT_UNKNOWN) printf("  canonical ?: %s\n", own->why);
    else printf("  canonical %d: %s\n", own->canonical, own->why);
}

static void print_table(const char *run, const plumb_evaluation *r)
{
    const plumb_symetric *p = &r->polynomial, *m = &r->mlp;
    printf("%s: %s after %lld steps on %s, %lld latents\n", run, r->model, (long long)r->trained,
           r->world, (long long)r->latents);
    printf("\nphase space, %lld trajectories of %lld frames\n", (long long)p->trajectories,
           (long long)p->steps);
    row("R2", p->r2, p->r2_ci, "");
    row("R2 held out", p->r2_heldout, p->r2_heldout_ci, "");
    char note[64];
    snprintf(note, sizeof note, "of the true state %.3g", r->sym_floor);
    row("Sym", p->sym, p->sym_ci, note);
    printf("  %-14s %-11g order %d, %lld of %lld latents used\n", "SyMetric", p->symetric, p->order,
           (long long)p->latents, (long long)r->latents);
    printf("  %s\n", p->why);
    print_own(r);
    printf("\nphase space by a network");
    if (r->mlp_why[0]) printf(": %s\n", r->mlp_why);
    else {
        printf(", %lld trajectories, trained on %lld others\n", (long long)m->trajectories,
               (long long)m->training.trajectories);
        row("R2", m->r2, m->r2_ci, "");
        row("Sym", m->sym, m->sym_ci, "");
        printf("  %-14s %-11g %lld parameters\n", "SyMetric", m->symetric,
               (long long)m->training.parameters);
        if (m->training.components)
            printf("  %-14s %lld principal components of %lld latents\n", "which sees",
                   (long long)m->training.components, (long long)m->latents);
    }
    print_direction("forward", &r->forecast.forward);
    if (!r->forecast.backward.measured) {
        printf("\nbackward: %s cannot be run into the past\n", r->model);
        return;
    }
    print_direction("backward", &r->forecast.backward);
    puts("\nboth");
    const double times = r->forecast.vpt * r->lyapunov.exponent;
    snprintf(note, sizeof note, "mean of the two; %.2g Lyapunov times", times);
    row("VPT", r->forecast.vpt, r->forecast.vpt_ci, times >= 0.1 ? note : "mean of the two");
}

static int check_bars(const settings *s, const plumb_evaluation *r, require_use *use)
{
    const plumb_forecast *f = &r->forecast;
    const double whole = (double)s->opt.steps;
    const bool both = !r->mlp_why[0] && r->mlp.symetric < r->polynomial.symetric;
    const double none = (double)NAN;
    const bool judged = !r->own_why[0] && r->own.canonical != PLUMB_VERDICT_UNKNOWN;
    const requirement bars[] = {
        {"canonical", judged ? r->own.canonical : none, 1.0, false},
        {"kappa", r->own_why[0] ? none : r->own.kappa, 0.9, false},
        {"symetric", both ? r->mlp.symetric : r->polynomial.symetric, 1.0, false},
        {"r2", r->polynomial.r2, 0.9, false},
        {"sym", r->polynomial.sym, 0.05, true},
        {"vpt", f->vpt, whole, false},
        {"vpt_forward", f->forward.vpt, whole, false},
        {"vpt_backward", f->backward.measured ? f->backward.vpt : none, whole, false},
    };
    return s->require ? use(&cmd_evaluate, s->require, bars, sizeof bars / sizeof *bars)
                      : EXIT_DONE;
}

static int print(const settings *s, const char *run, const plumb_evaluation *r)
{
    if (!s->json) {
        print_table(run, r);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_evaluate, EXIT_FAILED, "no memory");
    plumb_record_set_string(record, "run", run);
    plumb_evaluation_record(record, r, &s->opt);
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(&cmd_evaluate, record);
    plumb_record_free(record);
    return code;
}

// What it is at, instead of what it was at.
static void say(void *context, const char *line)
{
    static char what[160];
    (void)context;
    snprintf(what, sizeof what, "evaluate: %s", line);
    progress_stage(what);
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    const cli_command *c = &cmd_evaluate;
    if (files != 1)
        return cli_error(c, EXIT_USAGE,
                         "takes one run directory, not %d; see plumb evaluate --help", files);
    bool films = false;
    if (plumb_evaluation_video_applies(&films, file[0])) return cli_last_error(c);
    if (films && s->opt.data)
        return cli_error(c, EXIT_USAGE, "a model of films is judged by --probes, not by --data");
    if (films) {
        s->films.world = s->opt.world;
        s->films.probes = s->probes.item;
        s->films.probe_count = s->probes.count;
        s->films.threads = s->opt.threads;
        s->films.first = s->opt.first;
        signals_begin_resumable();
        return signals_end(cmd_evaluate_video(c, file[0], &s->films, s->require, s->json));
    }
    int code = check_bars(s, &(plumb_evaluation){0}, require_parse);
    if (code) return code;
    plumb_evaluation result;
    signals_begin_resumable();
    s->opt.mlp = s->method == 0;
    plumb_set_log(say, NULL);
    progress_begin("evaluate");
    const plumb_status st = plumb_evaluation_measure(&result, file[0], &s->opt);
    progress_end();
    if (st == PLUMB_EVALUE) return signals_end(cli_error(c, EXIT_USAGE, "%s", plumb_last_error()));
    if (st) return signals_end(cli_last_error(c));
    code = print(s, file[0], &result);
    if (!code && plumb_evaluation_save(file[0], &result, &s->opt)) code = cli_last_error(c);
    if (!code) code = check_bars(s, &result, require_check);
    plumb_evaluation_clear(&result);
    return signals_end(code);
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
