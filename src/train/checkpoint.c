// SPDX-License-Identifier: MIT
// Checkpoints: optimizer.safetensors and weights.safetensors of a run. Both name the configuration,
// data and layout they belong to in their metadata, and carry a checksum.
#include "train/checkpoint.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "io/safetensors.h"

enum { BLOCK_COUNT = 7, METADATA_COUNT = 9, MAX_TENSOR_NAME = 160 };

// Hash of the names, shapes and order of all tensors, states and terms. With `old_names` tensors
// have the names of version 0.1.0.
static plumb_status hash_layout(char out[33], const trainable_model *model, bool old_names)
{
    buffer b = {0};
    char old_name[MAX_TENSOR_NAME];
    for (int64_t i = 0; i < model->tensor_count; i++) {
        // "name:offset,size,size" per tensor, then the names of states and terms.
        const char *name = model->tensors[i].name;
        if (old_names)
            name =
                renames_old_tensor(old_name, sizeof old_name, model->renamed_tensors, name, NULL);
        buffer_printf(&b, "%s:%lld", name, (long long)model->tensors[i].offset);
        for (int k = 0; k < model->tensors[i].rank; k++)
            buffer_printf(&b, ",%lld", (long long)model->tensors[i].shape[k]);
        buffer_put(&b, "\n", 1);
    }
    for (int64_t i = 0; i < model->state_count; i++)
        buffer_printf(&b, "state %s\n", model->state_names[i]);
    for (int64_t i = 0; i < model->term_count; i++)
        buffer_printf(&b, "term %s\n", model->term_names[i]);
    buffer_put(&b, "", 1);
    if (!b.failed) hash_bytes(out, (const char *)b.data, strlen((const char *)b.data));
    const plumb_status st =
        b.failed ? fail(PLUMB_EMEMORY, "out of memory for a checkpoint") : PLUMB_OK;
    buffer_clear(&b);
    return st;
}

// The arrays of optimizer.safetensors. `counts` are step and summed.
static void list_blocks(plumb_named_array out[BLOCK_COUNT], const trainable_model *model,
                        const checkpoint_state *state, int64_t counts[2])
{
    const int64_t two = 2;
    out[0] = (plumb_named_array){
        "value", plumb_array_view(model->parameters, PLUMB_FLOAT32, 1, &model->parameter_count)};
    out[1] =
        (plumb_named_array){"first_moment", plumb_array_view(state->first_moment, PLUMB_FLOAT32, 1,
                                                             &model->parameter_count)};
    out[2] =
        (plumb_named_array){"second_moment", plumb_array_view(state->second_moment, PLUMB_FLOAT32,
                                                              1, &model->parameter_count)};
    out[3] = (plumb_named_array){
        "state", plumb_array_view(model->state, PLUMB_FLOAT64, 1, &model->state_count)};
    out[4] = (plumb_named_array){
        "sum", plumb_array_view(state->sum, PLUMB_FLOAT64, 1, &model->term_count)};
    out[5] = (plumb_named_array){
        "line", plumb_array_view(state->line, PLUMB_FLOAT64, 1, &model->term_count)};
    out[6] = (plumb_named_array){"counts", plumb_array_view(counts, PLUMB_INT64, 1, &two)};
}

// Views of the parameters by tensor, in the order of the layout.
static plumb_status list_weights(plumb_named_array **out, arena *mem, const trainable_model *model)
{
    *out = ARENA_ALLOC(mem, plumb_named_array, model->tensor_count);
    if (!*out) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < model->tensor_count; i++) {
        const model_tensor *x = &model->tensors[i];
        (*out)[i] =
            (plumb_named_array){x->name, plumb_array_view(model->parameters + x->offset,
                                                          PLUMB_FLOAT32, x->rank, x->shape)};
    }
    return PLUMB_OK;
}

// Checksum of dtypes, shapes and numbers, without the names.
static plumb_status hash_named(char out[33], arena *mem, const plumb_named_array *arrays,
                               int64_t count)
{
    const plumb_array **list = ARENA_ALLOC(mem, const plumb_array *, count);
    if (!list) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) list[i] = &arrays[i].array;
    hash_arrays(out, list, (int)count);
    return PLUMB_OK;
}

// Writes arrays with metadata; the file is replaced by one rename.
// `validation` is the error of the best weights, or NULL.
typedef struct file_label {
    const char *file;
    int64_t step;
    const char *validation;
} file_label;

