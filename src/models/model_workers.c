// SPDX-License-Identifier: MIT
// Compiled graphs and one instance of each per worker.
#include "models/model_workers.h"

#include <assert.h>
#include <stdlib.h>

#include "base/status.h"
#include "models/model_build.h"

plumb_status model_workers_add(model_workers *workers, const network_builder *net,
                               graph_node *const *outputs, int output_count, bool freeze)
{
    assert(workers->program_count < MODEL_WORKERS_MAX_PROGRAMS);
    struct model_workers_program *p = &workers->programs[workers->program_count++];
    p->graph = net->g;
    plumb_status st = program_build(&p->program, net->g, outputs, output_count, PROGRAM_FAST);
    if (st) return st;
    // One instance per worker, so that workers do not share memory that they write.
    p->instances = calloc((size_t)workers->count, sizeof(program_instance *));
    if (!p->instances) return fail(PLUMB_EMEMORY, "out of memory for %d workers", workers->count);
    for (int i = 0; i < workers->count && !st; i++) {
        st = model_build_instance(&p->instances[i], p->program, net, workers->parameters);
        // Weights are packed once for all workers: the first instance has them, the others share
        // them.
        if (!st && freeze)
            st = instance_freeze_parameters(p->instances[i], i ? p->instances[0] : NULL);
    }
    return st;
}

void model_workers_clear(model_workers *workers)
{
    for (int k = 0; k < workers->program_count; k++) {
        struct model_workers_program *p = &workers->programs[k];
        for (int i = 0; p->instances && i < workers->count; i++) instance_free(p->instances[i]);
        free(p->instances);
        program_free(p->program);
        graph_free(p->graph);
    }
    *workers = (model_workers){0};
}
