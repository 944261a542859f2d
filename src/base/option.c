// SPDX-License-Identifier: MIT
// Parses, formats and checks members of options structs by a table. A spec gives the place of the
// member in its struct, its type and its range.
#include "base/option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "base/text.h"

const char *option_format_number(char *text, size_t size, double value)
{
    // The fewest digits that read back exactly; 17 are always enough.
    for (int digits = 6; digits <= 17; digits++) {
        text_format(text, size, "%.*g", digits, value);
        if (text_parse_double(text, NULL) == value) break;
    }
    return text;
}

// A range of 0 to 0 means that every value is allowed.
static bool has_range(const option_spec *spec)
{
    return spec->low != 0.0 || spec->high != 0.0;
}

static bool is_in_range(const option_spec *spec, double value)
{
    return !has_range(spec) || (value >= spec->low && value <= spec->high);
}

// Limits that only say that a number is finite or not negative are not printed.
static const double huge_whole = 1e15, huge_real = 1e300;

static bool is_whole(const option_spec *spec)
{
    return spec->kind == OPTION_INT || spec->kind == OPTION_INT64 || spec->kind == OPTION_UINT64;
}

// A limit of a range, as a whole number if the option is one.
static const char *format_limit(char *text, size_t size, const option_spec *spec, double limit)
{
    if (!is_whole(spec)) return option_format_number(text, size, limit);
    text_format(text, size, "%.0f", limit);
    return text;
}

// "a whole number from 1 to 64"; limits that are not a real limit are left out.
static void describe_number(char *text, size_t size, const option_spec *spec)
{
    char low[40], high[40];
    const char *kind = is_whole(spec) ? "whole number" : "number";
    const bool unbounded = spec->high >= (is_whole(spec) ? huge_whole : huge_real);
    format_limit(low, sizeof low, spec, spec->low);
    format_limit(high, sizeof high, spec, spec->high);
    if (!has_range(spec)) snprintf(text, size, "a %s", kind);
    else if (unbounded && spec->low <= -huge_real) snprintf(text, size, "a finite number");
    else if (unbounded) snprintf(text, size, "a %s of at least %s", kind, low);
    else snprintf(text, size, "a %s from %s to %s", kind, low, high);
}

const char *option_accepts(char *text, size_t size, const option_spec *spec)
{
    switch (spec->kind) {
    case OPTION_BOOL: snprintf(text, size, "on or off"); break;
    case OPTION_STRING: snprintf(text, size, "a text"); break;
    case OPTION_ENUM: spelling_list(text, size, spec->words); break;
    case OPTION_POINTER: snprintf(text, size, "a pointer"); break;
    default: describe_number(text, size, spec);
    }
    return text;
}

// ---- parsing ----

// Writes what the option takes and what was given, with a suggestion for words.
static bool reject_text(const option_spec *spec, const char *text, char *error, size_t size)
{
    char accepts[400];
    const char *near = spec->kind == OPTION_ENUM ? spelling_suggest(text, spec->words) : NULL;
    snprintf(error, size, "takes %s, not \"%.80s\"%s%s%s",
             option_accepts(accepts, sizeof accepts, spec), text, near ? "; did you mean " : "",
             near ? near : "", near ? "?" : "");
    return false;
}

static bool parse_bool(bool *out, const char *text)
{
    static const char *const yes[] = {"on", "true", "yes", "1"};
    static const char *const no[] = {"off", "false", "no", "0"};
    for (int i = 0; i < 4; i++) {
        if (!strcmp(text, yes[i])) *out = true;
        else if (!strcmp(text, no[i])) *out = false;
        else continue;
        return true;
    }
    return false;
}

// A whole number within the range; false if it is not.
static bool parse_whole(long long *out, const option_spec *spec, const char *text)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno || !is_in_range(spec, (double)*out)) return false;
    // The value must also fit into an int.
    return spec->kind != OPTION_INT || *out == (int)*out;
}

