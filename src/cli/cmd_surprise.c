// SPDX-License-Identifier: MIT
// plumb surprise: is the impossible more surprising than the possible?
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "cli/common/command.h"

enum { ARRAYS = 7 };

typedef struct surprise_command {
    const char *from[ARRAYS]; // files for single arrays, in the order of array_names
    const char *scorer, *gammas, *items, *require;
    plumb_surprise_losses_options losses;
    plumb_surprise_options opt;
    bool raw, example, json;
} surprise_command;

static const char *const array_names[ARRAYS] = {
    "surprise", "truth", "prediction", "feature", "observation", "surprise_voe", "concept"};

// clang-format off
#define AT(member) .offset = offsetof(surprise_command, member)
static const cli_option rows[] = {
    {.name = "surprise", .group = "input, each array from a file of its own", .kind = OPTION_STRING,
     AT(from[0]), .value = "F", .help = "surprise (tuples, 4) or (tuples, 4, frames)"},
    {.name = "truth", .kind = OPTION_STRING, AT(from[1]), .value = "F",
     .help = "true frames (tuples, 4, frames, height, width, channels)"},
    {.name = "prediction", .kind = OPTION_STRING, AT(from[2]), .value = "F",
     .help = "predicted frames, of all or of all but the first"},
    {.name = "feature", .kind = OPTION_STRING, AT(from[3]), .value = "F",
     .help = "features of the clips (tuples, 4, d)"},
    {.name = "observation", .kind = OPTION_STRING, AT(from[4]), .value = "F",
     .help = "features of impossible clips observed before (N, d)"},
    {.name = "surprise-voe", .kind = OPTION_STRING, AT(from[5]), .value = "F",
     .help = "surprise of a model trained on impossible clips"},
    {.name = "concept", .kind = OPTION_STRING, AT(from[6]), .value = "F",
     .help = "concept of each tuple"},
    {.name = "metadata", FROM(surprise_losses_options, losses, "metadata"), .value = "F.csv"},
    {.name = "context", FROM(surprise_losses_options, losses, "context")},
    {.name = "scorer", .group = "scorers", .kind = OPTION_STRING, AT(scorer), .value = "NAME,...",
     .complete = CLI_COMPLETE_SCORERS,
     .help = "plain, naive, knn, iforest, ocsvm, pca, mahalanobis, knn-log; all: those that the "
             "arrays allow"},
    {.name = "k", FROM(surprise_options, opt, "k"), .letter = 'k'},
    {.name = "gamma", FROM(surprise_options, opt, "gamma")},
    {.name = "gammas", .kind = OPTION_STRING, AT(gammas), .value = "NAME=X,...",
     .help = "weights of single scorers, used as they are"},
    {.name = "frames", FROM(surprise_options, opt, "frames")},
    {.name = "share", FROM(surprise_options, opt, "share")},
    {.name = "raw", .kind = OPTION_BOOL, AT(raw),
     .help = "use features as they are, not scaled to unit length"},
    {.name = "pca", FROM(surprise_options, opt, "pca")},
    {.name = "nu", FROM(surprise_options, opt, "nu")},
    {.name = "tolerance", FROM(surprise_options, opt, "tolerance")},
    {.name = "trees", FROM(surprise_options, opt, "trees")},
    {.name = "temperature", FROM(surprise_options, opt, "temperature"), .group = "likelihood ratio"},
    {.name = "prior", FROM(surprise_options, opt, "prior")},
    {.name = "type1", FROM(surprise_options, opt, "type1")},
    {.name = "resamples", FROM(surprise_options, opt, "resamples"), .group = "output"},
    {.name = "seed", FROM(surprise_options, opt, "seed")},
    {.name = "threads", FROM(surprise_options, opt, "threads")},
    {.name = "items", .kind = OPTION_STRING, AT(items), .value = "F.jsonl",
     .help = "write one record per tuple, with the scores of its clips"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .help = "exit 3 if accuracy, relative_surprise or auroc of the first scorer is below its "
             "threshold"},
    {.name = "example", .kind = OPTION_BOOL, AT(example),
     .help = "show on two Gaussians why surprise alone misleads; reads no file"},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    surprise_command *cmd = given;
    cmd->opt = plumb_surprise_defaults();
    cmd->scorer = "all";
    cmd->losses = plumb_surprise_losses_defaults();
}

// ---- input ----

typedef struct input {
    plumb_file *files[ARRAYS + 1];
    plumb_array array[ARRAYS];
    bool has[ARRAYS];
    plumb_surprise_losses losses;
} input;

static void input_close(input *in)
{
    for (int i = 0; i <= ARRAYS; i++) plumb_file_close(in->files[i]);
    plumb_surprise_losses_clear(&in->losses);
}

