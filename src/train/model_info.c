// SPDX-License-Identifier: MIT
// Names and settings of the models.
#include "plumb/model.h"

#include <stdio.h>

#include "base/argument.h"
#include "train/run_config.h"

const char *plumb_model_name(int64_t index)
{
    return index >= 0 && index < registry_count() ? registry_at(index)->name : NULL;
}

// Words of a choice are separated by "|": they are what --set takes.
static void describe_setting(plumb_model_setting *out, const option_spec *option)
{
    size_t used = 0;
    *out = (plumb_model_setting){0};
    snprintf(out->name, sizeof out->name, "%s", option->name);
    snprintf(out->help, sizeof out->help, "%s", option->help);
    if (option->kind == OPTION_BOOL) {
        snprintf(out->accepts, sizeof out->accepts, "on|off");
    } else if (option->kind == OPTION_ENUM) {
        for (int i = 0; option->words[i] && used < sizeof out->accepts; i++)
            used += (size_t)snprintf(out->accepts + used, sizeof out->accepts - used, "%s%s",
                                     i ? "|" : "", option->words[i]);
    } else {
        option_accepts(out->accepts, sizeof out->accepts, option);
    }
}

plumb_status plumb_model_setting_at(plumb_model_setting *out, bool *exists, const char *model,
                                    int64_t index)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(exists);
    REQUIRE_ARGUMENT(model);
    arena mem = {0};
    plumb_status st = PLUMB_OK;
    *exists = false;
    // The row at `index` of all tables together, in each of the three presets.
    for (int preset = 0; preset < SETTINGS_PRESETS && !st; preset++) {
        run_config config;
        st = run_config_init(&config, &mem, model, (settings_preset)preset);
        if (!st) st = settings_set_implied(&config.all, NULL);
        int64_t at = 0;
        for (int p = 0; p < config.all.count && !st; p++)
            for (const setting_spec *spec = config.all.part[p].row; spec->option.name; spec++) {
                if (at++ != index) continue;
                char *const values[] = {out->paper, out->cpu, out->tiny};
                if (!*exists) describe_setting(out, &spec->option);
                *exists = true;
                settings_format(values[preset], sizeof out->paper, spec, config.all.part[p].values);
            }
    }
    arena_clear(&mem);
    return st;
}
