// SPDX-License-Identifier: MIT
// plumb demo: measures three sample models whose right verdicts are known, and two trained models.
// examples/make_latents.py made the samples, by maps that are written down there.
#define _GNU_SOURCE // program_invocation_name
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/common/command.h"

typedef struct demo_command {
    const char *out, *page;
    bool json;
} demo_command;

// Written to the working directory if --report is not given.
static const char default_page[] = "plumb-demo.html";

// clang-format off
static const cli_option command_options[] = {
    {.name = "out", .kind = OPTION_STRING, .offset = offsetof(demo_command, out), .value = "F.json",
     .help = "also write the numbers to a file"},
    {.name = "report", .kind = OPTION_STRING, .offset = offsetof(demo_command, page),
     .value = "F.html",
     .help = "the page with the figures; by default plumb-demo.html, none with --json"},
    {.name = "json", .kind = OPTION_BOOL, .offset = offsetof(demo_command, json),
     .help = "print the numbers as one line of JSON"},
    {0},
};
// clang-format on

typedef struct demo_sample {
    const char *name;
    const char *story;       // lines of at most 80 characters
    bool passes, degenerate; // the right result
} demo_sample;

static const demo_sample samples[] = {
    {"good",
     "The true phase space of a mass on a spring, bent and rotated by canonical maps,\n"
     "and a pair of latents that is only noise.",
     true, false},
    {"bad",
     "The state can be read off these latents, but the map shrinks areas in some\n"
     "places and not in others: good images, wrong physics.",
     false, false},
    {"cheat",
     "Latents that store position, velocity and time and keep all momenta at zero: no\n"
     "Hamiltonian moves them, but the true state is a function of them.",
     false, true},
};

enum { SAMPLES = sizeof samples / sizeof *samples };

// The path of the arrays of a sample.
static const char *sample_path(char path[SHARE_PATH_SIZE], const char *name)
{
    char file[64];
    snprintf(file, sizeof file, "examples/latents/%s.npz", name);
    return share_path(path, file);
}

// Measures the arrays of a file, as plumb measure does.
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

// The verdict and its reason.
static void print_verdict(plumb_verdict verdict, const char *why)
{
    char text[640];
    printf("\n    Verdict: %s.\n    ", plumb_verdict_name(verdict));
    snprintf(text, sizeof text, "Why: %s.", why);
    help_wrap(text, 4, 4);
    puts("\n");
}

// The table of one sample.
static void print_sample(const demo_sample *sample, const plumb_phase_space *result)
{
    const plumb_symetric *symetric = &result->polynomial;
    const plumb_kappa *kappa = &result->kappa;
    printf("%s\n%s\n\n", sample->name, sample->story);
    table_row("R2", symetric->r2, symetric->r2_ci, "above 0.9: holds the state");
    table_row("Sym", symetric->sym, symetric->sym_ci,
              symetric->degenerate ? "no meaning here" : "below 0.05: area is kept");
    table_row("SyMetric", symetric->symetric, symetric->symetric_ci, "1: both");
    if (kappa->measured)
        table_row("kappa", kappa->kappa, kappa->kappa_ci, "above 0.9: area is kept");
    print_verdict(result->verdict, result->why);
}

// True if the verdict is the right one, for the right reason.
static bool is_as_known(const demo_sample *sample, const plumb_phase_space *result)
{
    const plumb_verdict expected = sample->passes ? PLUMB_VERDICT_LEARNT : PLUMB_VERDICT_NOT_LEARNT;
    return result->verdict == expected && result->polynomial.degenerate == sample->degenerate;
}

// Measures the samples into one record, and prints each if `print` is set. Returns the exit code.
static int measure_samples(plumb_record *record, bool print)
{
    int wrong = 0;
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_begin_array(record, "models");
    for (int i = 0; i < SAMPLES; i++) {
        char path[SHARE_PATH_SIZE];
        plumb_phase_space result;
        if (measure_sample(&result, sample_path(path, samples[i].name)))
            return cli_last_error(&cmd_demo);
        if (print) print_sample(&samples[i], &result);
        const bool right = is_as_known(&samples[i], &result);
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
                         "%d of %d verdicts are wrong; please report this with the "
                         "output of plumb doctor",
                         wrong, SAMPLES);
    return EXIT_DONE;
}

// The runs of the zoo that the demo evaluates, after the samples.
typedef struct demo_run {
    const char *name;
    const char *story; // lines of at most 80 characters
} demo_run;

static const demo_run runs[] = {
    {"hgn++-mass-spring",
     "A model that learnt the same world from videos, by plumb train, evaluated "
     "on\nvideos it has never seen."},
    {"bodies-double-pendulum",
     "A model that finds objects in videos and learns a Hamiltonian for them, on a\n"
     "chaotic world: a double pendulum. No model predicts that for long; the state\n"
     "and the form of its phase space are right."},
};

enum { RUNS = sizeof runs / sizeof *runs };

// The path of a trained model; false if it is not installed.
static bool find_zoo_model(char path[SHARE_PATH_SIZE], const char *zoo_model)
{
    char name[64], config[SHARE_PATH_SIZE];
    snprintf(name, sizeof name, "zoo/%s/config.json", zoo_model);
    if (access(share_path(config, name), R_OK)) return false;
    snprintf(name, sizeof name, "zoo/%s", zoo_model);
    share_path(path, name);
    return true;
}

