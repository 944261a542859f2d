// SPDX-License-Identifier: MIT
// Figures and pages from records and arrays. If the data do not suffice the page says so.
#define _GNU_SOURCE
#include "plumb/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_tree.h"
#include "report/state_readout.h"
#include "support/test.h"

static const char *const good =
    "{\"method\": \"pr\", \"r2\": 0.99, \"r2_ci\": [0.98, 0.995], \"sym\": 0.003, "
    "\"symetric\": 1, \"order\": 2, \"latents_used\": [0, 1], \"n\": 1, "
    "\"degenerate\": false, \"why\": \"because <so>\", \"kappa\": 0.99, \"canonical\": 1}";

static char path[64];

static const char *file(const char *suffix)
{
    snprintf(path, sizeof path, "/tmp/plumb-report-test-%d%s", (int)getpid(), suffix);
    return path;
}

static char *contents(const char *name)
{
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    unlink(name);
    return text;
}

static bool has_figure(const plumb_report *r, const char *name)
{
    for (int64_t i = 0; i < plumb_report_figure_count(r); i++)
        if (!strcmp(plumb_report_figure_name(r, i), name)) return true;
    return false;
}

TEST(a_tree_finds_what_the_text_says_and_nothing_else)
{
    arena mem = {0};
    const json_tree *t;
    const char *text = "{\"a\": {\"b\": [1, null, 2.5]}, \"c\": \"x\", \"d\": true, \"e\": null}";
    double v[4];
    CHECK_OK(json_tree_read(&t, &mem, text, strlen(text), "x"));
    assert_int_equal(json_tree_doubles(v, 4, t, "a.b"), 3);
    CHECK_NEAR(v[2], 2.5, 0);
    assert_true(isnan(v[1]));
    assert_string_equal(json_tree_string(t, "c"), "x");
    CHECK_NEAR(json_tree_double(t, "d"), 1, 0);
    assert_true(!json_tree_has(t, "e") && !json_tree_has(t, "a.c") && !json_tree_has(t, "a.b.c") &&
                json_tree_has(t, "a"));
    assert_true(isnan(json_tree_double(t, "c")) && !json_tree_string(NULL, "c"));
    assert_int_equal(json_tree_read(&t, &mem, "{\"a\": 1", 7, "x"), PLUMB_EFORMAT);
    arena_clear(&mem);
}

TEST(a_polynomial_is_read_off_latents_that_hold_it)
{
    enum { COUNT = 6, STEPS = 40 };
    arena mem = {0};
    double latent[COUNT * STEPS * 2], truth[COUNT * STEPS * 2];
    for (int i = 0; i < COUNT * STEPS; i++) {
        const double q = sin(0.7 * i), p = cos(1.3 * i);
        latent[2 * i] = 3 * q + 1, latent[2 * i + 1] = p - q * q; // q is linear in it, p quadratic
        truth[2 * i] = q, truth[2 * i + 1] = p;
    }
    report_model s = {.latent = latent,
                      .truth = truth,
                      .count = COUNT,
                      .steps = STEPS,
                      .latents = 2,
                      .states = 2};
    CHECK_OK(state_readout_fit(&s, &mem));
    assert_non_null(s.readout);
    // The Lasso of the measure shrinks weights a little.
    for (int i = 0; i < 2 * COUNT * STEPS; i++) CHECK_NEAR(s.readout[i], truth[i], 2e-3);
    arena_clear(&mem);
}

// A model with `pairs` latents and as many true pairs.
static plumb_report *many_pairs(int64_t pairs)
{
    enum { COUNT = 3, STEPS = 9 };
    plumb_report *r;
    double *v = calloc((size_t)(COUNT * STEPS * 2 * pairs), sizeof *v);
    for (int64_t i = 0; i < COUNT * STEPS * 2 * pairs; i++) v[i] = sin(0.37 * (double)(i * i % 97));
    const plumb_array states =
        plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, STEPS, 2 * pairs});
    const plumb_named_array arrays[] = {{"latent", states}, {"truth", states}};
    CHECK_OK(plumb_report_create(&r));
    CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 2));
    free(v);
    return r;
}

