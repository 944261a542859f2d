// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "io/tensorboard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/tfrecord.h"
#include "support/test.h"

static char dir[40], path[100];

static void begin(void)
{
    strcpy(dir, "/tmp/plumb-events-XXXXXX");
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/events.out.tfevents.x", dir);
}

static void end(void)
{
    unlink(path);
    CHECK_EQUAL(rmdir(dir), 0);
}

static const char *const tags[] = {
    "loss", "a name of more than a few letters, to make the message longer than one byte of length "
            "can tell, which is one hundred and twenty-seven"};

static void put(int64_t from, int64_t to, int64_t cut)
{
    tensorboard_writer *e;
    CHECK_OK(tensorboard_open(&e, path, cut));
    for (int64_t step = from; step <= to; step++) {
        const double values[] = {0.5 * (double)step, -1.0};
        CHECK_OK(tensorboard_write(e, step, tags, values, 2));
    }
    tensorboard_close(e);
}

// The steps of all events as a text, "0 1 1 2 2".
static const char *steps(void)
{
    static char text[400];
    tfrecord f;
    text[0] = 0;
    CHECK_OK(tfrecord_open(&f, path));
    for (int64_t i = 0; i < f.count; i++) {
        const unsigned char *data;
        size_t bytes;
        tensorboard_event e;
        CHECK_OK(tfrecord_read(&data, &bytes, &f, i));
        CHECK(tensorboard_parse(&e, data, bytes));
        CHECK(e.wall > 1.6e9);
        if (i % 2) CHECK(!strcmp(e.tag, "loss") && (double)e.value == 0.5 * (double)e.step);
        else if (i) CHECK(!strncmp(e.tag, tags[1], 60) && e.value == -1.0f);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%lld ", (long long)e.step);
    }
    tfrecord_close(&f);
    return text;
}

TEST(scalars_are_records_of_events)
{
    begin();
    put(1, 3, 0);
    CHECK_TEXT(steps(), "0 1 1 2 2 3 3 ");
    end();
}

TEST(what_is_beyond_a_checkpoint_is_cut_and_written_anew)
{
    begin();
    put(1, 5, 0);
    put(3, 4, 2);
    CHECK_TEXT(steps(), "0 1 1 2 2 3 3 4 4 ");
    put(9, 8, 100); // nothing to cut, nothing to write
    CHECK_TEXT(steps(), "0 1 1 2 2 3 3 4 4 ");
    end();
}

TEST(what_is_damaged_is_cut_wherever_it_is)
{
    begin();
    put(1, 3, 0);
    static unsigned char whole[4096];
    FILE *f = fopen(path, "rb");
    const size_t size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    for (size_t at = 0; at < size; at += 3)
        for (int cut = 0; cut < 2; cut++) {
            f = fopen(path, "wb");
            whole[at] ^= 0x55;
            CHECK(fwrite(whole, 1, cut ? at : size, f) == (cut ? at : size));
            whole[at] ^= 0x55;
            fclose(f);
            put(9, 8, 100);
            const char *left = steps();
            CHECK(!strncmp(left, "0 1 1 2 2 3 3 ", strlen(left)));
            struct stat about;
            CHECK(!stat(path, &about) && (size_t)about.st_size < size);
        }
    end();
}

TEST(where_it_cannot_be_the_message_says_where)
{
    tensorboard_writer *e;
    CHECK_FAILS(tensorboard_open(&e, "/no/such/place/tfevents", 0), PLUMB_EFILE, "/no/such/place");
    tensorboard_close(NULL);
    tensorboard_event event;
    CHECK(!tensorboard_parse(&event, (const unsigned char *)"\x09\x00", 2));
    CHECK(!tensorboard_parse(&event, (const unsigned char *)"\x2a\x05\x0a", 3));
    CHECK(!tensorboard_parse(
        &event, (const unsigned char *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11));
}