static plumb_status write_file(const run_dir *run, file_label label, const trainable_model *model,
                               const plumb_named_array *arrays, int64_t count, arena *mem)
{
    char sum[33], layout[33], number[24], frames[80];
    run_dir_filename name;
    plumb_status st = hash_named(sum, mem, arrays, count);
    if (!st) st = hash_layout(layout, model, false);
    if (st) return st;
    snprintf(number, sizeof number, "%lld", (long long)label.step);
    snprintf(frames, sizeof frames, "%lldx%lldx%lld", (long long)run->frame_shape[0],
             (long long)run->frame_shape[1], (long long)run->frame_shape[2]);
    // Readers check these: which run, which data, which layout, and that no number changed.
    const safetensors_metadata_entry metadata[METADATA_COUNT] = {
        {"plumb", plumb_version()},
        {"model", model->name},
        {"step", number},
        {"settings", run->config_hashes.hash[0]},
        {"layout", layout},
        {"data", run->data_hash},
        {"frames", frames},
        {"hash", sum},
        {"validation", label.validation},
    };
    return safetensors_write(run_dir_file(name, run->path, label.file), arrays, count, metadata,
                             METADATA_COUNT - !label.validation);
}

static plumb_status save_weights(const run_dir *run, const trainable_model *model, file_label label)
{
    arena mem = {0};
    plumb_named_array *weights;
    plumb_status st = list_weights(&weights, &mem, model);
    if (!st) st = write_file(run, label, model, weights, model->tensor_count, &mem);
    arena_clear(&mem);
    return st;
}

plumb_status checkpoint_save_weights(const run_dir *run, const trainable_model *model, int64_t step)
{
    return save_weights(run, model, (file_label){"weights.safetensors", step, NULL});
}

plumb_status checkpoint_save_best(const run_dir *run, const trainable_model *model, int64_t step,
                                  double validation)
{
    char text[40];
    text_format(text, sizeof text, "%.17g", validation);
    return save_weights(run, model, (file_label){RUN_DIR_BEST, step, text});
}

// The checkpoint first: weights can be restored from it, but not the other way round.
plumb_status checkpoint_save(run_dir *run, const trainable_model *model,
                             const checkpoint_state *state)
{
    arena mem = {0};
    plumb_named_array blocks[BLOCK_COUNT];
    int64_t counts[2] = {state->step, state->summed};
    list_blocks(blocks, model, state, counts);
    plumb_status st = write_file(run, (file_label){"optimizer.safetensors", state->step, NULL},
                                 model, blocks, BLOCK_COUNT, &mem);
    arena_clear(&mem);
    if (st) return st;
    run->saved_step = state->step;
    return checkpoint_save_weights(run, model, state->step);
}

// Hashes that the metadata of a file must have. Either may be NULL: then it is not checked.
typedef struct expected_hashes {
    const run_config_hashes *config; // any of them
    const char *data;
} expected_hashes;

static expected_hashes expect_run(const run_dir *run)
{
    return (expected_hashes){.config = &run->config_hashes, .data = run->data_hash};
}

static bool has_hash(const run_config_hashes *hashes, const char *text)
{
    for (int i = 0; i < hashes->count && text; i++)
        if (!strcmp(hashes->hash[i], text)) return true;
    return false;
}

// Checks that the file belongs to this run and this model. Hashes under the old names of settings
// and tensors are accepted. `advice` says what to do if it does not belong.
static plumb_status check_metadata(const safetensors *file, const trainable_model *model,
                                   expected_hashes expected, const char *advice)
{
    char layout[33], old_layout[33];
    plumb_status st = hash_layout(layout, model, false);
    if (!st) st = hash_layout(old_layout, model, true);
    if (st) return st;
    const char *name = file->file.path, *written_by = safetensors_metadata(file, "model");
    const struct {
        const char *key, *want, *or_want, *why;
    } rows[] = {
        {"layout", layout, old_layout, "has other parameters than this version's model"},
        {"data", expected.data, NULL, "was trained on other data than these"},
    };
    // Files of other programs have none of these keys.
    if (!safetensors_metadata(file, "plumb") || !written_by || !safetensors_metadata(file, "hash"))
        return fail(PLUMB_EFORMAT, "%s: is not a file of a plumb run; %s", name, advice);
    if (strcmp(written_by, model->name))
        return fail(PLUMB_EFORMAT, "%s: is of the model %.40s, config.json is of %s; %s", name,
                    written_by, model->name, advice);
    // The first that differs is reported, with the reason.
    if (expected.config && !has_hash(expected.config, safetensors_metadata(file, "settings")))
        return fail(PLUMB_EFORMAT, "%s: was made with other settings than config.json has; %s",
                    name, advice);
    for (int i = 0; i < 2; i++) {
        const char *got = safetensors_metadata(file, rows[i].key);
        const bool is_right =
            got && rows[i].want &&
            (!strcmp(got, rows[i].want) || (rows[i].or_want && !strcmp(got, rows[i].or_want)));
        if (rows[i].want && !is_right)
            return fail(PLUMB_EFORMAT, "%s: %s; %s", name, rows[i].why, advice);
    }
    return PLUMB_OK;
}

