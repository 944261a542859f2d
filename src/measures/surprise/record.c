// SPDX-License-Identifier: MIT
// The result as a record. Keys are always the same; what was not measured is null.
#include <string.h>

#include "base/options_struct.h"
#include "measures/surprise/tuple_metrics.h"
#include "plumb/surprise.h"

// The metrics of one set of tuples, then the same numbers under the names of other benchmarks.
static void put_metrics(plumb_record *record, const plumb_surprise_metrics *metrics)
{
    plumb_record_set_double(record, "accuracy", metrics->accuracy);
    plumb_record_set_interval(record, "accuracy_ci", metrics->accuracy_ci);
    plumb_record_set_interval(record, "accuracy_wilson", metrics->accuracy_wilson);
    plumb_record_set_double(record, "chance_p", metrics->chance_p);
    plumb_record_set_double(record, "relative_surprise", metrics->relative_surprise);
    plumb_record_set_interval(record, "relative_surprise_ci", metrics->relative_ci);
    plumb_record_set_double(record, "difference", metrics->difference);
    plumb_record_set_interval(record, "difference_ci", metrics->difference_ci);
    plumb_record_set_double(record, "t", metrics->t);
    plumb_record_set_double(record, "t_p", metrics->t_p);
    plumb_record_set_int(record, "tuples", metrics->tuples);
    plumb_record_set_int(record, "correct", metrics->correct);
    plumb_record_set_int(record, "ties", metrics->ties);
    plumb_record_set_double(record, "auroc", metrics->auroc);
    plumb_record_set_interval(record, "auroc_ci", metrics->auroc_ci);
    plumb_record_set_double(record, "auprc", metrics->auprc);
    plumb_record_set_double(record, "pairwise", metrics->pairwise);
    plumb_record_set_double(record, "pairwise_permutation_p", metrics->permutation_p);
    plumb_record_set_double(record, "matched", metrics->matched);
    // The score that lets the share `type1` of the impossible clips pass as possible.
    plumb_record_begin_object(record, "threshold");
    plumb_record_set_double(record, "score", metrics->threshold);
    plumb_record_set_double(record, "type1", metrics->type1);
    plumb_record_set_double(record, "type2", metrics->type2);
    plumb_record_end(record);
    plumb_record_begin_object(record, "benchmarks");
    // IntPhys reports errors, not accuracies.
    plumb_record_begin_object(record, "intphys");
    plumb_record_set_double(record, "relative_error", 1.0 - metrics->accuracy);
    plumb_record_set_double(record, "absolute_error", 1.0 - metrics->auroc);
    plumb_record_end(record);
    plumb_record_begin_object(record, "inflevel");
    plumb_record_set_double(record, "accuracy", metrics->pairwise);
    plumb_record_set_double(record, "permutation_p", metrics->permutation_p);
    plumb_record_end(record);
    // Here a tie counts as wrong.
    plumb_record_begin_object(record, "vjepa");
    plumb_record_set_double(record, "relative_accuracy", metrics->matched_strict);
    plumb_record_set_double(record, "auroc", metrics->auroc);
    plumb_record_set_double(record, "auprc", metrics->auprc_possible);
    plumb_record_set_double(record, "threshold", metrics->threshold_90);
    plumb_record_set_double(record, "absolute_accuracy", metrics->accuracy_90);
    plumb_record_set_double(record, "best_threshold", metrics->best_threshold);
    plumb_record_set_double(record, "best_absolute_accuracy", metrics->best_accuracy);
    plumb_record_end(record);
    // Holistic: all pairs; comparative: pairs with the same first frames.
    plumb_record_begin_object(record, "xvoe");
    plumb_record_set_double(record, "holistic", metrics->pairwise);
    plumb_record_set_double(record, "comparative", metrics->matched);
    plumb_record_set_double(record, "relative", metrics->midpoint);
    plumb_record_end(record);
    plumb_record_end(record);
}

// Decisions about single clips; null if nothing is known to choose a threshold from.
static void put_decision(plumb_record *record, const char *key,
                         const plumb_surprise_decision *decision)
{
    if (!decision->measured) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "threshold", decision->threshold);
    plumb_record_set_double(record, "accuracy", decision->accuracy);
    plumb_record_set_double(record, "type1", decision->type1);
    plumb_record_set_double(record, "type2", decision->type2);
    plumb_record_set_double(record, "power", decision->power);
    plumb_record_end(record);
}

