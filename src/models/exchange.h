// SPDX-License-Identifier: MIT
// The parameters of a model as the tensors of a PyTorch state dict: their names, shapes and order
// of numbers. A model with published PyTorch code has its names and layouts there; the others have
// the names and layouts that torch.nn gives the same layers.
#ifndef MODELS_EXCHANGE_H
#define MODELS_EXCHANGE_H

#include "base/arena.h"
#include "models/model.h"

/// A tensor of a state dict.
typedef struct exchange_tensor {
    const char *name;
    int rank;
    int64_t shape[8];
    int64_t *place; ///< of each of its numbers in the block of parameters; row-major
} exchange_tensor;

struct exchange_list {
    exchange_tensor *at;
    int64_t count, room;
};
typedef struct exchange_list exchange_list;

/// Adds a tensor; `place` is still to be filled. NULL if out of memory. Lives in `mem`.
exchange_tensor *exchange_add(exchange_list *list, arena *mem, const char *name, int rank,
                              const int64_t *shape);

/// The numbers of a tensor.
int64_t exchange_count(const exchange_tensor *tensor);

/// All tensors of a model: each parameter is a number of exactly one of them. Without published
/// code a name ends in ".weight" for ".w" and ".bias" for ".b"; convolutions are (out, in, height,
/// width), matrices (out, in), and all others as they are.
plumb_status exchange_list_model(exchange_list *out, arena *mem, const trainable_model *model);

#endif
