// SPDX-License-Identifier: MIT
// --require: thresholds that results must meet, for scripts and CI.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

// Finds the requirement of `text`, "NAME" or "NAME=VALUE", and its threshold. NULL, with a message,
// if the name is unknown or the value is not a number.
static const requirement *find_requirement(const cli_command *command, const char *text,
                                           const requirement *list, int count, double *threshold)
{
    char name[64];
    const size_t length = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (int i = 0; i < count; i++) {
        if (strcmp(list[i].name, name)) continue;
        *threshold = list[i].threshold;
        if (text[length] != '=') return &list[i];
        char *end;
        *threshold = strtod(text + length + 1, &end);
        if (end != text + length + 1 && !*end) return &list[i];
        cli_error(command, EXIT_USAGE, "--require %s: the threshold must be a number", text);
        return NULL;
    }
    // The message lists all names that the command has.
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 list[i].name);
    cli_error(command, EXIT_USAGE, "--require takes %s, not \"%s\"", names, name);
    return NULL;
}

// Compares one value with its threshold.
static int check_requirement(const cli_command *command, const requirement *entry, double threshold)
{
    const bool met = entry->lower_is_better ? entry->value <= threshold
                                            : entry->value >= threshold; // false for NaN
    if (met) return EXIT_DONE;
    const char *side = entry->lower_is_better ? "at most" : "at least";
    if (isnan(entry->value))
        return cli_error(command, EXIT_REQUIREMENT, "%s is not determined, required %s %.6g",
                         entry->name, side, threshold);
    return cli_error(command, EXIT_REQUIREMENT, "%s is %.6g, required %s %.6g", entry->name,
                     entry->value, side, threshold);
}

// Goes through the comma-separated list. Before measuring only names and values are checked.
static int check_list(const cli_command *command, const char *require, const requirement *list,
                      int count, bool measured)
{
    if (!require) return EXIT_DONE;
    char *copy = strdup(require), *rest = copy;
    if (!copy) return cli_error(command, EXIT_FAILED, "out of memory");
    // All missed requirements are printed; a wrong name ends the loop.
    int worst = EXIT_DONE;
    for (char *text; worst != EXIT_USAGE && (text = strsep(&rest, ","));) {
        double threshold;
        const requirement *entry = find_requirement(command, text, list, count, &threshold);
        const int code = !entry     ? EXIT_USAGE
                         : measured ? check_requirement(command, entry, threshold)
                                    : EXIT_DONE;
        if (code != EXIT_DONE) worst = code;
    }
    free(copy);
    return worst;
}

int require_parse(const cli_command *command, const char *require, const requirement *list,
                  int count)
{
    return check_list(command, require, list, count, false);
}

int require_check(const cli_command *command, const char *require, const requirement *list,
                  int count)
{
    return check_list(command, require, list, count, true);
}

bool require_has(const char *require, const char *name)
{
    const size_t length = strlen(name);
    while (require) {
        const size_t word = strcspn(require, ",=");
        if (word == length && !strncmp(require, name, length)) return true;
        require = strchr(require, ',');
        if (require) require++;
    }
    return false;
}
