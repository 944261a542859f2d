// SPDX-License-Identifier: MIT
// The inside of a program, shared by program.c, which builds it, and instance.c, which runs it.
#ifndef ENGINE_PROGRAM_STEPS_H
#define ENGINE_PROGRAM_STEPS_H

#include "engine/fused_loop.h"
#include "engine/plan.h"
#include "engine/program.h"

// Where a value is: in the block, or in memory that the caller binds.
typedef struct program_location {
    int leaf;       // Index of a bound leaf. -1: in the block.
    int64_t offset; // In elements from the start of the block.
} program_location;

typedef struct program_step {
    plan_call_kind kind;
    const graph_node *node; // The operation; of a fused loop the first one.
    bool accumulate;        // Add to the output instead of writing it.
    float slope;            // Leaky ReLU after a convolution; 1 for none.
    int operand;            // Index of its first location: outputs first, then inputs.
    int outs, ins;          // Numbers of outputs and inputs.
    int parts;              // Products added to the output at once, two inputs each; mostly 1.
    fused_loop fused;       // PLAN_CALL_FUSED only.
    int slot;               // Index of its packed weights. -1: none.
    bool first_of_slot;     // The first step of its stage that uses the slot: packs the weights.
} program_step;

// A parameter packed as one pass of a convolution (conv_pack_weights) or a product (gemm_pack)
// wants it.
typedef struct packed_weights {
    int leaf;
    const graph_node *node; // The first operation that uses it.
    int64_t size, offset;   // In floats.
    int stage;              // The last stage that uses it.
    bool shared;            // Several steps of one stage use it, so packing it once saves time.
} packed_weights;

struct graph_program {
    arena memory;
    program_form form;
    program_step *step;
    int steps;
    int *stage_end; // (stages) index of the step after the last one of each stage
    int stages;
    program_location *operand; // of all steps, one after the other
    int operands;
    program_location *output;
    const graph_node **output_node;
    int outputs;
    const graph_node **leaf; // bound leaves, in the order of program_location.leaf
    int leaves;
    const graph_node **input; // leaves in the block
    program_location *input_location;
    int inputs;
    packed_weights *slot;
    int slots;
    int64_t shared_size, packed_size; // Floats of the shared slots, which come first, and of all.
    int64_t block_size, scratch_size, total_size, largest_size; // In elements.
    int nodes, fused_loops, fused_ops;
    double flops;
};

/// Bytes per element.
static inline size_t program_element_size(const graph_program *program)
{
    return program->form == PROGRAM_REFERENCE ? sizeof(double) : sizeof(float);
}

#endif
