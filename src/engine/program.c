// SPDX-License-Identifier: MIT
// A plan into steps that run: function, places of operands, scratch.
#include "engine/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/program_steps.h"

typedef struct builder {
    plan p;
    graph_program *to;
    int room; // operands
} builder;

static program_location place_of(const builder *b, int c)
{
    const plan_value *me = &b->p.cell[b->p.cell[c].home];
    if (me->n->op == OP_LEAF && me->n->attr.bound && !b->p.judge) {
        for (int i = 0; i < b->to->leaves; i++)
            if (b->to->leaf[i] == me->n) return (program_location){.leaf = i};
    }
    return (program_location){.leaf = -1, .offset = me->offset};
}

static void add_operand(builder *b, int c)
{
    b->to->operand[b->to->operands++] = place_of(b, c);
}

static fused_operand view_of(const graph_node *n)
{
    fused_operand v = {.view = FUSED_FULL};
    if (n->op == OP_CONSTANT) {
        v.view = FUSED_SCALAR;
        v.number = (float)n->attr.value;
    } else if (n->op == OP_BROADCAST) {
        v.view = FUSED_BROADCAST;
        v.middle = v.inner = 1;
        for (int i = n->attr.axis; i < n->shape.rank; i++)
            *(i < n->attr.axis + n->attr.axes ? &v.middle : &v.inner) *= n->shape.size[i];
    } else if (n->op == OP_SLICE) {
        v.view = FUSED_SLICE;
        int64_t inner = 1;
        for (int i = n->attr.axis + 1; i < n->shape.rank; i++) inner *= n->shape.size[i];
        v.part = n->shape.size[n->attr.axis] * inner;
        v.whole = n->in[0]->shape.size[n->attr.axis] * inner;
        v.start = n->attr.start * inner;
    }
    return v;
}

// The register of an input of a tape's member: another member's, or an operand that is read.
typedef struct taping {
    builder *b;
    const plan_call *u;
    fused_operand *read;
    int *seen; // cells of the reads
    int reads;
} taping;

static int register_of(taping *t, const graph_node *n)
{
    const plan *p = &t->b->p;
    int c = plan_value_index(p, n);
    for (int i = 0; i < t->u->members; i++)
        if (p->member[t->u->first + i] == c) return i;
    for (int i = 0; i < t->reads; i++)
        if (t->seen[i] == c) return t->u->members + i;
    t->seen[t->reads] = c;
    t->read[t->reads] = view_of(n);
    t->read[t->reads].reg = t->u->members + t->reads;
    return t->u->members + t->reads++;
}

static plumb_status make_tape(builder *b, program_step *s, const plan_call *u)
{
    const plan *p = &b->p;
    arena *mem = &b->to->mem;
    fused_instruction *code = ARENA_ALLOC(mem, fused_instruction, u->members);
    int *write = ARENA_ALLOC(mem, int, u->members);
    taping t = {.b = b, .u = u};
    t.read = ARENA_ALLOC(mem, fused_operand, (2 * u->members));
    t.seen = ARENA_ALLOC(p->mem, int, (2 * u->members));
    if (!code || !write || !t.read || !t.seen) return PLUMB_EMEMORY;

    s->operand = b->to->operands;
    for (int i = 0; i < u->members; i++) {
        const plan_value *c = &p->cell[p->member[u->first + i]];
        code[i] = (fused_instruction){.op = c->n->op, .out = i, .value = (float)c->n->attr.value};
        code[i].a = register_of(&t, c->n->in[0]);
        code[i].b = c->n->inputs > 1 ? register_of(&t, c->n->in[1]) : code[i].a;
        if (!c->stored) continue;
        write[s->outs++] = i;
        add_operand(b, p->member[u->first + i]);
    }
    for (int i = 0; i < t.reads; i++) {
        bool number = t.read[i].view == FUSED_SCALAR;
        add_operand(b, number ? p->member[u->first] : plan_find_storage(p, t.seen[i], true));
    }
    s->ins = t.reads;
    const plan_value *any = &p->cell[p->member[u->first]];
    s->n = any->n;
    s->tape = (fused_loop){.count = shape_count(&any->n->shape),
                           .codes = u->members,
                           .reads = t.reads,
                           .writes = s->outs,
                           .registers = u->members + t.reads,
                           .code = code,
                           .read = t.read,
                           .write = write};
    int64_t scratch = fused_loop_scratch(&s->tape);
    if (scratch > b->to->scratch) b->to->scratch = scratch;
    b->to->tapes++;
    b->to->fused += u->members;
    return PLUMB_OK;
}

