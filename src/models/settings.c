// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "models/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "base/text.h"

enum { TEXT_ROOM = 512 };

static const char *const preset_names[] = {"paper",     "cpu",           "tiny", "cpu-angles",
                                           "cpu-state", "cpu-constants", NULL};

// The nearest of `words`, for messages; "" if none is near.
static const char *did_you_mean(char *text, size_t size, const char *word, const char *const *words)
{
    const char *near = spelling_suggest(word, words);
    text[0] = 0;
    if (near) snprintf(text, size, "; did you mean %s?", near);
    return text;
}

plumb_status settings_find_preset(settings_preset *out, const char *name)
{
    char list[96], near[64];
    for (int i = 0; i < SETTINGS_NAMES; i++)
        if (!strcmp(preset_names[i], name)) {
            *out = (settings_preset)i;
            return PLUMB_OK;
        }
    return fail(PLUMB_EVALUE, "there is no preset \"%.64s\", only %s%s", name,
                spelling_list(list, sizeof list, preset_names),
                did_you_mean(near, sizeof near, name, preset_names));
}

const char *settings_preset_name(settings_preset preset)
{
    return preset_names[preset];
}

// ---- one value ----

static const char *number_text(char *text, size_t size, double value)
{
    for (int digits = 6; digits <= 17; digits++) {
        text_format(text, size, "%.*g", digits, value);
        if (text_parse_double(text, NULL) == value) break;
    }
    return text;
}

static plumb_status out_of_range(const setting_spec *row, const char *value)
{
    char low[40], high[40];
    return fail(PLUMB_EVALUE, "%s takes %s from %s to %s, not %.80s", row->name,
                row->kind == SETTINGS_INTEGER ? "a whole number" : "a number",
                number_text(low, sizeof low, row->low), number_text(high, sizeof high, row->high),
                value);
}

static bool in_range(const setting_spec *row, double value)
{
    return (row->low == 0.0 && row->high == 0.0) || (value >= row->low && value <= row->high);
}

static plumb_status refuse(const setting_spec *row, const char *wanted, const char *value)
{
    return fail(PLUMB_EVALUE, "%s takes %s, not \"%.80s\"", row->name, wanted, value);
}

static plumb_status store_choice(void *target, const setting_spec *row, const char *value)
{
    char list[320], near[96];
    for (int i = 0; row->choices[i]; i++)
        if (!strcmp(row->choices[i], value)) {
            *(int *)target = i;
            return PLUMB_OK;
        }
    return fail(PLUMB_EVALUE, "%s takes %s, not \"%.80s\"%s", row->name,
                spelling_list(list, sizeof list, row->choices), value,
                did_you_mean(near, sizeof near, value, row->choices));
}

