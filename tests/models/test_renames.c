// SPDX-License-Identifier: MIT
// Old names of settings and tensors: every entry leads to a setting or tensor that exists.
#include "models/renames.h"

#include <stdio.h>
#include <string.h>

#include "models/registry.h"
#include "support/test.h"
#include "train/run_config.h"

static int line_count;
static char last_line[600];

static void keep_line(void *context, const char *line)
{
    (void)context;
    line_count++;
    snprintf(last_line, sizeof last_line, "%s", line);
}

static bool has_setting(const setting_spec *specs, const char *name, size_t length)
{
    for (; specs->option.name; specs++)
        if (strlen(specs->option.name) == length && !strncmp(specs->option.name, name, length))
            return true;
    return false;
}

TEST(a_name_is_found_by_its_old_and_its_new_one)
{
    const name_change *change = renames_find_old(renames_training, "rate=3", 4);
    CHECK(change && !strcmp(change->new_name, "learning_rate"));
    CHECK(!renames_find_old(renames_training, "rate", 3));
    CHECK(!renames_find_old(NULL, "rate", 4) && !renames_find_new(NULL, "learning_rate"));
    change = renames_find_new(renames_training, "learning_rate");
    CHECK(change && !strcmp(change->old_name, "rate"));
}

// Every new name is a setting of some model that has the table; no old name is a setting of it.
TEST(every_entry_leads_to_a_setting)
{
    name_change *const tables[] = {renames_training, renames_latent_dynamics, renames_predrnn,
                                   renames_plato};
    for (int t = 0; t < 4; t++)
        for (name_change *change = tables[t]; change->old_name; change++) {
            bool exists = !t && has_setting(run_config_training_specs, change->new_name,
                                            strlen(change->new_name));
            for (int64_t i = 0; i < registry_count(); i++) {
                const registry_entry *model = registry_at(i);
                if (t && model->renamed_settings != tables[t]) continue;
                const size_t length = strcspn(change->new_name, "=");
                exists = exists || has_setting(model->setting_specs, change->new_name, length);
                CHECK(
                    !has_setting(model->setting_specs, change->old_name, strlen(change->old_name)));
            }
            if (!exists) printf("no setting is called %s\n", change->new_name);
            CHECK(exists);
        }
}

TEST(a_tensor_has_an_old_name)
{
    char text[64];
    name_change *change, *table = renames_latent_dynamics_tensors;
    CHECK_TEXT(renames_old_tensor(text, sizeof text, table, "transform.conv0.w", &change),
               "lt.conv0.w");
    CHECK_TEXT(change->new_name, "transform.");
    CHECK_TEXT(renames_old_tensor(text, sizeof text, table, "core2.candidate.b", NULL),
               "core2.fresh.b");
    CHECK_TEXT(renames_old_tensor(text, sizeof text, table, "enc.proj.w", &change), "enc.proj.w");
    CHECK(!change);
    CHECK_TEXT(renames_old_tensor(text, sizeof text, NULL, "dec.start", NULL), "dec.start");
    CHECK_TEXT(renames_old_tensor(text, sizeof text, renames_plato_tensors, "state_pairs1.w", NULL),
               "state1.w");
}

TEST(a_name_is_logged_once)
{
    name_change table[] = {{.old_name = "a", .new_name = "first"},
                           {.old_name = "b", .new_name = "second"}};
    rename_list list = {0};
    renames_add(&list, &table[0]);
    renames_add(&list, &table[0]);
    CHECK_EQUAL(list.count, 1);
    plumb_set_log(keep_line, NULL);
    renames_log(&list, NULL, "setting");
    CHECK_TEXT(last_line, "the setting a is now called first");
    renames_add(&list, &table[1]);
    renames_log(&list, "run/config.json", "setting");
    CHECK_TEXT(last_line, "run/config.json: the setting b is now called second; "
                          "scripts/rename-settings rewrites a run");
    renames_log(&list, "run/config.json", "setting");
    CHECK_EQUAL(line_count, 2);
    plumb_set_log(NULL, NULL);
}

TEST(a_long_list_is_cut)
{
    char names[40][16];
    static name_change table[40];
    rename_list list = {0};
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "name%d", i);
        table[i].old_name = table[i].new_name = names[i];
        renames_add(&list, &table[i]);
    }
    plumb_set_log(keep_line, NULL);
    line_count = 0;
    renames_log(&list, "f", "tensor");
    CHECK_EQUAL(line_count, 1);
    CHECK(strstr(last_line, " more; ") && strlen(last_line) < 300);
    plumb_set_log(NULL, NULL);
}
