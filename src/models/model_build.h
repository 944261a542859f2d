// SPDX-License-Identifier: MIT
// Between a model's parameters and those who use them: a trainer's list of names, and instances of
// programs.
#ifndef MODELS_MODEL_BUILD_H
#define MODELS_MODEL_BUILD_H

#include "engine/program.h"
#include "models/model.h"
#include "models/params.h"
#include "models/registry.h"

/// Fills tensors, size and value, the first values drawn from `seed`. All of it in `mem`.
plumb_status model_build_parameters(trainable_model *out, arena *mem, const params *p,
                                    uint64_t seed);

/// An instance of `ready` that reads its parameters from `value`, a block like those of `n`.
plumb_status model_build_instance(program_instance **out, const graph_program *ready,
                                  const network_builder *n, const float *value);

/// Adds output first + k of the instance to the place of leaf k.
void model_build_add_gradient(float *gradient, const program_instance *i, const network_builder *n,
                              int first);

/// A program whose outputs are `terms` terms of a loss and then the gradients of the leaves.
plumb_status model_build_program(graph_program **out, arena *mem, const network_builder *n,
                                 graph_node *const *term, int terms, graph_node *const *gradient);

/// The clips of a replica, and how many of them at once: `wanted`, or all if they are fewer. Fails
/// with PLUMB_EVALUE if something is left over.
plumb_status model_build_shards(int64_t *share, int64_t *group, const training_settings *t,
                                int64_t wanted);

/// Parameters, replicas and shares, as numbers of the record.
void model_build_record_shards(plumb_record *record, const params *p, const training_settings *t,
                               int64_t share, int64_t group);

/// What the planner made of a program, as an object of the record.
void model_build_record_program(plumb_record *record, const char *name, const graph_program *p);

#endif
