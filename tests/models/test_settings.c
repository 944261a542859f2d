// SPDX-License-Identifier: MIT
#include "models/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

typedef struct first {
    int64_t channels;
    double rate;
    bool nested;
    int loss;
} first;
typedef struct second {
    const char *world;
    int64_t any, later;
} second;

static const char *const losses[] = {"elbo", "geco", "plain", NULL};
// clang-format off
static const setting_spec first_rows[] = {
    {{"channels", OPTION_INT64, offsetof(first, channels), NULL, 1, 512,
      "of a layer", NULL}, {"64", "32", "4"}, SETTING_FIXED},
    {{"rate", OPTION_DOUBLE, offsetof(first, rate), NULL, 0, 1, "of learning", NULL}, {"1.5e-4", "2e-3"}, SETTING_FIXED},
    {{"nested", OPTION_BOOL, offsetof(first, nested), NULL, 0, 0, "or not", NULL}, {"off", "on"}, SETTING_FIXED},
    {{"loss", OPTION_ENUM, offsetof(first, loss), losses, 0, 0,
      "what is minimised", NULL}, {"elbo", "plain"}, SETTING_FIXED},
    {.option = {0}},
};
static const setting_spec second_rows[] = {
    {{"world", OPTION_STRING, offsetof(second, world), NULL, 0, 0, "what is seen", NULL}, {""}, SETTING_FIXED},
    {{"any", OPTION_INT64, offsetof(second, any), NULL, 0, 0, "any number", NULL}, {"0"}, SETTING_MAY_CHANGE},
    {{"later", OPTION_INT64, offsetof(second, later), NULL, 0, 0,
      "not in the first runs", NULL}, {"7", "9"}, SETTING_ADDED_LATER},
    {.option = {0}},
};
// clang-format on

static name_change old_names[] = {{.old_name = "speed", .new_name = "rate"},
                                  {.old_name = "loss=simple", .new_name = "loss=plain"},
                                  {0}};

static arena mem;
static first a;
static second b;
static settings s;

static void begin_settings(settings_preset preset)
{
    arena_clear(&mem);
    s = (settings){.mem = &mem,
                   .count = 2,
                   .part = {{"model", first_rows, &a, old_names}, {"data", second_rows, &b, NULL}}};
    CHECK_OK(settings_apply_preset(&s, preset));
}

TEST(presets_fill_the_structs)
{
    begin_settings(SETTINGS_PAPER);
    CHECK(a.channels == 64 && a.rate == 1.5e-4 && !a.nested && a.loss == 0);
    CHECK_TEXT(b.world, "");
    begin_settings(SETTINGS_CPU);
    CHECK(a.channels == 32 && a.rate == 2e-3 && a.nested && a.loss == 2);
    begin_settings(SETTINGS_TINY);
    CHECK(a.channels == 4 && a.rate == 1.5e-4 && !a.nested &&
          a.loss == 0); // paper where it has none
    settings_preset preset;
    CHECK_OK(settings_find_preset(&preset, "tiny"));
    CHECK_EQUAL(preset, SETTINGS_TINY);
    begin_settings(SETTINGS_CPU_ANGLES); // cpu where a model has nothing to add
    CHECK(a.channels == 32 && a.rate == 2e-3);
    CHECK_OK(settings_find_preset(&preset, "cpu-state"));
    CHECK_EQUAL(preset, SETTINGS_CPU_STATE);
    CHECK_TEXT(settings_preset_name(preset), "cpu-state");
    CHECK_OK(settings_find_preset(&preset, "cpu-constants"));
    CHECK_TEXT(settings_preset_name(preset), "cpu-constants");
    CHECK_OK(settings_find_preset(&preset, "chain-constants"));
    CHECK_EQUAL(preset, SETTINGS_CHAIN_CONSTANTS);
    CHECK_FAILS(settings_find_preset(&preset, "papre"), PLUMB_EVALUE, "did you mean paper?");
    arena_clear(&mem);
}

TEST(assignments_are_stored_by_their_kind)
{
    begin_settings(SETTINGS_PAPER);
    CHECK_OK(settings_set(&s, "channels=512"));
    CHECK_OK(settings_set(&s, "rate=1e-2"));
    CHECK_OK(settings_set(&s, "nested=yes"));
    CHECK_OK(settings_set(&s, "loss=geco"));
    CHECK_OK(settings_set(&s, "world=a=b c"));
    CHECK_OK(settings_set(&s, "any=-9223372036854775808"));
    CHECK(a.channels == 512 && a.rate == 1e-2 && a.nested && a.loss == 1 && b.any == INT64_MIN);
    CHECK_TEXT(b.world, "a=b c");
    CHECK_OK(settings_set(&s, "nested=0"));
    CHECK(!a.nested);
    arena_clear(&mem);
}

