// SPDX-License-Identifier: MIT
// The size rule of options structs: shorter ones keep defaults, longer and empty ones are rejected.
#include "base/options_struct.h"

#include <string.h>

#include "plumb/plumb.h"
#include "support/test.h"

typedef struct sample_options {
    size_t size;
    int first;
    double second;
} sample_options;

static const sample_options sample_defaults = {
    .size = sizeof sample_defaults, .first = 3, .second = 0.5};

TEST(init_never_writes_past_the_size_it_is_given)
{
    struct {
        sample_options options;
        char guard[64];
    } memory;
    memset(&memory, 0x5a, sizeof memory);
    const size_t shorter = offsetof(sample_options, second);
    options_init(&memory.options, shorter, &sample_defaults, sizeof sample_defaults);
    CHECK_EQUAL(memory.options.size, shorter);
    CHECK_EQUAL(memory.options.first, 3);
    for (size_t i = shorter; i < sizeof memory; i++) CHECK_EQUAL(((char *)&memory)[i], 0x5a);
}

TEST(init_zeroes_what_only_a_newer_header_has)
{
    char memory[sizeof(sample_options) + 16];
    memset(memory, 0x5a, sizeof memory);
    options_init(memory, sizeof memory, &sample_defaults, sizeof sample_defaults);
    size_t size;
    memcpy(&size, memory, sizeof size);
    CHECK_EQUAL(size, sizeof memory);
    for (size_t i = sizeof(sample_options); i < sizeof memory; i++) CHECK_EQUAL(memory[i], 0);
}

TEST(an_older_program_keeps_the_defaults_of_members_it_does_not_have)
{
    sample_options full = sample_defaults;
    const sample_options given = {
        .size = offsetof(sample_options, second), .first = 7, .second = 9.0};
    CHECK_OK(options_resolve(&full, sizeof full, &given, "sample_options"));
    CHECK_EQUAL(full.size, sizeof full);
    CHECK_EQUAL(full.first, 7);
    CHECK_NEAR(full.second, 0.5, 0.0);
    CHECK_OK(options_resolve(&full, sizeof full, NULL, "sample_options"));
    CHECK_EQUAL(full.first, 7);
}

TEST(a_size_that_was_not_set_or_is_too_large_is_rejected)
{
    sample_options full = sample_defaults;
    sample_options given = {.size = 0, .first = 7};
    CHECK_FAILS(options_resolve(&full, sizeof full, &given, "sample_options"), PLUMB_EVALUE,
                "sample_options.size is 0");
    given.size = sizeof given + 1;
    CHECK_FAILS(options_resolve(&full, sizeof full, &given, "sample_options"), PLUMB_EVALUE,
                "newer plumb");
    CHECK_EQUAL(full.first, 3);
}

TEST(every_public_entry_point_rejects_options_without_a_size)
{
    // An array is never reached: options come first.
    const plumb_array none = {0};
    plumb_symetric symetric;
    CHECK_FAILS(plumb_symetric_measure(&symetric, &none, NULL, &none, &(plumb_symetric_options){0}),
                PLUMB_EVALUE, "plumb_symetric_options.size");
    plumb_kappa kappa;
    CHECK_FAILS(plumb_kappa_measure(&kappa, &none, NULL, &none, &(plumb_kappa_options){0}),
                PLUMB_EVALUE, "plumb_kappa_options.size");
    plumb_forecast forecast;
    CHECK_FAILS(
        plumb_forecast_measure(&forecast, &none, NULL, &none, NULL, &(plumb_forecast_options){0}),
        PLUMB_EVALUE, "plumb_forecast_options.size");
    plumb_surprise surprise;
    CHECK_FAILS(plumb_surprise_measure(&surprise, &(plumb_surprise_input){0}, NULL), PLUMB_EVALUE,
                "plumb_surprise_input.size");
    CHECK_FAILS(
        plumb_surprise_measure(&surprise, &(plumb_surprise_input){0}, &(plumb_surprise_options){0}),
        PLUMB_EVALUE, "plumb_surprise_options.size");
    plumb_audit audit;
    plumb_dataset *unread = (void *)&audit; // options come first
    CHECK_FAILS(plumb_audit_measure(&audit, unread, &(plumb_audit_options){0}), PLUMB_EVALUE,
                "plumb_audit_options.size");
    plumb_evaluation evaluation;
    CHECK_FAILS(plumb_evaluation_measure(&evaluation, "none", &(plumb_evaluation_options){0}),
                PLUMB_EVALUE, "plumb_evaluation_options.size");
    plumb_training training;
    CHECK_FAILS(plumb_training_run(&training, &(plumb_training_options){0}), PLUMB_EVALUE,
                "plumb_training_options.size");
    const plumb_world *world = plumb_world_at(0);
    plumb_world_item item = {0};
    CHECK_FAILS(plumb_world_simulate(&item, world, 1, 0, 1, &(plumb_world_options){0}),
                PLUMB_EVALUE, "plumb_world_options.size");
    plumb_loader *loader;
    CHECK_FAILS(plumb_loader_open(&loader, world, &(plumb_loader_options){0}), PLUMB_EVALUE,
                "plumb_loader_options.size");
    plumb_report *report;
    CHECK_OK(plumb_report_create(&report));
    CHECK_FAILS(plumb_report_add_path(report, "none", &(plumb_report_options){0}), PLUMB_EVALUE,
                "plumb_report_options.size");
    plumb_report_free(report);
}
