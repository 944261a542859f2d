// SPDX-License-Identifier: MIT
// A graph made ready to run: put in order, elementwise chains fused, every value given its place in
// one block of memory. A program never changes and is shared; an instance is one block, on one
// thread. Running it allocates nothing and looks nothing up.
//
// The fast form computes in float; the judge's form in double, operation by operation.
#ifndef ENGINE_PROGRAM_H
#define ENGINE_PROGRAM_H

#include "engine/op.h"

typedef struct graph_program graph_program;
typedef struct program_instance program_instance;

typedef enum program_form { PROGRAM_FAST, PROGRAM_REFERENCE } program_form;

/// The graph must outlive the program.
plumb_status program_build(graph_program **out, graph *g, graph_node *const *output, int outputs,
                           program_form form);
void program_free(graph_program *p);

/// What the planner made of the graph.
typedef struct program_statistics {
    int nodes, steps, tapes, fused; // nodes needed, calls, fused loops, nodes inside them
    int stages;
    int64_t block;   // bytes of an instance for values,
    int64_t ready;   // for weights made ready for several steps,
    int64_t scratch; // and for what the kernels need while they run
    int64_t sum;     // bytes of all activations if each had memory of its own
    int64_t biggest; // bytes of the largest activation
    double flops;    // of products and convolutions, counted as direct ones
} program_statistics;
program_statistics program_stats(const graph_program *p);
/// A line per step, through `line`.
void program_print(const graph_program *p, void (*line)(void *to, const char *text), void *to);

plumb_status instance_create(program_instance **out, const graph_program *p);
void instance_free(program_instance *i);
/// For many runs with the same parameters, all bound by now: they are made ready here, once, and
/// must not change any more. Those of `like`, an instance of the same program with the same
/// parameters that is steady and lives longer, are used as well if it is not NULL. Fast form.
plumb_status instance_freeze_parameters(program_instance *i, const program_instance *like);
/// Where an input is to be written before its stage runs; NULL if no output needs it. Fast form.
float *instance_input(program_instance *i, const graph_node *leaf);
/// Where a parameter is kept. Fast form.
void instance_bind(program_instance *i, const graph_node *leaf, const float *value);
/// Output `index`, valid until the next run. Fast form.
const float *instance_output(const program_instance *i, int index);
/// The same for either form, by copying. Leaves that the program does not use are ignored.
void instance_set(program_instance *i, const graph_node *leaf, const double *value);
void instance_get(const program_instance *i, int index, double *value);

/// Runs the steps of one stage; stages run in order.
void instance_run(program_instance *i, int stage);

#endif
