// SPDX-License-Identifier: MIT
// Settings: rows of a table that fill a plain struct, one row a member. The same rows hold the
// presets, read --set name=value, write config.json and read it back, and name the nearest right
// word when one is wrong.
#ifndef MODELS_SETTINGS_H
#define MODELS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "models/renames.h"
#include "plumb/record.h"

typedef enum settings_preset {
    SETTINGS_PAPER, ///< published sizes and schedule
    SETTINGS_CPU,   ///< what two cores can do in minutes
    SETTINGS_TINY,  ///< for tests
    SETTINGS_PRESETS,
    /// `cpu` for worlds of a kind, where a model has more to say to it; else the same.
    SETTINGS_CPU_ANGLES = SETTINGS_PRESETS, ///< things that turn
    SETTINGS_CPU_STATE,                     ///< pictures of the whole state: games
    SETTINGS_CPU_CONSTANTS,                 ///< things that differ from film to film
    SETTINGS_NAMES,
} settings_preset;

typedef enum settings_kind {
    SETTINGS_INTEGER, ///< int64_t
    SETTINGS_REAL,    ///< double
    SETTINGS_FLAG,    ///< bool; on, off
    SETTINGS_CHOICE,  ///< int: index into choices
    SETTINGS_TEXT,    ///< const char *
} settings_kind;

typedef enum setting_rule {
    SETTING_FIXED = false,
    /// May be another one in a run that goes on: it changes how long or how, not what.
    SETTING_MAY_CHANGE = true,
    /// Younger than the first runs, which do not have it: there it is as in `paper`.
    SETTING_ADDED_LATER,
} setting_rule;

typedef struct setting_spec {
    const char *name;
    settings_kind kind;
    size_t offset; ///< of the member in the struct
    /// As --set would write them, one a preset. Where one is NULL it is that of `paper`.
    const char *value[SETTINGS_PRESETS];
    double low, high;           ///< of numbers; both 0: any
    const char *const *choices; ///< NULL at the end
    const char *help;
    int manner; ///< one of setting_rule
} setting_spec;

/// Tables and the structs they fill, looked through in order. Texts that are set live in `mem`.
typedef struct settings {
    arena *mem;
    int count;
    struct settings_part {
        const char *title;       ///< the object of config.json
        const setting_spec *row; ///< ends with a row without a name
        void *values;
        name_change *renames; ///< old names of its settings; may be NULL
    } part[4];
    rename_list renamed; ///< old names that settings_read() met
} settings;

/// "paper", "cpu", "tiny", "cpu-angles", "cpu-state", "cpu-constants". Fails with PLUMB_EVALUE,
/// naming the nearest.
plumb_status settings_find_preset(settings_preset *out, const char *name);
const char *settings_preset_name(settings_preset preset);

/// Every row of every part as the preset has it.
plumb_status settings_apply_preset(settings *s, settings_preset preset);

/// "name=value". Fails with PLUMB_EVALUE: an unknown name or choice names the nearest, a number out
/// of range its range. An old name is accepted and logged.
plumb_status settings_set(settings *s, const char *assignment);

/// Fails with PLUMB_EVALUE if a list of assignments has both an old and the new name of a setting.
/// `*failed_at` is the index of the later one.
plumb_status settings_check_names(const settings *s, const char *const *assignments, int64_t count,
                                  int64_t *failed_at);

/// Replaces an old name of a setting, or an old word of its value, by the new one. Structs that are
/// filled are not needed.
void settings_use_new_names(const settings *s, const char **name, const char **value);

/// Every part as an object of its title.
void settings_record(plumb_record *record, const settings *s);

/// The object of part `index` of a config.json: every row there must be, and nothing else. Old
/// names are accepted and added to `renamed`; settings_log_renamed() logs them.
plumb_status settings_read(settings *s, int index, json *j);
void settings_log_renamed(const settings *s, const char *path);

/// PLUMB_OK if `assignment` says what is set already. Else fails with PLUMB_EVALUE and what is set,
/// unless the row is SETTING_MAY_CHANGE: then it is set.
plumb_status settings_check_resumed(settings *s, const char *assignment, const char *run);

/// The value of a row as --set would write it; `text` is returned.
const char *settings_format(char *text, size_t size, const setting_spec *row, const void *values);
/// The same value as it was written before settings were renamed. `*name` is the row's old name.
const char *settings_format_old(char *text, size_t size, const char **name, const setting_spec *row,
                                const struct settings_part *part);

#endif
