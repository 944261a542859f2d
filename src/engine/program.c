// SPDX-License-Identifier: MIT
// Turns a plan into steps that can run: each with its kernel, the locations of its operands and the
// scratch memory it needs.
#include "engine/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/op_fast.h"
#include "engine/program_steps.h"

typedef struct program_builder {
    graph_plan plan;
    graph_program *program;
} program_builder;

// The memory of a value: that of its home, which is a bound leaf or an offset of the block.
static program_location locate_value(const program_builder *builder, int v)
{
    const graph_plan *plan = &builder->plan;
    const graph_program *program = builder->program;
    const plan_value *home = &plan->value[plan->value[v].home];
    if (home->node->op == OP_LEAF && home->node->attr.bound && !plan->reference) {
        for (int i = 0; i < program->leaves; i++)
            if (program->leaf[i] == home->node) return (program_location){.leaf = i};
    }
    return (program_location){.leaf = -1, .offset = home->offset};
}

static void add_operand(program_builder *builder, int v)
{
    builder->program->operand[builder->program->operands++] = locate_value(builder, v);
}

// Steps run one after the other, so they share the largest scratch that any of them needs.
static void require_scratch(graph_program *program, int64_t size)
{
    if (size > program->scratch_size) program->scratch_size = size;
}

// ---- fused loops ----

// How a fused loop finds the elements of this operand.
static fused_operand make_operand(const graph_node *node)
{
    fused_operand operand = {.view = FUSED_FULL};
    const int axis = node->attr.axis, rank = node->shape.rank;
    if (node->op == OP_CONSTANT) {
        operand.view = FUSED_SCALAR;
        operand.number = (float)node->attr.value;
    } else if (node->op == OP_BROADCAST) {
        operand.view = FUSED_BROADCAST;
        // Shape (outer, middle, inner): the middle axes are the new ones, along which values
        // repeat.
        operand.middle = operand.inner = 1;
        for (int i = axis; i < rank; i++)
            *(i < axis + node->attr.axes ? &operand.middle : &operand.inner) *= node->shape.size[i];
    } else if (node->op == OP_SLICE) {
        // Of every `whole` elements of the source, `part` are taken from `start` on.
        operand.view = FUSED_SLICE;
        int64_t inner = 1;
        for (int i = axis + 1; i < rank; i++) inner *= node->shape.size[i];
        operand.part = node->shape.size[axis] * inner;
        operand.whole = node->in[0]->shape.size[axis] * inner;
        operand.start = node->attr.start * inner;
    }
    return operand;
}

// A fused loop under construction. Registers 0 .. members-1 hold the results of its members, those
// after them the operands that it reads.
typedef struct fused_builder {
    const graph_plan *plan;
    const plan_call *call;
    fused_operand *operand;
    int *operand_value; // which value each operand is
    int operands;
} fused_builder;

// The register of a member's input: that of another member, or of an operand, added if it is new.
static int find_register(fused_builder *fused, const graph_node *input)
{
    const graph_plan *plan = fused->plan;
    const plan_call *call = fused->call;
    int v = plan_value_index(plan, input);
    for (int i = 0; i < call->members; i++)
        if (plan->member[call->first_member + i] == v) return i;
    for (int i = 0; i < fused->operands; i++)
        if (fused->operand_value[i] == v) return call->members + i;
    fused->operand_value[fused->operands] = v;
    fused->operand[fused->operands] = make_operand(input);
    fused->operand[fused->operands].reg = call->members + fused->operands;
    return call->members + fused->operands++;
}

