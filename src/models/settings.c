// SPDX-License-Identifier: MIT
// Tables of settings: lookup by name, presets, assignments and config.json. Values are parsed and
// printed by base/option.
#define _GNU_SOURCE
#include "models/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/spelling.h"

// Strings of settings are names and short lists.
enum { MAX_TEXT = 512 }; // characters of a string, its end included

static const char *const preset_names[] = {
    "paper",  "cpu", "tiny",  "cpu-angles",       "cpu-state",       "cpu-constants",
    "points", "box", "chain", "points-constants", "chain-constants", NULL};

// The name of a preset is parsed like any other choice.
static const option_spec preset_option = {
    .name = "preset", .kind = OPTION_ENUM, .words = preset_names};

plumb_status settings_find_preset(settings_preset *out, const char *name)
{
    char error[480];
    int preset;
    if (!option_store(&preset, &preset_option, name, error, sizeof error))
        return fail(PLUMB_EVALUE, "preset %s", error);
    *out = (settings_preset)preset;
    return PLUMB_OK;
}

const char *settings_preset_name(settings_preset preset)
{
    return preset_names[preset];
}

// ---- one value ----

// Parses a value into the member of a row. Strings are copied into `mem`.
static plumb_status store_value(void *values, arena *mem, const setting_spec *row,
                                const char *value)
{
    char error[560];
    const option_spec *option = &row->option;
    if (option->kind == OPTION_STRING) {
        if (strlen(value) >= MAX_TEXT)
            return fail(PLUMB_EVALUE, "%s takes at most %d characters, not \"%.80s..\"",
                        option->name, MAX_TEXT - 1, value);
        value = arena_strdup(mem, value);
        if (!value) return PLUMB_EMEMORY;
    }
    return option_store(values, option, value, error, sizeof error)
               ? PLUMB_OK
               : fail(PLUMB_EVALUE, "%s %s", option->name, error);
}

const char *settings_format(char *text, size_t size, const setting_spec *row, const void *values)
{
    return option_format(text, size, &row->option, values);
}

// Looks up the name and, for a choice, "name=word" among the new names.
const char *settings_format_old(char *text, size_t size, const char **name, const setting_spec *row,
                                const struct settings_part *part)
{
    char assignment[MAX_TEXT];
    settings_format(text, size, row, part->values);
    const name_change *change = renames_find_new(part->renames, row->option.name);
    *name = change ? change->old_name : row->option.name;
    if (row->option.kind != OPTION_ENUM) return text;
    snprintf(assignment, sizeof assignment, "%s=%s", row->option.name, text);
    change = renames_find_new(part->renames, assignment);
    if (change) snprintf(text, size, "%s", strchr(change->old_name, '=') + 1);
    return text;
}

// ---- all of them ----

plumb_status settings_apply_preset(settings *all, settings_preset preset)
{
    // A variant of cpu has the columns of cpu; the model changes some settings after this.
    if (preset >= SETTINGS_PRESETS) preset = SETTINGS_CPU;
    for (int p = 0; p < all->count; p++)
        for (const setting_spec *row = all->part[p].row; row->option.name; row++) {
            const char *value = row->value[preset] ? row->value[preset] : row->value[0];
            const plumb_status st = store_value(all->part[p].values, all->mem, row, value);
            if (st) return st;
        }
    return PLUMB_OK;
}

// Which of the two is meant is not clear.
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
    for (const setting_spec *row = part->row; row->option.name; row++)
        if (strlen(row->option.name) == length && !memcmp(row->option.name, name, length))
            return row;
    return NULL;
}

