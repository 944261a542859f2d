// SPDX-License-Identifier: MIT
// Settings of models and training: a table with one row per member of a plain struct. A row is an
// option of base/option.h, which parses, prints and checks the value, plus the values of the
// presets. The same rows read --set name=value, write config.json and read it back.
#ifndef MODELS_SETTINGS_H
#define MODELS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/option.h"
#include "models/renames.h"
#include "plumb/record.h"

typedef enum settings_preset {
    SETTINGS_PAPER, ///< published sizes and schedule
    SETTINGS_CPU,   ///< sizes that two cores train in minutes
    SETTINGS_TINY,  ///< for tests
    SETTINGS_PRESETS,
    /// Variants of `cpu` for some worlds; equal to `cpu` for a model that has no changes for them.
    SETTINGS_CPU_ANGLES = SETTINGS_PRESETS, ///< positions are angles
    SETTINGS_CPU_STATE,                     ///< frames show the whole state: games
    SETTINGS_CPU_CONSTANTS,                 ///< masses and colours differ from video to video
    SETTINGS_POINTS,                        ///< of bodies: masses that move freely
    SETTINGS_BOX,                           ///< of bodies: the same in a periodic box
    SETTINGS_CHAIN,                         ///< of bodies: masses on the links of a chain
    SETTINGS_POINTS_CONSTANTS,              ///< of bodies: points whose constants differ
    SETTINGS_CHAIN_CONSTANTS,               ///< of bodies: chains whose constants differ
    SETTINGS_NAMES,
} settings_preset;

typedef enum setting_rule {
    SETTING_FIXED,      ///< part of the hash of a run; cannot change when it is resumed
    SETTING_MAY_CHANGE, ///< can change when a run is resumed; not hashed
    /// Fixed, but the first runs do not have it: there it has the value of `paper`, and with that
    /// value it is not hashed.
    SETTING_ADDED_LATER,
    /// As SETTING_MAY_CHANGE, but the first runs do not have it: there it has the value of `paper`.
    SETTING_FREE,
} setting_rule;

typedef struct setting_spec {
    option_spec option; ///< name, type, member, words, range and help
    /// Values of the presets, as --set takes them. NULL: that of `paper`.
    const char *value[SETTINGS_PRESETS];
    setting_rule rule;
} setting_spec;

/// A choice that follows from another one: where `name` is `value`, `implied` is `implied_value`.
typedef struct setting_implication {
    const char *name, *value;
    const char *implied, *implied_value;
} setting_implication;

/// Tables and the structs they fill, searched in order. Strings that are set are in `mem`.
typedef struct settings {
    arena *mem;
    int count;
    struct settings_part {
        const char *title;       ///< name of its object in config.json
        const setting_spec *row; ///< ends with a row whose option has no name
        void *values;
        name_change *renames; ///< old names of its settings; may be NULL
        /// Ends with one without a name; may be NULL. Rows of this part.
        const setting_implication *implications;
    } part[4];
    rename_list renamed; ///< old names that settings_read() met
} settings;

/// By its name: "paper", "cpu", "tiny", "cpu-angles", "cpu-state", "cpu-constants",
/// "points", "box", "chain", "points-constants", "chain-constants". Fails with
/// PLUMB_EVALUE and names the nearest.
plumb_status settings_find_preset(settings_preset *out, const char *name);
const char *settings_preset_name(settings_preset preset);

/// Sets all rows to the values of the preset.
plumb_status settings_apply_preset(settings *all, settings_preset preset);

/// Sets "name=value". Fails with PLUMB_EVALUE and the nearest name, or what the setting accepts. An
/// old name is accepted and logged.
plumb_status settings_set(settings *all, const char *assignment);

/// Fails with PLUMB_EVALUE if a list of assignments has both an old and the new name of a setting.
/// `*failed_at` is the index of the later one.
plumb_status settings_check_names(const settings *all, const char *const *assignments,
                                  int64_t count, int64_t *failed_at);

/// Sets all choices that follow from others. `*changed` says whether one had another value; may be
/// NULL.
plumb_status settings_set_implied(settings *all, bool *changed);
/// The same after a list of assignments. Fails with PLUMB_EVALUE if one of them sets a choice that
/// follows to another value; `*failed_at` is its index.
plumb_status settings_check_implied(settings *all, const char *const *assignments, int64_t count,
                                    int64_t *failed_at);
/// Whether the value of a row follows from another one.
bool settings_is_implied(const struct settings_part *part, const setting_spec *row);

/// Replaces an old name of a setting, or an old word of its value, by the new one. Structs that are
/// filled are not needed.
void settings_use_new_names(const settings *all, const char **name, const char **value);

/// Records every part as an object of its title.
void settings_record(plumb_record *record, const settings *all);

/// The object of part `index` of a config.json: every row there must be, and nothing else. Old
/// names are accepted and added to `renamed`; settings_log_renamed() logs them.
plumb_status settings_read(settings *all, int index, json *j);
void settings_log_renamed(const settings *all, const char *path);

/// Applies an assignment to the settings of a run that is resumed. Only a SETTING_MAY_CHANGE can
/// change; another value of any other setting fails with PLUMB_EVALUE. `run` is for the message.
plumb_status settings_check_resumed(settings *all, const char *assignment, const char *run);

/// The value of a row as --set takes it. Returns `text`.
const char *settings_format(char *text, size_t size, const setting_spec *row, const void *values);
/// The same value as it was written before settings were renamed. `*name` is the row's old name.
const char *settings_format_old(char *text, size_t size, const char **name, const setting_spec *row,
                                const struct settings_part *part);

#endif
