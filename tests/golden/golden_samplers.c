// SPDX-License-Identifier: MIT
// Initial states, parameters and looks: two-sample Kolmogorov-Smirnov tests of plumb's draws
// against the published sampler's (before anything is thrown away), number by number and in a few
// combinations. Each test alone fails good samplers once in 100,000.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_worlds.h"

enum { DRAWS = 8000 };

// Columns: state, then the parameters that are in the file, then combinations.
typedef struct sample {
    int64_t rows, columns;
    char name[64][48];
    double *column[64];
} sample;

static double *add(sample *s, const char *name)
{
    if (s->columns == 64) abort();
    snprintf(s->name[s->columns], sizeof s->name[0], "%s", name);
    return s->column[s->columns++] = malloc((size_t)s->rows * sizeof(double));
}

static void add_block(sample *s, const char *name, const double *rows, int64_t width,
                      int64_t stride)
{
    for (int64_t c = 0; c < width; c++) {
        char text[48];
        snprintf(text, sizeof text, "%s[%lld]", name, (long long)c);
        double *out = add(s, text);
        for (int64_t i = 0; i < s->rows; i++) out[i] = rows[i * stride + c];
    }
}

// What single columns do not tell: amplitudes, and how two offsets or colours go together.
static void combine(sample *s, const char *name, const double *rows, int64_t width, int64_t stride)
{
    char text[48];
    const bool state = !strcmp(name, "x0");
    if (width < 2) return;
    snprintf(text, sizeof text, state ? "|(%s, momentum)|" : "difference of %s", name);
    double *out = add(s, text);
    for (int64_t i = 0; i < s->rows; i++) {
        const double *row = rows + i * stride;
        out[i] = state ? hypot(row[0], row[width / 2]) : row[0] - row[1];
    }
}

static void release(sample *s)
{
    for (int64_t c = 0; c < s->columns; c++) free(s->column[c]);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The largest distance of the two distribution functions.
static double distance(double *a, int64_t n, double *b, int64_t m)
{
    qsort(a, (size_t)n, sizeof *a, by_value);
    qsort(b, (size_t)m, sizeof *b, by_value);
    double worst = 0.0;
    for (int64_t i = 0, j = 0; i < n && j < m;) {
        const double x = fmin(a[i], b[j]);
        while (i < n && a[i] <= x) i++;
        while (j < m && b[j] <= x) j++;
        worst = fmax(worst, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return worst;
}

// Both samples of one array, golden and plumb's own.
static void both(sample *golden, sample *own, golden_worlds *g, const char *prefix,
                 const char *name, const double *rows, int64_t width, int64_t stride)
{
    char key[128];
    snprintf(key, sizeof key, "%s_%s", prefix, name);
    if (!plumb_file_has_array(g->file, key)) return;
    int64_t count = golden->rows * width;
    const double *values = golden_worlds_read(g, key, &count);
    if (!values) return;
    add_block(golden, name, values, width, width);
    combine(golden, name, values, width, width);
    add_block(own, name, rows, width, stride);
    combine(own, name, rows, width, stride);
}

static void judge_world(golden_worlds *g, const char *prefix, const char *title)
{
    char key[128];
    const plumb_world *world;
    int64_t count = -1;
    snprintf(key, sizeof key, "%s_x0", prefix);
    if (!plumb_file_has_array(g->file, key)) return;
    golden_worlds_read(g, key, &count);
    if (plumb_world_find(&world, title)) {
        g->failures++;
        return;
    }
    const plumb_world_info *facts = plumb_world_get_info(world);
    const int64_t width = 2 * facts->n, size = plumb_world_get_info(world)->parameter_total;
    sample golden = {.rows = count / width}, own = {.rows = DRAWS};
    double *states = malloc((size_t)(DRAWS * width) * sizeof(double));
    double *parameters = malloc((size_t)(DRAWS * size + 1) * sizeof(double));
    plumb_world_options opt = plumb_world_defaults();
    opt.reject_steps = 1; // nothing is thrown away
    for (int64_t i = 0; i < DRAWS; i++) {
        const plumb_world_item out = {.state = states + i * width,
                                      .parameters = parameters + i * size};
        if (plumb_world_simulate(&out, world, 20, i, 1, &opt)) g->failures++;
    }
    both(&golden, &own, g, prefix, "x0", states, width, width);
    for (int64_t i = 0, at = 0; i < facts->parameter_count; i++) {
        const plumb_world_parameter *p = &facts->parameters[i];
        both(&golden, &own, g, prefix, p->name, parameters + at, p->count, size);
        at += p->count;
    }
    const double bar = 2.47 * sqrt(1.0 / (double)golden.rows + 1.0 / DRAWS);
    for (int64_t c = 0; c < golden.columns; c++) {
        const double d = distance(golden.column[c], golden.rows, own.column[c], DRAWS);
        if (d <= bar) continue;
        printf("%s: %s: %s: distributions are %.4f apart, wanted at most %.4f\n", g->path, title,
               golden.name[c], d, bar);
        g->failures++;
    }
    free(states);
    free(parameters);
    release(&golden);
    release(&own);
}

int golden_samplers(plumb_file *file, const char *path)
{
    static const char *const worlds[][2] = {
        {"mass_spring", "mass-spring"},
        {"mass_spring_colors", "mass-spring+c"},
        {"pendulum", "pendulum"},
        {"pendulum_colors", "pendulum+c"},
        {"double_pendulum", "double-pendulum"},
        {"double_pendulum_colors", "double-pendulum+c"},
        {"two_body", "two-body"},
        {"two_body_colors", "two-body+c"},
        {"matching_pennies", "matching-pennies"},
        {"rock_paper_scissors", "rock-paper-scissors"},
    };
    golden_worlds g = golden_worlds_begin(file, path);
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        judge_world(&g, worlds[i][0], worlds[i][1]);
    return golden_worlds_end(&g);
}
