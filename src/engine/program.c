// SPDX-License-Identifier: MIT
// A plan into steps that run: function, places of operands, scratch.
#include "engine/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/tape.h"
#include "engine/plan.h"

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
} step;

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
    int64_t block, scratch, sum, biggest; // elements
    double flops;
    int tapes, fused;
};

typedef struct builder {
    plan p;
    program *to;
    int room; // operands
} builder;

static place place_of(const builder *b, int c)
{
    const cell *me = &b->p.cell[b->p.cell[c].home];
    if (me->n->op == OP_LEAF && me->n->attr.bound && !b->p.judge) {
        for (int i = 0; i < b->to->leaves; i++)
            if (b->to->leaf[i] == me->n) return (place){.leaf = i};
    }
    return (place){.leaf = -1, .offset = me->offset};
}

static void add_operand(builder *b, int c)
{
    b->to->operand[b->to->operands++] = place_of(b, c);
}

static tape_operand view_of(const node *n)
{
    tape_operand v = {.view = TAPE_FULL};
    if (n->op == OP_CONSTANT) {
        v.view = TAPE_NUMBER;
        v.number = (float)n->attr.value;
    } else if (n->op == OP_BROADCAST) {
        v.view = TAPE_SPREAD;
        v.middle = v.inner = 1;
        for (int i = n->attr.axis; i < n->shape.rank; i++)
            *(i < n->attr.axis + n->attr.axes ? &v.middle : &v.inner) *= n->shape.size[i];
    } else if (n->op == OP_SLICE) {
        v.view = TAPE_CUT;
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
    const unit *u;
    tape_operand *read;
    int *seen; // cells of the reads
    int reads;
} taping;

static int register_of(taping *t, const node *n)
{
    const plan *p = &t->b->p;
    int c = plan_cell(p, n);
    for (int i = 0; i < t->u->members; i++)
        if (p->member[t->u->first + i] == c) return i;
    for (int i = 0; i < t->reads; i++)
        if (t->seen[i] == c) return t->u->members + i;
    t->seen[t->reads] = c;
    t->read[t->reads] = view_of(n);
    t->read[t->reads].reg = t->u->members + t->reads;
    return t->u->members + t->reads++;
}

static plumb_status make_tape(builder *b, step *s, const unit *u)
{
    const plan *p = &b->p;
    arena *mem = &b->to->mem;
    tape_code *code = ARENA_NEW(mem, tape_code, u->members);
    int *write = ARENA_NEW(mem, int, u->members);
    taping t = {.b = b, .u = u};
    t.read = ARENA_NEW(mem, tape_operand, (2 * u->members));
    t.seen = ARENA_NEW(p->mem, int, (2 * u->members));
    if (!code || !write || !t.read || !t.seen) return PLUMB_EMEMORY;

    s->operand = b->to->operands;
    for (int i = 0; i < u->members; i++) {
        const cell *c = &p->cell[p->member[u->first + i]];
        code[i] = (tape_code){.op = c->n->op, .out = i, .value = (float)c->n->attr.value};
        code[i].a = register_of(&t, c->n->in[0]);
        code[i].b = c->n->inputs > 1 ? register_of(&t, c->n->in[1]) : code[i].a;
        if (!c->stored) continue;
        write[s->outs++] = i;
        add_operand(b, p->member[u->first + i]);
    }
    for (int i = 0; i < t.reads; i++) {
        bool number = t.read[i].view == TAPE_NUMBER;
        add_operand(b, number ? p->member[u->first] : plan_source(p, t.seen[i], true));
    }
    s->ins = t.reads;
    const cell *any = &p->cell[p->member[u->first]];
    s->n = any->n;
    s->tape = (tape){.count = shape_count(&any->n->shape),
                     .codes = u->members,
                     .reads = t.reads,
                     .writes = s->outs,
                     .registers = u->members + t.reads,
                     .code = code,
                     .read = t.read,
                     .write = write};
    int64_t scratch = tape_scratch(&s->tape);
    if (scratch > b->to->scratch) b->to->scratch = scratch;
    b->to->tapes++;
    b->to->fused += u->members;
    return PLUMB_OK;
}

static void make_call(builder *b, step *s, const unit *u)
{
    const plan *p = &b->p;
    s->operand = b->to->operands;
    s->outs = 1;
    s->slope = u->slope;
    s->accumulate = u->accumulate;
    add_operand(b, u->result);
    if (u->kind == UNIT_ADD) {
        s->n = p->cell[u->result].n;
        add_operand(b, plan_source(p, u->source, false));
        s->ins = 1;
        return;
    }
    const node *n = s->n = p->cell[p->member[u->first]].n;
    for (int k = 0; k < n->inputs; k++)
        add_operand(b, plan_source(p, plan_cell(p, n->in[k]), false));
    s->ins = n->inputs;
    if (u->bias >= 0) {
        add_operand(b, plan_source(p, u->bias, false));
        s->ins++;
    }
    const op_row *row = op_table(n->op);
    if (row->flops) b->to->flops += row->flops(n);
    int64_t scratch = row->scratch && !p->judge ? row->scratch(n) : 0;
    if (scratch > b->to->scratch) b->to->scratch = scratch;
}

static plumb_status make_steps(builder *b)
{
    program *to = b->to;
    const plan *p = &b->p;
    int64_t operands = 0;
    for (int u = 0; u < p->units; u++) {
        const unit *x = &p->unit[u];
        operands += x->kind == UNIT_TAPE ? 3 * x->members
                    : x->kind == UNIT_OP ? 2 + p->cell[p->member[x->first]].n->inputs
                                         : 2;
        to->stages = x->stage >= to->stages ? x->stage + 1 : to->stages;
    }
    to->step = ARENA_NEW(&to->mem, step, p->units);
    to->operand = ARENA_NEW(&to->mem, place, operands);
    to->stage_end = ARENA_NEW(&to->mem, int, (to->stages + 1));
    if (!to->step || !to->operand || !to->stage_end) return PLUMB_EMEMORY;
    for (int i = 0; i < p->units; i++) {
        const unit *u = &p->unit[p->order[i]];
        if (u->kind == UNIT_JOIN) continue;
        step *s = &to->step[to->steps++];
        s->kind = u->kind;
        if (u->kind == UNIT_TAPE) {
            plumb_status st = make_tape(b, s, u);
            if (st) return st;
        } else make_call(b, s, u);
        for (int k = u->stage; k < to->stages; k++) to->stage_end[k] = to->steps;
    }
    return PLUMB_OK;
}

static plumb_status list_leaves(builder *b)
{
    program *to = b->to;
    to->leaf = ARENA_NEW(&to->mem, const node *, b->p.cells);
    to->input = ARENA_NEW(&to->mem, const node *, b->p.cells);
    to->input_place = ARENA_NEW(&to->mem, place, b->p.cells);
    if (!to->leaf || !to->input || !to->input_place) return PLUMB_EMEMORY;
    for (int c = 0; c < b->p.cells; c++) {
        const node *n = b->p.cell[c].n;
        if (n->op != OP_LEAF) continue;
        if (n->attr.bound && !b->p.judge) to->leaf[to->leaves++] = n;
    }
    for (int c = 0; c < b->p.cells; c++) {
        const node *n = b->p.cell[c].n;
        if (n->op != OP_LEAF || (n->attr.bound && !b->p.judge)) continue;
        to->input[to->inputs] = n;
        to->input_place[to->inputs++] = place_of(b, c);
    }
    return PLUMB_OK;
}

static plumb_status build(builder *b, node *const *output, int outputs)
{
    program *to = b->to;
    plumb_status st = graph_status(b->p.g);
    if (!st) st = plan_cells(&b->p, output, outputs);
    if (!st) st = plan_units(&b->p);
    if (!st) st = plan_order(&b->p);
    if (!st) st = plan_place(&b->p);
    if (!st) st = list_leaves(b);
    if (!st) st = make_steps(b);
    if (st) return st;
    to->output = ARENA_NEW(&to->mem, place, outputs);
    to->output_node = ARENA_NEW(&to->mem, const node *, outputs);
    if (!to->output || !to->output_node) return PLUMB_EMEMORY;
    for (int i = 0; i < outputs; i++) {
        to->output[i] = place_of(b, plan_source(&b->p, plan_cell(&b->p, output[i]), false));
        to->output_node[i] = output[i];
    }
    to->outputs = outputs;
    to->nodes = b->p.cells;
    to->block = b->p.block;
    to->sum = b->p.sum;
    to->biggest = b->p.biggest;
    return PLUMB_OK;
}

plumb_status program_build(program **out, graph *g, node *const *output, int outputs,
                           program_form form)
{
    arena scratch = {0};
    program *to = calloc(1, sizeof *to);
    if (!to) return fail(PLUMB_EMEMORY, "no memory for a program");
    to->form = form;
    builder b = {.p = {.g = g, .mem = &scratch, .judge = form == PROGRAM_JUDGE}, .to = to};
    plumb_status st = build(&b, output, outputs);
    arena_clear(&scratch);
    if (st) program_free(to);
    else *out = to;
    return st;
}

void program_free(program *p)
{
    if (!p) return;
    arena_clear(&p->mem);
    free(p);
}

static size_t element(const program *p)
{
    return p->form == PROGRAM_JUDGE ? sizeof(double) : sizeof(float);
}

program_report program_tell(const program *p)
{
    int64_t e = (int64_t)element(p);
    return (program_report){.nodes = p->nodes,
                            .steps = p->steps,
                            .tapes = p->tapes,
                            .fused = p->fused,
                            .stages = p->stages,
                            .block = p->block * e,
                            .scratch = p->scratch * e,
                            .sum = p->sum * e,
                            .biggest = p->biggest * e,
                            .flops = p->flops};
}

void program_list(const program *p, void (*line)(void *to, const char *text), void *to)
{
    for (int i = 0; i < p->steps; i++) {
        const step *s = &p->step[i];
        char text[256], size[96];
        int used = snprintf(text, sizeof text, "%5d  ", i);
        if (s->kind == UNIT_TAPE) {
            used += snprintf(text + used, sizeof text - (size_t)used, "tape");
            for (int k = 0; k < s->tape.codes && used < 180; k++)
                used += snprintf(text + used, sizeof text - (size_t)used, " %s",
                                 op_table(s->tape.code[k].op)->name);
        } else
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s%s",
                             s->kind == UNIT_ADD ? "add" : op_table(s->n->op)->name,
                             s->ins > s->n->inputs && s->kind == UNIT_OP ? " bias" : "",
                             s->accumulate ? " into" : "");
        snprintf(text + used, sizeof text - (size_t)used, "  %s", shape_text(size, &s->n->shape));
        line(to, text);
    }
}

