// SPDX-License-Identifier: MIT
// A tuple is drawn as four strips; the red line marks the frame at which an impossible clip
// changes.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plumb/report.h"
#include "support/test.h"

enum { STEPS = 10, SIZE = 8, FRAME = SIZE * SIZE * 3 };

static uint8_t clips[4][STEPS][FRAME];

// A is dark and grows lighter, B the other way; in frames 4 and 5 both are the same.
static void splice(int64_t cut)
{
    for (int t = 0; t < STEPS; t++)
        for (int k = 0; k < 2; k++)
            memset(clips[k][t], t == 4 || t == 5 ? 100 : k ? 200 - t : 10 + t, FRAME);
    for (int t = 0; t < STEPS; t++)
        for (int k = 0; k < 2; k++) memcpy(clips[2 + k][t], clips[t <= cut ? k : 1 - k][t], FRAME);
}

static char *draw(const int64_t *cut, const plumb_item_figure_options *opt, plumb_image_size *image)
{
    char path[64], out[64];
    plumb_dataset *d = NULL;
    snprintf(path, sizeof path, "/tmp/plumb-strips-%d.npz", (int)getpid());
    snprintf(out, sizeof out, "/tmp/plumb-strips-%d.svg", (int)getpid());
    const plumb_named_array arrays[] = {
        {"frames",
         plumb_array_view(clips, PLUMB_UINT8, 6, (int64_t[]){1, 4, STEPS, SIZE, SIZE, 3})},
        {"cut", plumb_array_view((void *)(uintptr_t)cut, PLUMB_INT64, 2, (int64_t[]){1, 2})}};
    CHECK_OK(plumb_file_write(path, arrays, cut ? 2 : 1, false));
    CHECK_OK(plumb_dataset_open(&d, path, NULL));
    CHECK_OK(plumb_item_figure_save(image, out, d, 0, opt));
    plumb_dataset_close(d);
    FILE *f = fopen(out, "rb");
    CHECK(f);
    fseek(f, 0, SEEK_END);
    const size_t size = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(size + 1);
    CHECK(fread(text, 1, size, f) == size);
    text[size] = 0;
    fclose(f);
    unlink(path);
    unlink(out);
    return text;
}

static int count(const char *text, const char *what)
{
    int found = 0;
    for (; (text = strstr(text, what)); text++) found++;
    return found;
}

TEST(a_tuple_is_four_strips_of_all_frames)
{
    plumb_image_size image;
    splice(4);
    char *text = draw(NULL, NULL, &image);
    CHECK_EQUAL(count(text, "<image"), 4 * STEPS);
    CHECK_EQUAL(count(text, "impossible"), 2);
    CHECK(image.width > 600 && image.height > 300);
    free(text);
}

// Lines are red, two for one cut, and one is in the legend; the words of impossible are red too.
static int lines(const char *text)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, "<path")); at++) {
        const char *end = strchr(at, '>'), *red = strstr(at, "#d1495b");
        found += red && end && red < end;
    }
    return found;
}

TEST(cuts_are_found_by_bytes_and_taken_from_the_file)
{
    plumb_image_size image;
    const int64_t one[2] = {5, -1}, two[2] = {2, 7};
    splice(4);
    char *text = draw(NULL, NULL, &image);
    CHECK_EQUAL(lines(text), 1 + 2);
    free(text);
    text = draw(one, NULL, &image);
    CHECK_EQUAL(lines(text), 1 + 2);
    free(text);
    text = draw(two, NULL, &image);
    CHECK_EQUAL(lines(text), 1 + 4);
    free(text);
    splice(STEPS); // nothing impossible: no line
    text = draw(NULL, NULL, &image);
    CHECK_EQUAL(lines(text), 1);
    free(text);
}

TEST(fewer_frames_are_larger)
{
    plumb_image_size image;
    plumb_item_figure_options opt = plumb_item_figure_defaults();
    opt.frames = 3;
    splice(4);
    char *text = draw(NULL, &opt, &image);
    CHECK_EQUAL(count(text, "<image"), 12);
    free(text);
}