TEST(no_pair_of_a_phase_space_is_left_out_without_a_word)
{
    const char *svg;
    plumb_report *r = many_pairs(6);
    CHECK_OK(plumb_report_figure_svg(&svg, r, "phase-space"));
    // Once in the truth and once in the latents.
    assert_non_null(strstr(svg, ">q5<"));
    assert_non_null(strstr(strstr(svg, ">q5<") + 1, ">q5<"));
    assert_null(strstr(svg, "not shown"));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "trajectory"));
    assert_non_null(strstr(svg, ">p5<"));
    assert_null(strstr(svg, "not shown"));
    plumb_report_free(r);
    r = many_pairs(30);
    CHECK_OK(plumb_report_figure_svg(&svg, r, "phase-space"));
    assert_non_null(strstr(svg, "6 more pairs are not shown"));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "trajectory"));
    assert_non_null(strstr(svg, "44 more coordinates are not shown"));
    plumb_report_free(r);
}

TEST(a_page_has_the_papers_table_with_both_routes_and_stars)
{
    plumb_report *r;
    CHECK_OK(plumb_report_create(&r));
    static const char *const record =
        "{\"evaluate\": {\"world\": \"two-body\", \"vpt_forward\": 9, \"pr\": {\"r2\": 0.97, "
        "\"sym\": 0.01, \"symetric\": 1}, \"mlp\": {\"r2\": 0.5, \"sym\": 1000, "
        "\"symetric\": 0}, \"forecast\": {\"vpt\": 12.5, \"vpt_median\": 11, \"rec_mse\": "
        "2e-7, \"ext_mse\": 5e-6}}}";
    CHECK_OK(plumb_report_add_record(r, "ours", record));
    CHECK_OK(plumb_report_save(r, file(".html")));
    char *text = contents(path);
    assert_non_null(strstr(text,
                           "<td>two-body</td><td>ours</td><td class=n>2</td><td class=n>50</td>"
                           "<td class=n>12.5 (11)</td><td class=n>1000 / 0.01*</td>"
                           "<td class=n>0.50 / 0.97*</td>"));
    assert_non_null(strstr(text, "<td>paper, HGN++</td><td class=n>0.04</td><td class=n>0.41</td>"
                                 "<td class=n>447</td><td class=n>0.22 / 0.15</td>"));
    assert_non_null(strstr(text, "<td>paper, HGN</td>"));
    free(text);
    plumb_report_free(r);
}

TEST(no_latent_of_a_traversal_is_left_out_without_a_word)
{
    enum { LATENTS = 40 };
    plumb_report *r;
    const char *svg;
    float *moved = calloc(LATENTS * 3 * 4 * 4, sizeof *moved);
    for (int64_t count = 12; count <= LATENTS; count += LATENTS - 12) {
        const plumb_named_array arrays[] = {
            {"traversal",
             plumb_array_view(moved, PLUMB_FLOAT32, 5, (int64_t[]){count, 3, 4, 4, 1})},
        };
        CHECK_OK(plumb_report_create(&r));
        CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 1));
        CHECK_OK(plumb_report_figure_svg(&svg, r, "traversal"));
        assert_non_null(strstr(svg, ">q11<"));
        assert_true((strstr(svg, "8 more latents are not shown") != NULL) == (count == LATENTS));
        plumb_report_free(r);
    }
    free(moved);
}

TEST(the_histogram_of_an_evaluated_video_model_is_drawn)
{
    // plumb evaluate writes the record of plumb surprise below "surprise".
    static const char *const evaluated =
        "{\"evaluate\": {\"overall\": {\"plain\": {\"accuracy\": 0.7}}, \"concepts\": [], "
        "\"surprise\": {\"scorers\": {\"plain\": {\"accuracy\": 0.7, \"accuracy_ci\": [0.6, "
        "0.8], \"relative_surprise\": 0.1}}, \"tuples\": 10, \"seed\": 1, \"measure_version\": 1, "
        "\"uniformity\": {\"p\": "
        "0.5, \"paper\": {\"p\": 0.25, \"range\": [0, 1], \"histogram\": [1, 2, 3, 4, 5, 6, 7, "
        "8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2]}}}}}";
    plumb_report *r;
    const char *svg;
    CHECK_OK(plumb_report_create(&r));
    CHECK_OK(plumb_report_add_record(r, "m", evaluated));
    assert_true(has_figure(r, "uniformity"));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "uniformity"));
    assert_non_null(strstr(svg, "p = 0.25"));
    CHECK_OK(plumb_report_save(r, file(".html")));
    char *text = contents(path);
    assert_non_null(strstr(text, "10 tuples"));
    assert_null(strstr(text, "nan"));
    free(text);
    plumb_report_free(r);
}

