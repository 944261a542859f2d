// SPDX-License-Identifier: MIT
// Atomic output files. The data go to a temporary file beside the destination, are synced and take
// its name by one rename, so that a reader sees the old file or the new one. The directory is
// synced too, because the rename is an entry of it. Symbolic links are followed, and a device or a
// pipe is written to directly: a rename would replace it by a file.
#define _GNU_SOURCE
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

// Links as the kernel limits them; tries and letters of the temporary name.
enum { MAX_LINKS = 40, MAX_TRIES = 100, LETTERS = 6 };

static plumb_status reject_path(const char *path, const char *why)
{
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", path, why);
}

// Replaces out->path by what it links to, link after link. The last target need not exist.
static plumb_status follow_links(output_file *out, const char *given)
{
    for (int i = 0; i < MAX_LINKS; i++) {
        char target[sizeof out->path];
        const ssize_t length = readlink(out->path, target, sizeof target - 1);
        if (length < 0) return PLUMB_OK; // no link, or nothing there
        target[length] = 0;
        // A relative target starts in the directory of the link.
        const char *slash = strrchr(out->path, '/');
        const size_t kept = target[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - out->path);
        if (kept + (size_t)length >= sizeof out->path)
            return reject_path(given, "the target of the link is too long");
        memcpy(out->path + kept, target, (size_t)length + 1);
    }
    return reject_path(given, strerror(ELOOP));
}

// Creates PATH.part-XXXXXX. The kernel applies the umask, which belongs to the whole process and
// can be read only by changing it.
static int create_temporary(output_file *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char *suffix = out->temporary + strlen(out->temporary) - LETTERS;
    for (int i = 0; i < MAX_TRIES; i++) {
        unsigned char random[LETTERS];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return -1;
        for (int k = 0; k < LETTERS; k++) suffix[k] = letters[random[k] % (sizeof letters - 1)];
        const int fd = open(out->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

plumb_status output_file_open(output_file *out, const char *path)
{
    *out = (output_file){0};
    if (!path[0]) return fail(PLUMB_EFILE, "the name of the file to write is empty");
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", path) >= sizeof out->path)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", path);
    const plumb_status st = follow_links(out, path);
    if (st) return st;
    if ((size_t)snprintf(out->temporary, sizeof out->temporary, "%s.part-XXXXXX", out->path) >=
        sizeof out->temporary)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", path);
    struct stat old;
    const bool exists = stat(out->path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) return reject_path(path, strerror(EISDIR));
    out->is_direct = exists && !S_ISREG(old.st_mode);
    const int fd = out->is_direct ? open(out->path, O_WRONLY | O_CLOEXEC) : create_temporary(out);
    if (fd < 0) return reject_path(path, strerror(errno));
    // A file that is replaced keeps its permissions.
    if (exists && !out->is_direct) (void)!fchmod(fd, old.st_mode & 07777);
    out->stream = fdopen(fd, "wb");
    if (out->stream) return PLUMB_OK;
    // errno is saved before close() can change it.
    const int why = errno;
    close(fd);
    if (!out->is_direct) unlink(out->temporary);
    return reject_path(path, strerror(why));
}

// Makes the rename durable. Some file systems cannot sync a directory; that is no failure.
static void sync_directory(const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    const size_t length = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(directory, slash ? path : ".", length);
    directory[length] = 0;
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

// Flushes, syncs and closes the stream. Returns 0 or the first error.
static int close_stream(output_file *out)
{
    int why = 0;
    errno = 0;
    if (ferror(out->stream) || fflush(out->stream)) why = errno ? errno : EIO;
    // Devices and pipes cannot be synced.
    if (!why && !out->is_direct && fsync(fileno(out->stream))) why = errno;
    if (fclose(out->stream) && !why) why = errno;
    out->stream = NULL;
    return why;
}

// Syncs before the rename, so that after a crash the file is either the old or the new one.
plumb_status output_file_commit(output_file *out)
{
    int why = close_stream(out);
    if (!why && !out->is_direct && rename(out->temporary, out->path)) why = errno;
    if (why) {
        if (!out->is_direct) unlink(out->temporary);
        return reject_path(out->path, strerror(why));
    }
    if (!out->is_direct) sync_directory(out->path);
    return PLUMB_OK;
}

void output_file_discard(output_file *out)
{
    if (!out->stream) return;
    fclose(out->stream);
    out->stream = NULL;
    if (!out->is_direct) unlink(out->temporary);
}

plumb_status output_file_write_all(const char *path, const void *data, size_t size)
{
    output_file file;
    const plumb_status st = output_file_open(&file, path);
    if (st) return st;
    fwrite(data, 1, size, file.stream); // output_file_commit checks for errors
    return output_file_commit(&file);
}
