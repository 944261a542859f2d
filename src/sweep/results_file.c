// SPDX-License-Identifier: MIT
// results.jsonl of a study. Several processes append to it, so each takes a lock, cuts off a line
// that a kill left incomplete, and writes its line with one newline at the end.
#define _GNU_SOURCE
#include "sweep/results_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/json.h"

typedef char filename[4096];

static const char *make_path(filename name, const char *folder)
{
    snprintf(name, sizeof(filename), "%s/results.jsonl", folder);
    return name;
}

// Cuts the file after its last newline. The caller has the lock.
static bool cut_half_line(int file)
{
    struct stat about;
    if (fstat(file, &about)) return false;
    off_t end = about.st_size;
    // Blocks from the end of the file, since only the last line can be incomplete.
    for (char block[4096]; end > 0;) {
        const off_t from = end > (off_t)sizeof block ? end - (off_t)sizeof block : 0;
        const ssize_t got = pread(file, block, (size_t)(end - from), from);
        if (got != end - from) return false;
        const char *newline = memrchr(block, '\n', (size_t)got);
        end = newline ? from + (newline - block) + 1 : from;
        if (newline) break;
    }
    return end == about.st_size || !ftruncate(file, end);
}

// Writes all bytes, also after interruptions.
static bool write_all(int file, const char *text, size_t size)
{
    while (size) {
        const ssize_t done = write(file, text, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        text += done;
        size -= (size_t)done;
    }
    return true;
}

plumb_status results_file_append(const char *folder, const char *line)
{
    filename name;
    const size_t length = strlen(line);
    char *text = malloc(length + 2);
    if (!text) return fail(PLUMB_EMEMORY, "out of memory for a line of results");
    // One write call for line and newline.
    memcpy(text, line, length);
    memcpy(text + length, "\n", 2);
    const int file = open(make_path(name, folder), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    plumb_status st = PLUMB_OK;
    if (file < 0) st = fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    // Where there are no locks, O_APPEND still keeps lines apart.
    while (!st && flock(file, LOCK_EX) && errno == EINTR) {}
    if (!st && (!cut_half_line(file) || !write_all(file, text, length + 1) || fsync(file)))
        st = fail(PLUMB_EFILE, "%s: cannot be written: %s", name, strerror(errno));
    if (file >= 0) close(file);
    free(text);
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The run of a line; NULL if it failed, or the line is not valid JSON.
static const char *find_finished_run(char *line, size_t size, const char *path)
{
    const char *run = NULL;
    bool failed = false;
    json in = json_begin(line, size, path);
    json_object(&in);
    for (const char *key; (key = json_key(&in));) {
        // A line with the key "failed" is no finished run.
        if (!strcmp(key, "run") && json_peek(&in) == JSON_STRING) run = json_string(&in);
        else {
            failed = failed || !strcmp(key, "failed");
            json_skip(&in, NULL, NULL);
        }
    }
    return json_end(&in) || failed ? NULL : run;
}

plumb_status results_file_finished(results_file_names *out, arena *mem, const char *folder)
{
    filename name;
    input_file in;
    *out = (results_file_names){0};
    if (access(make_path(name, folder), F_OK)) return PLUMB_OK;
    plumb_status st = input_file_open(&in, name);
    if (st) return st;
    char *text = arena_alloc(mem, in.size + 1, 1);
    st = text ? input_file_read(text, &in, 0, (size_t)in.size) : PLUMB_EMEMORY;
    const int64_t size = in.size;
    input_file_close(&in);
    // One name per line at most; the names point into the text.
    int64_t lines = 0;
    for (int64_t i = 0; i < size && !st; i++) lines += text[i] == '\n';
    if (!st && !(out->names = ARENA_ALLOC(mem, const char *, lines + 1))) st = PLUMB_EMEMORY;
    for (char *line = text, *end; !st && (end = memchr(line, '\n', (size_t)(text + size - line)));
         line = end + 1) {
        const char *run = find_finished_run(line, (size_t)(end - line), name);
        if (run) out->names[out->count++] = run;
    }
    // Sorted, so that results_file_has() can use bisection.
    if (!st) qsort(out->names, (size_t)out->count, sizeof *out->names, compare_names);
    return st;
}

bool results_file_has(const results_file_names *names, const char *name)
{
    return names->count &&
           bsearch(&name, names->names, (size_t)names->count, sizeof *names->names, compare_names);
}