static bool parse_enum(int *out, const option_spec *spec, const char *text)
{
    for (int i = 0; spec->words[i]; i++)
        if (!strcmp(spec->words[i], text)) {
            *out = i;
            return true;
        }
    return false;
}

bool option_store(void *target, const option_spec *spec, const char *text, char *error, size_t size)
{
    void *member = (char *)target + spec->offset;
    bool good = true;
    char *end;
    switch (spec->kind) {
    case OPTION_BOOL: good = parse_bool(member, text); break;
    case OPTION_STRING: *(const char **)member = text; break;
    case OPTION_INT:
    case OPTION_INT64: {
        long long value;
        good = parse_whole(&value, spec, text);
        if (good && spec->kind == OPTION_INT) *(int *)member = (int)value;
        else if (good) *(int64_t *)member = value;
        break;
    }
    case OPTION_UINT64: {
        errno = 0;
        const unsigned long long value = strtoull(text, &end, 10);
        // strtoull() accepts a minus sign and wraps around.
        good = end != text && !*end && !errno && *text != '-' && value <= INT64_MAX &&
               is_in_range(spec, (double)value);
        if (good) *(uint64_t *)member = value;
        break;
    }
    case OPTION_DOUBLE: {
        const double value = text_parse_double(text, &end);
        good = end != text && !*end && !isnan(value) && is_in_range(spec, value);
        if (good) *(double *)member = value;
        break;
    }
    case OPTION_ENUM: good = parse_enum(member, spec, text); break;
    case OPTION_POINTER: good = false; break;
    }
    return good || reject_text(spec, text, error, size);
}

// ---- printing ----

const char *option_format(char *text, size_t size, const option_spec *spec, const void *source)
{
    const void *member = (const char *)source + spec->offset;
    text[0] = 0;
    switch (spec->kind) {
    case OPTION_BOOL: snprintf(text, size, "%s", *(const bool *)member ? "on" : "off"); break;
    case OPTION_STRING:
        if (*(const char *const *)member) snprintf(text, size, "%s", *(const char *const *)member);
        break;
    case OPTION_INT: snprintf(text, size, "%d", *(const int *)member); break;
    case OPTION_INT64: snprintf(text, size, "%lld", (long long)*(const int64_t *)member); break;
    case OPTION_UINT64:
        snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)member);
        break;
    case OPTION_DOUBLE: option_format_number(text, size, *(const double *)member); break;
    case OPTION_ENUM: snprintf(text, size, "%s", spec->words[*(const int *)member]); break;
    case OPTION_POINTER: break;
    }
    return text;
}

// ---- checking ----

static int count_words(const option_spec *spec)
{
    int count = 0;
    while (spec->words[count]) count++;
    return count;
}

// The value of a number or enum; 0 for other kinds, which have no range.
static double read_number(const option_spec *spec, const void *source)
{
    const void *member = (const char *)source + spec->offset;
    switch (spec->kind) {
    case OPTION_INT:
    case OPTION_ENUM: return (double)*(const int *)member;
    case OPTION_INT64: return (double)*(const int64_t *)member;
    case OPTION_UINT64: return (double)*(const uint64_t *)member;
    case OPTION_DOUBLE: return *(const double *)member;
    default: return 0.0;
    }
}

const option_spec *option_check(const option_spec *specs, const void *source, char *error,
                                size_t size)
{
    char accepts[400];
    for (const option_spec *spec = specs; spec->name; spec++) {
        const double value = read_number(spec, source);
        // A double with a range must be finite too.
        const bool good = spec->kind == OPTION_ENUM
                              ? value >= 0.0 && value < (double)count_words(spec)
                          : spec->kind != OPTION_DOUBLE || !has_range(spec)
                              ? is_in_range(spec, value)
                              : isfinite(value) && is_in_range(spec, value);
        if (good) continue;
        char number[40];
        snprintf(error, size, "%s is %s; it must be %s", spec->name,
                 option_format_number(number, sizeof number, value),
                 option_accepts(accepts, sizeof accepts, spec));
        return spec;
    }
    return NULL;
}
