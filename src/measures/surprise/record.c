// SPDX-License-Identifier: MIT
// The result as a record. Keys are always the same; what was not measured is null.
#include <string.h>

#include "base/options_struct.h"
#include "measures/surprise/tuple_metrics.h"
#include "plumb/surprise.h"

// The metrics of one set of tuples, then the same numbers under the names of other benchmarks.
static void put_metrics(plumb_record *r, const plumb_surprise_metrics *m)
{
    plumb_record_set_double(r, "accuracy", m->accuracy);
    plumb_record_set_interval(r, "accuracy_ci", m->accuracy_ci);
    plumb_record_set_interval(r, "accuracy_wilson", m->accuracy_wilson);
    plumb_record_set_double(r, "chance_p", m->chance_p);
    plumb_record_set_double(r, "relative_surprise", m->relative_surprise);
    plumb_record_set_interval(r, "relative_surprise_ci", m->relative_ci);
    plumb_record_set_double(r, "difference", m->difference);
    plumb_record_set_interval(r, "difference_ci", m->difference_ci);
    plumb_record_set_double(r, "t", m->t);
    plumb_record_set_double(r, "t_p", m->t_p);
    plumb_record_set_int(r, "tuples", m->tuples);
    plumb_record_set_int(r, "correct", m->correct);
    plumb_record_set_int(r, "ties", m->ties);
    plumb_record_set_double(r, "auroc", m->auroc);
    plumb_record_set_interval(r, "auroc_ci", m->auroc_ci);
    plumb_record_set_double(r, "auprc", m->auprc);
    plumb_record_set_double(r, "pairwise", m->pairwise);
    plumb_record_set_double(r, "pairwise_permutation_p", m->permutation_p);
    plumb_record_set_double(r, "matched", m->matched);
    // The score that lets the share `type1` of the impossible clips pass as possible.
    plumb_record_begin_object(r, "threshold");
    plumb_record_set_double(r, "score", m->threshold);
    plumb_record_set_double(r, "type1", m->type1);
    plumb_record_set_double(r, "type2", m->type2);
    plumb_record_end(r);
    plumb_record_begin_object(r, "benchmarks");
    // IntPhys reports errors, not accuracies.
    plumb_record_begin_object(r, "intphys");
    plumb_record_set_double(r, "relative_error", 1.0 - m->accuracy);
    plumb_record_set_double(r, "absolute_error", 1.0 - m->auroc);
    plumb_record_end(r);
    plumb_record_begin_object(r, "inflevel");
    plumb_record_set_double(r, "accuracy", m->pairwise);
    plumb_record_set_double(r, "permutation_p", m->permutation_p);
    plumb_record_end(r);
    // Here a tie counts as wrong.
    plumb_record_begin_object(r, "vjepa");
    plumb_record_set_double(r, "relative_accuracy", m->matched_strict);
    plumb_record_set_double(r, "auroc", m->auroc);
    plumb_record_set_double(r, "auprc", m->auprc_possible);
    plumb_record_set_double(r, "threshold", m->threshold_90);
    plumb_record_set_double(r, "absolute_accuracy", m->accuracy_90);
    plumb_record_set_double(r, "best_threshold", m->best_threshold);
    plumb_record_set_double(r, "best_absolute_accuracy", m->best_accuracy);
    plumb_record_end(r);
    // Holistic: all pairs; comparative: pairs with the same first frames.
    plumb_record_begin_object(r, "xvoe");
    plumb_record_set_double(r, "holistic", m->pairwise);
    plumb_record_set_double(r, "comparative", m->matched);
    plumb_record_set_double(r, "relative", m->midpoint);
    plumb_record_end(r);
    plumb_record_end(r);
}

// One scorer: its metrics, the scores (tested, 4), and the metrics of the maximum over frames.
static void put_scorer(plumb_record *r, const plumb_surprise *result, const plumb_surprise_score *s)
{
    plumb_record_begin_object(r, plumb_scorer_name(s->scorer));
    put_metrics(r, &s->all);
    plumb_record_set_double(r, "gamma", s->gamma);
    plumb_record_set_double(r, "seconds", s->seconds);
    plumb_record_begin_array(r, "score");
    for (int64_t i = 0; i < result->tested; i++)
        plumb_record_set_doubles(r, NULL, s->score + 4 * i, 4);
    plumb_record_end(r);
    if (s->has_maximum) {
        plumb_record_begin_object(r, "maximum");
        put_metrics(r, &s->maximum);
        plumb_record_end(r);
    } else {
        plumb_record_set_null(r, "maximum");
    }
    plumb_record_end(r);
}

