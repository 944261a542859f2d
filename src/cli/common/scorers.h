// SPDX-License-Identifier: MIT
// The options of scorers, which plumb surprise and plumb evaluate have in common.
#ifndef CLI_COMMON_SCORERS_H
#define CLI_COMMON_SCORERS_H

#include "cli/common/command.h"

/// Options that are lists or words, as the user wrote them.
typedef struct scorer_words {
    const char *scorer, *gamma, *gammas, *threshold;
    bool raw;
} scorer_words;

static inline scorer_words scorer_words_defaults(void)
{
    return (scorer_words){.scorer = "all", .gamma = "0.01", .threshold = "best"};
}

/// Parses them into `opt`. A mistake is printed; the exit code of it.
int scorer_words_parse(plumb_surprise_options *opt, const cli_command *command,
                       const scorer_words *words);

/// Prints what scorers decide with motion held fixed; nothing if it was not measured.
void table_motion(const plumb_surprise *result);

/// Rows of a table of options. `opt` is the plumb_surprise_options and `words` the scorer_words of
/// the command.
// clang-format off
#define SCORER_OPTIONS(opt, words) \
    {.name = "scorer", .group = "scorers", .kind = OPTION_STRING, AT(words.scorer), \
     .value = "NAME,...", .complete = CLI_COMPLETE_SCORERS, \
     .help = "plain, naive, knn, iforest, ocsvm, pca, mahalanobis, knn-log, lr; all: those that " \
             "the arrays allow"}, \
    {.name = "k", FROM(surprise_options, opt, "k"), .letter = 'k'}, \
    {.name = "gamma", .kind = OPTION_STRING, AT(words.gamma), .value = "X|auto", \
     .help = "weight of the likelihood in surprise_knn, the other scorers are scaled to it; auto: " \
             "chosen for each scorer on tuples that are not judged"}, \
    {.name = "gammas", .kind = OPTION_STRING, AT(words.gammas), .value = "NAME=X,...", \
     .help = "weights of single scorers, used as they are"}, \
    {.name = "unit", FROM(surprise_options, opt, "error_unit")}, \
    {.name = "frames", FROM(surprise_options, opt, "frames")}, \
    {.name = "share", FROM(surprise_options, opt, "share")}, \
    {.name = "raw", .kind = OPTION_BOOL, AT(words.raw), \
     .help = "use features as they are, not scaled to unit length"}, \
    {.name = "pca", FROM(surprise_options, opt, "pca")}, \
    {.name = "nu", FROM(surprise_options, opt, "nu")}, \
    {.name = "tolerance", FROM(surprise_options, opt, "tolerance")}, \
    {.name = "trees", FROM(surprise_options, opt, "trees")}, \
    {.name = "temperature", FROM(surprise_options, opt, "temperature"), \
     .group = "likelihood ratio and single clips"}, \
    {.name = "prior", FROM(surprise_options, opt, "prior")}, \
    {.name = "type1", FROM(surprise_options, opt, "type1")}, \
    {.name = "threshold", .kind = OPTION_STRING, AT(words.threshold), .value = "best|level|X", \
     .help = "threshold of single clips: the best one for clips that are not judged, the one that " \
             "lets --type1 of their impossible clips pass, or a score"}
// clang-format on

#endif
