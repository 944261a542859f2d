// SPDX-License-Identifier: MIT
// Any bytes as config.json of a run: refused in one line, or settings that are written and read
// again with the same hash.
#include "base/arena.h"
#include "support.h"
#include "train/run_config.h"

// The record of a configuration is a configuration with the same hash.
static void write_again(const run_config *config)
{
    char first[33], second[33];
    arena mem = {0};
    run_config again;
    const char *line;
    plumb_record *record = plumb_record_create();
    if (!record || run_config_hash(first, config)) abort();
    run_config_record(record, config);
    if (plumb_record_to_json(&line, record)) abort();
    char *text = strdup(line);
    if (run_config_parse(&again, &mem, text, strlen(text), "again")) abort();
    if (run_config_hash(second, &again) || strcmp(first, second)) abort();
    free(text);
    plumb_record_free(record);
    arena_clear(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena mem = {0};
    run_config config;
    char *text = malloc(size ? size : 1);
    if (size) memcpy(text, data, size);
    if (!run_config_parse(&config, &mem, text, size, "input")) write_again(&config);
    else if (!plumb_last_error()[0] || strchr(plumb_last_error(), '\n')) abort();
    free(text);
    arena_clear(&mem);
    return 0;
}