// The index of a tensor by its name or, if the file has it not, by its old name. -1: neither.
static int64_t find_tensor(const safetensors *file, const char *name, name_change *renames,
                           rename_list *used)
{
    char old_name[MAX_TENSOR_NAME];
    name_change *change;
    int64_t at = safetensors_find(file, name);
    if (at >= 0) return at;
    const char *old = renames_old_tensor(old_name, sizeof old_name, renames, name, &change);
    if (change) at = safetensors_find(file, old);
    if (at >= 0) renames_add(used, change);
    return at;
}

// Reads all arrays of the list from the file into their memory and checks their checksum. `renames`
// are old names of tensors; may be NULL.
static plumb_status load_arrays(const safetensors *file, const plumb_named_array *arrays,
                                int64_t count, name_change *renames, arena *mem, const char *advice)
{
    char sum[33];
    const char *name = file->file.path;
    rename_list used = {0};
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = find_tensor(file, arrays[i].name, renames, &used);
        const plumb_array *want = &arrays[i].array;
        if (at < 0)
            return fail(PLUMB_EFORMAT, "%s: has no tensor \"%s\"; %s", name, arrays[i].name,
                        advice);
        // dtype and shape must be those of the model.
        const plumb_array got = safetensors_shape(file, at);
        if (got.dtype != want->dtype || got.ndim != want->ndim ||
            memcmp(got.shape, want->shape, (size_t)got.ndim * sizeof *got.shape)) {
            char found[200], wanted[200];
            return fail(PLUMB_EFORMAT, "%s: tensor \"%s\" is %s %s, wanted %s %s; %s", name,
                        arrays[i].name, plumb_dtype_name(got.dtype),
                        plumb_array_shape_string(found, sizeof found, &got),
                        plumb_dtype_name(want->dtype),
                        plumb_array_shape_string(wanted, sizeof wanted, want), advice);
        }
        const plumb_status st = safetensors_load(want->data, file, at);
        if (st) return st;
    }
    renames_log(&used, name, "tensor");
    // The numbers as they are in memory now must be those that were written.
    const plumb_status st = hash_named(sum, mem, arrays, count);
    if (st) return st;
    return strcmp(sum, safetensors_metadata(file, "hash"))
               ? fail(PLUMB_EFORMAT, "%s: is damaged, its checksum is wrong; %s", name, advice)
               : PLUMB_OK;
}

static const char restore_advice[] = "restore the right file, or start again with the option force";

// Adds what to do to the message of a failure of a file.
static plumb_status add_advice(plumb_status st, const char *advice)
{
    return st == PLUMB_EFORMAT || st == PLUMB_EFILE ? fail(st, "%s; %s", plumb_last_error(), advice)
                                                    : st;
}

// The step in the metadata of a file; -1 if it has none, or something else than digits.
static int64_t read_step(const safetensors *file)
{
    const char *text = safetensors_metadata(file, "step");
    if (!text || !text[0] || text[strspn(text, "0123456789")]) return -1;
    errno = 0;
    const long long step = strtoll(text, NULL, 10);
    return errno ? -1 : step;
}

// Step of weights.safetensors; -1 if it is missing, damaged or of another run.
static int64_t find_weights_step(const run_dir *run, const trainable_model *model)
{
    run_dir_filename name;
    arena mem = {0};
    safetensors file;
    int64_t step = -1;
    if (!safetensors_begin(&file, &mem, run_dir_file(name, run->path, "weights.safetensors"))) {
        if (!check_metadata(&file, model, expect_run(run), "")) step = read_step(&file);
        safetensors_end(&file);
    }
    arena_clear(&mem);
    return step;
}

// Reads parameters, moments, state and counts straight into their memory.
static plumb_status read_checkpoint(const run_dir *run, trainable_model *model,
                                    checkpoint_state *state, const char *name)
{
    arena mem = {0};
    safetensors file;
    plumb_named_array blocks[BLOCK_COUNT];
    int64_t counts[2] = {0};
    list_blocks(blocks, model, state, counts);
    plumb_status st = add_advice(safetensors_begin(&file, &mem, name), restore_advice);
    if (!st) {
        st = check_metadata(&file, model, expect_run(run), restore_advice);
        if (!st) st = load_arrays(&file, blocks, BLOCK_COUNT, NULL, &mem, restore_advice);
        if (!st && (counts[0] < 0 || counts[1] < 0))
            st = fail(PLUMB_EFORMAT, "%s: its step is negative; %s", name, restore_advice);
        safetensors_end(&file);
    }
    state->step = counts[0];
    state->summed = counts[1];
    arena_clear(&mem);
    return st;
}