static void make_call(builder *b, program_step *s, const plan_call *u)
{
    const plan *p = &b->p;
    s->operand = b->to->operands;
    s->outs = 1;
    s->slope = u->slope;
    s->accumulate = u->accumulate;
    add_operand(b, u->result);
    if (u->kind == PLAN_CALL_ADD) {
        s->n = p->cell[u->result].n;
        add_operand(b, plan_find_storage(p, u->source, false));
        s->ins = 1;
        return;
    }
    const graph_node *n = s->n = p->cell[p->member[u->first]].n;
    for (int k = 0; k < n->inputs; k++)
        add_operand(b, plan_find_storage(p, plan_value_index(p, n->in[k]), false));
    s->ins = n->inputs;
    if (u->bias >= 0) {
        add_operand(b, plan_find_storage(p, u->bias, false));
        s->ins++;
    }
    const op_kind_info *row = op_info(n->op);
    if (row->flops) b->to->flops += row->flops(n);
    int64_t scratch = row->scratch && !p->judge ? row->scratch(n) : 0;
    if (scratch > b->to->scratch) b->to->scratch = scratch;
}

static plumb_status make_steps(builder *b)
{
    graph_program *to = b->to;
    const plan *p = &b->p;
    int64_t operands = 0;
    for (int u = 0; u < p->units; u++) {
        const plan_call *x = &p->unit[u];
        operands += x->kind == PLAN_CALL_FUSED ? 3 * x->members
                    : x->kind == PLAN_CALL_OP  ? 2 + p->cell[p->member[x->first]].n->inputs
                                               : 2;
        to->stages = x->stage >= to->stages ? x->stage + 1 : to->stages;
    }
    to->step = ARENA_ALLOC(&to->mem, program_step, p->units);
    to->operand = ARENA_ALLOC(&to->mem, program_location, operands);
    to->stage_end = ARENA_ALLOC(&to->mem, int, (to->stages + 1));
    if (!to->step || !to->operand || !to->stage_end) return PLUMB_EMEMORY;
    for (int i = 0; i < p->units; i++) {
        const plan_call *u = &p->unit[p->order[i]];
        if (u->kind == PLAN_CALL_NONE) continue;
        program_step *s = &to->step[to->steps++];
        s->kind = u->kind;
        if (u->kind == PLAN_CALL_FUSED) {
            plumb_status st = make_tape(b, s, u);
            if (st) return st;
        } else make_call(b, s, u);
        for (int k = u->stage; k < to->stages; k++) to->stage_end[k] = to->steps;
    }
    return PLUMB_OK;
}

static packed_weights *slot_of(graph_program *to, int leaf, conv_pass way)
{
    for (int i = 0; i < to->slots; i++)
        if (to->slot[i].leaf == leaf && to->slot[i].way == way) return &to->slot[i];
    to->slot[to->slots] = (packed_weights){.leaf = leaf, .way = way, .stage = -1};
    return &to->slot[to->slots++];
}

// Parameters that are used as they are; what a program computes would have to be made ready anew.
static void enter_slot(graph_program *to, program_step *s, int stage)
{
    s->slot = -1;
    if (s->kind != PLAN_CALL_OP || (s->n->op != OP_CONV && s->n->op != OP_CONV_GRAD_INPUT)) return;
    const conv_geometry *g = &s->n->attr.conv;
    const conv_pass way = s->n->op == OP_CONV ? CONV_PASS_FORWARD : CONV_PASS_GRAD_INPUT;
    const int leaf = to->operand[s->operand + 2].leaf;
    const int64_t size = leaf < 0 ? 0 : conv_packed_size(g, way);
    if (!size) return;
    packed_weights *x = slot_of(to, leaf, way);
    s->slot = (int)(x - to->slot);
    s->first = x->stage != stage;
    x->shared |= !s->first;
    x->stage = stage;
    x->g = g;
    x->size = size;
}

static plumb_status make_slots(graph_program *to)
{
    to->slot = ARENA_ALLOC(&to->mem, packed_weights, (2 * (int64_t)to->leaves + 1));
    if (!to->slot) return PLUMB_EMEMORY;
    for (int k = 0, stage = 0; k < to->steps; k++) {
        while (k >= to->stage_end[stage]) stage++;
        enter_slot(to, &to->step[k], stage);
    }
    for (int shared = 1; shared >= 0; shared--) {
        for (int i = 0; i < to->slots; i++) {
            if (to->slot[i].shared != shared) continue;
            to->slot[i].at = to->ready;
            to->ready += (to->slot[i].size + 15) / 16 * 16;
        }
        if (shared) to->shared = to->ready;
    }
    return PLUMB_OK;
}