struct instance {
    const program *p;
    char *block;
    const void **leaf;
    void **operand; // ready pointers, as the program's places
    float *scratch;
};

static void *resolve(const instance *i, place at)
{
    if (at.leaf >= 0) return (void *)i->leaf[at.leaf];
    return i->block + at.offset * (int64_t)element(i->p);
}

static void resolve_all(instance *i)
{
    for (int k = 0; k < i->p->operands; k++) i->operand[k] = resolve(i, i->p->operand[k]);
}

plumb_status instance_create(instance **out, const program *p)
{
    int64_t bytes = (p->block + p->scratch + 64) * (int64_t)element(p);
    instance *i = calloc(1, sizeof *i);
    if (i) {
        i->p = p;
        i->block = aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64));
        i->leaf = calloc((size_t)p->leaves + 1, sizeof *i->leaf);
        i->operand = calloc((size_t)p->operands + 1, sizeof *i->operand);
    }
    if (!i || !i->block || !i->leaf || !i->operand) {
        instance_free(i);
        return fail(PLUMB_EMEMORY, "no memory for a block of %lld MiB", (long long)(bytes >> 20));
    }
    memset(i->block, 0, (size_t)bytes); // pages are there before the first step
    i->scratch = (float *)(i->block + p->block * (int64_t)element(p));
    resolve_all(i);
    *out = i;
    return PLUMB_OK;
}

