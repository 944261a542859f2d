// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "base/output_file.h"

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
    CHECK_EQUAL(mkdir(path, 0777), 0);
    output_file out;
    CHECK_OK(output_file_open(&out, path));
    CHECK_FAILS(output_file_commit(&out), PLUMB_EFILE, path);
    CHECK_EQUAL(rmdir(path), 0);
    end();
}