TEST(a_record_becomes_a_page_with_its_verdict)
{
    plumb_report *r;
    CHECK_OK(plumb_report_create(&r));
    CHECK_OK(plumb_report_add_record(r, "a <b> & \"c\"", good));
    CHECK_OK(plumb_report_save(r, file(".html")));
    char *text = contents(path);
    assert_non_null(strstr(text, "It learnt the physics"));
    assert_non_null(strstr(text, "hold the state (R2 0.99)"));
    assert_non_null(strstr(text, "0.98 to 0.995"));
    assert_non_null(strstr(text, "a &lt;b&gt; &amp; &quot;c&quot;"));
    assert_non_null(strstr(text, "because &lt;so&gt;"));
    assert_null(strstr(text, "http://www.w3.org/2000/svg\" width=\"0\""));
    free(text);
    plumb_report_free(r);
}

TEST(each_kind_of_failure_has_its_own_words)
{
    static const struct {
        const char *record, *words;
    } cases[] = {
        {"{\"r2\": 0.95, \"sym\": 0.2, \"symetric\": 0, \"canonical\": 0, \"kappa\": 0.4}",
         "wrong physics"},
        {"{\"r2\": 0.5, \"sym\": 0.2, \"symetric\": 0, \"canonical\": 0, \"kappa\": 0.4}",
         "cannot be read off"},
        {"{\"r2\": 0.99, \"sym\": 0, \"symetric\": 0, \"degenerate\": true, \"canonical\": 0, "
         "\"kappa\": 0}",
         "no area"},
        {"{\"r2\": 0.99, \"sym\": 0, \"symetric\": 0, \"degenerate\": true}",
         "<b>Not decided</b>"}, // SyMetric never decides
        {"{\"r2\": 0.99, \"sym\": 0.001, \"symetric\": 1, \"canonical\": 0, \"kappa\": 0.4}",
         "(kappa 0.4): this model did not learn"},
        {"{\"r2\": 0.99, \"sym\": 0.1, \"symetric\": 0, \"canonical\": 1, \"kappa\": 0.99}",
         "It also uses the map off the data"},
        {"{\"r2\": 0.99, \"sym\": 0, \"symetric\": 1, \"canonical\": null, \"kappa\": 0.7}",
         "<b>Not decided</b>The data do not determine whether"},
        {"{\"r2\": 0.99, \"sym\": 0, \"symetric\": 1, \"canonical\": 1, \"kappa\": 0.99, "
         "\"verdict\": \"not determined\"}",
         "<b>Not decided</b>"}, // what the measure wrote counts
        {"{\"r2\": 1, \"sym\": 0, \"symetric\": 1, \"n\": 1, \"order\": 1}",
         "<b>Not decided</b>kappa was not measured"},
        {"{\"scorers\": {\"plain\": {\"accuracy\": 0.5, \"accuracy_ci\": [0.4, 0.6]}}}",
         "may be luck"},
        {"{\"scorers\": {\"plain\": {\"accuracy\": 0.5}, \"knn\": {\"accuracy\": 0.9, "
         "\"accuracy_ci\": [0.8, 1]}}}",
         "90 % of the tuples by knn"},
        {"{\"settings\": {}, \"training\": {}}", "but not evaluated"},
        {"{\"pr\": {\"r2\": 0.95, \"sym\": 0, \"symetric\": 1}, \"mlp\": {\"r2\": 0.97, \"sym\": "
         "0.01}}",
         "by a network (MLP)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plumb_report *r;
        CHECK_OK(plumb_report_create(&r));
        CHECK_OK(plumb_report_add_record(r, "m", cases[i].record));
        CHECK_OK(plumb_report_save(r, file(".html")));
        char *text = contents(path);
        if (!strstr(text, cases[i].words))
            fail_msg("case %zu does not say \"%s\"", i, cases[i].words);
        free(text);
        plumb_report_free(r);
    }
}

TEST(records_from_strangers_are_refused_or_drawn_but_never_followed)
{
    static const char *const odd[] = {
        "{\"scorers\": [1, {\"accuracy\": 1}]}",
        "{\"scorers\": {\"plain\": 3}, \"concepts\": [{\"scorers\": [1]}, 2, {\"name\": 4}]}",
        "{\"scorers\": {}, \"concepts\": [{\"scorers\": {\"plain\": {\"accuracy\": 2}}}], "
        "\"uniformity\": {\"paper\": "
        "{\"histogram\": [\"x\"], \"range\": [1, 1]}}}",
        "{\"scorers\": [{\"score\": [[1, 2, 3, 4, 5], 7, [null], \"x\"]}], \"likelihood_ratio\": "
        "{\"calibration\": {\"said\": [1, \"x\"], \"found\": 3}}}",
        "{\"scorers\": {\"plain\": {\"score\": {\"a\": [1, 2]}, \"auroc\": \"x\"}}}",
        "{\"r2\": 1e308, \"sym\": -1, \"latents_used\": [1e300, -5], \"order\": 1e9}",
        "{\"vpt\": 5, \"vpt_ci\": [9, 1], \"forward\": {\"vpt_frames\": [-4, 1e18]}, "
        "\"threshold\": -1}",
        "{\"models\": [{\"r2\": 1, \"sym\": 1}, {\"name\": \"x\", \"vpt\": 3}, {\"name\": \"y\", "
        "\"vpt\": -3}]}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        plumb_report *r;
        double v[2 * 6 * 2];
        for (int k = 0; k < 24; k++) v[k] = k == 5 ? (double)NAN : sin(k);
        const plumb_named_array arrays[] = {
            {"latent", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){2, 6, 2})},
            {"truth", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){2, 6, 2})}};
        CHECK_OK(plumb_report_create(&r));
        CHECK_OK(plumb_report_add_record(r, "m", odd[i]));
        CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 2));
        const plumb_status st = plumb_report_save(r, file(".html"));
        if (st && st != PLUMB_ENUMERIC) fail_msg("case %zu: %s", i, plumb_last_error());
        unlink(path);
        plumb_report_free(r);
    }
    plumb_report *r;
    CHECK_OK(plumb_report_create(&r));
    assert_int_equal(plumb_report_add_record(r, "m", "{\"weather\": 1}"), PLUMB_EFORMAT);
    assert_int_equal(plumb_report_add_record(r, "m", "[1, 2"), PLUMB_EFORMAT);
    plumb_report_free(r);
}

