// SPDX-License-Identifier: MIT
// Reads results.jsonl of an earlier sweep. A line counts only if its run was trained with the
// settings that the study has today.
#include "sweep/earlier_records.h"

#include <stdio.h>
#include <string.h>

#include "base/input_file.h"
#include "base/json_tree.h"

enum { MAX_RECORDS_BYTES = 1 << 30 };

static const char *text_of(const json_tree *record, const char *key)
{
    const char *text = json_tree_string(record, key);
    return text ? text : "";
}

// A line and where it came from, for messages.
typedef struct record_line {
    const char *path;
    int64_t number;
    const json_tree *tree;
} record_line;

static plumb_status reject(const record_line *line, const study_run *run, const char *what,
                           const char *found, const char *wanted)
{
    return fail(PLUMB_EVALUE, "%s:%lld: %s has %s=%.60s, but the study has %.60s", line->path,
                (long long)line->number, run->name, what, found, wanted);
}

// The settings of the line are those of the run, no more and no less.
static plumb_status compare_settings(const record_line *line, const study_run *run)
{
    const json_tree *set = json_tree_find(line->tree, "set");
    if (json_tree_count(set) != run->setting_count)
        return fail(PLUMB_EVALUE, "%s:%lld: %s has %lld settings, but the study gives it %lld",
                    line->path, (long long)line->number, run->name, (long long)json_tree_count(set),
                    (long long)run->setting_count);
    for (int64_t i = 0; i < run->setting_count; i++) {
        const char *name = run->settings[i].name, *value = run->settings[i].value;
        run_config_use_new_names(run->model, &name, &value);
        const char *found = text_of(set, name);
        if (strcmp(found, value)) return reject(line, run, name, found, value);
    }
    return PLUMB_OK;
}

static plumb_status compare_run(const record_line *line, const study_file *study,
                                const study_run *run)
{
    const char *source = run->world ? "world" : "data";
    const struct {
        const char *key, *wanted;
    } texts[] = {
        {"model", run->model},
        {source, run->world ? run->world : run->data},
        {"preset", run->preset ? run->preset : "cpu"},
        {"options", study->options_hash},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *found = text_of(line->tree, texts[i].key);
        // Lines of earlier versions have no hash of the options of the evaluation.
        if (!strcmp(texts[i].key, "options") && !found[0]) continue;
        if (strcmp(found, texts[i].wanted))
            return reject(line, run, texts[i].key, found, texts[i].wanted);
    }
    return compare_settings(line, run);
}

// The index of a run by its name; -1: it is not in the study.
static int64_t find_run(const study_file *study, const char *name)
{
    for (int64_t i = 0; i < study->run_count; i++)
        if (!strcmp(study->runs[i].name, name)) return i;
    return -1;
}

// Keeps one line if it is that of a finished run of the study.
static plumb_status add_line(study_file *study, record_line *line, char *text, size_t size)
{
    arena mem = {0};
    // An incomplete line is no JSON and no error.
    plumb_status st = json_tree_read(&line->tree, &mem, text, size, line->path);
    if (st == PLUMB_EFORMAT) {
        arena_clear(&mem);
        return PLUMB_OK;
    }
    const char *name = st ? NULL : json_tree_string(line->tree, "run");
    const int64_t index = name ? find_run(study, name) : -1;
    if (!st && index >= 0 && !json_tree_find(line->tree, "failed") &&
        json_tree_find(line->tree, "evaluate")) {
        st = compare_run(line, study, &study->runs[index]);
        text[size] = 0;
        if (!st) study->records[index] = text;
    }
    arena_clear(&mem);
    return st;
}

plumb_status earlier_records_add(study_file *study, const char *path)
{
    char *text;
    size_t size;
    plumb_status st =
        input_file_read_all(&text, &size, &study->mem, path, (int64_t)MAX_RECORDS_BYTES);
    if (st) return st;
    if (!study->records) study->records = ARENA_ALLOC(&study->mem, const char *, study->run_count);
    if (!study->records) return PLUMB_EMEMORY;
    record_line line = {.path = path};
    for (char *at = text, *end; !st && at < text + size; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + size - at));
        if (!end) end = text + size;
        line.number++;
        st = add_line(study, &line, at, (size_t)(end - at));
    }
    study->records_path = arena_strdup(&study->mem, path);
    return st;
}

const char *earlier_records_find(const study_file *study, const study_run *run)
{
    return study->records ? study->records[run - study->runs] : NULL;
}
