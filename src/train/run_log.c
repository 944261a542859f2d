// SPDX-License-Identifier: MIT
// The log of a run: log.jsonl and TensorBoard events. A resumed run truncates both behind the step
// of its checkpoint.
#define _GNU_SOURCE
#include "train/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/status.h"
#include "train/run_dir.h"

// Bytes of the lines up to `step`, complete and in rising order, and the seconds of the last one.
static plumb_status find_end(off_t *keep, double *seconds, FILE *f, const char *name, int64_t step)
{
    char *line = NULL;
    size_t capacity = 0;
    int64_t before = -1;
    *keep = 0;
    // Line by line until one is beyond the step, not complete or not a log line.
    ssize_t length;
    while ((length = getline(&line, &capacity, f)) > 0) {
        if (line[length - 1] != '\n') break;
        json j = json_begin(line, (size_t)length, name);
        int64_t at = -1;
        double time = 0.0;
        json_object(&j);
        for (const char *key; (key = json_key(&j));) {
            if (!strcmp(key, "step")) at = json_int(&j);
            else if (!strcmp(key, "seconds")) time = json_double(&j);
            else json_skip(&j, NULL, NULL);
        }
        if (json_end(&j) || at <= before) {
            status_log("%s: a line is not a log line; the log is cut there", name);
            break;
        }
        if (at > step) break;
        before = at;
        *seconds = time;
        *keep += length;
    }
    // Not the end of the file, but no memory for a line or no way to read it: nothing may be cut.
    plumb_status st = PLUMB_OK;
    if (length < 0 && !feof(f)) st = fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    free(line);
    return st;
}

plumb_status run_log_open(run_log *log, const char *path, int64_t step)
{
    run_dir_filename name;
    off_t keep = 0;
    run_dir_file(name, path, "log.jsonl");
    // Opened without truncation, then cut behind the last line that belongs to the checkpoint.
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    log->file = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!log->file) {
        const plumb_status st = fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
        if (fd >= 0) close(fd);
        return st;
    }
    plumb_status st = find_end(&keep, &log->seconds, log->file, name, step);
    if (!st && (ftruncate(fd, keep) || fseeko(log->file, keep, SEEK_SET)))
        st = fail(PLUMB_EFILE, "%s: cannot be truncated: %s", name, strerror(errno));
    // TensorBoard events are cut in the same way.
    if (!st) st = tensorboard_open(&log->events, run_dir_file(name, path, RUN_DIR_EVENTS), step);
    return st;
}

plumb_status run_log_write(run_log *log, const trainable_model *model, const run_log_line *line)
{
    const int64_t terms = model->term_count;
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "out of memory for a line of the log");
    // One line of JSON: step, loss terms, learning rate, seconds of training in all.
    plumb_record_set_int(record, "step", line->step);
    for (int64_t i = 0; i < terms; i++)
        plumb_record_set_double(record, model->term_names[i], line->terms[i]);
    plumb_record_set_double(record, "rate", line->rate);
    if (isfinite(line->validation)) plumb_record_set_double(record, "validation", line->validation);
    plumb_record_set_double(record, "seconds", line->seconds);
    const char *text;
    plumb_status st = plumb_record_to_json(&text, record);
    // Flushed, so that a reader sees every line at once.
    if (!st && (fprintf(log->file, "%s\n", text) < 0 || fflush(log->file)))
        st = fail(PLUMB_EFILE, "log.jsonl: cannot be written: %s", strerror(errno));
    plumb_record_free(record);
    if (!st) st = tensorboard_write(log->events, line->step, model->term_names, line->terms, terms);
    if (!st)
        st = tensorboard_write(log->events, line->step, (const char *const[]){"rate"}, &line->rate,
                               1);
    if (!st && isfinite(line->validation))
        st = tensorboard_write(log->events, line->step, (const char *const[]){"validation"},
                               &line->validation, 1);
    return st;
}

void run_log_close(run_log *log)
{
    if (log->file) fclose(log->file);
    tensorboard_close(log->events);
    log->file = NULL;
    log->events = NULL;
}
