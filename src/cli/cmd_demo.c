// SPDX-License-Identifier: MIT
// plumb demo: three models whose answer is known beforehand, measured and judged in plain words.
// examples/make_latents.py made them, by maps that are written down there.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/command.h"

typedef struct demo_command {
    const char *out, *page;
    bool json;
} demo_command;

static const char usual_page[] = "plumb-demo.html";

// clang-format off
static const cli_option rows[] = {
    {.name = "out", .kind = OPTION_STRING, .offset = offsetof(demo_command, out), .value = "F.json",
     .help = "also write the numbers to a file"},
    {.name = "report", .kind = OPTION_STRING, .offset = offsetof(demo_command, page),
     .value = "F.html",
     .help = "the page with the figures; by default plumb-demo.html, with --json none"},
    {.name = "json", .kind = OPTION_BOOL, .offset = offsetof(demo_command, json),
     .help = "print the numbers as one line of JSON"},
    {0},
};
// clang-format on

typedef struct sample {
    const char *name;
    const char *story;
    bool passes, degenerate; // what must come out
} sample;

static const sample samples[] = {
    {"good",
     "The true phase space of a mass on a spring, bent and turned by canonical maps, beside a\n"
     "pair of latents that is only noise.",
     true, false},
    {"bad",
     "Everything about the state can be read off these latents, but the map squeezes area in\n"
     "some places and not in others: good pictures, wrong physics.",
     false, false},
    {"cheat",
     "Latents that remember position, velocity and the clock, and keep all momenta at zero: no\n"
     "Hamiltonian moves them, yet the true state is a function of them.",
     false, true},
};

enum { SAMPLES = sizeof samples / sizeof *samples };

// $PLUMB_SHARE, else ../share/plumb beside the program; the build tree has the same shape.
static void share_path(char *path, size_t size, const char *name)
{
    const char *share = getenv("PLUMB_SHARE");
    char beside[PATH_MAX] = "";
    if (!share) {
        const ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 1);
        beside[length > 0 ? length : 0] = 0;
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(beside, '/');
            if (slash) *slash = 0;
        }
        share = beside;
    }
    snprintf(path, size, "%s%s/%s", share, share == beside ? "/share/plumb" : "", name);
}

static void sample_path(char *path, size_t size, const char *name)
{
    char below[64];
    snprintf(below, sizeof below, "examples/latents/%s.npz", name);
    share_path(path, size, below);
}

static plumb_status measure_sample(plumb_phase_space *out, const char *path)
{
    plumb_file *file = NULL;
    plumb_array latent, truth;
    plumb_status st = plumb_file_open(&file, path);
    if (!st) st = plumb_file_read_array(&latent, file, "latent");
    if (!st) st = plumb_file_read_array(&truth, file, "truth");
    const plumb_phase_space_input in = {.size = sizeof in, .latent = &latent, .truth = &truth};
    if (!st) st = plumb_phase_space_measure(out, &in, NULL);
    plumb_file_close(file);
    return st;
}

static void cell(const char *name, double value, plumb_interval interval, const char *wanted)
{
    char text[64];
    printf("    %-9s %-9.4g %-28s %s\n", name, value, table_interval(text, sizeof text, interval),
           wanted);
}

