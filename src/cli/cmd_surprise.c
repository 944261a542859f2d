// SPDX-License-Identifier: MIT
// plumb surprise: measures whether impossible clips are more surprising than possible ones.
// The arrays come from one file, from a file each, or from the loss files of other benchmarks.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"
#include "cli/common/scorers.h"

// Arrays of the input, in the order of plumb_surprise_input.
enum {
    SURPRISE,
    TRUTH,
    PREDICTION,
    FEATURE,
    OBSERVATION,
    SURPRISE_NAIVE,
    CONCEPT,
    UNIT,
    MOTION,
    OBSERVATION_CONCEPT,
    ARRAY_COUNT
};

typedef struct surprise_command {
    const char *from[ARRAY_COUNT]; // files for single arrays, in the order of array_names
    const char *items, *figure, *require;
    scorer_words scorers;
    plumb_surprise_losses_options losses;
    plumb_surprise_options opt;
    bool example;
    cli_format format;
} surprise_command;

static const char *const array_names[ARRAY_COUNT] = {
    "surprise",     "truth",   "prediction", "feature", "observation",
    "surprise_voe", "concept", "unit",       "motion",  "observation_concept"};

// clang-format off
#define AT(member) .offset = offsetof(surprise_command, member)
static const cli_option command_options[] = {
    {.name = "surprise", .group = "input, each array from a file of its own", .kind = OPTION_STRING,
     AT(from[SURPRISE]), .value = "F", .help = "surprise (tuples, 4) or (tuples, 4, frames)"},
    {.name = "truth", .kind = OPTION_STRING, AT(from[TRUTH]), .value = "F",
     .help = "true frames (tuples, 4, frames, height, width, channels)"},
    {.name = "prediction", .kind = OPTION_STRING, AT(from[PREDICTION]), .value = "F",
     .help = "predicted frames, of all or of all but the first"},
    {.name = "feature", .kind = OPTION_STRING, AT(from[FEATURE]), .value = "F",
     .help = "features of the clips (tuples, 4, d)"},
    {.name = "observation", .kind = OPTION_STRING, AT(from[OBSERVATION]), .value = "F",
     .help = "features of impossible clips observed before (N, d)"},
    {.name = "observation-concept", .kind = OPTION_STRING, AT(from[OBSERVATION_CONCEPT]), .value = "F",
     .help = "concept of each row of observation: one density each"},
    {.name = "surprise-voe", .kind = OPTION_STRING, AT(from[SURPRISE_NAIVE]), .value = "F",
     .help = "surprise of a model trained on impossible clips"},
    {.name = "concept", .kind = OPTION_STRING, AT(from[CONCEPT]), .value = "F",
     .help = "concept of each tuple"},
    {.name = "motion", .kind = OPTION_STRING, AT(from[MOTION]), .value = "F",
     .help = "how much each clip moves (tuples, 4) or (tuples, 4, numbers); by default that of truth"},
    {.name = "metadata", FROM(surprise_losses_options, losses, "metadata"), .value = "F.csv"},
    {.name = "context", FROM(surprise_losses_options, losses, "context")},
    {.name = "score", FROM(surprise_losses_options, losses, "score"), .value = "COLUMN"},
    {.name = "plausible", FROM(surprise_losses_options, losses, "plausible")},
    {.name = "concept-by", FROM(surprise_losses_options, losses, "concept_by"), .value = "COLUMN,..."},
    SCORER_OPTIONS(opt, scorers),
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
    {.name = "figure", .kind = OPTION_STRING, AT(figure), .value = "F.svg",
     .help = "draw the ROC curves of single clips, or the example, to a .svg or .png file"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    surprise_command *cmd = given;
    cmd->opt = plumb_surprise_defaults();
    cmd->scorers = scorer_words_defaults();
    cmd->losses = plumb_surprise_losses_defaults();
}

// ---- input ----

// The arrays and the files they belong to. The last file is the common one.
typedef struct surprise_arrays {
    plumb_file *files[ARRAY_COUNT + 1];
    plumb_array array[ARRAY_COUNT];
    bool has[ARRAY_COUNT];
    plumb_surprise_losses losses;
} surprise_arrays;

// Closes all files; the arrays belong to them or to the losses.
static void close_input(surprise_arrays *in)
{
    for (int i = 0; i <= ARRAY_COUNT; i++) plumb_file_close(in->files[i]);
    plumb_surprise_losses_clear(&in->losses);
}

// Reads each array from its own file or, if it is not given, from the common file.
static int read_arrays(surprise_arrays *in, const surprise_command *cmd)
{
    plumb_file *common = in->files[ARRAY_COUNT];
    for (int i = 0; i < ARRAY_COUNT; i++) {
        plumb_status st;
        if (cmd->from[i]) {
            st = plumb_file_read_spec(&in->array[i], &in->files[i], cmd->from[i], array_names[i]);
        } else {
            // Frames are large, and not needed if the file has their surprise.
            const bool frames = i == TRUTH || i == PREDICTION;
            if (!common || !plumb_file_has_array(common, array_names[i])) continue;
            if (frames && in->has[SURPRISE]) continue;
            st = plumb_file_read_array(&in->array[i], common, array_names[i]);
        }
        if (st) return cli_last_error(&cmd_surprise);
        in->has[i] = true;
    }
    return EXIT_DONE;
}

// Reads the loss files of other benchmarks.
static int read_losses(surprise_arrays *in, const surprise_command *cmd, const char *file)
{
    plumb_surprise_losses_options options = cmd->losses;
    // The losses are read for the same frames that the scorers use.
    options.frames = cmd->opt.frames;
    if (plumb_surprise_losses_read(&in->losses, file, &options))
        return cli_last_error(&cmd_surprise);
    // Warnings: the command goes on.
    if (in->losses.skipped)
        cli_error(&cmd_surprise, EXIT_DONE, "%s: %lld clips of incomplete groups are left out",
                  file, (long long)in->losses.skipped);
    if (in->losses.plausible)
        cli_error(&cmd_surprise, EXIT_DONE,
                  "%s: higher scores mean more plausible; their sign is changed", file);
    if (in->losses.expanded)
        cli_error(
            &cmd_surprise, EXIT_DONE,
            "%s: %lld groups of any size; each pair of a possible and an impossible clip is a "
            "tuple",
            file, (long long)in->losses.groups);
    if (in->losses.single) return EXIT_DONE;
    in->array[SURPRISE] = in->losses.surprise;
    in->has[SURPRISE] = true;
    if (in->losses.has_motion && !in->has[MOTION]) {
        in->array[MOTION] = in->losses.motion;
        in->has[MOTION] = true;
    }
    if (in->losses.has_concepts && !in->has[CONCEPT]) {
        in->array[CONCEPT] = in->losses.concepts;
        in->has[CONCEPT] = true;
    }
    // A warning: the command goes on.
    if (in->losses.padded)
        cli_error(&cmd_surprise, EXIT_DONE,
                  "%s: %lld clips are shorter than the longest; each is scored on its own windows",
                  file, (long long)in->losses.padded);
    return EXIT_DONE;
}

// Is this a text file of scores?
static bool is_table(const char *path)
{
    static const char *const ends[] = {".csv", ".tsv", ".json", ".jsonl"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) && !strcmp(path + length - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

// Reads the arrays that are given, and finds out where the surprise is.
static int read_input(surprise_arrays *in, const surprise_command *cmd, int files, char **file)
{
    const cli_command *c = &cmd_surprise;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb surprise --help", files);
    bool any = files;
    for (int i = 0; i < ARRAY_COUNT; i++) any = any || cmd->from[i];
    if (!any)
        return cli_error(c, EXIT_USAGE, "needs F.npz or --surprise F; see plumb surprise --help");
    if (files && is_table(file[0])) {
        const int read = read_arrays(in, cmd);
        return read == EXIT_DONE ? read_losses(in, cmd, file[0]) : read;
    }
    if (files && plumb_file_open(&in->files[ARRAY_COUNT], file[0])) return cli_last_error(c);
    int code = read_arrays(in, cmd);
    if (code != EXIT_DONE || !files) return code;
    plumb_file *common = in->files[ARRAY_COUNT];
    // Pairs of clips become tuples.
    if (in->has[SURPRISE] && !cmd->from[SURPRISE] && in->array[SURPRISE].ndim > 1 &&
        in->array[SURPRISE].shape[1] == 2 && !in->has[FEATURE])
        return read_losses(in, cmd, file[0]);
    if (in->has[SURPRISE]) return code;
    if (plumb_file_has_array(common, "losses") ||
        (plumb_file_has_array(common, "possible") && plumb_file_has_array(common, "impossible")))
        return read_losses(in, cmd, file[0]);
    // A single array without a name is the surprise. A file without any known array is an error.
    const bool unnamed =
        plumb_file_array_count(common) == 1 && !plumb_file_array_name(common, 0)[0];
    if (!unnamed && (in->has[TRUTH] || in->has[PREDICTION])) return EXIT_DONE;
    if (plumb_file_read_array(&in->array[SURPRISE], common, unnamed ? "" : "surprise"))
        return cli_last_error(c);
    in->has[SURPRISE] = true;
    return EXIT_DONE;
}

// ---- tables ----

// "[0.90, 0.93]", or "" for NaN.
static const char *format_interval(char *text, size_t size, double low, double high)
{
    if (isnan(low)) text[0] = 0;
    else snprintf(text, size, "[%.4g, %.4g]", low, high);
    return text;
}

// One scorer: accuracy of tuples with its 95 % interval, accuracy and AUROC of single clips,
// relative surprise and p of chance. May be NULL: decision.
static void print_row(const char *name, const plumb_surprise_metrics *metrics,
                      const plumb_surprise_decision *decision)
{
    char accuracy[64], clips[16] = "-";
    format_interval(accuracy, sizeof accuracy, 100.0 * metrics->accuracy_ci.low,
                    100.0 * metrics->accuracy_ci.high);
    if (decision && decision->measured)
        snprintf(clips, sizeof clips, "%.2f", 100.0 * decision->accuracy);
    printf("  %-11s %6.2f %-14s  %6s  %6.4f  %9.4g  %8.2g\n", name, 100.0 * metrics->accuracy,
           accuracy, clips, metrics->auroc, metrics->relative_surprise, metrics->chance_p);
}

// The widths are those of print_row().
static void print_heading(const char *name)
{
    printf("\n%s\n  %-11s %-21s  %6s  %6s  %9s  %8s\n", name, "scorer", "accuracy of tuples, %",
           "clips, %", "AUROC", "relative", "p");
}

// The same model may rank the clips of a tuple and yet say nothing about a single clip.
static void print_clips_note(const plumb_surprise *result)
{
    const plumb_surprise_score *plain = &result->scorers[PLUMB_SCORER_PLAIN];
    if (!plain->measured || !plain->decision.measured) return;
    if (plain->all.accuracy - plain->decision.accuracy < 0.15) return;
    table_paragraph("plain surprise decides %.1f %% of tuples, but only %.1f %% of single clips "
                    "(AUROC %.2f): clips of different scenes differ more than a possible clip "
                    "from its impossible twin",
                    100.0 * plain->all.accuracy, 100.0 * plain->decision.accuracy,
                    plain->all.auroc);
}

// Pairs and single clips by both ways to reduce frames, as the V-JEPA study has them: the mean is
// better for pairs, the maximum for single clips.
static void print_pairs_row(const plumb_surprise *result)
{
    const plumb_surprise_score *plain = &result->scorers[PLUMB_SCORER_PLAIN];
    if (!plain->measured || !plain->has_maximum) return;
    printf("\nplain surprise by the %s and by the maximum over frames\n",
           result->joined == PLUMB_SURPRISE_FRAMES_SUM ? "sum" : "mean");
    table_text("pairs", "%.2f %% and %.2f %% of clips with the same first frames, a tie is wrong",
               100.0 * plain->all.matched_strict, 100.0 * plain->maximum.matched_strict);
    table_text("clips", "AUROC %.4f and %.4f", plain->all.auroc, plain->maximum.auroc);
}

// The test of [Lin23, Theorem 1], for the likelihood ratio and for plain surprise.
static void print_level(const plumb_surprise *result)
{
    bool first = true;
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        const plumb_surprise_score *score = &result->scorers[i];
        if ((i != PLUMB_SCORER_PLAIN && i != PLUMB_SCORER_LR) || !score->level.measured) continue;
        if (first)
            puts("\ntest of single clips at a level chosen on others: impossible clips that pass\n"
                 "(type 1), possible clips that are recognised (power)");
        first = false;
        table_text(plumb_scorer_name((plumb_scorer)i), "type 1 %.2f %%, power %.2f %%",
                   100.0 * score->level.type1, 100.0 * score->level.power);
    }
}

// The likelihood ratio and how well its probabilities are calibrated.
static void print_ratio(const plumb_surprise_ratio *ratio)
{
    if (!ratio->measured) return;
    putchar('\n');
    table_paragraph("likelihood ratio: AUROC %.4f; above log threshold %.4g: %.2f %% of "
                    "impossible clips, %.2f %% of possible ones",
                    ratio->auroc, ratio->log_threshold, 100.0 * (1.0 - ratio->type1),
                    100.0 * ratio->type2);
    table_paragraph(
        "P(impossible): mean %.3f of possible and %.3f of impossible clips; Brier score "
        "%.4f, expected calibration error %.4f",
        ratio->posterior_mean[0], ratio->posterior_mean[1], ratio->brier, ratio->calibration_error);
}

// The weights of the scorers.
static void print_gammas(const plumb_surprise *result)
{
    char text[400] = "";
    size_t used = 0;
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].measured && isfinite(result->scorers[i].gamma) && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.4g", used ? ", " : "",
                                     plumb_scorer_name((plumb_scorer)i), result->scorers[i].gamma);
    if (used) table_text("gamma", "%s", text);
}

