// SPDX-License-Identifier: MIT
// Options of scorers that are lists or words.
#include "cli/common/scorers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

// Reports an unknown scorer, with the nearest name.
static int reject_scorer(const cli_command *command, const char *word)
{
    const char *names[PLUMB_SCORER_COUNT + 2] = {"all"};
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) names[i + 1] = plumb_scorer_name((plumb_scorer)i);
    const char *near = spelling_suggest(word, names);
    return cli_error(command, EXIT_USAGE, "there is no scorer \"%s\"%s%s%s", word,
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

// Parses a number; false if the text is not one, or is not finite.
static bool parse_number(double *out, const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value)) return false;
    *out = value;
    return true;
}

// --scorer: "all", or names separated by commas.
static int parse_scorers(plumb_surprise_options *opt, const cli_command *command, const char *list)
{
    char word[64];
    for (const char *text = list; next_word(word, sizeof word, &text);) {
        if (!strcmp(word, "all")) {
            if (strcmp(list, "all") != 0)
                return cli_error(command, EXIT_USAGE, "all cannot be combined with other scorers");
            return EXIT_DONE;
        }
        const plumb_scorer found = plumb_scorer_find(word);
        if (found == PLUMB_SCORER_COUNT) return reject_scorer(command, word);
        opt->scorers[found] = true;
    }
    return EXIT_DONE;
}

// --gammas: NAME=X, separated by commas.
static int parse_gammas(plumb_surprise_options *opt, const cli_command *command, const char *list)
{
    char word[64];
    for (const char *text = list ? list : ""; next_word(word, sizeof word, &text);) {
        char *equals = strchr(word, '=');
        double value;
        if (equals) *equals = 0;
        const plumb_scorer found = plumb_scorer_find(word);
        if (found == PLUMB_SCORER_COUNT) return reject_scorer(command, word);
        if (!equals || !parse_number(&value, equals + 1))
            return cli_error(command, EXIT_USAGE, "--gammas takes %s=X, X a finite number", word);
        opt->gammas[found] = value;
    }
    return EXIT_DONE;
}

int scorer_words_parse(plumb_surprise_options *opt, const cli_command *command,
                       const scorer_words *words)
{
    // The option is the negation of the member.
    opt->normalise = !words->raw;
    int code = parse_scorers(opt, command, words->scorer);
    if (code == EXIT_DONE) code = parse_gammas(opt, command, words->gammas);
    if (code != EXIT_DONE) return code;
    opt->gamma_auto = !strcmp(words->gamma, "auto");
    if (!opt->gamma_auto && !parse_number(&opt->gamma, words->gamma))
        return cli_error(command, EXIT_USAGE, "--gamma takes a number or auto, not \"%s\"",
                         words->gamma);
    if (!strcmp(words->threshold, "level")) opt->threshold_rule = PLUMB_SURPRISE_THRESHOLD_LEVEL;
    else if (strcmp(words->threshold, "best") && !parse_number(&opt->threshold, words->threshold))
        return cli_error(command, EXIT_USAGE,
                         "--threshold takes best, level or a number, not \"%s\"", words->threshold);
    return EXIT_DONE;
}

void table_motion(const plumb_surprise *result)
{
    bool first = true;
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        const plumb_surprise_score *score = &result->scorers[i];
        const plumb_surprise_motion *motion = &score->motion;
        if (!score->measured || !motion->measured) continue;
        if (first)
            printf(
                "\nmotion held fixed: accuracy of the %lld of %lld tuples whose clips move alike,\n"
                "of all after a regression on motion is subtracted, and of motion alone\n",
                (long long)motion->matched, (long long)motion->tuples);
        first = false;
        char matched[32] = "-";
        if (motion->matched)
            snprintf(matched, sizeof matched, "%.2f %%", 100 * motion->matched_accuracy);
        table_text(plumb_scorer_name((plumb_scorer)i), "%s, %.2f %%, %.2f %%", matched,
                   100.0 * motion->adjusted_accuracy, 100.0 * motion->alone_accuracy);
    }
}
