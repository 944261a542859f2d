// SPDX-License-Identifier: MIT
// Figures of the items of a file.
#define _GNU_SOURCE
#include "plumb/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plot/drawing.h"
#include "plot/stroke_font.h"
#include "support/test.h"

static char path[64], out[64], svg_path[64];

static void names(void)
{
    snprintf(path, sizeof path, "/tmp/plumb-figure-%d.npz", (int)getpid());
    snprintf(out, sizeof out, "/tmp/plumb-figure-%d.png", (int)getpid());
    snprintf(svg_path, sizeof svg_path, "/tmp/plumb-figure-%d.svg", (int)getpid());
}

static void gone(void)
{
    unlink(path);
    unlink(out);
    unlink(svg_path);
}

static plumb_status draw(const plumb_named_array *arrays, int count, plumb_image_size *size)
{
    plumb_dataset *d;
    names();
    CHECK_OK(plumb_file_write(path, arrays, count, false));
    CHECK_OK(plumb_dataset_open(&d, path, NULL));
    plumb_status st = plumb_item_figure_save(size, out, d, 0, NULL);
    if (!st) st = plumb_item_figure_save(size, svg_path, d, 0, NULL);
    plumb_dataset_close(d);
    return st;
}

static plumb_named_array named(const char *name, void *data, plumb_dtype dtype, int ndim,
                               const int64_t *shape)
{
    return (plumb_named_array){name, plumb_array_view(data, dtype, ndim, shape)};
}

TEST(what_a_file_has_is_drawn_and_what_it_lacks_left_out)
{
    plumb_image_size both, strip, portrait;
    double state[2 * 7 * 4];
    uint8_t frames[2 * 7 * 8 * 6 * 1];
    for (int i = 0; i < 56; i++) state[i] = sin(i);
    memset(frames, 100, sizeof frames);
    const plumb_named_array arrays[] = {
        named("state", state, PLUMB_FLOAT64, 3, (int64_t[]){2, 7, 4}),
        named("frames", frames, PLUMB_UINT8, 5, (int64_t[]){2, 7, 8, 6, 1}),
    };
    CHECK_OK(draw(arrays, 2, &both));
    CHECK_OK(draw(arrays + 1, 1, &strip));
    CHECK_OK(draw(arrays, 1, &portrait));
    CHECK(strip.height < both.height && portrait.height < both.height);
    gone();
}

TEST(single_steps_rest_and_numbers_that_are_not_finite_are_no_trouble)
{
    plumb_image_size size;
    double state[3 * 2] = {0};
    plumb_named_array rest = named("state", state, PLUMB_FLOAT64, 3, (int64_t[]){1, 3, 2});
    CHECK_OK(draw(&rest, 1, &size));
    rest = named("state", state, PLUMB_FLOAT64, 3, (int64_t[]){3, 1, 2});
    CHECK_OK(draw(&rest, 1, &size));
    state[2] = (double)NAN;
    state[4] = (double)INFINITY;
    rest = named("state", state, PLUMB_FLOAT64, 3, (int64_t[]){1, 3, 2});
    CHECK_OK(draw(&rest, 1, &size));
    state[0] = 1e300;
    state[2] = -1e300;
    state[4] = 1e-300;
    CHECK_OK(draw(&rest, 1, &size));
    state[0] = 1.7e308;
    state[2] = -1.7e308;
    CHECK_OK(draw(&rest, 1, &size));
    gone();
}

TEST(what_cannot_be_drawn_is_said)
{
    plumb_image_size size;
    plumb_dataset *d;
    double state[6] = {0};
    plumb_named_array odd = named("state", state, PLUMB_FLOAT64, 3, (int64_t[]){1, 2, 3});
    CHECK_FAILS(draw(&odd, 1, &size), PLUMB_ESHAPE, "(steps, 2n)");
    odd = named("frames", state, PLUMB_FLOAT64, 3, (int64_t[]){1, 2, 3});
    CHECK_FAILS(draw(&odd, 1, &size), PLUMB_ESHAPE, "must be bytes");
    odd = named("latent", state, PLUMB_FLOAT64, 3, (int64_t[]){1, 2, 3});
    CHECK_FAILS(draw(&odd, 1, &size), PLUMB_EFILE, "has no frames, no state");
    odd = named("state", state, PLUMB_FLOAT64, 3, (int64_t[]){1, 3, 2});
    CHECK_OK(draw(&odd, 1, &size));
    CHECK_OK(plumb_dataset_open(&d, path, NULL));
    plumb_item_figure_options opt = plumb_item_figure_defaults();
    opt.frames = -1;
    CHECK_FAILS(plumb_item_figure_save(&size, out, d, 0, &opt), PLUMB_EVALUE, "frames is -1");
    CHECK_FAILS(plumb_item_figure_save(&size, "x.gif", d, 0, NULL), PLUMB_EFILE,
                "must end in .png or .svg");
    CHECK_FAILS(plumb_item_figure_save(&size, out, d, 1, NULL), PLUMB_EVALUE, "no item 1");
    CHECK_FAILS(plumb_item_figure_save(&size, "/no/x.png", d, 0, NULL), PLUMB_EFILE, "/no/x.png");
    plumb_dataset_close(d);
    gone();
}

TEST(words_in_svg_cannot_become_marks)
{
    drawing *s;
    buffer b = {0};
    CHECK_OK(svg_create(&s, 10, 10, drawing_rgb(0xffffff)));
    s->text(s, 1, 2, 3, DRAWING_LEFT, drawing_rgb(0), "<script>&\x01\xff");
    CHECK_OK(s->finish(&b, s));
    buffer_put(&b, "", 1);
    CHECK(strstr((char *)b.data, "&lt;script&gt;&amp;??"));
    s->free(s);
    buffer_clear(&b);
}

TEST(strokes_outside_the_paper_are_cut_off)
{
    drawing *s;
    buffer b = {0};
    CHECK_OK(canvas_create(&s, 20, 10, drawing_rgb(0xffffff)));
    const double far[] = {-1e6, 5, 1e6, 5};
    s->path(s, far, 2, 3, drawing_rgb(0xff0000));
    s->disc(s, -50, -50, 20, drawing_rgb(0));
    s->rectangle(s, -5, -5, 100, 7, drawing_rgb(0x00ff00));
    s->text(s, 18, 9, 12, DRAWING_LEFT, drawing_rgb(0), "beyond");
    const uint8_t dot[3] = {1, 2, 3};
    s->picture(s, -3, 8, 6, dot, 1, 1);
    CHECK_OK(s->finish(&b, s));
    s->free(s);
    buffer_clear(&b);
}

TEST(every_letter_that_can_be_typed_in_a_name_has_a_shape)
{
    double width;
    for (char c = '0'; c <= 'z'; c++)
        if ((c <= '9') || (c >= 'A' && c <= 'Z') || c >= 'a')
            CHECK(stroke_font_find(&width, c)[0] == 'M');
    CHECK(stroke_font_width("mmm", 10) > stroke_font_width("iii", 10));
}