// Words of `text` in lines of at most 92 columns, each after `indent` spaces.
static void paragraph(const char *text, int indent)
{
    int column = 0;
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (column && column + 1 + length > 92) {
            putchar('\n');
            column = 0;
        }
        column +=
            column ? printf(" %.*s", length, text) : printf("%*s%.*s", indent, "", length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static void print_verdict(plumb_verdict verdict, const char *why)
{
    char text[640];
    printf("\n    Verdict: %s.\n", plumb_verdict_name(verdict));
    snprintf(text, sizeof text, "Why: %s.", why);
    paragraph(text, 4);
    putchar('\n');
}

static void print_sample(const sample *s, const plumb_phase_space *result)
{
    const plumb_symetric *r = &result->polynomial;
    const plumb_kappa *k = &result->kappa;
    printf("%s\n%s\n\n", s->name, s->story);
    cell("R2", r->r2, r->r2_ci, "above 0.9: the state can be read off");
    cell("Sym", r->sym, r->sym_ci,
         r->degenerate ? "without meaning here" : "below 0.05: area is kept");
    cell("SyMetric", r->symetric, r->symetric_ci, "1: both");
    if (k->measured)
        cell("kappa", k->kappa, k->kappa_ci, "above 0.9: area is kept where the data are");
    print_verdict(result->verdict, result->why);
}

static bool as_known(const sample *s, const plumb_phase_space *result)
{
    const plumb_verdict expected = s->passes ? PLUMB_VERDICT_LEARNT : PLUMB_VERDICT_NOT_LEARNT;
    return result->verdict == expected && result->polynomial.degenerate == s->degenerate;
}

// All three into one record, each spoken of as it is measured. Returns an exit code.
static int measure_samples(plumb_record *record, bool speak)
{
    int wrong = 0;
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_begin_array(record, "models");
    for (int i = 0; i < SAMPLES; i++) {
        char path[PATH_MAX + 64];
        plumb_phase_space result;
        sample_path(path, sizeof path, samples[i].name);
        if (measure_sample(&result, path)) return cli_last_error(&cmd_demo);
        if (speak) print_sample(&samples[i], &result);
        const bool right = as_known(&samples[i], &result);
        wrong += !right;
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", samples[i].name);
        plumb_record_set_bool(record, "as_known", right);
        plumb_phase_space_record(record, &result, NULL);
        plumb_record_end(record);
        plumb_phase_space_clear(&result);
    }
    plumb_record_end(record);
    if (wrong)
        return cli_error(&cmd_demo, EXIT_FAILED,
                         "%d of %d verdicts are not the known ones; please report this with the "
                         "output of plumb doctor",
                         wrong, SAMPLES);
    return EXIT_DONE;
}

// The trained model, where it was installed.
static bool trained_path(char *path, size_t size)
{
    char config[PATH_MAX + 96];
    share_path(path, size, "zoo/hgn++-mass-spring");
    snprintf(config, sizeof config, "%s/config.json", path);
    return !access(config, R_OK);
}

// Evaluates it on a few videos. Returns an exit code.
static int evaluate_trained(void)
{
    char path[PATH_MAX + 64];
    if (!trained_path(path, sizeof path)) return EXIT_DONE;
    plumb_evaluation_options opt = plumb_evaluation_defaults();
    opt.forecast_videos = 8;
    opt.phase_trajectories = 50;
    opt.network = false;
    plumb_evaluation r;
    if (plumb_evaluation_measure(&r, path, &opt)) return cli_last_error(&cmd_demo);
    const plumb_phase_space *p = &r.dynamics.phase_space;
    const plumb_forecast *f = &r.dynamics.forecast;
    printf("%s\n", r.model);
    paragraph("A model that learnt the same world from videos alone, by plumb train, evaluated on "
              "videos it has never seen.",
              0);
    putchar('\n');
    cell("kappa", p->kappa.kappa, p->kappa.kappa_ci, "above 0.9: area is kept where the data are");
    cell("R2", p->polynomial.r2, p->polynomial.r2_ci, "above 0.9: the state can be read off");
    cell("VPT", f->vpt, f->vpt_ci, "of 1000 frames, forward and backward");
    print_verdict(p->verdict, p->why);
    plumb_evaluation_clear(&r);
    return EXIT_DONE;
}

// One page about all three, and about the trained model.
static plumb_status write_page(const char *page)
{
    char path[PATH_MAX + 64];
    plumb_report *report = NULL;
    plumb_report_options opt = plumb_report_defaults();
    plumb_status st = plumb_report_create(&report);
    if (!st && trained_path(path, sizeof path)) st = plumb_report_add_path(report, path, &opt);
    for (int i = 0; i < SAMPLES && !st; i++) {
        sample_path(path, sizeof path, samples[i].name);
        st = plumb_report_add_path(report, path, &opt);
    }
    if (!st) st = plumb_report_save(report, page);
    plumb_report_free(report);
    return st;
}

// The page, and where it is. A folder that cannot be written to is no fault of the demo.
static int finish(const demo_command *s)
{
    const char *page = s->page ? s->page : usual_page;
    if (s->json && !s->page) return EXIT_DONE;
    const plumb_status st = write_page(page);
    if (st && s->page) return cli_last_error(&cmd_demo);
    if (s->json) return EXIT_DONE;
    if (st) printf("There is no page: %s. Name another place by --report.\n", plumb_last_error());
    else printf("Look at them in a browser: %s\n", page);
    return EXIT_DONE;
}

static int run(void *given, int files, char **file)
{
    const demo_command *s = given;
    if (files) return cli_error(&cmd_demo, EXIT_USAGE, "takes no files, not \"%s\"", file[0]);
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_demo, EXIT_FAILED, "out of memory");

    if (!s->json)
        puts("Three models of the same mass on a spring. The right verdicts are known: the latents "
             "were\nmade by maps written down in examples/make_latents.py.\n");
    int code = measure_samples(record, !s->json);
    if (code == EXIT_DONE && s->out && plumb_record_write_lines(s->out, &record, 1))
        code = cli_last_error(&cmd_demo);
    if (code == EXIT_DONE && s->json) code = cli_print_record(&cmd_demo, record);
    if (code == EXIT_DONE && !s->json) {
        puts("All three verdicts are the known ones: one model passes, two are caught.\n");
        code = evaluate_trained();
    }
    if (code == EXIT_DONE && !s->json) {
        if (s->out) printf("The numbers are in %s.\n", s->out);
        puts("Measure your own: plumb measure latents.npz, with arrays \"latent\" and \"truth\".");
    }
    if (code == EXIT_DONE) code = finish(s);
    plumb_record_free(record);
    return code;
}

const cli_command cmd_demo = {
    .name = "demo",
    .summary = "measure a good model, a bad one and a cheat",
    .usage = "[--out F.json] [--report F.html] [--json]",
    .text = "Measures three sample models that come with plumb and says which of them learnt the "
            "physics, and why. It fails if a verdict is not the known one, so it also checks an "
            "installation. It writes a page that shows all of them.",
    .example = "plumb demo",
    .options = rows,
    .options_size = sizeof(demo_command),
    .run = run,
};