// Evaluates a trained model on a few videos. Returns the exit code.
static int evaluate_zoo_model(const demo_run *run)
{
    char path[SHARE_PATH_SIZE];
    if (!find_zoo_model(path, run->name)) return EXIT_DONE;
    // Few videos and no network, so that the demo is fast.
    plumb_evaluation_options opt = plumb_evaluation_defaults();
    opt.forecast_videos = 8;
    opt.phase_trajectories = 50;
    opt.network = false;
    plumb_evaluation result;
    if (plumb_evaluation_measure(&result, path, &opt)) return cli_last_error(&cmd_demo);
    const plumb_phase_space *phase_space = &result.dynamics.phase_space;
    const plumb_kappa *kappa = &phase_space->kappa;
    const plumb_symetric *symetric = &phase_space->polynomial;
    const plumb_forecast *forecast = &result.dynamics.forecast;
    printf("%s\n", result.model);
    printf("%s\n\n", run->story);
    table_row("kappa", kappa->kappa, kappa->kappa_ci, "above 0.9: area is kept");
    table_row("R2", symetric->r2, symetric->r2_ci, "above 0.9: holds the state");
    table_row("VPT", forecast->vpt, forecast->vpt_ci, "of 1000 frames");
    print_verdict(phase_space->verdict, phase_space->why);
    plumb_evaluation_clear(&result);
    return EXIT_DONE;
}

// Writes one page about the samples and the trained models.
static plumb_status write_page(const char *page)
{
    char path[SHARE_PATH_SIZE];
    plumb_report *report = NULL;
    plumb_report_options opt = plumb_report_defaults();
    plumb_status st = plumb_report_create(&report);
    // The trained models come first on the page.
    for (int i = 0; i < RUNS && !st; i++)
        if (find_zoo_model(path, runs[i].name)) st = plumb_report_add_path(report, path, &opt);
    for (int i = 0; i < SAMPLES && !st; i++)
        st = plumb_report_add_path(report, sample_path(path, samples[i].name), &opt);
    if (!st) st = plumb_report_save(report, page);
    plumb_report_free(report);
    return st;
}

// Writes the page and prints where it is. If the default page cannot be written, the demo does not
// fail.
static int add_page(const demo_command *cmd)
{
    const char *page = cmd->page ? cmd->page : default_page;
    // With --json only the record is expected, so a page is written only on request.
    if (cmd->json && !cmd->page) return EXIT_DONE;
    const plumb_status st = write_page(page);
    if (st && cmd->page) return cli_last_error(&cmd_demo);
    if (cmd->json) return EXIT_DONE;
    if (st)
        printf("No page was written: %s. Choose another place with --report.\n",
               plumb_last_error());
    else printf("The page with all figures, for a browser: %s\n", page);
    return EXIT_DONE;
}

// Prints commands that work as they are.
static void print_next_commands(void)
{
    const char *plumb = program_invocation_name;
    char path[SHARE_PATH_SIZE];
    puts("\nCommands to try next:\n");
    printf("  %s measure %s\n", plumb, sample_path(path, "good"));
    // This command needs the zoo, which a minimal installation may lack.
    if (find_zoo_model(path, runs[0].name))
        printf("  %s evaluate %s --count 8 --method pr\n", plumb, runs[0].name);
    printf("  %s worlds\n", plumb);
    printf("  %s help measure\n", plumb);
}

// The order: samples, numbers to a file, trained models, page, next commands. It stops at an error.
static int run(void *given, int files, char **file)
{
    const demo_command *cmd = given;
    if (files) return cli_error(&cmd_demo, EXIT_USAGE, "takes no files, not \"%s\"", file[0]);
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_demo, EXIT_FAILED, "out of memory");

    if (!cmd->json)
        puts("Three models of the same mass on a spring. The right verdicts are known: the\n"
             "latents were made by maps that examples/make_latents.py has.\n");
    int code = measure_samples(record, !cmd->json);
    if (code == EXIT_DONE && cmd->out && plumb_record_write_lines(cmd->out, &record, 1))
        code = cli_last_error(&cmd_demo);
    if (code == EXIT_DONE && cmd->json) code = cli_print_record(&cmd_demo, record);
    if (code == EXIT_DONE && !cmd->json) {
        puts("All three verdicts are right: one model passes, two do not.\n");
        for (int i = 0; i < RUNS && code == EXIT_DONE; i++) code = evaluate_zoo_model(&runs[i]);
    }
    if (code == EXIT_DONE && !cmd->json && cmd->out) printf("The numbers are in %s.\n", cmd->out);
    if (code == EXIT_DONE) code = add_page(cmd);
    if (code == EXIT_DONE && !cmd->json) print_next_commands();
    plumb_record_free(record);
    return code;
}

const cli_command cmd_demo = {
    .name = "demo",
    .summary = "measure a good model, a bad one and a cheat",
    .usage = "[--out F.json] [--report F.html] [--json]",
    .text = "Measures three sample models that come with plumb and prints which of them learnt the "
            "physics, and why. It fails if a verdict is wrong, so it also checks an installation. "
            "It writes a page that shows all of them.",
    .example = "plumb demo",
    .options = command_options,
    .options_size = sizeof(demo_command),
    .run = run,
};
