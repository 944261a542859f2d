// SPDX-License-Identifier: MIT
// A program from inside, between what builds it and what runs it.
#ifndef ENGINE_PROGRAM_STEPS_H
#define ENGINE_PROGRAM_STEPS_H

#include "engine/fused_loop.h"
#include "engine/plan.h"
#include "engine/program.h"

// Where a value is: in the block, or a bound leaf.
typedef struct program_location {
    int leaf; // -1: in the block
    int64_t offset;
} program_location;

typedef struct program_step {
    plan_call_kind kind;
    const graph_node *n;
    bool accumulate;
    float slope;
    int operand; // first of its places: outputs, then inputs
    int outs, ins;
    fused_loop tape;
    int slot;   // of its weights, or -1
    bool first; // of its stage to use that slot
} program_step;

// A parameter as convolutions of one way want it (conv_pack_weights).
typedef struct packed_weights {
    int leaf;
    conv_pass way;
    const conv_geometry *g;
    int64_t size, at; // floats
    int stage;        // the last that uses it
    bool shared;      // by several steps of one stage
} packed_weights;

struct graph_program {
    arena mem;
    program_form form;
    int steps, stages, operands, leaves, outputs, nodes;
    program_step *step;
    int *stage_end; // steps before the end of each stage
    program_location *operand;
    program_location *output;
    const graph_node **output_node;
    const graph_node **leaf; // bound ones
    int inputs;
    const graph_node **input;
    program_location *input_place;
    packed_weights *slot;
    int slots;
    int64_t shared, ready; // floats of the shared slots, which come first, and of all
    int64_t block, scratch, sum, biggest; // elements
    double flops;
    int tapes, fused;
};

/// Bytes of a number.
static inline size_t program_element_size(const graph_program *p)
{
    return p->form == PROGRAM_REFERENCE ? sizeof(double) : sizeof(float);
}

#endif