TEST(a_figure_is_drawn_where_there_is_enough_for_it_and_refused_where_not)
{
    plumb_report *r;
    double v[3 * 9 * 2], loss[5] = {5, 4, 3, 2, 1}, step[5] = {1, 2, 3, 4, 5};
    uint8_t frames[3 * 9 * 4 * 4];
    float moved[1 * 3 * 4 * 4];
    for (int i = 0; i < 54; i++) v[i] = sin(i);
    for (size_t i = 0; i < sizeof frames; i++) frames[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 48; i++) moved[i] = 0.5f;
    const plumb_named_array arrays[] = {
        {"latent", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){3, 9, 2})},
        {"truth", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){3, 9, 2})},
        {"frames", plumb_array_view(frames, PLUMB_UINT8, 5, (int64_t[]){3, 9, 4, 4, 1})},
        {"prediction", plumb_array_view(frames, PLUMB_UINT8, 5, (int64_t[]){3, 9, 4, 4, 1})},
        {"traversal", plumb_array_view(moved, PLUMB_FLOAT32, 5, (int64_t[]){1, 3, 4, 4, 1})},
        {"loss", plumb_array_view(loss, PLUMB_FLOAT64, 1, (int64_t[]){5})},
        {"step", plumb_array_view(step, PLUMB_FLOAT64, 1, (int64_t[]){5})},
        {"something", plumb_array_view(step, PLUMB_FLOAT64, 1, (int64_t[]){5})},
    };
    CHECK_OK(plumb_report_create(&r));
    assert_int_equal(plumb_report_save(r, file(".html")), PLUMB_EVALUE);
    CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 8));
    static const char *const there[] = {"phase-space", "trajectory", "film",   "error",
                                        "traversal",   "loss",       "example"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        assert_true(has_figure(r, there[i]));
        CHECK_OK(plumb_report_save_figure(r, there[i], file(".png")));
        char *text = contents(path);
        assert_memory_equal(text, "\x89PNG", 4);
        free(text);
        const char *svg;
        CHECK_OK(plumb_report_figure_svg(&svg, r, there[i]));
        assert_memory_equal(svg, "<svg", 4);
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "class="));
    }
    assert_false(has_figure(r, "models"));
    assert_int_equal(plumb_report_save_figure(r, "models", file(".png")), PLUMB_EVALUE);
    assert_non_null(strstr(plumb_last_error(), "are missing"));
    assert_int_equal(plumb_report_save_figure(r, "modles", file(".png")), PLUMB_EVALUE);
    assert_int_equal(plumb_report_save_figure(r, "film", file(".gif")), PLUMB_EFILE);
    const plumb_named_array wrong[] = {
        arrays[0], {"truth", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){2, 9, 2})}};
    assert_int_equal(plumb_report_add_arrays(r, "m", wrong, 2), PLUMB_ESHAPE);
    plumb_report_free(r);
}