static plumb_status store(void *values, arena *mem, const setting_spec *row, const char *value)
{
    void *target = (char *)values + row->offset;
    char *end = NULL;
    errno = 0;
    switch (row->kind) {
    case SETTINGS_INTEGER: {
        const long long number = strtoll(value, &end, 10);
        if (end == value || *end || errno) return refuse(row, "a whole number", value);
        if (!in_range(row, (double)number)) return out_of_range(row, value);
        *(int64_t *)target = number;
        return PLUMB_OK;
    }
    case SETTINGS_REAL: {
        const double number = text_parse_double(value, &end);
        if (end == value || *end || !isfinite(number)) return refuse(row, "a number", value);
        if (!in_range(row, number)) return out_of_range(row, value);
        *(double *)target = number;
        return PLUMB_OK;
    }
    case SETTINGS_FLAG: {
        static const char *const yes[] = {"on", "true", "yes", "1"};
        static const char *const no[] = {"off", "false", "no", "0"};
        for (int i = 0; i < 4; i++) {
            if (!strcmp(value, yes[i])) *(bool *)target = true;
            else if (!strcmp(value, no[i])) *(bool *)target = false;
            else continue;
            return PLUMB_OK;
        }
        return refuse(row, "on or off", value);
    }
    case SETTINGS_CHOICE: return store_choice(target, row, value);
    case SETTINGS_TEXT:
        if (strlen(value) >= TEXT_ROOM) return refuse(row, "a shorter text", value);
        *(const char **)target = arena_strdup(mem, value);
        return *(const char **)target ? PLUMB_OK : PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

const char *settings_format(char *text, size_t size, const setting_spec *row, const void *values)
{
    const void *target = (const char *)values + row->offset;
    switch (row->kind) {
    case SETTINGS_INTEGER: snprintf(text, size, "%lld", (long long)*(const int64_t *)target); break;
    case SETTINGS_REAL: number_text(text, size, *(const double *)target); break;
    case SETTINGS_FLAG: snprintf(text, size, "%s", *(const bool *)target ? "on" : "off"); break;
    case SETTINGS_CHOICE: snprintf(text, size, "%s", row->choices[*(const int *)target]); break;
    case SETTINGS_TEXT: snprintf(text, size, "%s", *(const char *const *)target); break;
    }
    return text;
}

const char *settings_format_old(char *text, size_t size, const char **name, const setting_spec *row,
                                const struct settings_part *part)
{
    char assignment[TEXT_ROOM];
    settings_format(text, size, row, part->values);
    const name_change *change = renames_find_new(part->renames, row->name);
    *name = change ? change->old_name : row->name;
    if (row->kind != SETTINGS_CHOICE) return text;
    snprintf(assignment, sizeof assignment, "%s=%s", row->name, text);
    change = renames_find_new(part->renames, assignment);
    if (change) snprintf(text, size, "%s", strchr(change->old_name, '=') + 1);
    return text;
}

// ---- all of them ----

plumb_status settings_apply_preset(settings *s, settings_preset preset)
{
    if (preset >= SETTINGS_PRESETS) preset = SETTINGS_CPU;
    for (int p = 0; p < s->count; p++)
        for (const setting_spec *row = s->part[p].row; row->name; row++) {
            const char *value = row->value[preset] ? row->value[preset] : row->value[0];
            const plumb_status st = store(s->part[p].values, s->mem, row, value);
            if (st) return st;
        }
    return PLUMB_OK;
}

static plumb_status refuse_both_names(const name_change *change)
{
    return fail(PLUMB_EVALUE, "%s and %s are the same setting; give one of them, %s",
                change->old_name, change->new_name, change->new_name);
}

// What an assignment is about.
typedef struct assignment_target {
    const setting_spec *row;
    const struct settings_part *part;
    const char *value;       // where the value begins in the assignment
    name_change *old_name;   // the entry if it has an old name, else NULL
    name_change *old_choice; // the entry if the value is an old word, else NULL
} assignment_target;

static const setting_spec *find_row(const struct settings_part *part, const char *name,
                                    size_t length)
{
    for (const setting_spec *row = part->row; row->name; row++)
        if (strlen(row->name) == length && !memcmp(row->name, name, length)) return row;
    return NULL;
}

// The row of a name or, where there is none, of an old name. `part` and `old_name` are set too.
static bool find_setting(assignment_target *out, const settings *s, const char *name, size_t length)
{
    *out = (assignment_target){0};
    for (int p = 0; p < s->count; p++) {
        out->part = &s->part[p];
        out->row = find_row(out->part, name, length);
        if (out->row) return true;
    }
    for (int p = 0; p < s->count; p++) {
        out->part = &s->part[p];
        out->old_name = renames_find_old(out->part->renames, name, length);
        const char *now = out->old_name ? out->old_name->new_name : NULL;
        out->row = now ? find_row(out->part, now, strlen(now)) : NULL;
        if (out->row) return true;
    }
    return false;
}

// The present word for a value of a choice; `value` itself unless it is an old word.
static const char *new_choice(const struct settings_part *part, const setting_spec *row,
                              const char *value, name_change **change)
{
    char text[TEXT_ROOM];
    const int length = snprintf(text, sizeof text, "%s=%s", row->name, value);
    *change = row->kind == SETTINGS_CHOICE && length < TEXT_ROOM
                  ? renames_find_old(part->renames, text, (size_t)length)
                  : NULL;
    return *change ? strchr((*change)->new_name, '=') + 1 : value;
}

static plumb_status unknown(const settings *s, const char *name)
{
    const char *best = NULL;
    for (int p = 0; p < s->count; p++)
        for (const setting_spec *row = s->part[p].row; row->name; row++)
            best = spelling_closer(name, best, row->name);
    return fail(PLUMB_EVALUE, "there is no setting \"%.64s\"; the nearest is \"%s\"", name,
                best ? best : "");
}

static plumb_status parse_assignment(assignment_target *out, const settings *s,
                                     const char *assignment)
{
    const char *sign = strchr(assignment, '=');
    if (!sign) return fail(PLUMB_EVALUE, "a setting is name=value, not \"%.80s\"", assignment);
    if (find_setting(out, s, assignment, (size_t)(sign - assignment))) {
        out->value = new_choice(out->part, out->row, sign + 1, &out->old_choice);
        return PLUMB_OK;
    }
    char name[65];
    snprintf(name, sizeof name, "%.*s", (int)(sign - assignment < 64 ? sign - assignment : 64),
             assignment);
    return unknown(s, name);
}

static void log_old_names(const assignment_target *target)
{
    rename_list used = {0};
    if (target->old_name) renames_add(&used, target->old_name);
    if (target->old_choice) renames_add(&used, target->old_choice);
    renames_log(&used, NULL, "setting");
}

plumb_status settings_set(settings *s, const char *assignment)
{
    assignment_target target;
    const plumb_status st = parse_assignment(&target, s, assignment);
    if (st) return st;
    log_old_names(&target);
    return store(target.part->values, s->mem, target.row, target.value);
}

plumb_status settings_check_names(const settings *s, const char *const *assignments, int64_t count,
                                  int64_t *failed_at)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < i; k++) {
            assignment_target one, other;
            const char *first = assignments[k], *second = assignments[i];
            if (!find_setting(&one, s, first, strcspn(first, "=")) ||
                !find_setting(&other, s, second, strcspn(second, "=")) || one.row != other.row ||
                one.old_name == other.old_name)
                continue;
            *failed_at = i;
            return refuse_both_names(one.old_name ? one.old_name : other.old_name);
        }
    return PLUMB_OK;
}