void instance_free(instance *i)
{
    if (!i) return;
    free(i->block);
    free(i->leaf);
    free(i->operand);
    free(i);
}

static int find_leaf(const node *const *list, int count, const node *leaf)
{
    for (int k = 0; k < count; k++)
        if (list[k] == leaf) return k;
    return -1;
}

float *instance_input(instance *i, const node *leaf)
{
    int k = find_leaf(i->p->input, i->p->inputs, leaf);
    return k < 0 ? NULL : resolve(i, i->p->input_place[k]);
}

void instance_bind(instance *i, const node *leaf, const float *value)
{
    int k = find_leaf(i->p->leaf, i->p->leaves, leaf);
    if (k < 0) return;
    i->leaf[k] = value;
    resolve_all(i);
}

const float *instance_output(const instance *i, int index)
{
    return resolve(i, i->p->output[index]);
}

void instance_set(instance *i, const node *leaf, const double *value)
{
    int k = find_leaf(i->p->input, i->p->inputs, leaf);
    if (k < 0) return;
    int64_t n = shape_count(&leaf->shape);
    void *at = resolve(i, i->p->input_place[k]);
    if (i->p->form == PROGRAM_JUDGE) memcpy(at, value, (size_t)n * sizeof *value);
    else
        for (int64_t j = 0; j < n; j++) ((float *)at)[j] = (float)value[j];
}