// Decisions with motion held fixed; null without motion.
static void put_motion(plumb_record *record, const plumb_surprise_motion *motion)
{
    if (!motion->measured) {
        plumb_record_set_null(record, "motion");
        return;
    }
    plumb_record_begin_object(record, "motion");
    plumb_record_set_int(record, "matched", motion->matched);
    plumb_record_set_double(record, "matched_accuracy", motion->matched_accuracy);
    plumb_record_set_interval(record, "matched_wilson", motion->matched_wilson);
    plumb_record_set_double(record, "adjusted_accuracy", motion->adjusted_accuracy);
    plumb_record_set_double(record, "alone_accuracy", motion->alone_accuracy);
    plumb_record_end(record);
}

// One scorer: its metrics, the scores (tested, 4), and the metrics of the maximum over frames.
static void put_scorer(plumb_record *record, const plumb_surprise *result,
                       const plumb_surprise_score *score)
{
    plumb_record_begin_object(record, plumb_scorer_name(score->scorer));
    put_metrics(record, &score->all);
    plumb_record_set_double(record, "gamma", score->gamma);
    put_decision(record, "clips", &score->decision);
    put_decision(record, "level", &score->level);
    put_motion(record, &score->motion);
    plumb_record_set_double(record, "seconds", score->seconds);
    plumb_record_begin_array(record, "score");
    for (int64_t i = 0; i < result->tested; i++)
        plumb_record_set_doubles(record, NULL, score->score + 4 * i, 4);
    plumb_record_end(record);
    if (score->has_maximum) {
        plumb_record_begin_object(record, "maximum");
        put_metrics(record, &score->maximum);
        plumb_record_end(record);
    } else {
        plumb_record_set_null(record, "maximum");
    }
    plumb_record_end(record);
}

static void put_test(plumb_record *record, const char *key, plumb_surprise_test test)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "statistic", test.statistic);
    plumb_record_set_double(record, "p", test.p);
    plumb_record_end(record);
}

// null if it was not asked for; null numbers with a reason if it cannot be computed.
static void put_uniformity(plumb_record *record, const plumb_surprise_uniformity *uniformity)
{
    if (!uniformity->measured && !uniformity->why) {
        plumb_record_set_null(record, "uniformity");
        return;
    }
    plumb_record_begin_object(record, "uniformity");
    if (!uniformity->measured) {
        plumb_record_set_null(record, "statistic");
        plumb_record_set_null(record, "p");
        plumb_record_set_string(record, "meaning", uniformity->why);
        plumb_record_end(record);
        return;
    }
    plumb_record_set_double(record, "statistic", uniformity->exact.statistic);
    plumb_record_set_double(record, "p", uniformity->exact.p);
    plumb_record_set_string(
        record, "meaning",
        uniformity->exact.p < 0.05
            ? "the features are not spread evenly over the sphere, so surprise alone "
              "leaves something out"
            : "nothing speaks against features spread evenly over the sphere");
    put_test(record, "exact", uniformity->exact);
    // The test as [Lin23] describes it, beside the exact one.
    plumb_record_begin_object(record, "paper");
    plumb_record_set_double(record, "statistic", uniformity->paper.statistic);
    plumb_record_set_double(record, "p", uniformity->paper.p);
    plumb_record_set_double(record, "chi_square", uniformity->paper_chi.statistic);
    plumb_record_set_double(record, "chi_square_p", uniformity->paper_chi.p);
    plumb_record_set_ints(record, "histogram", uniformity->histogram, 20);
    plumb_record_set_doubles(record, "range", (double[]){uniformity->least, uniformity->greatest},
                             2);
    plumb_record_set_string(
        record, "meaning",
        "r_k is not uniform between its extremes even for evenly spread features, so "
        "this test rejects those too");
    plumb_record_end(record);
    plumb_record_set_double(record, "cap_log10", uniformity->cap_log10);
    plumb_record_set_int(record, "clips", uniformity->clips);
    plumb_record_end(record);
}

