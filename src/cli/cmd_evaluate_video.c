// SPDX-License-Identifier: MIT
// The tables of plumb evaluate for a video model: accuracy and relative surprise per concept and
// scorer, next to predictors that need no training and to the published values for other clips.
#include "cli/cmd_evaluate_video.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PUBLISHED = 5, WIDTH = 12 };

// [Lin23, Table 1 and 2], in percent and in 1e-4; concepts as the rooms name them.
static const char *const published_concepts[PUBLISHED] = {
    "continuity", "directional-inertia", "object-persistence", "solidity", "unchangeableness"};
typedef struct published {
    const char *name;
    double value[PUBLISHED], all;
} published;
static const published accuracies[] = {
    {"PLATO", {89.1, 72.7, 67.8, 71.9, 65.6}, 73.4},
    {"PredRNN", {99.9, 81.7, 94.1, 77.6, 96.3}, 90.0},
    {"PredRNN knn", {99.9, 81.8, 94.0, 77.4, 96.4}, 89.9},
};
static const published relatives[] = {{"PredRNN knn", {8.8, 8.0, 77.5, 1.6, 21.2}, 23.4}};

// Names of files have other dashes.
static bool same_concept(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b))) return false;
    return *a == *b;
}

static int64_t find_published(const char *concept)
{
    for (int64_t i = 0; i < PUBLISHED; i++)
        if (same_concept(concept, published_concepts[i])) return i;
    return -1;
}

static void print_heading(const char *title, const plumb_surprise *m)
{
    printf("\n%s\n  %-13s", title, "");
    for (int64_t i = 0; i < m->concept_count; i++)
        printf(" %*.*s", WIDTH, WIDTH, m->concept_names[i]);
    printf(" %*s\n", WIDTH, "overall");
}

static void print_accuracy(const char *name, const plumb_surprise_metrics *all,
                           const plumb_surprise_metrics *concepts, int64_t count)
{
    char text[64];
    printf("  %-13s", name);
    for (int64_t i = 0; i < count; i++) printf(" %*.1f", WIDTH, 100.0 * concepts[i].accuracy);
    plumb_interval ci = {100.0 * all->accuracy_ci.low, 100.0 * all->accuracy_ci.high};
    printf(" %*.2f  %s\n", WIDTH, 100.0 * all->accuracy, table_interval(text, sizeof text, ci));
}

static void print_relative(const char *name, const plumb_surprise_metrics *all,
                           const plumb_surprise_metrics *concepts, int64_t count, bool raw)
{
    printf("  %-13s", name);
    for (int64_t i = 0; i < count; i++)
        printf(" %*.4g", WIDTH,
               1e4 * (raw ? concepts[i].difference : concepts[i].relative_surprise));
    printf(" %*.4g\n", WIDTH, 1e4 * (raw ? all->difference : all->relative_surprise));
}

static void print_published(const published *row, int rows, const plumb_surprise *m)
{
    for (int k = 0; k < rows; k++) {
        printf("  %-13s", row[k].name);
        for (int64_t i = 0; i < m->concept_count; i++) {
            int64_t which = find_published(m->concept_names[i]);
            if (which < 0) printf(" %*s", WIDTH, "-");
            else printf(" %*.1f", WIDTH, row[k].value[which]);
        }
        printf(" %*.1f\n", WIDTH, row[k].all);
    }
}

static void print_accuracies(const plumb_evaluation_video *r)
{
    const plumb_surprise *m = &r->surprise;
    print_heading("accuracy, % of tuples (a tie is wrong)", m);
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *s = &m->scorers[k];
        const char *name = plumb_scorer_name((plumb_scorer)k);
        if (s->measured) print_accuracy(name, &s->all, s->concepts, m->concept_count);
        else if (s->why) printf("  %-13s %s\n", name, s->why);
    }
    puts("  without training");
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) {
        const plumb_surprise *p = &r->baselines[k];
        const plumb_surprise_score *s = &p->scorers[PLUMB_SCORER_PLAIN];
        print_accuracy(plumb_baseline_name((plumb_baseline)k), &s->all, s->concepts,
                       p->concept_count);
        if (s->all.ties)
            printf("  %-13s %lld of %lld tuples are ties\n", "", (long long)s->all.ties,
                   (long long)s->all.tuples);
    }
    puts("  published, on other clips [Lin23, Table 1 and 2]");
    print_published(accuracies, 3, m);
}

static void print_relatives(const plumb_evaluation_video *r)
{
    const plumb_surprise *m = &r->surprise;
    print_heading("relative surprise (I - P) / (|I| + |P|), 1e-4", m);
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *s = &m->scorers[k];
        if (s->measured)
            print_relative(plumb_scorer_name((plumb_scorer)k), &s->all, s->concepts,
                           m->concept_count, false);
    }
    print_heading("difference (I - P) / 2 in mean squared error, 1e-4", m);
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *s = &m->scorers[k];
        if (s->measured)
            print_relative(plumb_scorer_name((plumb_scorer)k), &s->all, s->concepts,
                           m->concept_count, true);
    }
    puts("  published, on other clips; which of the two it is the paper does not say");
    print_published(relatives, 1, m);
}

static void print_errors(const plumb_evaluation_video *r)
{
    const plumb_surprise *m = &r->surprise;
    printf("\nsurprise of a frame on possible clips, mean squared error\n  %-21s %11s", "",
           "model");
    for (int k = 0; k < PLUMB_BASELINE_COUNT - 1; k++)
        printf(" %11s", plumb_baseline_name((plumb_baseline)k));
    putchar('\n');
    for (int64_t i = -1; i < m->concept_count; i++) {
        const plumb_evaluation_errors *e = i < 0 ? &r->free_clips : &r->possible[i];
        if (!e->clips) continue;
        printf("  %-21s %11.4g", i < 0 ? "free clips" : m->concept_names[i], e->model);
        for (int k = 0; k < PLUMB_BASELINE_COUNT - 1; k++) printf(" %11.4g", e->baselines[k]);
        putchar('\n');
    }
}

void print_evaluation_video(const char *run, const plumb_evaluation *evaluation)
{
    const plumb_evaluation_video *r = &evaluation->video;
    const plumb_surprise *m = &r->surprise;
    const plumb_surprise_uniformity *u = &m->uniformity;
    printf("%s: %s after %lld steps on %s\n%lld tuples tested, %lld impossible clips known\n", run,
           evaluation->model, (long long)evaluation->training_steps, evaluation->world,
           (long long)m->tested, (long long)m->observed);
    print_errors(r);
    print_accuracies(r);
    print_relatives(r);
    if (!u->measured) return;
    printf("\nuniformity of r_k\n  exact  D %.4f  p %.3g\n  paper  D %.4f  p %.3g, chi2 %.1f  p "
           "%.3g: rejects evenly spread features too\n",
           u->exact.statistic, u->exact.p, u->paper.statistic, u->paper.p, u->paper_chi.statistic,
           u->paper_chi.p);
}