void instance_get(const instance *i, int index, double *value)
{
    int64_t n = shape_count(&i->p->output_node[index]->shape);
    const void *at = resolve(i, i->p->output[index]);
    if (i->p->form == PROGRAM_JUDGE) memcpy(value, at, (size_t)n * sizeof *value);
    else
        for (int64_t j = 0; j < n; j++) value[j] = (double)((const float *)at)[j];
}

static void run_judge(const step *s, void **at)
{
    double *out = at[0];
    const double *const *in = (const double *const *)(at + 1);
    const op_row *row = op_table(s->n->op);
    if (row->judge) {
        row->judge(out, s->n, in);
        return;
    }
    for (int64_t j = 0; j < shape_count(&s->n->shape); j++) {
        double x[2] = {in[0][j], s->n->inputs > 1 ? in[1][j] : 0.0};
        out[j] = row->scalar(&s->n->attr, x);
    }
}

static void run_call(const step *s, void **at, float *scratch)
{
    const float *const *in = (const float *const *)(at + 1);
    const node *n = s->n;
    if (n->op == OP_CONV || n->op == OP_UPCONV) {
        const float *bias = s->ins > 2 ? in[2] : NULL;
        (n->op == OP_CONV ? conv_forward : upconv_forward)(at[0], in[0], in[1], bias, s->slope,
                                                           &n->attr.conv, scratch);
        return;
    }
    op_table(n->op)->fast(at[0], n, in, s->accumulate, scratch);
}

void instance_run(instance *i, int stage)
{
    const program *p = i->p;
    int from = stage ? p->stage_end[stage - 1] : 0;
    for (int k = from; k < p->stage_end[stage]; k++) {
        const step *s = &p->step[k];
        void **at = i->operand + s->operand;
        if (p->form == PROGRAM_JUDGE) {
            run_judge(s, at);
        } else if (s->kind == UNIT_TAPE) {
            tape_run(&s->tape, (float *const *)at, (const float *const *)(at + s->outs),
                     i->scratch);
        } else if (s->kind == UNIT_ADD) {
            int64_t n = shape_count(&s->n->shape);
            if (s->accumulate) tape_add(at[0], at[1], n);
            else memcpy(at[0], at[1], (size_t)n * sizeof(float));
        } else {
            run_call(s, at, i->scratch);
        }
    }
}