static plumb_status make_fused_step(program_builder *builder, program_step *step,
                                    const plan_call *call)
{
    const graph_plan *plan = &builder->plan;
    graph_program *program = builder->program;
    const int *member = plan->member + call->first_member;
    fused_instruction *code = ARENA_ALLOC(&program->memory, fused_instruction, call->members);
    int *write = ARENA_ALLOC(&program->memory, int, call->members);
    fused_builder fused = {.plan = plan, .call = call};
    fused.operand = ARENA_ALLOC(&program->memory, fused_operand, (2 * call->members));
    fused.operand_value = ARENA_ALLOC(plan->memory, int, (2 * call->members));
    if (!code || !write || !fused.operand || !fused.operand_value) return PLUMB_EMEMORY;

    // One instruction per member; members that are read from memory are outputs.
    step->operand = program->operands;
    for (int i = 0; i < call->members; i++) {
        const plan_value *value = &plan->value[member[i]];
        const graph_node *node = value->node;
        code[i] = (fused_instruction){.op = node->op, .out = i, .value = (float)node->attr.value};
        code[i].a = find_register(&fused, node->in[0]);
        code[i].b = node->inputs > 1 ? find_register(&fused, node->in[1]) : code[i].a;
        if (!value->stored) continue;
        write[step->outs++] = i;
        add_operand(builder, member[i]);
    }
    // A constant reads no memory; its location only fills the place.
    for (int i = 0; i < fused.operands; i++) {
        bool constant = fused.operand[i].view == FUSED_SCALAR;
        add_operand(builder,
                    constant ? member[0] : plan_find_storage(plan, fused.operand_value[i], true));
    }
    step->ins = fused.operands;
    step->node = plan->value[member[0]].node;
    step->fused = (fused_loop){.count = shape_count(&step->node->shape),
                               .codes = call->members,
                               .reads = fused.operands,
                               .writes = step->outs,
                               .registers = call->members + fused.operands,
                               .code = code,
                               .read = fused.operand,
                               .write = write};
    require_scratch(program, fused_loop_scratch(&step->fused));
    program->fused_loops++;
    program->fused_ops += call->members;
    return PLUMB_OK;
}

// ---- steps ----

// A call of one operation, or an addition to a sum.
static void make_op_step(program_builder *builder, program_step *step, const plan_call *call)
{
    const graph_plan *plan = &builder->plan;
    step->operand = builder->program->operands;
    step->outs = step->parts = 1;
    step->slope = call->slope;
    step->accumulate = call->accumulate;
    add_operand(builder, call->result);
    if (call->kind == PLAN_CALL_ADD) {
        step->node = plan->value[call->result].node;
        add_operand(builder, plan_find_storage(plan, call->source, false));
        step->ins = 1;
        return;
    }
    const graph_node *node = step->node = plan->value[plan->member[call->first_member]].node;
    for (int k = 0; k < node->inputs; k++)
        add_operand(builder, plan_find_storage(plan, plan_value_index(plan, node->in[k]), false));
    step->ins = node->inputs;
    if (call->bias >= 0) {
        add_operand(builder, plan_find_storage(plan, call->bias, false));
        step->ins++;
    }
    // Cost and scratch memory of the kernel.
    const op_kind_info *info = op_info(node->op);
    if (info->flops) builder->program->flops += info->flops(node);
    require_scratch(builder->program, info->scratch && !plan->reference ? info->scratch(node) : 0);
}

// Products of one sum that follow each other become one step (plan_delay_products).
static bool joins_step(const program_builder *builder, const program_step *step,
                       const plan_call *before, const plan_call *call)
{
    const graph_plan *plan = &builder->plan;
    return before && before->stage == call->stage && plan_is_delayed(plan, before) &&
           plan_is_delayed(plan, call) &&
           plan->value[before->result].home == plan->value[call->result].home &&
           step->node->in[0]->shape.size[0] ==
               plan->value[call->result].node->in[0]->shape.size[0] &&
           step->parts < plan_delayed_parts(step->node);
}

// Adds the inputs of one more product to the step.
static void add_part(program_builder *builder, program_step *step, const plan_call *call)
{
    const graph_plan *plan = &builder->plan;
    const graph_node *node = plan->value[call->result].node;
    for (int k = 0; k < 2; k++)
        add_operand(builder, plan_find_storage(plan, plan_value_index(plan, node->in[k]), false));
    step->ins += 2;
    step->parts++;
    builder->program->flops += op_info(OP_MATMUL)->flops(node);
    require_scratch(builder->program, op_fast_matmul_sum_scratch(node, step->parts));
}

static plumb_status make_steps(program_builder *builder)
{
    graph_program *program = builder->program;
    const graph_plan *plan = &builder->plan;
    // An upper bound of the operands: a member has one result and up to two inputs.
    int64_t max_operands = 0;
    for (int c = 0; c < plan->calls; c++) {
        const plan_call *call = &plan->call[c];
        max_operands += call->kind == PLAN_CALL_FUSED ? 3 * call->members
                        : call->kind == PLAN_CALL_OP
                            ? 2 + plan->value[plan->member[call->first_member]].node->inputs
                            : 2;
        program->stages = call->stage >= program->stages ? call->stage + 1 : program->stages;
    }
    // One step per call, in order; stage_end[k] counts the steps up to stage k.
    program->step = ARENA_ALLOC(&program->memory, program_step, plan->calls);
    program->operand = ARENA_ALLOC(&program->memory, program_location, max_operands);
    program->stage_end = ARENA_ALLOC(&program->memory, int, (program->stages + 1));
    if (!program->step || !program->operand || !program->stage_end) return PLUMB_EMEMORY;
    const plan_call *before = NULL; // The call of the last step.
    for (int i = 0; i < plan->calls; i++) {
        const plan_call *call = &plan->call[plan->order[i]];
        if (call->kind == PLAN_CALL_NONE) continue;
        if (joins_step(builder, &program->step[program->steps - (before != NULL)], before, call)) {
            add_part(builder, &program->step[program->steps - 1], call);
            continue;
        }
        program_step *step = &program->step[program->steps++];
        step->kind = call->kind;
        before = call;
        if (call->kind == PLAN_CALL_FUSED) {
            plumb_status st = make_fused_step(builder, step, call);
            if (st) return st;
        } else make_op_step(builder, step, call);
        for (int k = call->stage; k < program->stages; k++) program->stage_end[k] = program->steps;
    }
    return PLUMB_OK;
}

