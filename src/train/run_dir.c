// SPDX-License-Identifier: MIT
// Run directories: opening and locking, config.json and results.json.
#define _GNU_SOURCE
#include "train/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/status.h"

// Files of a run. The lock file is never removed from a run.
static const char *const files[] = {
    "config.json", "optimizer.safetensors", "weights.safetensors", "results.json",
    "log.jsonl",   RUN_DIR_EVENTS,          RUN_DIR_BEST,
};
enum { FILE_COUNT = sizeof files / sizeof *files, TEXT_LIMIT = 1 << 24 };
static const char lock_name[] = "lock";

const char *run_dir_file(run_dir_filename name, const char *path, const char *file)
{
    snprintf(name, sizeof(run_dir_filename), "%s/%s", path, file);
    return name;
}

// ---- the directory ----

// Whether `name` is a file of a run, or a temporary file that a killed process left (see
// output_file_open).
static bool is_run_file(const char *name, bool *leftover)
{
    *leftover = false;
    if (!strcmp(name, lock_name)) return true;
    for (int i = 0; i < FILE_COUNT; i++) {
        const size_t length = strlen(files[i]);
        if (strncmp(name, files[i], length)) continue;
        if (!name[length]) return true;
        *leftover = !strncmp(name + length, ".part-", 6) && strlen(name + length) == 12;
        if (*leftover) return true;
    }
    return false;
}

typedef struct dir_content {
    bool config;      // config.json exists
    bool run_files;   // some file of a run exists
    bool other_files; // some other file exists
} dir_content;

// Lists the directory; with `remove_leftovers` removes temporary files.
static plumb_status list_content(dir_content *out, const char *path, bool remove_leftovers)
{
    DIR *dir = opendir(path);
    if (!dir) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    *out = (dir_content){0};
    // Files of a run, temporary files of a process that was killed, and others.
    plumb_status st = PLUMB_OK;
    for (struct dirent *e; (e = input_file_next_entry(&st, dir, path));) {
        bool leftover;
        run_dir_filename name;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (!is_run_file(e->d_name, &leftover)) out->other_files = true;
        else if (leftover && remove_leftovers) unlink(run_dir_file(name, path, e->d_name));
        else if (!leftover && strcmp(e->d_name, lock_name)) out->run_files = true;
        if (!strcmp(e->d_name, "config.json")) out->config = true;
    }
    closedir(dir);
    return st;
}