void settings_use_new_names(const settings *s, const char **name, const char **value)
{
    assignment_target target;
    if (!find_setting(&target, s, *name, strlen(*name))) return;
    *name = target.row->name;
    *value = new_choice(target.part, target.row, *value, &target.old_choice);
}

// Eight bytes hold the value of any kind; this keeps one aside.
typedef union kept {
    int64_t integer;
    double real;
    bool flag;
    int choice;
    const char *text;
} kept;

static size_t kept_size(const setting_spec *row)
{
    switch (row->kind) {
    case SETTINGS_FLAG: return sizeof(bool);
    case SETTINGS_CHOICE: return sizeof(int);
    case SETTINGS_TEXT: return sizeof(const char *);
    default: return 8;
    }
}

plumb_status settings_check_resumed(settings *s, const char *assignment, const char *run)
{
    assignment_target target;
    plumb_status st = parse_assignment(&target, s, assignment);
    if (st) return st;
    log_old_names(&target);
    const setting_spec *row = target.row;
    void *values = target.part->values;
    char before[TEXT_ROOM], after[TEXT_ROOM];
    kept old;
    void *member = (char *)values + row->offset;
    memcpy(&old, member, kept_size(row));
    settings_format(before, sizeof before, row, values);
    st = store(values, s->mem, row, target.value);
    if (st || row->manner == SETTING_MAY_CHANGE) return st;
    settings_format(after, sizeof after, row, values);
    memcpy(member, &old, kept_size(row));
    if (!strcmp(before, after)) return PLUMB_OK;
    return fail(PLUMB_EVALUE,
                "%s: was begun with %s=%s, not %s; leave that out, or begin anew with --force", run,
                row->name, before, after);
}