TEST(tracks_and_names_are_shown_if_they_fit_and_ignored_if_not)
{
    double v[2 * 9 * 4], places[2 * 9 * 3 * 2];
    uint8_t frames[2 * 9 * 8 * 8], names[4 * 8] = "x1\0\0\0\0\0\0y1\0\0\0\0\0\0p<1>";
    memcpy(names + 24, "py1", 4);
    for (int i = 0; i < 72; i++) v[i] = sin(i);
    for (int i = 0; i < 108; i++) places[i] = i == 7 ? (double)NAN : 0.25 * (i % 29);
    for (size_t i = 0; i < sizeof frames; i++) frames[i] = (uint8_t)(i * 7);
    for (int wrong = 0; wrong < 3; wrong++) {
        plumb_report *r;
        const plumb_named_array arrays[] = {
            {"latent", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){2, 9, 4})},
            {"truth", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){2, 9, 4})},
            {"frames", plumb_array_view(frames, PLUMB_UINT8, 5, (int64_t[]){2, 9, 8, 8, 1})},
            {"tracks",
             plumb_array_view(places, PLUMB_FLOAT64, 4,
                              wrong == 1 ? (int64_t[]){2, 3, 9, 2} : (int64_t[]){2, 9, 3, 2})},
            {"latent_names", plumb_array_view(names, PLUMB_UINT8, 2,
                                              wrong == 1 ? (int64_t[]){2, 8} : (int64_t[]){4, 8})},
        };
        if (wrong == 2) names[1] = 200; // no text
        CHECK_OK(plumb_report_create(&r));
        CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 5));
        CHECK_OK(plumb_report_save(r, file(".html")));
        char *text = contents(path);
        assert_int_equal(strstr(text, "data-track=\"[[0.00,0.25],") != NULL, wrong != 1);
        assert_int_equal(strstr(text, "null,") != NULL, wrong != 1); // the place that is NaN
        assert_int_equal(strstr(text, ">py1<") != NULL, wrong == 0);
        assert_int_equal(strstr(text, ">p&lt;1&gt;<") != NULL, wrong == 0);
        free(text);
        plumb_report_free(r);
    }
}