// Only one process may train into a run.
static plumb_status lock_dir(run_dir *run)
{
    run_dir_filename name;
    run->lock = open(run_dir_file(name, run->path, lock_name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (run->lock < 0) return fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    // The lock ends with the process; the number of the process in it is for messages.
    if (!flock(run->lock, LOCK_EX | LOCK_NB)) {
        char text[32];
        const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        if (ftruncate(run->lock, 0) || pwrite(run->lock, text, (size_t)length, 0) != length)
            return fail(PLUMB_EFILE, "%s: cannot be written: %s", name, strerror(errno));
        return PLUMB_OK;
    }
    if (errno != EWOULDBLOCK) { // a file system without locks
        status_log("%s: cannot be locked (%s); make sure that no other process uses it", run->path,
                   strerror(errno));
        return PLUMB_OK;
    }
    // Another process has it: which one, if it is on this host.
    char text[32] = "";
    if (pread(run->lock, text, sizeof text - 1, 0) < 1) text[0] = 0;
    text[strspn(text, "0123456789")] = 0;
    return fail(PLUMB_EFILE, "%s: process %s is training into it; wait for it or choose another",
                run->path, text[0] ? text : "of another host");
}

// Locks the directory itself until the descriptor is closed: the file is replaced, so a lock on it
// would be lost. -1 without a lock, where the file system has none.
static int lock_results(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = -1;
    while (fd >= 0 && (failed = flock(fd, LOCK_EX)) && errno == EINTR && !status_stopped())
        continue;
    if (fd >= 0 && failed) {
        close(fd);
        return -1;
    }
    return fd;
}

// Only files of a run are removed, never others in the directory.
plumb_status run_dir_remove_files(const run_dir *run)
{
    run_dir_filename name;
    for (int i = FILE_COUNT - 1; i >= 0; i--) // config.json last: until then it is a run
        if (unlink(run_dir_file(name, run->path, files[i])) && errno != ENOENT)
            return fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    return PLUMB_OK;
}

// A new run needs a directory without a run, a resumed one needs config.json.
static plumb_status check_content(const run_dir *run, run_dir_mode mode)
{
    dir_content c;
    // With the lock of results.json: a temporary file of a process that is writing it is none that
    // a killed one left.
    const int lock = lock_results(run->path);
    plumb_status st = list_content(&c, run->path, true);
    if (lock >= 0) close(lock);
    if (st) return st;
    if (mode == RUN_DIR_RESUME)
        return c.config ? PLUMB_OK
                        : fail(PLUMB_EFILE,
                               "%s/config.json: is missing, so there is no run to resume; "
                               "start one without the option resume",
                               run->path);
    if (c.other_files && !c.config)
        return fail(PLUMB_EFILE, "%s: holds other files and no run; choose another directory",
                    run->path);
    if (c.run_files && mode == RUN_DIR_NEW)
        return fail(PLUMB_EFILE,
                    "%s: a run exists already; the option resume continues it, the option force "
                    "overwrites it",
                    run->path);
    return PLUMB_OK;
}

// Creates the directory, locks it, then looks at its files again: another process may have been
// faster.
plumb_status run_dir_open(run_dir *run, const char *path, run_dir_mode mode)
{
    *run = (run_dir){.lock = -1, .saved_step = -1};
    // Without slashes at the end.
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length >= sizeof run->path - 64)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", path);
    memcpy(run->path, path, length);
    // It must be a directory, or nothing yet.
    struct stat about;
    const bool exists = !stat(run->path, &about);
    if (!length || (exists && !S_ISDIR(about.st_mode)))
        return fail(PLUMB_EFILE, "%s: a run is a directory, and this is not one", path);
    if (!exists && mode == RUN_DIR_RESUME)
        return fail(PLUMB_EFILE, "%s: there is no such run; start one without the option resume",
                    run->path);
    if (!exists && mkdir(run->path, 0777) && errno != EEXIST)
        return fail(PLUMB_EFILE, "%s: cannot be created: %s", run->path, strerror(errno));
    run->created = !exists;
    dir_content c = {0};
    plumb_status st = PLUMB_OK;
    // Checked before locking: the lock file must not be created in an unrelated directory.
    if (exists) st = list_content(&c, run->path, false);
    if (!st && c.other_files && !c.config && !c.run_files)
        st = fail(PLUMB_EFILE, "%s: holds other files and no run; choose another directory",
                  run->path);
    if (!st) st = lock_dir(run);
    if (!st) st = check_content(run, mode);
    if (st) run_dir_close(run);
    return st;
}

void run_dir_close(run_dir *run)
{
    run_log_close(&run->log);
    run_dir_filename name;
    // A directory that was created and holds no run is removed, while it is still locked.
    if (run->created && run->lock >= 0 &&
        access(run_dir_file(name, run->path, "config.json"), F_OK)) {
        unlink(run_dir_file(name, run->path, lock_name));
        rmdir(run->path);
    }
    // Closing the file releases the lock.
    if (run->lock >= 0) close(run->lock);
    run->lock = -1;
}

// ---- config.json and results.json ----

plumb_status run_dir_read_config(char **text, size_t *size, arena *mem, const char *path)
{
    run_dir_filename name;
    if (access(run_dir_file(name, path, "config.json"), F_OK))
        return fail(PLUMB_EFILE, "%s: is missing, so %s is not a run", name, path);
    return input_file_read_all(text, size, mem, name, TEXT_LIMIT);
}

plumb_status run_dir_write_config(const run_dir *run, plumb_record *config)
{
    run_dir_filename name;
    return plumb_record_write_lines(run_dir_file(name, run->path, "config.json"), &config, 1);
}

plumb_status run_dir_read_results(char **text, size_t *size, arena *mem, const char *path)
{
    run_dir_filename name;
    *text = NULL;
    *size = 0;
    if (access(run_dir_file(name, path, "results.json"), F_OK)) return PLUMB_OK;
    return input_file_read_all(text, size, mem, name, TEXT_LIMIT);
}

// Reads, changes and writes the file. The directory is locked.
static plumb_status replace_section(const char *path, const char *section, plumb_record *record)
{
    run_dir_filename name;
    arena mem = {0};
    output_file out;
    char *old = NULL;
    size_t size = 0;
    const char *line;
    plumb_status st = run_dir_read_results(&old, &size, &mem, path);
    run_dir_file(name, path, "results.json");
    if (!st) st = plumb_record_to_json(&line, record);
    if (!st) st = output_file_open(&out, name);
    if (st) {
        arena_clear(&mem);
        return st;
    }
    // Other sections are copied as text, so that their numbers keep all digits.
    fputc('{', out.stream);
    if (old) {
        json j = json_begin(old, size, name);
        json_object(&j);
        for (const char *key; (key = json_key(&j));) {
            const char *text;
            size_t length;
            json_skip(&j, &text, &length);
            if (j.st || !strcmp(key, section) || strpbrk(key, "\"\\")) continue;
            fprintf(out.stream, "\"%s\": %.*s, ", key, (int)length, text);
        }
        if (json_end(&j)) // no part of it can be trusted
            st = fail(PLUMB_EFORMAT, "%s; remove it", plumb_last_error());
    }
    fprintf(out.stream, "\"%s\": %s}\n", section, line);
    if (st) output_file_discard(&out);
    else st = output_file_commit(&out);
    arena_clear(&mem);
    return st;
}

plumb_status run_dir_write_results(const char *path, const char *section, plumb_record *record)
{
    const int lock = lock_results(path);
    const plumb_status st = replace_section(path, section, record);
    if (lock >= 0) close(lock);
    return st;
}
