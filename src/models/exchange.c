// SPDX-License-Identifier: MIT
// State dicts of models without published PyTorch code: plumb's convolutions are (height, width,
// in, out) and its matrices (in, out), those of torch.nn (out, in, height, width) and (out, in).
#include "models/exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

int64_t exchange_count(const exchange_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
    return count;
}

exchange_tensor *exchange_add(exchange_list *list, arena *mem, const char *name, int rank,
                              const int64_t *shape)
{
    if (list->count == list->room) {
        const int64_t room = list->room ? 2 * list->room : 64;
        exchange_tensor *grown = ARENA_ALLOC(mem, exchange_tensor, room);
        if (!grown) return NULL;
        if (list->count) memcpy(grown, list->at, (size_t)list->count * sizeof *grown);
        list->at = grown;
        list->room = room;
    }
    exchange_tensor *tensor = &list->at[list->count];
    *tensor = (exchange_tensor){.name = arena_strdup(mem, name), .rank = rank};
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    tensor->place = ARENA_ALLOC(mem, int64_t, exchange_count(tensor));
    if (!tensor->name || !tensor->place) return NULL;
    list->count++;
    return tensor;
}

// "enc.proj.w" is "enc.proj.weight".
static void translate_name(char *out, size_t size, const char *name)
{
    const size_t length = strlen(name);
    const char *end = length > 2 ? name + length - 2 : "";
    if (!strcmp(end, ".w")) snprintf(out, size, "%.*s.weight", (int)length - 2, name);
    else if (!strcmp(end, ".b")) snprintf(out, size, "%.*s.bias", (int)length - 2, name);
    else snprintf(out, size, "%s", name);
}

static plumb_status add_parameter(exchange_list *out, arena *mem, const model_tensor *tensor)
{
    char name[200];
    const int64_t *s = tensor->shape;
    translate_name(name, sizeof name, tensor->name);
    int64_t shape[8];
    memcpy(shape, s, sizeof shape);
    if (tensor->rank == 4) shape[0] = s[3], shape[1] = s[2], shape[2] = s[0], shape[3] = s[1];
    if (tensor->rank == 2) shape[0] = s[1], shape[1] = s[0];
    exchange_tensor *added = exchange_add(out, mem, name, tensor->rank, shape);
    if (!added) return PLUMB_EMEMORY;
    // (in, out) is the last two axes of both; the others are the positions of the kernel.
    const bool turned = tensor->rank == 4 || tensor->rank == 2;
    const int64_t count = exchange_count(added), positions = tensor->rank == 4 ? s[0] * s[1] : 1;
    for (int64_t i = 0; i < count; i++) {
        if (!turned) {
            added->place[i] = tensor->offset + i;
            continue;
        }
        const int64_t k = i % positions, in = i / positions % shape[1],
                      to = i / positions / shape[1];
        added->place[i] = tensor->offset + (k * shape[1] + in) * shape[0] + to;
    }
    return PLUMB_OK;
}

plumb_status exchange_list_model(exchange_list *out, arena *mem, const trainable_model *model)
{
    *out = (exchange_list){0};
    if (model->list_published) return model->list_published(model->context, out, mem);
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < model->tensor_count && !st; i++)
        st = add_parameter(out, mem, &model->tensors[i]);
    return st;
}
