// SPDX-License-Identifier: MIT
// Runs a program: one block of memory with every value at its planned offset, and a loop over the
// steps. All pointers are worked out when an instance is made or a parameter is bound.
#include <stdlib.h>
#include <string.h>

#include "engine/gradient_sum.h"
#include "engine/op_fast.h"
#include "engine/program_steps.h"

struct program_instance {
    const graph_program *program;
    char *block;           // values, then shared packed weights, then scratch
    const void **leaf;     // where the bound leaves are
    void **operand;        // pointers to all operands, in the order of the program's locations
    float *scratch;        // working memory of the kernels
    float *packed;         // packed weights, at the offsets of the program's slots
    bool frozen;           // all slots are packed, and the parameters no longer change
    float *frozen_weights; // their memory, if it is this instance's; else NULL
};

// ---- memory ----

// A location is a bound leaf of the caller, or an offset in the block, in elements.
static void *resolve_location(const program_instance *instance, program_location location)
{
    if (location.leaf >= 0) return (void *)instance->leaf[location.leaf];
    return instance->block + location.offset * (int64_t)program_element_size(instance->program);
}

static void resolve_operands(program_instance *instance)
{
    const graph_program *program = instance->program;
    for (int k = 0; k < program->operands; k++)
        instance->operand[k] = resolve_location(instance, program->operand[k]);
}

plumb_status instance_create(program_instance **out, const graph_program *program)
{
    // One allocation of values, shared packed weights and scratch, aligned to a cache line.
    const int64_t element = (int64_t)program_element_size(program);
    int64_t bytes =
        (program->block_size + program->shared_size + program->scratch_size + 64) * element;
    program_instance *instance = calloc(1, sizeof *instance);
    if (instance) {
        instance->program = program;
        instance->block = aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64));
        instance->leaf = calloc((size_t)program->leaves + 1, sizeof *instance->leaf);
        instance->operand = calloc((size_t)program->operands + 1, sizeof *instance->operand);
    }
    if (!instance || !instance->block || !instance->leaf || !instance->operand) {
        instance_free(instance);
        return fail(PLUMB_EMEMORY, "out of memory for a block of %lld MiB",
                    (long long)(bytes >> 20));
    }
    memset(instance->block, 0, (size_t)bytes); // also maps the pages before the first step
    instance->packed = (float *)(instance->block + program->block_size * element);
    instance->scratch = instance->packed + program->shared_size;
    resolve_operands(instance);
    *out = instance;
    return PLUMB_OK;
}

void instance_free(program_instance *instance)
{
    if (!instance) return;
    free(instance->block);
    free(instance->leaf);
    free(instance->operand);
    free(instance->frozen_weights);
    free(instance);
}

// Brings the weights of one operation into the layout of its kernel.
static void pack_slot(const program_instance *instance, const packed_weights *slot)
{
    float *packed = instance->packed + slot->offset;
    const float *weights = instance->leaf[slot->leaf];
    if (slot->node->op == OP_MATMUL) op_fast_matmul_pack(packed, slot->node, weights);
    else
        conv_pack_weights(packed, weights, &slot->node->attr.conv,
                          slot->node->op == OP_CONV ? CONV_PASS_FORWARD : CONV_PASS_GRAD_INPUT,
                          instance->scratch);
}

// Packs all weights now. `like`, or NULL: an instance whose packed weights are used instead of a
// copy.
plumb_status instance_freeze_parameters(program_instance *instance, const program_instance *like)
{
    const graph_program *program = instance->program;
    if (like) instance->packed = like->packed;
    else {
        const size_t bytes = ((size_t)program->packed_size * sizeof(float) + 64) / 64 * 64;
        free(instance->frozen_weights);
        instance->packed = instance->frozen_weights = aligned_alloc(64, bytes);
        if (!instance->frozen_weights)
            return fail(PLUMB_EMEMORY, "out of memory for %lld MiB of packed weights",
                        (long long)(bytes >> 20));
        for (int k = 0; k < program->slots; k++) pack_slot(instance, &program->slot[k]);
    }
    instance->frozen = true;
    return PLUMB_OK;
}

// ---- leaves and outputs ----

static int find_leaf(const graph_node *const *list, int count, const graph_node *leaf)
{
    for (int k = 0; k < count; k++)
        if (list[k] == leaf) return k;
    return -1;
}

float *instance_input(program_instance *instance, const graph_node *leaf)
{
    const graph_program *program = instance->program;
    int k = find_leaf(program->input, program->inputs, leaf);
    return k < 0 ? NULL : resolve_location(instance, program->input_location[k]);
}

