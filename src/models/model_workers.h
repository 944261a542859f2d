// SPDX-License-Identifier: MIT
// Compiled graphs and one instance of each per worker, for rollouts and predictions in parallel.
#ifndef MODELS_MODEL_WORKERS_H
#define MODELS_MODEL_WORKERS_H

#include "engine/program.h"
#include "models/params.h"

enum { MODEL_WORKERS_MAX_PROGRAMS = 4 };

/// Owns the graphs, their programs and all instances. Set `count` and `parameters`, the rest 0.
typedef struct model_workers {
    int count;               ///< workers
    const float *parameters; ///< block that the instances read, in the layout of the params
    int program_count;
    struct model_workers_program {
        graph *graph;
        graph_program *program;
        program_instance **instances; ///< (count)
    } programs[MODEL_WORKERS_MAX_PROGRAMS];
} model_workers;

/// Compiles the graph of `net` and creates an instance per worker. Programs are numbered 0, 1, ..
/// in the order of the calls. Takes ownership of the graph, also on failure. With `freeze` the
/// workers share packed weights.
plumb_status model_workers_add(model_workers *workers, const network_builder *net,
                               graph_node *const *outputs, int output_count, bool freeze);

/// The instance of a program that belongs to one worker.
static inline program_instance *model_workers_instance(const model_workers *workers, int worker,
                                                       int program)
{
    return workers->programs[program].instances[worker];
}

void model_workers_clear(model_workers *workers);

#endif
