// SPDX-License-Identifier: MIT
// The tables of plumb evaluate for a video model: accuracy and relative surprise per concept and
// scorer, beside predictors that need no training and the published values for other clips. A table
// has at most five concepts side by side, so that it fits 80 columns; more concepts are printed
// below.
#include "cli/cmd_evaluate_video.h"
#include "cli/common/scorers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PUBLISHED = 5, NAME_WIDTH = 11, WIDTH = 10, MAX_COLUMNS = 5 };

// [Lin23, Table 1 and 2], in percent and in 1e-4; concepts as the rooms name them.
static const char *const published_concepts[PUBLISHED] = {
    "continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness"};
typedef struct published_row {
    const char *name;
    double value[PUBLISHED], all;
} published_row;
static const published_row published_accuracies[] = {
    {"PLATO", {89.1, 72.7, 67.8, 71.9, 65.6}, 73.4},
    {"PredRNN", {99.9, 81.7, 94.1, 77.6, 96.3}, 90.0},
    {"PredRNN knn", {99.9, 81.8, 94.0, 77.4, 96.4}, 89.9},
};
static const published_row published_relatives[] = {
    {"PredRNN knn", {8.8, 8.0, 77.5, 1.6, 21.2}, 23.4}};

// Concepts may be written with dashes or underscores.
static bool is_same_concept(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b))) return false;
    return *a == *b;
}

// The column of a concept in the published tables; -1 if they do not have it.
static int64_t find_published(const char *concept)
{
    for (int64_t i = 0; i < PUBLISHED; i++)
        if (is_same_concept(concept, published_concepts[i])) return i;
    return -1;
}

// ---- tables ----

// The columns of one part of a table: concepts `first` to `end` - 1, and in the last part of the
// judged concepts the value over all of them.
typedef struct table_part {
    const plumb_surprise *surprise;
    int64_t first, end;
    bool overall;
} table_part;

// The part that begins with concept `first`. Without concepts there is one part, which is the last.
static table_part get_part(const plumb_surprise *surprise, int64_t first)
{
    const int64_t count = surprise->concept_count;
    const int64_t end = first + MAX_COLUMNS < count ? first + MAX_COLUMNS : count;
    return (table_part){surprise, first, end, end == count};
}

// All concepts beyond the paper's, which have no value over all.
static table_part get_more(const plumb_surprise *more)
{
    return (table_part){more, 0, more->concept_count, false};
}

// Names that are longer than a column are cut.
static void print_heading(const table_part *part)
{
    printf("  %-*s", NAME_WIDTH, "");
    for (int64_t i = part->first; i < part->end; i++)
        printf(" %*.*s", WIDTH, WIDTH, part->surprise->concept_names[i]);
    if (part->overall) printf(" %*s", WIDTH, "overall");
    putchar('\n');
}

// What a row shows of each concept.
typedef double metric_value(const plumb_surprise_metrics *metrics);

// In percent, as in the paper.
static double get_accuracy(const plumb_surprise_metrics *metrics)
{
    return 100.0 * metrics->accuracy;
}

// In 1e-4, as in the paper.
static double get_relative(const plumb_surprise_metrics *metrics)
{
    return 1e4 * metrics->relative_surprise;
}

// In the unit of surprise.
static double get_difference(const plumb_surprise_metrics *metrics)
{
    return metrics->difference;
}

// One row of a table: a scorer or a baseline.
static void print_row(const char *name, const table_part *part, const plumb_surprise_score *score,
                      metric_value *get_value)
{
    printf("  %-*s", NAME_WIDTH, name);
    for (int64_t i = part->first; i < part->end; i++)
        printf(" %*.4g", WIDTH, get_value(&score->concepts[i]));
    if (part->overall) printf(" %*.4g", WIDTH, get_value(&score->all));
    putchar('\n');
}

// Published rows have "-" where the paper does not have the concept.
static void print_published(const published_row *rows, int count, const table_part *part)
{
    for (int k = 0; k < count; k++) {
        printf("  %-*s", NAME_WIDTH, rows[k].name);
        for (int64_t i = part->first; i < part->end; i++) {
            const int64_t which = find_published(part->surprise->concept_names[i]);
            if (which < 0) printf(" %*s", WIDTH, "-");
            else printf(" %*.1f", WIDTH, rows[k].value[which]);
        }
        if (part->overall) printf(" %*.1f", WIDTH, rows[k].all);
        putchar('\n');
    }
}

// One row per scorer that was measured.
static void print_scorers(const table_part *part, metric_value *get_value)
{
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *score = &part->surprise->scorers[k];
        if (score->measured) print_row(plumb_scorer_name((plumb_scorer)k), part, score, get_value);
    }
}

// Scorers of the model, then predictors without training.
static void print_judged(const table_part *part, const plumb_surprise *baselines)
{
    print_heading(part);
    print_scorers(part, get_accuracy);
    puts("  without training");
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++)
        print_row(plumb_baseline_name((plumb_baseline)k), part,
                  &baselines[k].scorers[PLUMB_SCORER_PLAIN], get_accuracy);
}

// The condition `first == 0` prints one part even if there are no concepts.
static void print_accuracies(const plumb_evaluation_video *result)
{
    const plumb_surprise *surprise = &result->surprise;
    puts("\naccuracy, % of tuples (a tie is wrong)");
    for (int64_t first = 0; first == 0 || first < surprise->concept_count; first += MAX_COLUMNS) {
        const table_part part = get_part(surprise, first);
        print_judged(&part, result->baselines);
        puts("  published, on other clips [Lin23, Table 1 and 2]");
        print_published(published_accuracies, 3, &part);
    }
    if (!result->more.concept_count) return;
    const table_part more = get_more(&result->more);
    puts("\naccuracy on concepts that the paper does not have; no part of the overall value");
    print_judged(&more, result->more_baselines);
}