// The row of a name or, where there is none, of an old name. `part` and `old_name` are set too.
static bool find_setting(assignment_target *out, const settings *all, const char *name,
                         size_t length)
{
    *out = (assignment_target){0};
    for (int p = 0; p < all->count; p++) {
        out->part = &all->part[p];
        out->row = find_row(out->part, name, length);
        if (out->row) return true;
    }
    for (int p = 0; p < all->count; p++) {
        out->part = &all->part[p];
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
    char text[MAX_TEXT];
    const int length = snprintf(text, sizeof text, "%s=%s", row->option.name, value);
    *change = row->option.kind == OPTION_ENUM && length < MAX_TEXT
                  ? renames_find_old(part->renames, text, (size_t)length)
                  : NULL;
    return *change ? strchr((*change)->new_name, '=') + 1 : value;
}

// The nearest of all names of all parts; old names are not suggested.
static plumb_status refuse_name(const settings *all, const char *name)
{
    const char *best = NULL;
    for (int p = 0; p < all->count; p++)
        for (const setting_spec *row = all->part[p].row; row->option.name; row++)
            best = spelling_closer(name, best, row->option.name);
    return fail(PLUMB_EVALUE, "there is no setting \"%.64s\"; the nearest is \"%s\"", name,
                best ? best : "");
}

// Splits "name=value" at the first sign and finds its row.
static plumb_status parse_assignment(assignment_target *out, const settings *all,
                                     const char *assignment)
{
    const char *sign = strchr(assignment, '=');
    if (!sign) return fail(PLUMB_EVALUE, "a setting is name=value, not \"%.80s\"", assignment);
    if (find_setting(out, all, assignment, (size_t)(sign - assignment))) {
        out->value = new_choice(out->part, out->row, sign + 1, &out->old_choice);
        return PLUMB_OK;
    }
    char name[65];
    snprintf(name, sizeof name, "%.*s", (int)(sign - assignment < 64 ? sign - assignment : 64),
             assignment);
    return refuse_name(all, name);
}

// One line for the old names of an assignment, unless they were logged before.
static void log_old_names(const assignment_target *target)
{
    rename_list used = {0};
    if (target->old_name) renames_add(&used, target->old_name);
    if (target->old_choice) renames_add(&used, target->old_choice);
    renames_log(&used, NULL, "setting");
}

plumb_status settings_set(settings *all, const char *assignment)
{
    assignment_target target;
    const plumb_status st = parse_assignment(&target, all, assignment);
    if (st) return st;
    log_old_names(&target);
    return store_value(target.part->values, all->mem, target.row, target.value);
}

plumb_status settings_check_names(const settings *all, const char *const *assignments,
                                  int64_t count, int64_t *failed_at)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < i; k++) {
            // Two assignments of one row under different names.
            assignment_target one, other;
            const char *first = assignments[k], *second = assignments[i];
            if (!find_setting(&one, all, first, strcspn(first, "=")) ||
                !find_setting(&other, all, second, strcspn(second, "=")) || one.row != other.row ||
                one.old_name == other.old_name)
                continue;
            *failed_at = i;
            return refuse_both_names(one.old_name ? one.old_name : other.old_name);
        }
    return PLUMB_OK;
}

// ---- choices that follow from others ----

static bool has_value(const struct settings_part *part, const char *name, const char *value)
{
    char text[MAX_TEXT];
    const setting_spec *row = find_row(part, name, strlen(name));
    return row && !strcmp(settings_format(text, sizeof text, row, part->values), value);
}

// The implication that holds for the settings as they are and sets this row, or NULL.
static const setting_implication *find_implication(const struct settings_part *part,
                                                   const setting_spec *row)
{
    for (const setting_implication *i = part->implications; i && i->name; i++)
        if (!strcmp(i->implied, row->option.name) && has_value(part, i->name, i->value)) return i;
    return NULL;
}

bool settings_is_implied(const struct settings_part *part, const setting_spec *row)
{
    return find_implication(part, row) != NULL;
}

plumb_status settings_set_implied(settings *all, bool *changed)
{
    if (changed) *changed = false;
    for (int p = 0; p < all->count; p++)
        for (const setting_spec *row = all->part[p].row; row->option.name; row++) {
            const setting_implication *found = find_implication(&all->part[p], row);
            if (!found || has_value(&all->part[p], found->implied, found->implied_value)) continue;
            const plumb_status st =
                store_value(all->part[p].values, all->mem, row, found->implied_value);
            if (st) return st;
            if (changed) *changed = true;
        }
    return PLUMB_OK;
}

plumb_status settings_check_implied(settings *all, const char *const *assignments, int64_t count,
                                    int64_t *failed_at)
{
    // From the last one on: of several assignments of one setting only that one counts.
    for (int64_t i = count - 1; i >= 0; i--) {
        assignment_target target;
        char text[MAX_TEXT];
        if (!find_setting(&target, all, assignments[i], strcspn(assignments[i], "="))) continue;
        const setting_implication *found = find_implication(target.part, target.row);
        if (!found || has_value(target.part, found->implied, found->implied_value)) continue;
        *failed_at = i;
        settings_format(text, sizeof text, target.row, target.part->values);
        return fail(PLUMB_EVALUE, "%s=%s conflicts with %s=%s, which uses %s=%s; set one of them",
                    found->implied, text, found->name, found->value, found->implied,
                    found->implied_value);
    }
    return settings_set_implied(all, NULL);
}

void settings_use_new_names(const settings *all, const char **name, const char **value)
{
    assignment_target target;
    if (!find_setting(&target, all, *name, strlen(*name))) return;
    *name = target.row->option.name;
    *value = new_choice(target.part, target.row, *value, &target.old_choice);
}

