// SPDX-License-Identifier: MIT
// Names and settings of the models.
#include "plumb/model.h"

#include <stdio.h>

#include "base/text.h"
#include "train/run_config.h"

const char *plumb_model_name(int64_t index)
{
    return index >= 0 && index < registry_count() ? registry_at(index)->name : NULL;
}

static void describe_setting(plumb_model_setting *out, const setting_spec *spec)
{
    size_t used = 0;
    *out = (plumb_model_setting){0};
    snprintf(out->name, sizeof out->name, "%s", spec->name);
    snprintf(out->help, sizeof out->help, "%s", spec->help);
    switch (spec->kind) {
    case SETTINGS_FLAG: snprintf(out->accepts, sizeof out->accepts, "on|off"); break;
    case SETTINGS_TEXT: snprintf(out->accepts, sizeof out->accepts, "a text"); break;
    case SETTINGS_CHOICE:
        for (int i = 0; spec->choices[i] && used < sizeof out->accepts; i++)
            used += (size_t)snprintf(out->accepts + used, sizeof out->accepts - used, "%s%s",
                                     i ? "|" : "", spec->choices[i]);
        break;
    default:
        text_format(out->accepts, sizeof out->accepts, "a %snumber from %g to %g",
                    spec->kind == SETTINGS_INTEGER ? "whole " : "", spec->low, spec->high);
    }
}

plumb_status plumb_model_setting_at(plumb_model_setting *out, bool *exists, const char *model,
                                    int64_t index)
{
    arena mem = {0};
    plumb_status st = PLUMB_OK;
    *exists = false;
    for (int preset = 0; preset < SETTINGS_PRESETS && !st; preset++) {
        run_config config;
        st = run_config_init(&config, &mem, model, (settings_preset)preset);
        int64_t at = 0;
        for (int p = 0; p < config.all.count && !st; p++)
            for (const setting_spec *spec = config.all.part[p].row; spec->name; spec++) {
                if (at++ != index) continue;
                char *const values[] = {out->paper, out->cpu, out->tiny};
                if (!*exists) describe_setting(out, spec);
                *exists = true;
                settings_format(values[preset], sizeof out->paper, spec, config.all.part[p].values);
            }
    }
    arena_clear(&mem);
    return st;
}
