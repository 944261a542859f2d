// SPDX-License-Identifier: MIT
// A program from inside, between what builds it and what runs it.
#ifndef ENGINE_PROGRAM_STEPS_H
#define ENGINE_PROGRAM_STEPS_H

#include "engine/fused_loop.h"
#include "engine/plan.h"
#include "engine/program.h"

// Where a value is: in the block, or a bound leaf.
typedef struct place {
    int leaf; // -1: in the block
    int64_t offset;
} place;

typedef struct step {
    unit_kind kind;
    const node *n;
    bool accumulate;
    float slope;
    int operand; // first of its places: outputs, then inputs
    int outs, ins;
    tape tape;
    int slot;   // of its weights, or -1
    bool first; // of its stage to use that slot
} step;

// A parameter as convolutions of one way want it (conv_ready).
typedef struct slot {
    int leaf;
    conv_way way;
    const conv_geometry *g;
    int64_t size, at; // floats
    int stage;        // the last that uses it
    bool shared;      // by several steps of one stage
} slot;

struct program {
    arena mem;
    program_form form;
    int steps, stages, operands, leaves, outputs, nodes;
    step *step;
    int *stage_end; // steps before the end of each stage
    place *operand;
    place *output;
    const node **output_node;
    const node **leaf; // bound ones
    int inputs;
    const node **input;
    place *input_place;
    slot *slot;
    int slots;
    int64_t shared, ready; // floats of the shared slots, which come first, and of all
    int64_t block, scratch, sum, biggest; // elements
    double flops;
    int tapes, fused;
};

/// Bytes of a number.
static inline size_t program_element(const program *p)
{
    return p->form == PROGRAM_JUDGE ? sizeof(double) : sizeof(float);
}

#endif