static int input_read(input *in, const surprise_command *cmd, int files, char **file)
{
    const cli_command *c = &cmd_surprise;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb %s --help", files,
                         c->name);
    bool any = files;
    for (int i = 0; i < ARRAYS; i++) any = any || cmd->from[i];
    if (!any)
        return cli_error(c, EXIT_USAGE, "wants F.npz or --surprise F; see plumb %s --help",
                         c->name);
    if (files && plumb_file_open(&in->files[ARRAYS], file[0])) return cli_last_error(c);
    for (int i = 0; i < ARRAYS; i++) {
        if (cmd->from[i]) {
            if (plumb_file_read_spec(&in->array[i], &in->files[i], cmd->from[i], array_names[i]))
                return cli_last_error(c);
        } else if (files && plumb_file_has_array(in->files[ARRAYS], array_names[i])) {
            // Frames are large, and surprise has been computed from them already.
            if ((i == 1 || i == 2) && in->has[0]) continue;
            if (plumb_file_read_array(&in->array[i], in->files[ARRAYS], array_names[i]))
                return cli_last_error(c);
        } else {
            continue;
        }
        in->has[i] = true;
    }
    // The score files of other benchmarks.
    if (files && !in->has[0] && plumb_file_has_array(in->files[ARRAYS], "losses")) {
        plumb_surprise_losses_options opt = cmd->losses;
        opt.frames = cmd->opt.frames;
        if (plumb_surprise_losses_read(&in->losses, file[0], &opt)) return cli_last_error(c);
        in->array[0] = in->losses.surprise;
        in->has[0] = true;
        if (in->losses.has_concepts && !in->has[6]) {
            in->array[6] = in->losses.concepts;
            in->has[6] = true;
        }
        if (in->losses.padded)
            cli_error(
                c, EXIT_DONE,
                "%s: %lld clips are shorter than the longest; each is judged by its own windows",
                file[0], (long long)in->losses.padded);
    }
    // A single array without a name is the surprise.
    if (files && !in->has[0] && plumb_file_array_count(in->files[ARRAYS]) == 1 &&
        !plumb_file_array_name(in->files[ARRAYS], 0)[0]) {
        if (plumb_file_read_array(&in->array[0], in->files[ARRAYS], "")) return cli_last_error(c);
        in->has[0] = true;
    }
    if (files && !in->has[0] && !in->has[1] && !in->has[2])
        return plumb_file_read_array(&in->array[0], in->files[ARRAYS], "surprise")
                   ? cli_last_error(c)
                   : EXIT_DONE;
    return EXIT_DONE;
}

// ---- options that are lists ----

static int unknown_scorer(const char *word)
{
    const char *names[PLUMB_SCORER_COUNT + 2] = {"all"};
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) names[i + 1] = plumb_scorer_name((plumb_scorer)i);
    const char *near = spelling_suggest(word, names);
    return cli_error(&cmd_surprise, EXIT_USAGE, "there is no scorer \"%s\"%s%s%s", word,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

// The next word up to a comma; false at the end.
static bool next_word(char *word, size_t size, const char **text)
{
    if (!**text) return false;
    const size_t length = strcspn(*text, ",");
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), *text);
    *text += length + ((*text)[length] == ',');
    return true;
}

static int parse_scorers(surprise_command *cmd)
{
    char word[64];
    for (const char *text = cmd->scorer; next_word(word, sizeof word, &text);) {
        if (!strcmp(word, "all")) {
            if (strcmp(cmd->scorer, "all") != 0)
                return cli_error(&cmd_surprise, EXIT_USAGE, "all stands alone in --scorer");
            return EXIT_DONE;
        }
        const plumb_scorer found = plumb_scorer_find(word);
        if (found == PLUMB_SCORER_COUNT) return unknown_scorer(word);
        cmd->opt.scorers[found] = true;
    }
    return EXIT_DONE;
}

static int parse_gammas(surprise_command *cmd)
{
    char word[64];
    for (const char *text = cmd->gammas ? cmd->gammas : ""; next_word(word, sizeof word, &text);) {
        char *equals = strchr(word, '='), *end = NULL;
        if (equals) *equals = 0;
        const plumb_scorer found = plumb_scorer_find(word);
        if (found == PLUMB_SCORER_COUNT) return unknown_scorer(word);
        const double value = equals ? strtod(equals + 1, &end) : 0.0;
        if (!equals || end == equals + 1 || *end || !isfinite(value))
            return cli_error(&cmd_surprise, EXIT_USAGE, "--gammas wants %s=X, X a number", word);
        cmd->opt.gammas[found] = value;
    }
    return EXIT_DONE;
}

// ---- tables ----