// Intervals, ties and reasons, which have no place in the table.
static void print_accuracy_notes(const plumb_evaluation_video *result)
{
    char text[64];
    puts("\noverall accuracy");
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *score = &result->surprise.scorers[k];
        const char *name = plumb_scorer_name((plumb_scorer)k);
        const plumb_interval ci = {100.0 * score->all.accuracy_ci.low,
                                   100.0 * score->all.accuracy_ci.high};
        if (score->measured)
            table_text(name, "%.2f %% %s", get_accuracy(&score->all),
                       table_interval(text, sizeof text, ci));
        else if (score->why) table_text(name, "%s", score->why);
    }
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) {
        const plumb_surprise_metrics *all = &result->baselines[k].scorers[PLUMB_SCORER_PLAIN].all;
        if (all->ties)
            table_text(plumb_baseline_name((plumb_baseline)k), "%lld of %lld tuples are ties",
                       (long long)all->ties, (long long)all->tuples);
    }
}

// Single clips, by a threshold chosen on clips of other tuples.
static void print_clips(const plumb_surprise *surprise)
{
    puts("\nsingle clips: accuracy at a threshold of other clips, AUROC, and the test at a level\n"
         "chosen on others (impossible clips that pass, possible clips recognised)");
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *score = &surprise->scorers[k];
        if (!score->measured || !score->decision.measured) continue;
        table_text(plumb_scorer_name((plumb_scorer)k),
                   "%.2f %%, AUROC %.4f; type 1 %.2f %%, power %.2f %%",
                   100.0 * score->decision.accuracy, score->all.auroc, 100.0 * score->level.type1,
                   100.0 * score->level.power);
    }
    const plumb_surprise_ratio *ratio = &surprise->ratio;
    if (ratio->measured)
        table_text("P(impossible)",
                   "mean %.3f of possible, %.3f of impossible clips; Brier %.4f, calibration "
                   "error %.4f",
                   ratio->posterior_mean[0], ratio->posterior_mean[1], ratio->brier,
                   ratio->calibration_error);
}

// The paper does not define its relative surprise, so both readings are shown next to its values.
static void print_relatives(const plumb_evaluation_video *result)
{
    const plumb_surprise *surprise = &result->surprise;
    for (int64_t first = 0; first == 0 || first < surprise->concept_count; first += MAX_COLUMNS) {
        const table_part part = get_part(surprise, first);
        puts("\nrelative surprise (I - P) / (|I| + |P|), 1e-4");
        print_heading(&part);
        print_scorers(&part, get_relative);
        printf("\ndifference (I - P) / 2 in %s\n", surprise->error_unit == PLUMB_SURPRISE_UNIT_SUM
                                                       ? "summed squared error"
                                                       : "mean squared error");
        print_heading(&part);
        print_scorers(&part, get_difference);
        puts("  published, 1e-4, on other clips; [Lin23] does not say which of the two it is");
        print_published(published_relatives, 1, &part);
    }
}

// Errors of the model and of the baselines, which leave out the oracle: it knows the possible
// clips.
static void print_error_row(const char *name, const plumb_evaluation_errors *errors)
{
    if (!errors->clips) return;
    printf("  %-21s %11.4g", name, errors->model);
    for (int k = 0; k < PLUMB_BASELINE_COUNT - 1; k++) printf(" %11.4g", errors->baselines[k]);
    putchar('\n');
}

// Errors on clips that are possible.
static void print_errors(const plumb_evaluation_video *result)
{
    const plumb_surprise *surprise = &result->surprise;
    printf("\nmean squared error per frame on possible clips\n  %-21s %11s", "", "model");
    for (int k = 0; k < PLUMB_BASELINE_COUNT - 1; k++)
        printf(" %11s", plumb_baseline_name((plumb_baseline)k));
    putchar('\n');
    print_error_row("free clips", &result->free_clips);
    for (int64_t i = 0; i < surprise->concept_count; i++)
        print_error_row(surprise->concept_names[i], &result->possible[i]);
    for (int64_t i = 0; i < result->more.concept_count; i++)
        print_error_row(result->more.concept_names[i], &result->more_possible[i]);
}

// The order: errors, accuracy, its intervals, relative surprise, uniformity of the features.
void print_evaluation_video(const char *run, const plumb_evaluation *evaluation)
{
    const plumb_evaluation_video *result = &evaluation->video;
    const plumb_surprise *surprise = &result->surprise;
    const plumb_surprise_uniformity *uniformity = &surprise->uniformity;
    table_paragraph(
        "%s: %s after %lld steps on %s, %lld tuples tested, %lld impossible clips in the "
        "observation set, k = %lld of N = %lld",
        run, evaluation->model, (long long)evaluation->training_steps, evaluation->world,
        (long long)surprise->tested, (long long)surprise->observed, (long long)surprise->k,
        (long long)surprise->least_observed);
    print_errors(result);
    print_accuracies(result);
    print_accuracy_notes(result);
    print_clips(surprise);
    table_motion(surprise);
    print_relatives(result);
    if (!uniformity->measured) return;
    puts("\nuniformity of r_k");
    table_text("exact", "D %.4f  p %.3g", uniformity->exact.statistic, uniformity->exact.p);
    table_text("paper", "D %.4f  p %.3g, chi2 %.1f  p %.3g: also rejects evenly spread features",
               uniformity->paper.statistic, uniformity->paper.p, uniformity->paper_chi.statistic,
               uniformity->paper_chi.p);
}
