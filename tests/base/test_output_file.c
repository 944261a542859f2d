// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

static char dir[32], path[64];

static void begin(void)
{
    strcpy(dir, "/tmp/plumb-outfile-XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/x", dir);
}

static void end(void)
{
    unlink(path);
    CHECK_EQUAL(rmdir(dir), 0); // nothing is left beside it
}

static const char *content(void)
{
    static char text[32];
    memset(text, 0, sizeof text);
    FILE *f = fopen(path, "r");
    if (!f) return "absent";
    const size_t got = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[got] = 0;
    return text;
}

TEST(a_file_appears_only_when_it_is_whole)
{
    begin();
    output_file out;
    CHECK_OK(output_file_open(&out, path));
    fputs("new", out.stream);
    fflush(out.stream);
    CHECK_TEXT(content(), "absent");
    CHECK_OK(output_file_commit(&out));
    CHECK_TEXT(content(), "new");
    struct stat about;
    CHECK_EQUAL(stat(path, &about), 0);
    const mode_t mask = umask(0);
    umask(mask);
    CHECK_EQUAL(about.st_mode & 0777, 0666 & ~mask);
    end();
}

TEST(one_given_up_leaves_the_old_file)
{
    begin();
    output_file out;
    CHECK_OK(output_file_open(&out, path));
    fputs("old", out.stream);
    CHECK_OK(output_file_commit(&out));
    CHECK_OK(output_file_open(&out, path));
    fputs("new", out.stream);
    output_file_discard(&out);
    output_file_discard(&out); // twice does no harm
    CHECK_TEXT(content(), "old");
    end();
}

TEST(where_nothing_can_be_written_the_message_says_where)
{
    output_file out;
    CHECK_FAILS(output_file_open(&out, "/no/such/place/x"), PLUMB_EFILE, "/no/such/place/x");
    char far[5000];
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = 0;
    CHECK_FAILS(output_file_open(&out, far), PLUMB_EFILE, "too long");
}

TEST(a_directory_in_the_place_is_not_replaced)
{
    begin();
    output_file out;
    CHECK_OK(output_file_open(&out, path));
    CHECK_EQUAL(mkdir(path, 0777), 0); // made by somebody else in the meantime
    CHECK_FAILS(output_file_commit(&out), PLUMB_EFILE, path);
    CHECK_EQUAL(rmdir(path), 0);
    end();
}

static void write_text(const char *to, const char *text)
{
    CHECK_OK(output_file_write_all(to, text, strlen(text)));
}

TEST(a_link_is_followed_and_stays_a_link)
{
    begin();
    char link[80], far_link[80], target[80];
    snprintf(link, sizeof link, "%s/link", dir);
    snprintf(far_link, sizeof far_link, "%s/far", dir);
    snprintf(target, sizeof target, "%s/x", dir);
    CHECK_EQUAL(symlink("x", link), 0);      // relative, and its target does not exist yet
    CHECK_EQUAL(symlink(link, far_link), 0); // a link to a link
    struct stat about;
    write_text(far_link, "first");
    CHECK_TEXT(content(), "first");
    write_text(link, "second");
    CHECK_TEXT(content(), "second");
    CHECK(lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
    CHECK(lstat(far_link, &about) == 0 && S_ISLNK(about.st_mode));
    unlink(link);
    CHECK_EQUAL(symlink(far_link, link), 0); // a circle
    CHECK_FAILS(output_file_write_all(link, "x", 1), PLUMB_EFILE, strerror(ELOOP));
    unlink(link);
    unlink(far_link);
    end();
}

TEST(a_device_is_written_to_and_stays_a_device)
{
    struct stat about;
    write_text("/dev/null", "text");
    CHECK(stat("/dev/null", &about) == 0 && S_ISCHR(about.st_mode));
    CHECK_FAILS(output_file_write_all("/dev/full", "text", 4), PLUMB_EFILE, strerror(ENOSPC));
    CHECK(stat("/dev/full", &about) == 0 && S_ISCHR(about.st_mode));
}

TEST(a_pipe_is_written_to)
{
    begin();
    CHECK_EQUAL(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    write_text(path, "through");
    char text[16] = {0};
    CHECK_EQUAL(read(reader, text, sizeof text - 1), 7);
    CHECK_TEXT(text, "through");
    close(reader);
    struct stat about;
    CHECK(stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
    end();
}

TEST(a_directory_and_an_empty_name_are_rejected)
{
    begin();
    CHECK_FAILS(output_file_write_all(dir, "x", 1), PLUMB_EFILE, strerror(EISDIR));
    CHECK_FAILS(output_file_write_all("", "x", 1), PLUMB_EFILE, "empty");
    end();
}

TEST(a_file_that_is_replaced_keeps_its_permissions)
{
    begin();
    write_text(path, "old");
    CHECK_EQUAL(chmod(path, 0640), 0);
    write_text(path, "new");
    struct stat about;
    CHECK(stat(path, &about) == 0 && (about.st_mode & 07777) == 0640);
    end();
}

static atomic_bool done;

// Creates files as any other library does, and returns the permissions that some of them had
// although the umask forbids them.
static void *create_files(void *name)
{
    long seen = 0;
    while (!done) {
        struct stat about;
        const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fstat(fd, &about) == 0) seen |= about.st_mode & 0077;
        close(fd);
        unlink(name);
    }
    return (void *)seen;
}

TEST(the_umask_of_other_threads_is_left_alone)
{
    begin();
    char other[80];
    snprintf(other, sizeof other, "%s/other", dir);
    const mode_t mask = umask(0077);
    pthread_t thread;
    done = false;
    CHECK_EQUAL(pthread_create(&thread, NULL, create_files, other), 0);
    for (int i = 0; i < 2000; i++) {
        output_file out;
        CHECK_OK(output_file_open(&out, path));
        output_file_discard(&out);
    }
    done = true;
    void *seen;
    pthread_join(thread, &seen);
    CHECK_EQUAL((long)seen, 0);
    write_text(path, "private");
    struct stat about;
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0600);
    umask(mask);
    end();
}
