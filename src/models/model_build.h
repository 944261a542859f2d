// SPDX-License-Identifier: MIT
// What the models share between their networks and the trainer: the list of parameters, training
// programs, instances, shards of a batch and records of cost.
#ifndef MODELS_MODEL_BUILD_H
#define MODELS_MODEL_BUILD_H

#include "engine/program.h"
#include "models/model.h"
#include "models/params.h"
#include "models/registry.h"

/// Fills tensors and parameters of `model`; the initial values are drawn from `seed`. Everything is
/// allocated in `mem`.
plumb_status model_build_parameters(trainable_model *model, arena *mem, const params *layout,
                                    uint64_t seed);

/// Creates an instance of `program` that reads its parameters from `parameters`, a block in the
/// layout of the net's params.
plumb_status model_build_instance(program_instance **out, const graph_program *program,
                                  const network_builder *net, const float *parameters);

/// Adds the gradients, outputs first, first + 1, .. of the instance in the order of the net's
/// leaves, to `gradient`, a block in the layout of the params.
void model_build_add_gradient(float *gradient, const program_instance *instance,
                              const network_builder *net, int first);

/// Compiles a program whose outputs are `term_count` loss terms and then the gradients of the
/// leaves.
plumb_status model_build_program(graph_program **out, arena *mem, const network_builder *net,
                                 graph_node *const *terms, int term_count,
                                 graph_node *const *gradients);

/// Clips per replica. Fails with PLUMB_EVALUE if the replicas do not divide the batch.
plumb_status model_build_shard(int64_t *shard, const training_settings *training);

/// Clips per program run: `wanted`, or the shard if that is smaller. Fails with PLUMB_EVALUE if it
/// does not divide the shard.
plumb_status model_build_microbatch(int64_t *microbatch, int64_t shard, int64_t wanted);

/// Records the number of parameters, of replicas and of clips per replica.
void model_build_record_shards(plumb_record *record, const params *layout,
                               const training_settings *training, int64_t shard);

/// Records the statistics of a compiled program as an object `name`.
void model_build_record_program(plumb_record *record, const char *name,
                                const graph_program *program);

#endif