static void row(const char *name, const plumb_surprise_metrics *m, double gamma)
{
    char a[64], b[64];
    printf(
        "  %-12s %6.2f %%  %-21s %11.4g  %-24s %6.4f  %8.2g", name, 100.0 * m->accuracy,
        table_interval(a, sizeof a,
                       (plumb_interval){100.0 * m->accuracy_ci.low, 100.0 * m->accuracy_ci.high}),
        m->relative_surprise, table_interval(b, sizeof b, m->relative_ci), m->auroc, m->chance_p);
    if (isfinite(gamma)) printf("  %.4g", gamma);
    putchar('\n');
}

static void heading(const char *name)
{
    printf("\n%s\n  %-12s %-8s  %-21s %11s  %-24s %6s  %8s  %s\n", name, "scorer", "accuracy", "",
           "relative", "", "AUROC", "p chance", "gamma");
}

static void print_uniformity(const plumb_surprise_uniformity *u)
{
    if (!u->measured) return;
    puts("\nuniformity of r_k");
    printf("  exact        D %.4f  p %.3g: %s\n", u->exact.statistic, u->exact.p,
           u->exact.p < 0.05 ? "features are not spread evenly over the sphere"
                             : "nothing speaks against evenly spread features");
    printf("  paper        D %.4f  p %.3g, chi2 %.1f  p %.3g: rejects evenly spread features too\n",
           u->paper.statistic, u->paper.p, u->paper_chi.statistic, u->paper_chi.p);
    printf("  histogram    %.4g", u->least);
    for (int i = 0; i < 20; i++) printf(" %lld", (long long)u->histogram[i]);
    printf(" %.4g\n", u->greatest);
}

static void print_pairs(const plumb_surprise *r)
{
    if (!r->pair_count) return;
    puts("\nbetween scorers (tuples only one gets right, McNemar)");
    for (int64_t i = 0; i < r->pair_count; i++) {
        const plumb_surprise_comparison *p = &r->pairs[i];
        printf("  %-12s %-12s %6lld %6lld  p %.3g\n", plumb_scorer_name(p->first),
               plumb_scorer_name(p->second), (long long)p->first_only, (long long)p->second_only,
               p->p);
    }
}

static void print_table(const plumb_surprise *r)
{
    printf("%lld tuples judged of %lld", (long long)r->tested, (long long)r->tuples);
    if (r->observed)
        printf(", %lld clips observed%s", (long long)r->observed, r->split ? " in the others" : "");
    if (r->frames) printf(", %lld frames a clip", (long long)r->frames);
    putchar('\n');
    heading(r->concept_count ? "mean over concepts" : "all");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (r->scorers[i].measured)
            row(plumb_scorer_name((plumb_scorer)i), &r->scorers[i].all, r->scorers[i].gamma);
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (r->scorers[i].measured && r->scorers[i].has_maximum) {
            char name[32];
            snprintf(name, sizeof name, "%.7s max", plumb_scorer_name((plumb_scorer)i));
            row(name, &r->scorers[i].maximum, (double)NAN);
        }
    for (int64_t c = 0; c < r->concept_count; c++) {
        heading(r->concept_names[c]);
        for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
            if (r->scorers[i].measured)
                row(plumb_scorer_name((plumb_scorer)i), &r->scorers[i].concepts[c], (double)NAN);
    }
    print_uniformity(&r->uniformity);
    if (r->ratio.measured)
        printf("\nlikelihood ratio: AUROC %.4f; above log threshold %.4g: %.2f %% of impossible "
               "clips, %.2f %% of possible ones\n",
               r->ratio.auroc, r->ratio.log_threshold, 100.0 * (1.0 - r->ratio.type1),
               100.0 * r->ratio.type2);
    print_pairs(r);
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (r->scorers[i].why)
            printf("\nleft out: %s %s", plumb_scorer_name((plumb_scorer)i), r->scorers[i].why);
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (r->scorers[i].why) {
            putchar('\n');
            break;
        }
}

// ---- the counter-example ----

static void print_example(void)
{
    puts("impossible x ~ N(0, 0.001), possible x ~ N(0, 1), surprise = -log p(possible)\n");
    printf("  %-34s %12s %12s\n", "", "x = 0", "x = 1");
    static const char *const reading[] = {"variance", "deviation"};
    for (int i = 0; i < 2; i++) {
        const plumb_surprise_counterexample e =
            plumb_surprise_counterexample_compute(i ? 0.001 : sqrt(0.001));
        if (!i) printf("  %-34s %12.6f %12.6f\n", "surprise", e.surprise[0], e.surprise[1]);
        printf("  log LR, 0.001 read as %-12s %12.6f %12.6g\n", reading[i], e.log_ratio[0],
               e.log_ratio[1]);
        printf("    P(impossible), prior 1/2         %12.6g %12.6g\n", e.posterior[0],
               e.posterior[1]);
        printf("    LR is 1 at |x| = %.6g\n", e.even);
    }
    puts("\nSurprise calls x = 1 the stranger one; the likelihood ratio, rightly, x = 0.");
}