// Tests whether the features are spread evenly over the sphere.
static void print_uniformity(const plumb_surprise_uniformity *uniformity)
{
    if (!uniformity->measured) return;
    puts("\nuniformity of r_k");
    table_text("exact", "D %.4f  p %.3g: %s", uniformity->exact.statistic, uniformity->exact.p,
               uniformity->exact.p < 0.05 ? "features are not spread evenly over the sphere"
                                          : "no evidence against evenly spread features");
    table_text("paper", "D %.4f  p %.3g, chi2 %.1f  p %.3g: also rejects evenly spread features",
               uniformity->paper.statistic, uniformity->paper.p, uniformity->paper_chi.statistic,
               uniformity->paper_chi.p);
    char text[600];
    size_t used = (size_t)snprintf(text, sizeof text, "%.4g", uniformity->least);
    for (int i = 0; i < 20; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %lld",
                                 (long long)uniformity->histogram[i]);
    snprintf(text + used, sizeof text - used, " %.4g", uniformity->greatest);
    table_text("histogram", "%s", text);
}

// Compares the scorers with each other.
static void print_pairs(const plumb_surprise *result)
{
    if (!result->pair_count) return;
    puts("\nbetween scorers: tuples that only the first or only the second gets right, and p of\n"
         "McNemar's test");
    for (int64_t i = 0; i < result->pair_count; i++) {
        const plumb_surprise_comparison *pair = &result->pairs[i];
        printf("  %-12s %-12s %6lld %6lld  p %.3g\n", plumb_scorer_name(pair->first),
               plumb_scorer_name(pair->second), (long long)pair->first_only,
               (long long)pair->second_only, pair->p);
    }
}