// ---- packed weights ----

// Whether two operations can use the same packed copy of a parameter. Both have it as their second
// input.
static bool share_packed(const graph_node *a, const graph_node *b)
{
    return a->op == b->op && a->attr.tb == b->attr.tb;
}

// The slot of this leaf for this operation; a new one is added at the end.
static packed_weights *find_slot(graph_program *program, int leaf, const graph_node *node)
{
    for (int i = 0; i < program->slots; i++)
        if (program->slot[i].leaf == leaf && share_packed(program->slot[i].node, node))
            return &program->slot[i];
    program->slot[program->slots] = (packed_weights){.leaf = leaf, .node = node, .stage = -1};
    return &program->slot[program->slots++];
}

// Floats of the packed second input, or 0 if the kernel takes it as it is.
static int64_t packed_weights_size(const graph_node *node)
{
    switch (node->op) {
    case OP_CONV: return conv_packed_size(&node->attr.conv, CONV_PASS_FORWARD);
    case OP_CONV_GRAD_INPUT: return conv_packed_size(&node->attr.conv, CONV_PASS_GRAD_INPUT);
    case OP_MATMUL: return op_fast_matmul_packed_size(node);
    default: return 0;
    }
}

// Only parameters are packed ahead. Weights that the program computes differ in every run.
static void assign_slot(graph_program *program, program_step *step, int stage)
{
    step->slot = -1;
    if (step->kind != PLAN_CALL_OP || step->parts > 1) return;
    const int64_t size = packed_weights_size(step->node);
    if (!size) return;
    // Operands are result, input, weights.
    const int leaf = program->operand[step->operand + 2].leaf;
    if (leaf < 0) return;
    packed_weights *slot = find_slot(program, leaf, step->node);
    step->slot = (int)(slot - program->slot);
    step->first_of_slot = slot->stage != stage;
    slot->shared |= !step->first_of_slot;
    slot->stage = stage;
    slot->size = size;
}

// Offsets of packed weights, in floats, each rounded up to a multiple of 16.
static plumb_status make_slots(graph_program *program)
{
    program->slot =
        ARENA_ALLOC(&program->memory, packed_weights, (2 * (int64_t)program->leaves + 1));
    if (!program->slot) return PLUMB_EMEMORY;
    // Which steps use which packed weights.
    for (int k = 0, stage = 0; k < program->steps; k++) {
        while (k >= program->stage_end[stage]) stage++;
        assign_slot(program, &program->step[k], stage);
    }
    // Shared slots come first: an instance has memory for them alone unless it is frozen.
    for (int shared = 1; shared >= 0; shared--) {
        for (int i = 0; i < program->slots; i++) {
            if (program->slot[i].shared != shared) continue;
            program->slot[i].offset = program->packed_size;
            program->packed_size += (program->slot[i].size + 15) / 16 * 16;
        }
        if (shared) program->shared_size = program->packed_size;
    }
    return PLUMB_OK;
}

// ---- programs ----

// Bound leaves are in the caller's memory, the other leaves in the block.
static plumb_status list_leaves(program_builder *builder)
{
    graph_program *program = builder->program;
    const graph_plan *plan = &builder->plan;
    program->leaf = ARENA_ALLOC(&program->memory, const graph_node *, plan->values);
    program->input = ARENA_ALLOC(&program->memory, const graph_node *, plan->values);
    program->input_location = ARENA_ALLOC(&program->memory, program_location, plan->values);
    if (!program->leaf || !program->input || !program->input_location) return PLUMB_EMEMORY;
    for (int v = 0; v < plan->values; v++) {
        const graph_node *node = plan->value[v].node;
        if (node->op != OP_LEAF) continue;
        if (node->attr.bound && !plan->reference) program->leaf[program->leaves++] = node;
    }
    for (int v = 0; v < plan->values; v++) {
        const graph_node *node = plan->value[v].node;
        if (node->op != OP_LEAF || (node->attr.bound && !plan->reference)) continue;
        program->input[program->inputs] = node;
        program->input_location[program->inputs++] = locate_value(builder, v);
    }
    return PLUMB_OK;
}