// No checkpoint and no weights: the run is new. Weights alone: the checkpoint was lost.
plumb_status checkpoint_load(bool *exists, run_dir *run, trainable_model *model,
                             checkpoint_state *state)
{
    run_dir_filename name, other;
    *exists = !access(run_dir_file(name, run->path, "optimizer.safetensors"), F_OK);
    if (!*exists) {
        // Weights are written after the first checkpoint: without one it was lost.
        if (access(run_dir_file(other, run->path, "weights.safetensors"), F_OK)) return PLUMB_OK;
        return fail(PLUMB_EFILE, "%s: is missing, so the run cannot be resumed; %s", name,
                    restore_advice);
    }
    // A process may have been killed between the two files: then weights are written again.
    plumb_status st = read_checkpoint(run, model, state, name);
    if (st) return st;
    run->saved_step = state->step;
    return find_weights_step(run, model) == state->step
               ? PLUMB_OK
               : checkpoint_save_weights(run, model, state->step);
}

bool checkpoint_find_frames(int64_t shape[3], const char *path)
{
    run_dir_filename name;
    arena mem = {0};
    safetensors file;
    bool found = false;
    if (!safetensors_begin(&file, &mem, run_dir_file(name, path, "weights.safetensors"))) {
        const char *text = safetensors_metadata(&file, "frames");
        long long size[3];
        found = text && sscanf(text, "%lldx%lldx%lld", &size[0], &size[1], &size[2]) == 3;
        for (int i = 0; i < 3 && found; i++) {
            shape[i] = (int64_t)size[i];
            found = size[i] > 0 && size[i] <= CHECKPOINT_MAX_SIDE;
        }
        safetensors_end(&file);
    }
    arena_clear(&mem);
    return found;
}

double checkpoint_find_best(int64_t *step, const run_dir *run, const trainable_model *model)
{
    run_dir_filename name;
    arena mem = {0};
    safetensors file;
    double best = (double)INFINITY;
    if (!safetensors_begin(&file, &mem, run_dir_file(name, run->path, RUN_DIR_BEST))) {
        const char *text = safetensors_metadata(&file, "validation");
        if (text && !check_metadata(&file, model, expect_run(run), ""))
            best = text_parse_double(text, NULL);
        *step = read_step(&file);
        safetensors_end(&file);
    }
    arena_clear(&mem);
    return isfinite(best) ? best : (double)INFINITY;
}

plumb_status checkpoint_load_weights(trainable_model *model, checkpoint_origin *origin,
                                     const char *path, const run_config_hashes *config)
{
    return checkpoint_load_file(model, origin, path, config, "weights.safetensors");
}

plumb_status checkpoint_load_file(trainable_model *model, checkpoint_origin *origin,
                                  const char *path, const run_config_hashes *config,
                                  const char *weights_file)
{
    const expected_hashes expected = {.config = config};
    run_dir_filename name;
    arena mem = {0};
    safetensors file;
    plumb_named_array *weights;
    // Weights can be made again from the checkpoint.
    static const char advice[] = "training the run again with the option resume writes it anew";
    if (access(run_dir_file(name, path, weights_file), F_OK))
        return fail(PLUMB_EFILE, "%s: is missing; %s", name,
                    strcmp(weights_file, RUN_DIR_BEST) ? advice
                                                       : "the run has no validation clips");
    plumb_status st = add_advice(safetensors_begin(&file, &mem, name), advice);
    if (!st) {
        st = check_metadata(&file, model, expected, advice);
        if (!st) st = list_weights(&weights, &mem, model);
        if (!st)
            st = load_arrays(&file, weights, model->tensor_count, model->renamed_tensors, &mem,
                             advice);
        const char *data = safetensors_metadata(&file, "data");
        origin->step = read_step(&file);
        if (!st && origin->step < 0)
            st = fail(PLUMB_EFORMAT, "%s: its metadata has no step; %s", name, advice);
        snprintf(origin->data_hash, sizeof origin->data_hash, "%s", data ? data : "");
        safetensors_end(&file);
    }
    arena_clear(&mem);
    return st;
}
