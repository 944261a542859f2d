// SPDX-License-Identifier: MIT
// Atomic output files: written under a temporary name, synced, then renamed.
#define _GNU_SOURCE
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

plumb_status output_file_open(output_file *out, const char *path)
{
    out->stream = NULL;
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", path) >= sizeof out->path ||
        (size_t)snprintf(out->temporary, sizeof out->temporary, "%s.part-XXXXXX", path) >=
            sizeof out->temporary)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", path);
    const int fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: cannot be written: %s", path, strerror(errno));
    // mkostemp is private to the user; the finished file follows the umask like any other.
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    out->stream = fdopen(fd, "wb");
    if (!out->stream) {
        const plumb_status st = fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
        close(fd);
        unlink(out->temporary);
        return st;
    }
    return PLUMB_OK;
}

plumb_status output_file_commit(output_file *out)
{
    const int bad = ferror(out->stream) | fflush(out->stream) | fsync(fileno(out->stream));
    const int why = errno;
    const int closed = fclose(out->stream);
    out->stream = NULL;
    if (bad || closed) {
        unlink(out->temporary);
        return fail(PLUMB_EFILE, "%s: cannot be written: %s", out->path,
                    strerror(bad ? why : errno));
    }
    if (rename(out->temporary, out->path)) {
        const plumb_status st = fail(PLUMB_EFILE, "%s: %s", out->path, strerror(errno));
        unlink(out->temporary);
        return st;
    }
    return PLUMB_OK;
}

void output_file_discard(output_file *out)
{
    if (!out->stream) return;
    fclose(out->stream);
    out->stream = NULL;
    unlink(out->temporary);
}

plumb_status output_file_write_all(const char *path, const void *data, size_t size)
{
    output_file file;
    const plumb_status st = output_file_open(&file, path);
    if (st) return st;
    fwrite(data, 1, size, file.stream); // output_file_commit checks for errors
    return output_file_commit(&file);
}