TEST(what_is_wrong_is_named_with_what_is_right)
{
    begin_settings(SETTINGS_PAPER);
    static const struct {
        const char *assignment, *words;
    } wrong[] = {
        {"chanels=3", "there is no setting \"chanels\"; the nearest is \"channels\""},
        {"=3", "there is no setting \"\""},
        {"channels", "name=value"},
        {"", "name=value"},
        {"channels=", "takes a whole number from 1 to 512, not \"\""},
        {"channels=3.5", "takes a whole number from 1 to 512, not \"3.5\""},
        {"channels=0", "from 1 to 512, not \"0\""},
        {"channels=99999999999999999999", "takes a whole number"},
        {"rate=nan", "takes a number from 0 to 1, not \"nan\""},
        {"rate=inf", "takes a number"},
        {"rate=1.5", "from 0 to 1, not \"1.5\""},
        {"rate=1,5", "takes a number"},
        {"nested=maybe", "takes on or off"},
        {"loss=gecco", "takes elbo, geco or plain, not \"gecco\"; did you mean geco?"},
        {"loss=entirely", "takes elbo, geco or plain, not \"entirely\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(settings_set(&s, wrong[i].assignment), PLUMB_EVALUE, wrong[i].words);
    CHECK(a.channels == 64 && a.rate == 1.5e-4);
    char far[700];
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = 0;
    memcpy(far, "world=", 6);
    CHECK_FAILS(settings_set(&s, far), PLUMB_EVALUE, "at most 511 characters");
    arena_clear(&mem);
}

TEST(a_run_that_goes_on_keeps_its_settings)
{
    begin_settings(SETTINGS_CPU);
    CHECK_OK(settings_check_resumed(&s, "channels=32", "run"));
    CHECK_OK(settings_check_resumed(&s, "rate=0.002", "run"));
    CHECK_FAILS(settings_check_resumed(&s, "channels=33", "run"), PLUMB_EVALUE,
                "run: was started with channels=32, not 33");
    CHECK_FAILS(settings_check_resumed(&s, "loss=elbo", "run"), PLUMB_EVALUE,
                "was started with loss=plain, not elbo");
    CHECK_FAILS(settings_check_resumed(&s, "world=x", "run"), PLUMB_EVALUE,
                "was started with world=, not x");
    CHECK(a.channels == 32 && a.loss == 2 && !b.world[0]);
    CHECK_OK(settings_check_resumed(&s, "any=5", "run")); // a loose one
    CHECK_EQUAL(b.any, 5);
    arena_clear(&mem);
}

static plumb_status read_part(const char *text, int index)
{
    static char copy[1000];
    snprintf(copy, sizeof copy, "%s", text);
    json j = json_begin(copy, strlen(copy), "c.json");
    const plumb_status st = settings_read(&s, index, &j);
    return st ? st : json_end(&j);
}

TEST(what_is_written_is_read_to_the_same_bits)
{
    begin_settings(SETTINGS_CPU);
    a.rate = 0.1 + 0.2;
    CHECK_OK(settings_set(&s, "world=with \"quotes\" and \\"));
    plumb_record *r = plumb_record_create();
    const char *text;
    settings_record(r, &s);
    CHECK_OK(plumb_record_to_json(&text, r));
    char copy[1000];
    snprintf(copy, sizeof copy, "%s", text);
    plumb_record_free(r);
    begin_settings(SETTINGS_PAPER);
    json j = json_begin(copy, strlen(copy), "c.json");
    json_object(&j);
    CHECK_TEXT(json_key(&j), "model");
    CHECK_OK(settings_read(&s, 0, &j));
    CHECK_TEXT(json_key(&j), "data");
    CHECK_OK(settings_read(&s, 1, &j));
    CHECK(!json_key(&j));
    CHECK_OK(json_end(&j));
    CHECK(a.channels == 32 && a.rate == 0.1 + 0.2 && a.nested && a.loss == 2);
    CHECK_TEXT(b.world, "with \"quotes\" and \\");
    arena_clear(&mem);
}

TEST(a_config_must_have_every_setting_once_and_no_other)
{
    begin_settings(SETTINGS_PAPER);
    b.later = 1; // older runs do not have it: it is as published
    CHECK_OK(read_part("{\"world\": \"x\", \"any\": 3}", 1));
    CHECK_EQUAL(b.later, 7);
    CHECK_OK(read_part("{\"world\": \"x\", \"any\": 3, \"later\": 8}", 1));
    CHECK_EQUAL(b.later, 8);
    CHECK_FAILS(read_part("{\"world\": \"x\"}", 1), PLUMB_EFORMAT,
                "c.json: \"data\" has no \"any\"");
    CHECK_FAILS(read_part("{\"world\": \"x\", \"any\": 3, \"any\": 3}", 1), PLUMB_EFORMAT, "twice");
    CHECK_FAILS(read_part("{\"wold\": \"x\", \"any\": 3}", 1), PLUMB_EFORMAT,
                "c.json: there is no setting \"wold\"; the nearest is \"world\"");
    CHECK_FAILS(read_part("{\"world\": 1, \"any\": 3}", 1), PLUMB_EFORMAT, "expected a string");
    CHECK_FAILS(read_part("{\"world\": \"x\", \"any\": 3.5}", 1), PLUMB_EFORMAT, "whole");
    CHECK_FAILS(
        read_part("{\"channels\": 0, \"rate\": 1, \"nested\": true, \"loss\": \"elbo\"}", 0),
        PLUMB_EFORMAT, "c.json: channels takes a whole number from 1 to 512, not \"0\"");
    CHECK_FAILS(read_part("{\"channels\": 1, \"rate\": 1, \"nested\": 1, \"loss\": \"elbo\"}", 0),
                PLUMB_EFORMAT, "expected true or false");
    CHECK_FAILS(
        read_part("{\"channels\": 1, \"rate\": 1, \"nested\": true, \"loss\": \"elbow\"}", 0),
        PLUMB_EFORMAT, "did you mean elbo?");
    arena_clear(&mem);
}

TEST(old_names_are_read_and_new_ones_written)
{
    char text[64];
    const char *name = "speed", *value = "1";
    begin_settings(SETTINGS_PAPER);
    CHECK_OK(settings_set(&s, "speed=0.5"));
    CHECK_OK(settings_set(&s, "loss=simple"));
    CHECK(a.rate == 0.5 && a.loss == 2);
    CHECK_OK(
        read_part("{\"channels\": 1, \"speed\": 0.25, \"nested\": true, \"loss\": \"simple\"}", 0));
    CHECK(a.rate == 0.25 && a.loss == 2);
    CHECK_EQUAL(s.renamed.count, 2);
    settings_use_new_names(&s, &name, &value);
    CHECK_TEXT(name, "rate");
    name = "loss", value = "simple";
    settings_use_new_names(&s, &name, &value);
    CHECK_TEXT(value, "plain");
    // Under the old names, for hashes of old files.
    CHECK_TEXT(settings_format_old(text, sizeof text, &name, &first_rows[1], &s.part[0]), "0.25");
    CHECK_TEXT(name, "speed");
    CHECK_TEXT(settings_format_old(text, sizeof text, &name, &first_rows[3], &s.part[0]), "simple");
    CHECK_TEXT(name, "loss");
    CHECK_OK(settings_check_resumed(&s, "speed=0.25", "run"));
    CHECK_FAILS(settings_check_resumed(&s, "speed=0.5", "run"), PLUMB_EVALUE, "rate=0.25");
    arena_clear(&mem);
}

TEST(an_old_and_the_new_name_of_a_setting_conflict)
{
    int64_t failed_at = -1;
    const char *const both[] = {"channels=1", "rate=1", "speed=1"};
    const char *const twice[] = {"speed=1", "speed=0.5", "channels=1", "channels=2"};
    begin_settings(SETTINGS_PAPER);
    CHECK_FAILS(settings_check_names(&s, both, 3, &failed_at), PLUMB_EVALUE,
                "speed and rate are the same setting");
    CHECK_EQUAL(failed_at, 2);
    CHECK_OK(settings_check_names(&s, twice, 4, &failed_at));
    CHECK_FAILS(read_part("{\"channels\": 1, \"rate\": 1, \"speed\": 1}", 0), PLUMB_EFORMAT,
                "\"rate\" appears twice; its old name is speed");
    arena_clear(&mem);
}