static void put_test(plumb_record *r, const char *key, plumb_surprise_test test)
{
    plumb_record_begin_object(r, key);
    plumb_record_set_double(r, "statistic", test.statistic);
    plumb_record_set_double(r, "p", test.p);
    plumb_record_end(r);
}

// null if it was not asked for; null numbers with a reason if it cannot be computed.
static void put_uniformity(plumb_record *r, const plumb_surprise *result)
{
    const plumb_surprise_uniformity *u = &result->uniformity;
    if (!u->measured && !u->why) {
        plumb_record_set_null(r, "uniformity");
        return;
    }
    plumb_record_begin_object(r, "uniformity");
    if (!u->measured) {
        plumb_record_set_null(r, "statistic");
        plumb_record_set_null(r, "p");
        plumb_record_set_string(r, "meaning", u->why);
        plumb_record_end(r);
        return;
    }
    plumb_record_set_double(r, "statistic", u->exact.statistic);
    plumb_record_set_double(r, "p", u->exact.p);
    plumb_record_set_string(
        r, "meaning",
        u->exact.p < 0.05 ? "the features are not spread evenly over the sphere, so surprise alone "
                            "leaves something out"
                          : "nothing speaks against features spread evenly over the sphere");
    put_test(r, "exact", u->exact);
    // The test as [Lin23] describes it, beside the exact one.
    plumb_record_begin_object(r, "paper");
    plumb_record_set_double(r, "statistic", u->paper.statistic);
    plumb_record_set_double(r, "p", u->paper.p);
    plumb_record_set_double(r, "chi_square", u->paper_chi.statistic);
    plumb_record_set_double(r, "chi_square_p", u->paper_chi.p);
    plumb_record_set_ints(r, "histogram", u->histogram, 20);
    plumb_record_set_doubles(r, "range", (double[]){u->least, u->greatest}, 2);
    plumb_record_set_string(
        r, "meaning",
        "r_k is not uniform between its extremes even for evenly spread features, so "
        "this test rejects those too");
    plumb_record_end(r);
    plumb_record_set_double(r, "cap_log10", u->cap_log10);
    plumb_record_set_int(r, "clips", u->clips);
    plumb_record_end(r);
}

// The likelihood ratio test; null without normalised features of two dimensions or more.
static void put_ratio(plumb_record *r, const plumb_surprise_ratio *l)
{
    if (!l->measured) {
        plumb_record_set_null(r, "likelihood_ratio");
        return;
    }
    plumb_record_begin_object(r, "likelihood_ratio");
    plumb_record_set_double(r, "log_threshold", l->log_threshold);
    plumb_record_set_double(r, "type1", l->type1);
    plumb_record_set_double(r, "type2", l->type2);
    plumb_record_set_double(r, "accuracy", l->accuracy);
    plumb_record_set_double(r, "auroc", l->auroc);
    plumb_record_set_double(r, "best_log_threshold", l->best_log_threshold);
    plumb_record_set_double(r, "best_accuracy", l->best_accuracy);
    plumb_record_end(r);
}

// The metrics of every scorer for each concept; null without concepts.
static void put_concepts(plumb_record *r, const plumb_surprise *result)
{
    if (!result->concept_count) {
        plumb_record_set_null(r, "concepts");
        return;
    }
    plumb_record_begin_array(r, "concepts");
    for (int64_t c = 0; c < result->concept_count; c++) {
        plumb_record_begin_object(r, NULL);
        plumb_record_set_string(r, "name", result->concept_names[c]);
        plumb_record_begin_object(r, "scorers");
        for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
            const plumb_surprise_score *s = &result->scorers[i];
            if (!s->measured) continue;
            plumb_record_begin_object(r, plumb_scorer_name(s->scorer));
            put_metrics(r, &s->concepts[c]);
            plumb_record_end(r);
        }
        plumb_record_end(r);
        plumb_record_end(r);
    }
    plumb_record_end(r);
}

// "only": tuples that one of the two scorers alone ranks correctly.
static void put_comparisons(plumb_record *r, const plumb_surprise *result)
{
    plumb_record_begin_array(r, "comparisons");
    for (int64_t i = 0; i < result->pair_count; i++) {
        const plumb_surprise_comparison *p = &result->pairs[i];
        plumb_record_begin_object(r, NULL);
        plumb_record_set_strings(
            r, "scorers",
            (const char *[]){plumb_scorer_name(p->first), plumb_scorer_name(p->second)}, 2);
        plumb_record_set_ints(r, "only", (int64_t[]){p->first_only, p->second_only}, 2);
        plumb_record_set_double(r, "mcnemar_p", p->p);
        plumb_record_end(r);
    }
    plumb_record_end(r);
}

