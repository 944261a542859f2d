// SPDX-License-Identifier: MIT
#include "models/model_build.h"

#include <string.h>

#include "base/status.h"
#include "engine/gradient_sum.h"

plumb_status model_build_parameters(trainable_model *out, arena *mem, const params *p,
                                    uint64_t seed)
{
    model_tensor *tensor = ARENA_ALLOC(mem, model_tensor, p->count);
    out->value = ARENA_ALLOC(mem, float, p->size);
    if (!tensor || !out->value) return PLUMB_EMEMORY;
    for (int i = 0; i < p->count; i++) {
        const param *q = &p->at[i];
        tensor[i] = (model_tensor){.name = q->name, .rank = q->shape.rank, .offset = q->offset};
        memcpy(tensor[i].shape, q->shape.size, (size_t)q->shape.rank * sizeof(int64_t));
    }
    out->tensors = p->count;
    out->tensor = tensor;
    out->size = p->size;
    params_init_values(p, out->value, seed);
    return PLUMB_OK;
}

plumb_status model_build_instance(program_instance **out, const graph_program *ready,
                                  const network_builder *n, const float *value)
{
    plumb_status st = instance_create(out, ready);
    for (int k = 0; !st && k < n->leaves; k++)
        instance_bind(*out, n->leaf[k].leaf, value + n->params->at[n->leaf[k].param].offset);
    return st;
}

void model_build_add_gradient(float *gradient, const program_instance *i, const network_builder *n,
                              int first)
{
    for (int k = 0; k < n->leaves; k++) {
        const param *p = &n->params->at[n->leaf[k].param];
        gradient_add(gradient + p->offset, instance_output(i, first + k), shape_count(&p->shape));
    }
}

void model_build_record_program(plumb_record *record, const char *name, const graph_program *p)
{
    program_statistics r = program_stats(p);
    plumb_record_begin_object(record, name);
    plumb_record_set_int(record, "nodes", r.nodes);
    plumb_record_set_int(record, "steps", r.steps);
    plumb_record_set_int(record, "tapes", r.fused_loops);
    plumb_record_set_int(record, "fused", r.fused_ops);
    plumb_record_set_int(record, "block_bytes", r.block_bytes);
    plumb_record_set_int(record, "ready_bytes", r.packed_bytes);
    plumb_record_set_int(record, "scratch_bytes", r.scratch_bytes);
    plumb_record_set_int(record, "activation_bytes", r.total_bytes);
    plumb_record_set_double(record, "gflop", 1e-9 * r.flops);
    plumb_record_end(record);
}

plumb_status model_build_program(graph_program **out, arena *mem, const network_builder *n,
                                 graph_node *const *term, int terms, graph_node *const *gradient)
{
    graph_node **output = ARENA_ALLOC(mem, graph_node *, (terms + n->leaves));
    if (!output) return PLUMB_EMEMORY;
    memcpy(output, term, (size_t)terms * sizeof *output);
    memcpy(output + terms, gradient, (size_t)n->leaves * sizeof *output);
    return program_build(out, n->g, output, terms + n->leaves, PROGRAM_FAST);
}

plumb_status model_build_shards(int64_t *share, int64_t *group, const training_settings *t,
                                int64_t wanted)
{
    if (t->batch % t->replicas)
        return fail(PLUMB_EVALUE, "batch=%lld cannot be cut into replicas=%lld equal shares",
                    (long long)t->batch, (long long)t->replicas);
    *share = t->batch / t->replicas;
    *group = wanted < *share ? wanted : *share;
    if (*share % *group)
        return fail(PLUMB_EVALUE, "group=%lld does not divide the %lld clips of a share",
                    (long long)*group, (long long)*share);
    return PLUMB_OK;
}

void model_build_record_shards(plumb_record *record, const params *p, const training_settings *t,
                               int64_t share, int64_t group)
{
    plumb_record_set_int(record, "parameters", p->size);
    plumb_record_set_int(record, "replicas", t->replicas);
    plumb_record_set_int(record, "items", share);
    plumb_record_set_int(record, "groups", share / group);
}