// The likelihood ratio test; null without features.
static void put_ratio(plumb_record *record, const plumb_surprise_ratio *ratio)
{
    if (!ratio->measured) {
        plumb_record_set_null(record, "likelihood_ratio");
        return;
    }
    plumb_record_begin_object(record, "likelihood_ratio");
    plumb_record_set_double(record, "log_threshold", ratio->log_threshold);
    plumb_record_set_double(record, "type1", ratio->type1);
    plumb_record_set_double(record, "type2", ratio->type2);
    plumb_record_set_double(record, "accuracy", ratio->accuracy);
    plumb_record_set_double(record, "auroc", ratio->auroc);
    plumb_record_set_double(record, "best_log_threshold", ratio->best_log_threshold);
    plumb_record_set_double(record, "best_accuracy", ratio->best_accuracy);
    plumb_record_set_doubles(record, "posterior_mean", ratio->posterior_mean, 2);
    plumb_record_set_double(record, "brier", ratio->brier);
    plumb_record_set_double(record, "calibration_error", ratio->calibration_error);
    plumb_record_begin_object(record, "calibration");
    plumb_record_set_doubles(record, "said", ratio->calibration_said, PLUMB_SURPRISE_BINS);
    plumb_record_set_doubles(record, "found", ratio->calibration_found, PLUMB_SURPRISE_BINS);
    plumb_record_set_ints(record, "clips", ratio->calibration_clips, PLUMB_SURPRISE_BINS);
    plumb_record_end(record);
    plumb_record_set_doubles(record, "temperature", ratio->temperature, ratio->concepts);
    plumb_record_set_doubles(record, "weight", ratio->weight, ratio->concepts);
    plumb_record_set_doubles(record, "dimension", ratio->dimension, ratio->sets);
    plumb_record_set_bool(record, "frame_variances", ratio->frame_variances);
    plumb_record_set_bool(record, "scene_variances", ratio->scene_variances);
    plumb_record_end(record);
}