void plumb_surprise_record(plumb_record *r, const plumb_surprise *result,
                           const plumb_surprise_options *options)
{
    if (!r || !result) return;
    plumb_surprise_options full = plumb_surprise_defaults(), *opt = &full;
    if (options_resolve(&full, sizeof full, options, "plumb_surprise_options")) return;
    plumb_record_begin_object(r, "scorers");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].measured) put_scorer(r, result, &result->scorers[i]);
    plumb_record_end(r);
    put_concepts(r, result);
    put_uniformity(r, result);
    put_ratio(r, &result->ratio);
    put_comparisons(r, result);
    // Scorers that were not computed, with the reason.
    plumb_record_begin_object(r, "left_out");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].why)
            plumb_record_set_string(r, plumb_scorer_name((plumb_scorer)i), result->scorers[i].why);
    plumb_record_end(r);

    // Sizes.
    plumb_record_set_int(r, "n", result->tested);
    plumb_record_set_int(r, "tuples", result->tuples);
    plumb_record_set_ints(r, "tested", result->tested_tuple, result->tested);
    plumb_record_set_int(r, "observed", result->observed);
    plumb_record_set_bool(r, "split", result->split);
    plumb_record_set_int(r, "frames", result->frames);
    plumb_record_set_int(r, "dims", result->dims);
    plumb_record_set_int(r, "zero_features", result->zero_features);
    plumb_record_set_int(r, "equal_observations", result->equal_observations);
    // Options.
    plumb_record_set_int(r, "k", opt->k);
    plumb_record_set_double(r, "gamma", opt->gamma);
    plumb_record_set_bool(r, "normalised", opt->normalise);
    plumb_record_set_string(r, "frames_joined_by",
                            opt->frames == PLUMB_SURPRISE_FRAMES_MAX   ? "max"
                            : opt->frames == PLUMB_SURPRISE_FRAMES_SUM ? "sum"
                                                                       : "mean");
    plumb_record_set_string(r, "pca", opt->pca == PLUMB_SURPRISE_PCA_SHYU ? "shyu" : "recon");
    plumb_record_set_double(r, "share", opt->share);
    plumb_record_set_double(r, "temperature", opt->temperature);
    plumb_record_set_double(r, "prior", opt->prior);
    plumb_record_set_int(r, "resamples", opt->resamples);
    plumb_record_set_int(r, "seed", (int64_t)opt->seed);
    // What is needed to repeat the measurement.
    plumb_record_set_string(r, "input_hash", result->input_hash);
    plumb_record_set_int(r, "measure_version", PLUMB_SURPRISE_VERSION);
    plumb_record_set_string(r, "version", plumb_version());
    plumb_record_set_double(r, "seconds", result->seconds);
}

// One tested tuple: one line of the file of `--items`.
void plumb_surprise_item_record(plumb_record *r, const plumb_surprise *result, int64_t tested)
{
    if (!r || !result) return;
    plumb_record_set_int(r, "tuple", result->tested_tuple[tested]);
    if (result->concept_of)
        plumb_record_set_string(r, "concept", result->concept_names[result->concept_of[tested]]);
    else plumb_record_set_null(r, "concept");
    plumb_record_begin_object(r, "scorers");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        const plumb_surprise_score *s = &result->scorers[i];
        if (!s->measured) continue;
        const double *score = s->score + 4 * tested;
        plumb_record_begin_object(r, plumb_scorer_name(s->scorer));
        plumb_record_set_bool(r, "right", tuple_metrics_right(score));
        plumb_record_set_double(r, "relative_surprise", tuple_metrics_relative(score));
        plumb_record_set_doubles(r, "score", score, 4);
        if (s->distance) plumb_record_set_doubles(r, "distance", s->distance + 4 * tested, 4);
        else plumb_record_set_null(r, "distance");
        plumb_record_end(r);
    }
    plumb_record_end(r);
    if (result->ratio.measured)
        plumb_record_set_doubles(r, "log_likelihood_ratio", result->ratio.log_ratio + 4 * tested,
                                 4);
    else plumb_record_set_null(r, "log_likelihood_ratio");
    if (!result->frames) {
        plumb_record_set_null(r, "frame_surprise");
        return;
    }
    plumb_record_begin_array(r, "frame_surprise");
    for (int i = 0; i < 4; i++)
        plumb_record_set_doubles(
            r, NULL, result->frame_surprise + (4 * tested + i) * result->frames, result->frames);
    plumb_record_end(r);
}
