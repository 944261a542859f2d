// SPDX-License-Identifier: MIT
// What the models share between their networks and the trainer.
#include "models/model_build.h"

#include <string.h>

#include "base/status.h"
#include "engine/gradient_sum.h"

// Tensors in the order of the layout, and their initial values.
plumb_status model_build_parameters(trainable_model *model, arena *mem, const params *layout,
                                    uint64_t seed)
{
    model_tensor *tensors = ARENA_ALLOC(mem, model_tensor, layout->count);
    model->parameters = ARENA_ALLOC(mem, float, layout->size);
    if (!tensors || !model->parameters) return PLUMB_EMEMORY;
    for (int i = 0; i < layout->count; i++) {
        const param *p = &layout->at[i];
        tensors[i] = (model_tensor){.name = p->name, .rank = p->shape.rank, .offset = p->offset};
        memcpy(tensors[i].shape, p->shape.size, (size_t)p->shape.rank * sizeof(int64_t));
    }
    // The trainer and checkpoints see the same block, tensor by tensor.
    model->tensor_count = layout->count;
    model->tensors = tensors;
    model->parameter_count = layout->size;
    params_init_values(layout, model->parameters, seed);
    return PLUMB_OK;
}

// Instances read parameters in place: an update of the block is seen by the next run.
plumb_status model_build_instance(program_instance **out, const graph_program *program,
                                  const network_builder *net, const float *parameters)
{
    plumb_status st = instance_create(out, program);
    for (int i = 0; !st && i < net->leaf_count; i++) {
        const param_leaf *leaf = &net->leaves[i];
        instance_bind(*out, leaf->node, parameters + net->params->at[leaf->param].offset);
    }
    return st;
}

// Outputs from `first` on are the gradients, in the order of the leaves.
void model_build_add_gradient(float *gradient, const program_instance *instance,
                              const network_builder *net, int first)
{
    for (int i = 0; i < net->leaf_count; i++) {
        const param *p = &net->params->at[net->leaves[i].param];
        gradient_add(gradient + p->offset, instance_output(instance, first + i),
                     shape_count(&p->shape));
    }
}

// Outputs: terms, then one gradient per leaf.
plumb_status model_build_program(graph_program **out, arena *mem, const network_builder *net,
                                 graph_node *const *terms, int term_count,
                                 graph_node *const *gradients)
{
    const int count = term_count + net->leaf_count;
    graph_node **outputs = ARENA_ALLOC(mem, graph_node *, count);
    if (!outputs) return PLUMB_EMEMORY;
    memcpy(outputs, terms, (size_t)term_count * sizeof *outputs);
    memcpy(outputs + term_count, gradients, (size_t)net->leaf_count * sizeof *outputs);
    return program_build(out, net->g, outputs, count, PROGRAM_FAST);
}

// Shards must be equal: the trainer adds their gradients without weights.
plumb_status model_build_shard(int64_t *shard, const training_settings *training)
{
    if (training->batch % training->replicas)
        return fail(PLUMB_EVALUE, "batch=%lld cannot be cut into replicas=%lld equal shards",
                    (long long)training->batch, (long long)training->replicas);
    *shard = training->batch / training->replicas;
    return PLUMB_OK;
}

// Microbatches must be equal too; a program has one size.
plumb_status model_build_microbatch(int64_t *microbatch, int64_t shard, int64_t wanted)
{
    *microbatch = wanted < shard ? wanted : shard;
    if (shard % *microbatch)
        return fail(PLUMB_EVALUE, "microbatch=%lld does not divide the %lld clips of a shard",
                    (long long)*microbatch, (long long)shard);
    return PLUMB_OK;
}

void model_build_record_shards(plumb_record *record, const params *layout,
                               const training_settings *training, int64_t shard)
{
    plumb_record_set_int(record, "parameters", layout->size);
    plumb_record_set_int(record, "replicas", training->replicas);
    plumb_record_set_int(record, "items", shard);
}

// Keys are part of the output of `plumb train --plan`.
void model_build_record_program(plumb_record *record, const char *name,
                                const graph_program *program)
{
    const program_statistics stats = program_stats(program);
    plumb_record_begin_object(record, name);
    plumb_record_set_int(record, "nodes", stats.nodes);
    plumb_record_set_int(record, "steps", stats.steps);
    plumb_record_set_int(record, "tapes", stats.fused_loops);
    plumb_record_set_int(record, "fused", stats.fused_ops);
    plumb_record_set_int(record, "block_bytes", stats.block_bytes);
    plumb_record_set_int(record, "ready_bytes", stats.packed_bytes);
    plumb_record_set_int(record, "scratch_bytes", stats.scratch_bytes);
    plumb_record_set_int(record, "activation_bytes", stats.total_bytes);
    plumb_record_set_double(record, "gflop", 1e-9 * stats.flops);
    plumb_record_end(record);
}