// One line about the tuples and clips that were used.
static void print_counts(const plumb_surprise *result)
{
    char observed[128] = "", frames[64] = "";
    if (result->observed)
        snprintf(observed, sizeof observed, ", %lld clips observed%s, k = %lld of N = %lld",
                 (long long)result->observed, result->split ? " in the others" : "",
                 (long long)result->k, (long long)result->least_observed);
    if (result->frames)
        snprintf(frames, sizeof frames, ", %lld frames per clip", (long long)result->frames);
    table_paragraph("%lld tuples scored of %lld%s%s", (long long)result->tested,
                    (long long)result->tuples, observed, frames);
}

static void print_tables(const plumb_surprise *result)
{
    print_counts(result);
    print_heading(result->concept_count ? "mean over concepts" : "all");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].measured)
            print_row(plumb_scorer_name((plumb_scorer)i), &result->scorers[i].all,
                      &result->scorers[i].decision);
    // Rows by the maximum over frames stand below those by the mean, with "max" in the name.
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].measured && result->scorers[i].has_maximum) {
            char name[32];
            snprintf(name, sizeof name, "%.7s max", plumb_scorer_name((plumb_scorer)i));
            print_row(name, &result->scorers[i].maximum, NULL);
        }
    print_gammas(result);
    print_clips_note(result);
    for (int64_t k = 0; k < result->concept_count; k++) {
        print_heading(result->concept_names[k]);
        for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
            if (result->scorers[i].measured)
                print_row(plumb_scorer_name((plumb_scorer)i), &result->scorers[i].concepts[k],
                          NULL);
    }
    print_uniformity(&result->uniformity);
    print_pairs_row(result);
    table_motion(result);
    print_ratio(&result->ratio);
    print_level(result);
    print_pairs(result);
    // Scorers that the arrays do not allow, with the reason.
    bool first = true;
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        if (!result->scorers[i].why) continue;
        if (first) putchar('\n');
        first = false;
        table_paragraph("left out: %s %s", plumb_scorer_name((plumb_scorer)i),
                        result->scorers[i].why);
    }
}

