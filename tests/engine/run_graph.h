// SPDX-License-Identifier: MIT
// Graphs run in either form, for tests.
#ifndef TESTS_ENGINE_RUN_GRAPH_H
#define TESTS_ENGINE_RUN_GRAPH_H

#include <stdlib.h>
#include <string.h>

#include "engine/program.h"
#include "math/rng.h"
#include "support/test.h"

typedef struct graph_runner {
    graph_program *p;
    program_instance *i;
} graph_runner;

static inline graph_runner runner_start(graph *g, graph_node *const *output, int outputs,
                                        program_form form)
{
    graph_runner m;
    CHECK_OK(graph_status(g));
    CHECK_OK(program_build(&m.p, g, output, outputs, form));
    CHECK_OK(instance_create(&m.i, m.p));
    return m;
}

static inline void runner_stop(graph_runner m)
{
    instance_free(m.i);
    program_free(m.p);
}

static inline void runner_run(graph_runner m)
{
    for (int s = 0; s < program_stats(m.p).stages; s++) instance_run(m.i, s);
}

static inline double *new_numbers(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    CHECK(x != NULL);
    return x;
}

static inline double *random_numbers(int64_t n, uint64_t stream)
{
    double *x = new_numbers(n);
    rng r = rng_at(11, stream);
    for (int64_t i = 0; i < n; i++) x[i] = (double)(float)(2.0 * rng_uniform(&r) - 1.0);
    return x;
}

/// Lines of a program's list that hold `word`.
typedef struct count_lines {
    const char *word;
    int count;
} count_lines;

static inline void count_line(void *to, const char *text)
{
    count_lines *c = to;
    c->count += strstr(text, c->word) != NULL;
}

static inline int steps_of(const graph_program *p, const char *word)
{
    count_lines c = {word, 0};
    program_print(p, count_line, &c);
    return c.count;
}

#endif
