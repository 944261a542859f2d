// SPDX-License-Identifier: MIT
// A program at work: one block of memory, and the loop over its steps.
#include <stdlib.h>
#include <string.h>

#include "engine/program_steps.h"

struct program_instance {
    const graph_program *p;
    char *block;
    const void **leaf;
    void **operand; // ready pointers, as the program's places
    float *scratch;
    float *ready; // weights, by slot
    bool steady;  // they are all there, in memory of their own or another instance's
    float *own;
};

static void *resolve(const program_instance *i, program_location at)
{
    if (at.leaf >= 0) return (void *)i->leaf[at.leaf];
    return i->block + at.offset * (int64_t)program_element_size(i->p);
}

static void resolve_all(program_instance *i)
{
    for (int k = 0; k < i->p->operands; k++) i->operand[k] = resolve(i, i->p->operand[k]);
}

plumb_status instance_create(program_instance **out, const graph_program *p)
{
    int64_t bytes = (p->block + p->shared + p->scratch + 64) * (int64_t)program_element_size(p);
    program_instance *i = calloc(1, sizeof *i);
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
    i->ready = (float *)(i->block + p->block * (int64_t)program_element_size(p));
    i->scratch = i->ready + p->shared;
    resolve_all(i);
    *out = i;
    return PLUMB_OK;
}

void instance_free(program_instance *i)
{
    if (!i) return;
    free(i->block);
    free(i->leaf);
    free(i->operand);
    free(i->own);
    free(i);
}

plumb_status instance_freeze_parameters(program_instance *i, const program_instance *like)
{
    const graph_program *p = i->p;
    if (like) i->ready = like->ready;
    else {
        const size_t bytes = ((size_t)p->ready * sizeof(float) + 64) / 64 * 64;
        free(i->own);
        i->ready = i->own = aligned_alloc(64, bytes);
        if (!i->own)
            return fail(PLUMB_EMEMORY, "no memory for %lld MiB of weights made ready",
                        (long long)(bytes >> 20));
        for (int k = 0; k < p->slots; k++) {
            const packed_weights *s = &p->slot[k];
            conv_pack_weights(i->ready + s->at, i->leaf[s->leaf], s->g, s->way, i->scratch);
        }
    }
    i->steady = true;
    return PLUMB_OK;
}

static int find_leaf(const graph_node *const *list, int count, const graph_node *leaf)
{
    for (int k = 0; k < count; k++)
        if (list[k] == leaf) return k;
    return -1;
}

float *instance_input(program_instance *i, const graph_node *leaf)
{
    int k = find_leaf(i->p->input, i->p->inputs, leaf);
    return k < 0 ? NULL : resolve(i, i->p->input_place[k]);
}

void instance_bind(program_instance *i, const graph_node *leaf, const float *value)
{
    int k = find_leaf(i->p->leaf, i->p->leaves, leaf);
    if (k < 0) return;
    i->leaf[k] = value;
    resolve_all(i);
}

const float *instance_output(const program_instance *i, int index)
{
    return resolve(i, i->p->output[index]);
}

void instance_set(program_instance *i, const graph_node *leaf, const double *value)
{
    int k = find_leaf(i->p->input, i->p->inputs, leaf);
    if (k < 0) return;
    int64_t n = shape_count(&leaf->shape);
    void *at = resolve(i, i->p->input_place[k]);
    if (i->p->form == PROGRAM_REFERENCE) memcpy(at, value, (size_t)n * sizeof *value);
    else
        for (int64_t j = 0; j < n; j++) ((float *)at)[j] = (float)value[j];
}

void instance_get(const program_instance *i, int index, double *value)
{
    int64_t n = shape_count(&i->p->output_node[index]->shape);
    const void *at = resolve(i, i->p->output[index]);
    if (i->p->form == PROGRAM_REFERENCE) memcpy(value, at, (size_t)n * sizeof *value);
    else
        for (int64_t j = 0; j < n; j++) value[j] = (double)((const float *)at)[j];
}

static void run_judge(const program_step *s, void **at)
{
    double *out = at[0];
    const double *const *in = (const double *const *)(at + 1);
    const op_kind_info *row = op_info(s->n->op);
    if (row->reference) {
        row->reference(out, s->n, in);
        return;
    }
    for (int64_t j = 0; j < shape_count(&s->n->shape); j++) {
        double x[2] = {in[0][j], s->n->inputs > 1 ? in[1][j] : 0.0};
        out[j] = row->scalar(&s->n->attr, x);
    }
}

// The step's weights made ready, or NULL.
static const float *ready_weights(const program_instance *i, const program_step *s)
{
    const packed_weights *x = s->slot < 0 ? NULL : &i->p->slot[s->slot];
    if (!x || !(i->steady || x->shared)) return NULL;
    if (s->first && !i->steady)
        conv_pack_weights(i->ready + x->at, i->leaf[x->leaf], x->g, x->way, i->scratch);
    return i->ready + x->at;
}

static void run_call(const program_instance *i, const program_step *s, void **at)
{
    const float *const *in = (const float *const *)(at + 1);
    const graph_node *n = s->n;
    const conv_geometry *g = &n->attr.conv;
    const bool conv = n->op == OP_CONV;
    const float *ready = ready_weights(i, s), *bias = s->ins > 2 ? in[2] : NULL;
    if (ready && conv) conv_forward_packed(at[0], in[0], ready, bias, s->slope, g, i->scratch);
    else if (ready) conv_grad_input_packed(at[0], in[0], ready, g, i->scratch);
    else if (conv || n->op == OP_UPCONV)
        (conv ? conv_forward : upconv_forward)(at[0], in[0], in[1], bias, s->slope, g, i->scratch);
    else op_info(n->op)->fast(at[0], n, in, s->accumulate, i->scratch);
}

void instance_run(program_instance *i, int stage)
{
    const graph_program *p = i->p;
    int from = stage ? p->stage_end[stage - 1] : 0;
    for (int k = from; k < p->stage_end[stage]; k++) {
        const program_step *s = &p->step[k];
        void **at = i->operand + s->operand;
        if (p->form == PROGRAM_REFERENCE) {
            run_judge(s, at);
        } else if (s->kind == PLAN_CALL_FUSED) {
            fused_loop_run(&s->tape, (float *const *)at, (const float *const *)(at + s->outs),
                           i->scratch);
        } else if (s->kind == PLAN_CALL_ADD) {
            int64_t n = shape_count(&s->n->shape);
            if (s->accumulate) fused_loop_add(at[0], at[1], n);
            else memcpy(at[0], at[1], (size_t)n * sizeof(float));
        } else {
            run_call(i, s, at);
        }
    }
}