static plumb_status list_leaves(builder *b)
{
    graph_program *to = b->to;
    to->leaf = ARENA_ALLOC(&to->mem, const graph_node *, b->p.cells);
    to->input = ARENA_ALLOC(&to->mem, const graph_node *, b->p.cells);
    to->input_place = ARENA_ALLOC(&to->mem, program_location, b->p.cells);
    if (!to->leaf || !to->input || !to->input_place) return PLUMB_EMEMORY;
    for (int c = 0; c < b->p.cells; c++) {
        const graph_node *n = b->p.cell[c].n;
        if (n->op != OP_LEAF) continue;
        if (n->attr.bound && !b->p.judge) to->leaf[to->leaves++] = n;
    }
    for (int c = 0; c < b->p.cells; c++) {
        const graph_node *n = b->p.cell[c].n;
        if (n->op != OP_LEAF || (n->attr.bound && !b->p.judge)) continue;
        to->input[to->inputs] = n;
        to->input_place[to->inputs++] = place_of(b, c);
    }
    return PLUMB_OK;
}

static plumb_status build(builder *b, graph_node *const *output, int outputs)
{
    graph_program *to = b->to;
    plumb_status st = graph_status(b->p.g);
    if (!st) st = plan_collect_values(&b->p, output, outputs);
    if (!st) st = plan_calls(&b->p);
    if (!st) st = plan_order(&b->p);
    if (!st) st = plan_memory(&b->p);
    if (!st) st = list_leaves(b);
    if (!st) st = make_steps(b);
    if (!st) st = make_slots(to);
    if (st) return st;
    to->output = ARENA_ALLOC(&to->mem, program_location, outputs);
    to->output_node = ARENA_ALLOC(&to->mem, const graph_node *, outputs);
    if (!to->output || !to->output_node) return PLUMB_EMEMORY;
    for (int i = 0; i < outputs; i++) {
        to->output[i] =
            place_of(b, plan_find_storage(&b->p, plan_value_index(&b->p, output[i]), false));
        to->output_node[i] = output[i];
    }
    to->outputs = outputs;
    to->nodes = b->p.cells;
    to->block = b->p.block;
    to->sum = b->p.sum;
    to->biggest = b->p.biggest;
    return PLUMB_OK;
}

plumb_status program_build(graph_program **out, graph *g, graph_node *const *output, int outputs,
                           program_form form)
{
    arena scratch = {0};
    graph_program *to = calloc(1, sizeof *to);
    if (!to) return fail(PLUMB_EMEMORY, "no memory for a program");
    to->form = form;
    builder b = {.p = {.g = g, .mem = &scratch, .judge = form == PROGRAM_REFERENCE}, .to = to};
    plumb_status st = build(&b, output, outputs);
    arena_clear(&scratch);
    if (st) program_free(to);
    else *out = to;
    return st;
}

void program_free(graph_program *p)
{
    if (!p) return;
    arena_clear(&p->mem);
    free(p);
}

program_statistics program_stats(const graph_program *p)
{
    int64_t e = (int64_t)program_element_size(p);
    return (program_statistics){.nodes = p->nodes,
                                .steps = p->steps,
                                .tapes = p->tapes,
                                .fused = p->fused,
                                .stages = p->stages,
                                .block = p->block * e,
                                .ready = p->shared * e,
                                .scratch = p->scratch * e,
                                .sum = p->sum * e,
                                .biggest = p->biggest * e,
                                .flops = p->flops};
}

void program_print(const graph_program *p, void (*line)(void *to, const char *text), void *to)
{
    for (int i = 0; i < p->steps; i++) {
        const program_step *s = &p->step[i];
        char text[256], size[96];
        int used = snprintf(text, sizeof text, "%5d  ", i);
        if (s->kind == PLAN_CALL_FUSED) {
            used += snprintf(text + used, sizeof text - (size_t)used, "tape");
            for (int k = 0; k < s->tape.codes && used < 180; k++)
                used += snprintf(text + used, sizeof text - (size_t)used, " %s",
                                 op_info(s->tape.code[k].op)->name);
        } else
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s%s",
                             s->kind == PLAN_CALL_ADD ? "add" : op_info(s->n->op)->name,
                             s->ins > s->n->inputs && s->kind == PLAN_CALL_OP ? " bias" : "",
                             s->accumulate ? " into" : "");
        snprintf(text + used, sizeof text - (size_t)used, "  %s", shape_format(size, &s->n->shape));
        line(to, text);
    }
}