// ---- the counter-example ----

// Two Gaussians for which surprise and likelihood ratio disagree, and where samples of many
// dimensions lie.
static void print_example(const void *context)
{
    const surprise_command *cmd = context;
    puts("impossible x ~ N(0, 0.001), possible x ~ N(0, 1), surprise = -log p(possible)\n");
    printf("  %-34s %12s %12s\n", "", "x = 0", "x = 1");
    static const char *const reading[] = {"variance", "deviation"};
    for (int i = 0; i < 2; i++) {
        const plumb_surprise_counterexample e =
            plumb_surprise_counterexample_judge(i ? 0.001 : sqrt(0.001), cmd->opt.prior);
        if (!i) printf("  %-34s %12.6f %12.6f\n", "surprise", e.surprise[0], e.surprise[1]);
        printf("  log LR, 0.001 read as %-12s %12.6f %12.6g\n", reading[i], e.log_ratio[0],
               e.log_ratio[1]);
        printf("    P(impossible), prior %-10.4g  %12.6g %12.6g\n", cmd->opt.prior, e.posterior[0],
               e.posterior[1]);
        printf("    LR is 1 at |x| = %.6g\n", e.even);
    }
    puts("\nx = 1 has the higher surprise, but x = 0 is more likely to be impossible, as the\n"
         "likelihood ratio shows.\n\n"
         "samples x ~ N(0, I) in d dimensions: the point 0 has the least surprise, but\n"
         "samples lie near the sphere of radius sqrt(d)\n");
    printf("  %6s %10s %12s %22s %20s\n", "d", "sqrt(d)", "mean of |x|", "P(||x| - sqrt(d)| <= 1)",
           "surprise there - at 0");
    for (int64_t d = 1; d <= 512; d *= d == 1 ? 2 : 4) {
        const plumb_surprise_annulus a = plumb_surprise_annulus_compute(d);
        printf("  %6lld %10.4f %12.4f %22.4f %20.1f\n", (long long)d, a.radius, a.mean_norm,
               a.within_1, a.surprise[1] - a.surprise[0]);
    }
}

