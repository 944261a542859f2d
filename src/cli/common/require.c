// SPDX-License-Identifier: MIT
// --require: thresholds that results must meet, for scripts and CI.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

// The requirement that `text` names, and its threshold. NULL, with a message, if it is wrong.
static const requirement *find_requirement(const cli_command *c, const char *text,
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
        cli_error(c, EXIT_USAGE, "--require %s: the bar is not a number", text);
        return NULL;
    }
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 list[i].name);
    cli_error(c, EXIT_USAGE, "--require knows %s, not \"%s\"", names, name);
    return NULL;
}

static int check_one(const cli_command *c, const requirement *r, double threshold)
{
    const bool met =
        r->lower_is_better ? r->value <= threshold : r->value >= threshold; // NaN never
    if (met) return EXIT_DONE;
    return cli_error(c, EXIT_REQUIREMENT, "%s is %.6g, required %s %.6g", r->name, r->value,
                     r->lower_is_better ? "at most" : "at least", threshold);
}

static int check_all(const cli_command *c, const char *require, const requirement *list, int count,
                     bool measured)
{
    if (!require) return EXIT_DONE;
    char *copy = strdup(require), *rest = copy;
    if (!copy) return cli_error(c, EXIT_FAILED, "out of memory");
    int worst = EXIT_DONE;
    for (char *text; worst != EXIT_USAGE && (text = strsep(&rest, ","));) {
        double threshold;
        const requirement *r = find_requirement(c, text, list, count, &threshold);
        const int code = !r ? EXIT_USAGE : measured ? check_one(c, r, threshold) : EXIT_DONE;
        if (code != EXIT_DONE) worst = code;
    }
    free(copy);
    return worst;
}

int require_parse(const cli_command *c, const char *require, const requirement *list, int count)
{
    return check_all(c, require, list, count, false);
}

int require_check(const cli_command *c, const char *require, const requirement *list, int count)
{
    return check_all(c, require, list, count, true);
}