plumb_status settings_check_resumed(settings *all, const char *assignment, const char *run)
{
    assignment_target target;
    plumb_status st = parse_assignment(&target, all, assignment);
    if (st) return st;
    log_old_names(&target);
    const setting_spec *row = target.row;
    void *values = target.part->values;
    // Set it, compare, and set it back if it is another value.
    char before[MAX_TEXT], after[MAX_TEXT];
    settings_format(before, sizeof before, row, values);
    st = store_value(values, all->mem, row, target.value);
    if (st || row->rule == SETTING_MAY_CHANGE || row->rule == SETTING_FREE) return st;
    settings_format(after, sizeof after, row, values);
    if (!strcmp(before, after)) return PLUMB_OK;
    st = store_value(values, all->mem, row, before); // a formatted value reads back as itself
    return st ? st
              : fail(PLUMB_EVALUE,
                     "%s: was started with %s=%s, not %s; leave it out, or start again with the "
                     "option force",
                     run, row->option.name, before, after);
}

// ---- config.json ----

// Numbers and flags keep their JSON type; choices are words.
static void record_value(plumb_record *record, const option_spec *option, const void *values)
{
    char text[MAX_TEXT];
    const void *member = (const char *)values + option->offset;
    switch (option->kind) {
    case OPTION_INT64: plumb_record_set_int(record, option->name, *(const int64_t *)member); break;
    case OPTION_DOUBLE:
        plumb_record_set_double(record, option->name, *(const double *)member);
        break;
    case OPTION_BOOL: plumb_record_set_bool(record, option->name, *(const bool *)member); break;
    default:
        plumb_record_set_string(record, option->name,
                                option_format(text, sizeof text, option, values));
    }
}

void settings_record(plumb_record *record, const settings *all)
{
    for (int p = 0; p < all->count; p++) {
        plumb_record_begin_object(record, all->part[p].title);
        for (const setting_spec *row = all->part[p].row; row->option.name; row++)
            record_value(record, &row->option, all->part[p].values);
        plumb_record_end(record);
    }
}

// JSON values become the text of an option, so that there is one parser and one range check.
static plumb_status read_value(settings *all, const struct settings_part *part,
                               const setting_spec *row, json *j)
{
    char text[MAX_TEXT];
    const char *value = text;
    switch (row->option.kind) {
    case OPTION_INT64: snprintf(text, sizeof text, "%lld", (long long)json_int(j)); break;
    case OPTION_DOUBLE: option_format_number(text, sizeof text, json_double(j)); break;
    case OPTION_BOOL: snprintf(text, sizeof text, "%s", json_bool(j) ? "on" : "off"); break;
    default: value = json_string(j);
    }
    if (j->st) return j->st;
    name_change *change;
    value = new_choice(part, row, value, &change);
    if (change) renames_add(&all->renamed, change);
    const plumb_status st = store_value(part->values, all->mem, row, value);
    // fail() may take its own message as an argument.
    return st == PLUMB_EVALUE ? fail(PLUMB_EFORMAT, "%s: %s", j->what, plumb_last_error()) : st;
}

static plumb_status refuse_twice(const struct settings_part *part, const setting_spec *row,
                                 const char *path)
{
    const name_change *change = renames_find_new(part->renames, row->option.name);
    return fail(PLUMB_EFORMAT, "%s: the setting \"%s\" appears twice%s%s", path, row->option.name,
                change ? "; its old name is " : "", change ? change->old_name : "");
}

plumb_status settings_read(settings *all, int index, json *j)
{
    enum { MAX_ROWS = 128 };
    struct settings_part *part = &all->part[index];
    bool seen[MAX_ROWS] = {0};
    // Every key must be a row, once.
    json_object(j);
    const settings one_part = {.count = 1, .part = {*part}};
    for (const char *key; (key = json_key(j));) {
        assignment_target target;
        if (!find_setting(&target, &one_part, key, strlen(key))) {
            refuse_name(&one_part, key);
            return fail(PLUMB_EFORMAT, "%s: %s", j->what, plumb_last_error());
        }
        const int64_t i = target.row - part->row;
        if (i < MAX_ROWS && seen[i]) return refuse_twice(part, target.row, j->what);
        if (i < MAX_ROWS) seen[i] = true;
        if (target.old_name) renames_add(&all->renamed, target.old_name);
        const plumb_status st = read_value(all, part, target.row, j);
        if (st) return st;
    }
    if (j->st) return j->st;
    for (int i = 0; part->row[i].option.name && i < MAX_ROWS; i++) {
        const setting_spec *row = &part->row[i];
        if (seen[i]) continue;
        // Rows that the file has not: only those that came after the first runs may be missing.
        if (row->rule != SETTING_ADDED_LATER && row->rule != SETTING_FREE)
            return fail(PLUMB_EFORMAT, "%s: \"%s\" has no \"%s\"", j->what, part->title,
                        row->option.name);
        const plumb_status st =
            store_value(part->values, all->mem, row, row->value[SETTINGS_PAPER]);
        if (st) return st;
    }
    return PLUMB_OK;
}

void settings_log_renamed(const settings *all, const char *path)
{
    renames_log(&all->renamed, path, "setting");
}