// The program reads `value` in place: the caller keeps it alive and may change it between runs.
void instance_bind(program_instance *instance, const graph_node *leaf, const float *value)
{
    int k = find_leaf(instance->program->leaf, instance->program->leaves, leaf);
    if (k < 0) return;
    instance->leaf[k] = value;
    resolve_operands(instance);
}

const float *instance_output(const program_instance *instance, int index)
{
    return resolve_location(instance, instance->program->output[index]);
}

// Sets a leaf from doubles; the fast form stores floats.
void instance_set(program_instance *instance, const graph_node *leaf, const double *value)
{
    const graph_program *program = instance->program;
    int k = find_leaf(program->input, program->inputs, leaf);
    if (k < 0) return;
    int64_t n = shape_count(&leaf->shape);
    void *to = resolve_location(instance, program->input_location[k]);
    if (program->form == PROGRAM_REFERENCE) memcpy(to, value, (size_t)n * sizeof *value);
    else
        for (int64_t j = 0; j < n; j++) ((float *)to)[j] = (float)value[j];
}

void instance_get(const program_instance *instance, int index, double *value)
{
    const graph_program *program = instance->program;
    int64_t n = shape_count(&program->output_node[index]->shape);
    const void *from = resolve_location(instance, program->output[index]);
    if (program->form == PROGRAM_REFERENCE) memcpy(value, from, (size_t)n * sizeof *value);
    else
        for (int64_t j = 0; j < n; j++) value[j] = (double)((const float *)from)[j];
}

// ---- steps ----

// One operation in double: its reference function, or element by element.
static void run_reference_step(const program_step *step, void **operand)
{
    double *out = operand[0];
    const double *const *in = (const double *const *)(operand + 1);
    const graph_node *node = step->node;
    const op_kind_info *info = op_info(node->op);
    if (info->reference) {
        info->reference(out, node, in);
        return;
    }
    for (int64_t j = 0; j < shape_count(&node->shape); j++) {
        double x[2] = {in[0][j], node->inputs > 1 ? in[1][j] : 0.0};
        out[j] = info->scalar(&node->attr, x);
    }
}

// The step's packed weights, or NULL if it has none. Unless the parameters are frozen, the first
// step of a stage that uses them packs them.
static const float *find_packed_weights(const program_instance *instance, const program_step *step)
{
    const packed_weights *slot = step->slot < 0 ? NULL : &instance->program->slot[step->slot];
    if (!slot || !(instance->frozen || slot->shared)) return NULL;
    if (step->first_of_slot && !instance->frozen) pack_slot(instance, slot);
    return instance->packed + slot->offset;
}

// One operation in float. Convolutions have bias and leaky slope built in, others go by the table.
static void run_op_step(const program_instance *instance, const program_step *step, void **operand)
{
    const float *const *in = (const float *const *)(operand + 1);
    const graph_node *node = step->node;
    const conv_geometry *conv = &node->attr.conv;
    const bool is_conv = node->op == OP_CONV;
    const float *packed = find_packed_weights(instance, step);
    const float *bias = step->ins > 2 ? in[2] : NULL;
    float *out = operand[0], *scratch = instance->scratch;
    if (step->parts > 1) op_fast_matmul_sum(out, node, in, step->parts, step->accumulate, scratch);
    else if (packed && node->op == OP_MATMUL)
        op_fast_matmul_packed(out, node, in[0], packed, step->accumulate);
    else if (packed && is_conv)
        conv_forward_packed(out, in[0], packed, bias, step->slope, conv, scratch);
    else if (packed) conv_grad_input_packed(out, in[0], packed, conv, scratch);
    else if (is_conv || node->op == OP_UPCONV)
        (is_conv ? conv_forward : upconv_forward)(out, in[0], in[1], bias, step->slope, conv,
                                                  scratch);
    else op_info(node->op)->fast(out, node, in, step->accumulate, scratch);
}

// Steps of one stage. Later stages may use the values of earlier ones.
void instance_run(program_instance *instance, int stage)
{
    const graph_program *program = instance->program;
    int first = stage ? program->stage_end[stage - 1] : 0;
    for (int k = first; k < program->stage_end[stage]; k++) {
        const program_step *step = &program->step[k];
        void **operand = instance->operand + step->operand;
        if (program->form == PROGRAM_REFERENCE) {
            run_reference_step(step, operand);
        } else if (step->kind == PLAN_CALL_FUSED) {
            fused_loop_run(&step->fused, (float *const *)operand,
                           (const float *const *)(operand + step->outs), instance->scratch);
        } else if (step->kind == PLAN_CALL_ADD) {
            int64_t n = shape_count(&step->node->shape);
            if (step->accumulate) gradient_add(operand[0], operand[1], n);
            else memcpy(operand[0], operand[1], (size_t)n * sizeof(float));
        } else {
            run_op_step(instance, step, operand);
        }
    }
}