static int run_example(const surprise_command *cmd)
{
    if (!cmd->json) {
        print_example();
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_surprise, EXIT_FAILED, "out of memory");
    plumb_surprise_counterexample_record(record);
    const int code = cli_print_record(&cmd_surprise, record);
    plumb_record_free(record);
    return code;
}

// ---- all together ----

static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_surprise_item_record(record, result, index);
}

static int check_bars(const surprise_command *cmd, const plumb_surprise *r, require_use *use)
{
    // Without a number: better than chance.
    const plumb_surprise_metrics *m = &r->scorers[0].all;
    for (int i = PLUMB_SCORER_COUNT - 1; i >= 0; i--)
        if (r->scorers[i].measured) m = &r->scorers[i].all;
    const requirement bars[] = {
        {"accuracy", m->accuracy, 0.5, false},
        {"relative_surprise", m->relative_surprise, 0.0, false},
        {"auroc", m->auroc, 0.5, false},
    };
    return use(&cmd_surprise, cmd->require, bars, sizeof bars / sizeof *bars);
}

static int report(const surprise_command *cmd, const plumb_surprise *r)
{
    int code = EXIT_DONE;
    if (cmd->items) code = cli_write_items(&cmd_surprise, cmd->items, r->tested, fill_item, r);
    if (code == EXIT_DONE && cmd->json) {
        plumb_record *record = plumb_record_create();
        if (!record) return cli_error(&cmd_surprise, EXIT_FAILED, "out of memory");
        plumb_surprise_record(record, r, &cmd->opt);
        code = cli_print_record(&cmd_surprise, record);
        plumb_record_free(record);
    } else if (code == EXIT_DONE) {
        print_table(r);
    }
    return code == EXIT_DONE ? check_bars(cmd, r, require_check) : code;
}

static int run(void *given, int files, char **file)
{
    surprise_command *cmd = given;
    cmd->opt.normalise = !cmd->raw;
    int code = parse_scorers(cmd);
    if (code == EXIT_DONE) code = parse_gammas(cmd);
    if (code == EXIT_DONE) code = check_bars(cmd, &(plumb_surprise){0}, require_parse);
    if (code != EXIT_DONE) return code;
    if (cmd->example) {
        if (files) return cli_error(&cmd_surprise, EXIT_USAGE, "--example reads no file");
        return run_example(cmd);
    }
    input in = {0};
    code = input_read(&in, cmd, files, file);
    if (code == EXIT_DONE) {
        const plumb_array *a[ARRAYS];
        for (int i = 0; i < ARRAYS; i++) a[i] = in.has[i] ? &in.array[i] : NULL;
        const plumb_surprise_input arrays = {sizeof arrays, a[0], a[1], a[2],
                                             a[3],          a[4], a[5], a[6]};
        plumb_surprise result;
        cli_show_log(&cmd_surprise);
        progress_begin("surprise");
        const plumb_status st = plumb_surprise_measure(&result, &arrays, &cmd->opt);
        progress_end();
        if (st) {
            code =
                files ? cli_error(&cmd_surprise, EXIT_FAILED, "%s: %s", file[0], plumb_last_error())
                      : cli_last_error(&cmd_surprise);
        } else {
            code = report(cmd, &result);
            plumb_surprise_clear(&result);
        }
    }
    input_close(&in);
    return code;
}

const cli_command cmd_surprise = {
    .name = "surprise",
    .summary = "violation of expectation: are impossible clips more surprising?",
    .usage = "F.npz | --surprise F [--feature F] [options]",
    .text =
        "Scores surprise on tuples of four clips: 0 and 1 possible, 2 and 3 impossible. F.npz has "
        "\"surprise\" (tuples, 4) or (tuples, 4, frames), or \"truth\" and \"prediction\" (tuples, "
        "4, frames, height, width, channels). A tuple is right if its impossible clips have the "
        "higher sum of scores.\n\n"
        "With \"feature\" (tuples, 4, d) the likelihood of being impossible is subtracted: score = "
        "surprise - gamma r, where r is small near the impossible clips of \"observation\" (N, d), "
        "or of a fifth of the tuples, which are then not scored. \"surprise_voe\" is the surprise "
        "of a model trained on impossible clips. \"concept\" names what a tuple tests. F may also "
        "be a .pth file with the \"losses\" of the V-JEPA study or of IntPhys 2.",
    .example = "plumb surprise probes.npz --scorer plain,knn -k 50 --gamma 0.01 --json",
    .options = rows,
    .options_size = sizeof(surprise_command),
    .defaults = defaults,
    .run = run,
};
