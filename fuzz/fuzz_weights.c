// SPDX-License-Identifier: MIT
// Any bytes as the weights and as the checkpoint of a run. Inputs that begin with "{" are the
// header of such a file, with the numbers of a right one after it; all others are a file as a
// whole.
#include "base/arena.h"
#include "base/buffer.h"
#include "support.h"
#include "train/checkpoint.h"

enum { TENSOR = 6, PARAMETERS = TENSOR + 2 };

// A model of two tensors. No step of it is ever computed.
typedef struct small_model {
    float value[PARAMETERS], first[PARAMETERS], second[PARAMETERS];
    double state[1], sum[1], line[1];
    trainable_model model;
    checkpoint_state training;
    run_dir run;
} small_model;

static void make_model(small_model *m)
{
    static const model_tensor tensors[] = {{"a", 2, {2, 3}, 0}, {"b", 1, {2}, TENSOR}};
    static const char *const names[] = {"loss"};
    *m = (small_model){.value = {1, 2, 3, 4, 5, 6, 7, 8}};
    m->model = (trainable_model){.name = "small",
                                 .tensor_count = 2,
                                 .tensors = tensors,
                                 .parameter_count = PARAMETERS,
                                 .parameters = m->value,
                                 .term_count = 1,
                                 .term_names = names,
                                 .state_count = 1,
                                 .state_names = names,
                                 .state = m->state};
    m->training = (checkpoint_state){.step = 3,
                                     .first_moment = m->first,
                                     .second_moment = m->second,
                                     .sum = m->sum,
                                     .line = m->line};
    snprintf(m->run.path, sizeof m->run.path, "%s", fuzz_folder());
    m->run.config_hashes = (run_config_hashes){.count = 2, .hash = {"settings", "old"}};
    for (int i = 0; i < 3; i++) m->run.frame_shape[i] = 4;
    strcpy(m->run.data_hash, "data");
}

// The numbers of a right file, behind its header.
static void keep_numbers(buffer *out, const char *name)
{
    arena mem = {0};
    FILE *file = fopen(fuzz_path(name), "rb");
    uint8_t text[4096];
    const size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    if (size < 8) abort();
    fclose(file);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | text[i];
    if (header > size - 8) abort();
    buffer_put(out, text + 8 + header, size - 8 - header);
    arena_clear(&mem);
}

static void place_file(const char *name, const uint8_t *data, size_t size, const buffer *numbers)
{
    buffer text = {0};
    if (size && data[0] == '{') {
        uint8_t head[8];
        for (int i = 0; i < 8; i++) head[i] = (uint8_t)((uint64_t)size >> 8 * i);
        buffer_put(&text, head, 8);
        buffer_put(&text, data, size);
        buffer_put(&text, numbers->data, numbers->size);
    } else {
        buffer_put(&text, data, size);
    }
    fuzz_write(name, text.data, text.size);
    buffer_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char weights[] = "weights.safetensors", optimizer[] = "optimizer.safetensors";
    static buffer numbers[2];
    small_model m;
    make_model(&m);
    if (!numbers[0].data) {
        if (checkpoint_save(&m.run, &m.model, &m.training)) abort();
        keep_numbers(&numbers[0], weights);
        keep_numbers(&numbers[1], optimizer);
    }
    checkpoint_origin origin;
    place_file(weights, data, size, &numbers[0]);
    if (!checkpoint_load_weights(&m.model, &origin, fuzz_folder(), NULL) && origin.step < 0)
        abort();
    int64_t shape[3];
    if (checkpoint_find_frames(shape, fuzz_folder()))
        for (int i = 0; i < 3; i++)
            if (shape[i] < 1 || shape[i] > CHECKPOINT_MAX_SIDE) abort();
    // The checkpoint that is read can be saved, and read again.
    bool exists;
    place_file(optimizer, data, size, &numbers[1]);
    make_model(&m);
    if (!checkpoint_load(&exists, &m.run, &m.model, &m.training)) {
        if (!exists || checkpoint_save(&m.run, &m.model, &m.training) ||
            checkpoint_load(&exists, &m.run, &m.model, &m.training))
            abort();
    }
    return 0;
}