static void fill_example_record(plumb_record *record, const void *context)
{
    plumb_surprise_example_record(record, ((const surprise_command *)context)->opt.prior);
}

// Draws a figure of the report. `record` is the result, or NULL for the example.
static int save_figure(const surprise_command *cmd, plumb_record *record)
{
    plumb_report *report = NULL;
    plumb_status st = plumb_report_create(&report);
    const char *text = NULL;
    if (!st && record) st = plumb_record_to_json(&text, record);
    if (!st && record) st = plumb_report_add_record(report, "surprise", text);
    if (!st) st = plumb_report_save_figure(report, record ? "roc" : "example", cmd->figure);
    const int code = st ? cli_last_error(&cmd_surprise) : EXIT_DONE;
    plumb_report_free(report);
    return code;
}

// ---- the command ----

static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_surprise_item_record(record, result, index);
}

// Requirements are about the first scorer that was measured. Default thresholds: better than
// chance.
static int check_requirements(const surprise_command *cmd, const plumb_surprise *result,
                              require_use *use)
{
    const plumb_surprise_metrics *metrics = &result->scorers[0].all;
    // From the last to the first, so that the first scorer that was measured stays.
    for (int i = PLUMB_SCORER_COUNT - 1; i >= 0; i--)
        if (result->scorers[i].measured) metrics = &result->scorers[i].all;
    const requirement list[] = {
        {"accuracy", metrics->accuracy, 0.5, false},
        {"relative_surprise", metrics->relative_surprise, 0.0, false},
        {"auroc", metrics->auroc, 0.5, false},
    };
    return use(&cmd_surprise, cmd->require, list, sizeof list / sizeof *list);
}