// ---- config.json ----

void settings_record(plumb_record *record, const settings *s)
{
    for (int p = 0; p < s->count; p++) {
        plumb_record_begin_object(record, s->part[p].title);
        for (const setting_spec *row = s->part[p].row; row->name; row++) {
            const void *target = (const char *)s->part[p].values + row->offset;
            switch (row->kind) {
            case SETTINGS_INTEGER:
                plumb_record_set_int(record, row->name, *(const int64_t *)target);
                break;
            case SETTINGS_REAL:
                plumb_record_set_double(record, row->name, *(const double *)target);
                break;
            case SETTINGS_FLAG:
                plumb_record_set_bool(record, row->name, *(const bool *)target);
                break;
            case SETTINGS_CHOICE:
                plumb_record_set_string(record, row->name, row->choices[*(const int *)target]);
                break;
            case SETTINGS_TEXT:
                plumb_record_set_string(record, row->name, *(const char *const *)target);
                break;
            }
        }
        plumb_record_end(record);
    }
}

static plumb_status read_value(settings *s, const struct settings_part *part,
                               const setting_spec *row, json *j)
{
    char text[TEXT_ROOM];
    const char *value = text;
    switch (row->kind) {
    case SETTINGS_INTEGER: snprintf(text, sizeof text, "%lld", (long long)json_int(j)); break;
    case SETTINGS_REAL: text_format(text, sizeof text, "%.17g", json_double(j)); break;
    case SETTINGS_FLAG: snprintf(text, sizeof text, "%s", json_bool(j) ? "on" : "off"); break;
    default: value = json_string(j);
    }
    if (j->st) return j->st;
    name_change *change;
    value = new_choice(part, row, value, &change);
    if (change) renames_add(&s->renamed, change);
    const plumb_status st = store(part->values, s->mem, row, value);
    // fail() may be given its own message.
    return st == PLUMB_EVALUE ? fail(PLUMB_EFORMAT, "%s: %s", j->what, plumb_last_error()) : st;
}

static plumb_status refuse_twice(const struct settings_part *part, const setting_spec *row,
                                 const char *path)
{
    const name_change *change = renames_find_new(part->renames, row->name);
    return fail(PLUMB_EFORMAT, "%s: the setting \"%s\" appears twice%s%s", path, row->name,
                change ? "; its old name is " : "", change ? change->old_name : "");
}

plumb_status settings_read(settings *s, int index, json *j)
{
    enum { MOST_ROWS = 128 };
    struct settings_part *part = &s->part[index];
    bool seen[MOST_ROWS] = {0};
    json_object(j);
    const settings one_part = {.count = 1, .part = {*part}};
    for (const char *key; (key = json_key(j));) {
        assignment_target target;
        if (!find_setting(&target, &one_part, key, strlen(key))) {
            unknown(&one_part, key);
            return fail(PLUMB_EFORMAT, "%s: %s", j->what, plumb_last_error());
        }
        const int64_t i = target.row - part->row;
        if (i < MOST_ROWS && seen[i]) return refuse_twice(part, target.row, j->what);
        if (i < MOST_ROWS) seen[i] = true;
        if (target.old_name) renames_add(&s->renamed, target.old_name);
        const plumb_status st = read_value(s, part, target.row, j);
        if (st) return st;
    }
    if (j->st) return j->st;
    for (int i = 0; part->row[i].name && i < MOST_ROWS; i++) {
        const setting_spec *row = &part->row[i];
        if (seen[i]) continue;
        if (row->manner != SETTING_ADDED_LATER)
            return fail(PLUMB_EFORMAT, "%s: \"%s\" has no \"%s\"", j->what, part->title, row->name);
        const plumb_status st = store(part->values, s->mem, row, row->value[SETTINGS_PAPER]);
        if (st) return st;
    }
    return PLUMB_OK;
}

void settings_log_renamed(const settings *s, const char *path)
{
    renames_log(&s->renamed, path, "setting");
}