// The metrics of every scorer for each concept; null without concepts.
static void put_concepts(plumb_record *record, const plumb_surprise *result)
{
    if (!result->concept_count) {
        plumb_record_set_null(record, "concepts");
        return;
    }
    plumb_record_begin_array(record, "concepts");
    for (int64_t c = 0; c < result->concept_count; c++) {
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", result->concept_names[c]);
        if (result->concept_uniformity) put_uniformity(record, &result->concept_uniformity[c]);
        else plumb_record_set_null(record, "uniformity");
        plumb_record_begin_object(record, "scorers");
        for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
            const plumb_surprise_score *score = &result->scorers[i];
            if (!score->measured) continue;
            plumb_record_begin_object(record, plumb_scorer_name(score->scorer));
            put_metrics(record, &score->concepts[c]);
            plumb_record_end(record);
        }
        plumb_record_end(record);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

// "only": tuples that one of the two scorers alone ranks correctly.
static void put_comparisons(plumb_record *record, const plumb_surprise *result)
{
    plumb_record_begin_array(record, "comparisons");
    for (int64_t i = 0; i < result->pair_count; i++) {
        const plumb_surprise_comparison *pair = &result->pairs[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_strings(
            record, "scorers",
            (const char *[]){plumb_scorer_name(pair->first), plumb_scorer_name(pair->second)}, 2);
        plumb_record_set_ints(record, "only", (int64_t[]){pair->first_only, pair->second_only}, 2);
        plumb_record_set_double(record, "mcnemar_p", pair->p);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

void plumb_surprise_record(plumb_record *record, const plumb_surprise *result,
                           const plumb_surprise_options *options)
{
    if (!record || !result) return;
    plumb_surprise_options full = plumb_surprise_defaults(), *opt = &full;
    if (options_resolve(&full, sizeof full, options, "plumb_surprise_options")) return;
    plumb_record_begin_object(record, "scorers");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].measured) put_scorer(record, result, &result->scorers[i]);
    plumb_record_end(record);
    put_concepts(record, result);
    put_uniformity(record, &result->uniformity);
    put_ratio(record, &result->ratio);
    put_comparisons(record, result);
    // Scorers that were not computed, with the reason.
    plumb_record_begin_object(record, "left_out");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++)
        if (result->scorers[i].why)
            plumb_record_set_string(record, plumb_scorer_name((plumb_scorer)i),
                                    result->scorers[i].why);
    plumb_record_end(record);

    // Sizes.
    plumb_record_set_int(record, "n", result->tested);
    plumb_record_set_int(record, "tuples", result->tuples);
    plumb_record_set_ints(record, "tested", result->tested_tuple, result->tested);
    plumb_record_set_int(record, "observed", result->observed);
    plumb_record_set_bool(record, "split", result->split);
    plumb_record_set_int(record, "frames", result->frames);
    plumb_record_set_int(record, "dims", result->dims);
    plumb_record_set_int(record, "zero_features", result->zero_features);
    plumb_record_set_int(record, "equal_observations", result->equal_observations);
    // Options.
    plumb_record_set_int(record, "k", result->k);
    plumb_record_set_int(record, "least_observed", result->least_observed);
    plumb_record_set_double(record, "gamma", opt->gamma);
    plumb_record_set_bool(record, "normalised", opt->normalise);
    plumb_record_set_string(record, "unit",
                            result->error_unit == PLUMB_SURPRISE_UNIT_SUM    ? "sum"
                            : result->error_unit == PLUMB_SURPRISE_UNIT_MEAN ? "mean"
                                                                             : "given");
    plumb_record_set_string(record, "frames_joined_by",
                            result->joined == PLUMB_SURPRISE_FRAMES_MAX   ? "max"
                            : result->joined == PLUMB_SURPRISE_FRAMES_SUM ? "sum"
                                                                          : "mean");
    plumb_record_set_string(record, "pca", opt->pca == PLUMB_SURPRISE_PCA_SHYU ? "shyu" : "recon");
    plumb_record_set_double(record, "share", opt->share);
    plumb_record_set_double(record, "temperature", opt->temperature);
    plumb_record_set_double(record, "prior", opt->prior);
    plumb_record_set_double(record, "type1", opt->type1);
    plumb_record_set_bool(record, "gamma_auto", opt->gamma_auto);
    plumb_record_set_int(record, "resamples", opt->resamples);
    plumb_record_set_int(record, "seed", (int64_t)opt->seed);
    // What is needed to repeat the measurement.
    plumb_record_set_string(record, "input_hash", result->input_hash);
    plumb_record_set_int(record, "measure_version", PLUMB_SURPRISE_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
    plumb_record_set_double(record, "seconds", result->seconds);
}

// One tested tuple: one line of the file of `--items`.
void plumb_surprise_item_record(plumb_record *record, const plumb_surprise *result, int64_t tested)
{
    if (!record || !result) return;
    plumb_record_set_int(record, "tuple", result->tested_tuple[tested]);
    if (result->concept_of)
        plumb_record_set_string(record, "concept",
                                result->concept_names[result->concept_of[tested]]);
    else plumb_record_set_null(record, "concept");
    plumb_record_begin_object(record, "scorers");
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        const plumb_surprise_score *scorer = &result->scorers[i];
        if (!scorer->measured) continue;
        const double *score = scorer->score + 4 * tested;
        plumb_record_begin_object(record, plumb_scorer_name(scorer->scorer));
        plumb_record_set_bool(record, "right", tuple_metrics_right(score));
        plumb_record_set_double(record, "relative_surprise", tuple_metrics_relative(score));
        plumb_record_set_doubles(record, "score", score, 4);
        if (scorer->distance)
            plumb_record_set_doubles(record, "distance", scorer->distance + 4 * tested, 4);
        else plumb_record_set_null(record, "distance");
        plumb_record_end(record);
    }
    plumb_record_end(record);
    if (result->ratio.measured)
        plumb_record_set_doubles(record, "log_likelihood_ratio",
                                 result->ratio.log_ratio + 4 * tested, 4);
    else plumb_record_set_null(record, "log_likelihood_ratio");
    if (result->ratio.measured)
        plumb_record_set_doubles(record, "posterior", result->ratio.posterior + 4 * tested, 4);
    else plumb_record_set_null(record, "posterior");
    if (!result->frames) {
        plumb_record_set_null(record, "frame_surprise");
        return;
    }
    plumb_record_begin_array(record, "frame_surprise");
    for (int i = 0; i < 4; i++)
        plumb_record_set_doubles(record, NULL,
                                 result->frame_surprise + (4 * tested + i) * result->frames,
                                 result->frames);
    plumb_record_end(record);
}