// Context of cli_print().
typedef struct surprise_output {
    const plumb_surprise *result;
    const plumb_surprise_options *options;
} surprise_output;

static void fill_record(plumb_record *record, const void *context)
{
    const surprise_output *output = context;
    plumb_surprise_record(record, output->result, output->options);
}

static void print_text(const void *context)
{
    print_tables(((const surprise_output *)context)->result);
}

static int print_result(const surprise_command *cmd, const plumb_surprise *result)
{
    const surprise_output output = {result, &cmd->opt};
    int code = EXIT_DONE;
    if (cmd->items)
        code = cli_write_items(&cmd_surprise, cmd->items, result->tested, fill_item, result);
    if (code == EXIT_DONE && cmd->figure) {
        plumb_record *record = plumb_record_create();
        if (record) plumb_surprise_record(record, result, &cmd->opt);
        code = record ? save_figure(cmd, record) : EXIT_FAILED;
        plumb_record_free(record);
    }
    if (code == EXIT_DONE)
        code = cli_print(&cmd_surprise, cmd->format, fill_record, print_text, &output);
    return code == EXIT_DONE ? check_requirements(cmd, result, require_check) : code;
}

// ---- clips without tuples ----

static void fill_clips_record(plumb_record *record, const void *context)
{
    plumb_surprise_clips_record(record, context);
}

static void print_clips(const void *context)
{
    const plumb_surprise_clips *clips = context;
    char text[64];
    table_paragraph("%lld possible and %lld impossible clips without groups, so that only single "
                    "clips can be judged",
                    (long long)clips->possible, (long long)clips->impossible);
    table_text("AUROC", "%.4f %s", clips->auroc,
               table_interval(text, sizeof text, clips->auroc_ci));
    if (clips->decision.measured)
        table_text("accuracy", "%.2f %% at the threshold %.4g, chosen on other clips",
                   100.0 * clips->decision.accuracy, clips->decision.threshold);
}

static int measure_singles(const surprise_command *cmd, const surprise_arrays *in)
{
    plumb_surprise_clips clips;
    if (plumb_surprise_clips_measure(&clips, &in->losses.clips, &in->losses.possible, &cmd->opt))
        return cli_last_error(&cmd_surprise);
    return cli_print(&cmd_surprise, cmd->format, fill_clips_record, print_clips, &clips);
}

