// SPDX-License-Identifier: MIT
// A program is a graph compiled to a list of kernel calls ("steps"): ordered, elementwise chains
// fused, every value at a fixed offset of one block of memory. It never changes and can be shared
// by threads. An instance is one such block, used by one thread at a time. Running an instance
// allocates nothing and looks nothing up.
//
// The fast form computes in float. The reference form computes in double, one operation after the
// other; it is the definition that the fast form is tested against.
#ifndef ENGINE_PROGRAM_H
#define ENGINE_PROGRAM_H

#include "engine/op.h"

typedef struct graph_program graph_program;
typedef struct program_instance program_instance;

typedef enum program_form { PROGRAM_FAST, PROGRAM_REFERENCE } program_form;

// ---- programs ----

/// Compiles the part of the graph that the outputs need. The graph must outlive the program.
/// Fails with the graph's first error, or PLUMB_EMEMORY.
plumb_status program_build(graph_program **out, graph *g, graph_node *const *output, int outputs,
                           program_form form);
/// `program` may be NULL.
void program_free(graph_program *program);

/// Size and cost of a program.
typedef struct program_statistics {
    int nodes;             // Nodes that the outputs need.
    int steps;             // Kernel calls per run of all stages.
    int fused_loops;       // How many of them are fused loops,
    int fused_ops;         // and how many operations those hold.
    int stages;            // Stages that run one after the other.
    int64_t block_bytes;   // Per instance: values,
    int64_t packed_bytes;  // weights packed for several convolutions,
    int64_t scratch_bytes; // and working memory of the kernels.
    int64_t total_bytes;   // All values if none shared memory.
    int64_t largest_bytes; // The largest value.
    double flops;          // Of matrix products and convolutions, counted as direct ones.
} program_statistics;
program_statistics program_stats(const graph_program *program);
/// Describes each step in one line of text, passed to print_line().
void program_print(const graph_program *program,
                   void (*print_line)(void *context, const char *text), void *context);

// ---- instances ----

/// Inputs are zero at first. Fails with PLUMB_EMEMORY.
plumb_status instance_create(program_instance **out, const graph_program *program);
/// `instance` may be NULL.
void instance_free(program_instance *instance);
/// For many runs with the same parameters, which must all be bound: packs the weights of
/// convolutions once. The parameters must not change afterwards. `like` may be NULL; otherwise it
/// is a frozen instance of the same program with the same parameters that lives longer, and its
/// packed weights are used. Fast form only. Fails with PLUMB_EMEMORY.
plumb_status instance_freeze_parameters(program_instance *instance, const program_instance *like);
/// Where to write an input before its stage runs; NULL if no output needs it. Fast form only.
float *instance_input(program_instance *instance, const graph_node *leaf);
/// Says where the caller keeps a parameter. Fast form only.
void instance_bind(program_instance *instance, const graph_node *leaf, const float *value);
/// Output number `index`, valid until the next run. Fast form only.
const float *instance_output(const program_instance *instance, int index);
/// Copies a leaf in, or an output out; both forms. Leaves that the program does not use are
/// ignored.
void instance_set(program_instance *instance, const graph_node *leaf, const double *value);
void instance_get(const program_instance *instance, int index, double *value);

/// Runs the steps of one stage. Stages must run in order, from 0.
void instance_run(program_instance *instance, int stage);

#endif