// An output may be a view of another value; its location is that of the storage behind it.
static plumb_status list_outputs(program_builder *builder, graph_node *const *output, int outputs)
{
    graph_program *program = builder->program;
    const graph_plan *plan = &builder->plan;
    program->output = ARENA_ALLOC(&program->memory, program_location, outputs);
    program->output_node = ARENA_ALLOC(&program->memory, const graph_node *, outputs);
    if (!program->output || !program->output_node) return PLUMB_EMEMORY;
    for (int i = 0; i < outputs; i++) {
        int v = plan_find_storage(plan, plan_value_index(plan, output[i]), false);
        program->output[i] = locate_value(builder, v);
        program->output_node[i] = output[i];
    }
    program->outputs = outputs;
    return PLUMB_OK;
}

// The stages of planning, in order: values, calls, order, memory; then the steps.
static plumb_status build_program(program_builder *builder, graph_node *const *output, int outputs)
{
    graph_program *program = builder->program;
    graph_plan *plan = &builder->plan;
    plumb_status st = graph_status(plan->graph);
    if (!st) st = plan_collect_values(plan, output, outputs);
    if (!st) st = plan_calls(plan);
    if (!st) st = plan_order(plan);
    if (!st) st = plan_delay(plan);
    if (!st) st = plan_memory(plan);
    if (!st) st = list_leaves(builder);
    if (!st) st = make_steps(builder);
    if (!st) st = make_slots(program);
    if (!st) st = list_outputs(builder, output, outputs);
    if (st) return st;
    program->nodes = plan->values;
    program->block_size = plan->block_size;
    program->total_size = plan->total_size;
    program->largest_size = plan->largest_size;
    return PLUMB_OK;
}

plumb_status program_build(graph_program **out, graph *g, graph_node *const *output, int outputs,
                           program_form form)
{
    arena scratch = {0};
    graph_program *program = calloc(1, sizeof *program);
    if (!program) return fail(PLUMB_EMEMORY, "out of memory for a program");
    program->form = form;
    program_builder builder = {
        .plan = {.graph = g, .memory = &scratch, .reference = form == PROGRAM_REFERENCE},
        .program = program};
    plumb_status st = build_program(&builder, output, outputs);
    arena_clear(&scratch);
    if (st) program_free(program);
    else *out = program;
    return st;
}

void program_free(graph_program *program)
{
    if (!program) return;
    arena_clear(&program->memory);
    free(program);
}

program_statistics program_stats(const graph_program *program)
{
    int64_t element = (int64_t)program_element_size(program);
    return (program_statistics){.nodes = program->nodes,
                                .steps = program->steps,
                                .fused_loops = program->fused_loops,
                                .fused_ops = program->fused_ops,
                                .stages = program->stages,
                                .block_bytes = program->block_size * element,
                                .packed_bytes = program->shared_size * element,
                                .scratch_bytes = program->scratch_size * element,
                                .total_bytes = program->total_size * element,
                                .largest_bytes = program->largest_size * element,
                                .flops = program->flops};
}

void program_print(const graph_program *program,
                   void (*print_line)(void *context, const char *text), void *context)
{
    for (int i = 0; i < program->steps; i++) {
        const program_step *step = &program->step[i];
        char text[256], size[SHAPE_TEXT_SIZE];
        int used = snprintf(text, sizeof text, "%5d  ", i);
        if (step->kind == PLAN_CALL_FUSED) {
            used += snprintf(text + used, sizeof text - (size_t)used, "fused");
            for (int k = 0; k < step->fused.codes && used < 180; k++)
                used += snprintf(text + used, sizeof text - (size_t)used, " %s",
                                 op_info(step->fused.code[k].op)->name);
        } else {
            bool has_bias = step->ins == step->node->inputs + 1 && step->kind == PLAN_CALL_OP;
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s%s",
                             step->kind == PLAN_CALL_ADD ? "add" : op_info(step->node->op)->name,
                             has_bias ? " bias" : "", step->accumulate ? " into" : "");
            if (step->parts > 1)
                used += snprintf(text + used, sizeof text - (size_t)used, " %d parts", step->parts);
        }
        snprintf(text + used, sizeof text - (size_t)used, "  %s",
                 shape_format(size, &step->node->shape));
        print_line(context, text);
    }
}