// Measures the arrays and prints the result. `file` is NULL if there are several files.
static int measure_input(const surprise_command *cmd, const surprise_arrays *in, const char *file)
{
    const plumb_array *a[ARRAY_COUNT];
    for (int i = 0; i < ARRAY_COUNT; i++) a[i] = in->has[i] ? &in->array[i] : NULL;
    const plumb_surprise_input arrays = {.size = sizeof arrays,
                                         .surprise = a[SURPRISE],
                                         .truth = a[TRUTH],
                                         .prediction = a[PREDICTION],
                                         .feature = a[FEATURE],
                                         .observation = a[OBSERVATION],
                                         .surprise_naive = a[SURPRISE_NAIVE],
                                         .concepts = a[CONCEPT],
                                         .error_unit = a[UNIT],
                                         .motion = a[MOTION],
                                         .observation_concepts = a[OBSERVATION_CONCEPT]};
    plumb_surprise result;
    cli_show_log(&cmd_surprise);
    progress_begin("surprise");
    const plumb_status st = plumb_surprise_measure(&result, &arrays, &cmd->opt);
    progress_end();
    // With several files the message itself names the array.
    if (st && file)
        return cli_error(&cmd_surprise, EXIT_FAILED, "%s: %s", file, plumb_last_error());
    if (st) return cli_last_error(&cmd_surprise);
    const int code = print_result(cmd, &result);
    plumb_surprise_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    surprise_command *cmd = given;
    int code = scorer_words_parse(&cmd->opt, &cmd_surprise, &cmd->scorers);
    if (code == EXIT_DONE) code = check_requirements(cmd, &(plumb_surprise){0}, require_parse);
    if (code != EXIT_DONE) return code;
    if (cmd->example && files)
        return cli_error(&cmd_surprise, EXIT_USAGE, "--example reads no file");
    if (cmd->example) {
        if (!(cmd->opt.prior > 0.0 && cmd->opt.prior < 1.0))
            return cli_error(&cmd_surprise, EXIT_USAGE, "--prior must be between 0 and 1");
        if (cmd->figure) code = save_figure(cmd, NULL);
        if (code != EXIT_DONE) return code;
        return cli_print(&cmd_surprise, cmd->format, fill_example_record, print_example, cmd);
    }
    surprise_arrays in = {0};
    code = read_input(&in, cmd, files, file);
    if (code == EXIT_DONE && in.losses.single) code = measure_singles(cmd, &in);
    else if (code == EXIT_DONE) code = measure_input(cmd, &in, files ? file[0] : NULL);
    close_input(&in);
    return code;
}

const cli_command cmd_surprise = {
    .name = "surprise",
    .summary = "measure surprise at impossible clips: accuracy of many scorers",
    .usage = "F.npz | --surprise F [--feature F] [options]",
    .text =
        "Scores surprise on tuples of four clips: 0 and 1 possible, 2 and 3 impossible. F.npz has "
        "\"surprise\" (tuples, 4) or (tuples, 4, frames), or \"truth\" and \"prediction\" (tuples, "
        "4, frames, height, width, channels). A tuple is right if its impossible clips have the "
        "higher sum of scores.\n\n"
        "With \"feature\" (tuples, 4, d) the likelihood of being impossible is subtracted: score = "
        "surprise - gamma r, where r is small near the impossible clips of \"observation\" (N, d), "
        "or of a fifth of the tuples, which are then not scored. \"surprise_voe\" is the surprise "
        "of a model trained on impossible clips. \"concept\" names what a tuple tests.\n\n"
        "F may also be a .pth file with the \"losses\" of the V-JEPA study (label 1: possible) or "
        "of IntPhys 2, or a .csv, .tsv, .json or .jsonl file with a clip, its group, whether it is "
        "possible, and its score or t0, t1, ... Groups may have any size; a .npz may have "
        "\"possible\" and \"impossible\" (n, k).",
    .example = "plumb surprise probes.npz --scorer plain,knn -k 50 --gamma 0.01 --json",
    .options = command_options,
    .options_size = sizeof(surprise_command),
    .defaults = defaults,
    .run = run,
};