TEST(a_traversal_of_more_latents_than_have_names_is_drawn)
{
    // Without truth there are no states, and of five positions two have a name.
    plumb_report *r;
    double v[2 * 9 * 2] = {0};
    uint8_t moved[5 * 3 * 4 * 4] = {0}, names[2 * 8] = "x1";
    memcpy(names + 8, "px1", 4);
    const plumb_named_array arrays[] = {
        {"latent", plumb_array_view(v, PLUMB_FLOAT64, 3, (int64_t[]){2, 9, 2})},
        {"latent_names", plumb_array_view(names, PLUMB_UINT8, 2, (int64_t[]){2, 8})},
        {"traversal", plumb_array_view(moved, PLUMB_UINT8, 5, (int64_t[]){5, 3, 4, 4, 1})}};
    const char *svg;
    CHECK_OK(plumb_report_create(&r));
    CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 3));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "traversal"));
    assert_non_null(strstr(svg, ">x1<"));
    assert_non_null(strstr(svg, ">q4<"));
    plumb_report_free(r);
}

TEST(many_models_say_which_measure_predicts_vpt)
{
    enum { MODELS = 70 };
    plumb_report *r;
    const char *svg;
    CHECK_OK(plumb_report_create(&r));
    for (int i = 0; i < MODELS; i++) {
        char name[32], text[400];
        snprintf(name, sizeof name, "m%d", i);
        // The order of VPT does not follow from Rec; it follows from Sym, which is small where VPT
        // is long.
        snprintf(text, sizeof text,
                 "{\"run\": \"m%d\", \"evaluate\": {\"vpt_forward\": 1, \"vpt\": %d, \"rec_mse\": "
                 "%d, \"pr\": {\"r2\": 0.5, \"sym\": %g, \"symetric\": 0}, \"kappa\": %g, "
                 "\"canonical\": 1}}",
                 i, i, (i * 37) % MODELS, 1.0 / (i + 1), i < 35 ? -i : i * 1.0);
        CHECK_OK(plumb_report_add_record(r, name, text));
    }
    CHECK_OK(
        plumb_report_add_record(r, "gone", "{\"run\": \"gone\", \"failed\": \"step 3: NaN\"}"));
    assert_true(has_figure(r, "correlation") && has_figure(r, "models"));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "correlation"));
    assert_non_null(strstr(svg, "+1.00 [1.00, 1.00] all 70"));
    assert_non_null(strstr(svg, "+1.00 [1.00, 1.00] best 14"));
    assert_non_null(strstr(svg, "paper, best fifth: 0.45"));
    assert_null(strstr(svg, ">R2<")); // it is the same for all
    CHECK_OK(plumb_report_figure_svg(&svg, r, "models"));
    assert_non_null(strstr(svg, ">m0<"));
    assert_non_null(strstr(svg, ">m69<"));
    CHECK_OK(plumb_report_save(r, file(".html")));
    char *text = contents(path);
    assert_non_null(strstr(text, "This run failed: step 3: NaN."));
    free(text);
    plumb_report_free(r);
}

TEST(models_are_sorted_by_score_and_a_partial_kappa_is_marked)
{
    plumb_report *r;
    CHECK_OK(plumb_report_create(&r));
    // An older record without kappa_score, one of which little is explained, one that is best.
    CHECK_OK(plumb_report_add_record(
        r, "older",
        "{\"r2\": 0.99, \"sym\": 0.1, \"kappa\": 0.9, \"r2_latent\": 0.8, \"r2_state\": 0.95}"));
    CHECK_OK(
        plumb_report_add_record(r, "hardly",
                                "{\"r2\": 0.99, \"sym\": 0.1, \"kappa\": 1, \"kappa_score\": 0.26, "
                                "\"r2_latent\": 0.26, \"r2_state\": 0.95}"));
    CHECK_OK(plumb_report_add_record(
        r, "finest",
        "{\"r2\": 0.99, \"sym\": 0.1, \"kappa\": 0.98, \"kappa_score\": 0.97, "
        "\"r2_latent\": 0.99, \"r2_state\": 0.99}"));
    CHECK_OK(plumb_report_save(r, file(".html")));
    char *text = contents(path);
    const char *table = strstr(text, "id=overview");
    assert_non_null(table);
    const char *finest = strstr(table, ">finest<"), *older = strstr(table, ">older<"),
               *hardly = strstr(table, ">hardly<");
    assert_true(finest && older && hardly && finest < older && older < hardly);
    assert_non_null(strstr(hardly, " *</td>"));
    assert_true(!strstr(finest, " *</td>") || strstr(finest, " *</td>") > hardly);
    free(text);
    plumb_report_free(r);
}
