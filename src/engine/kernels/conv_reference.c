// SPDX-License-Identifier: MIT
// The convolutions as they are defined: plain loops in double. `zoom` is 2 where x is seen through
// nearest upsampling.
#include "engine/kernels/conv.h"

// One multiplication of the convolution: which entries of x, w and y it joins.
typedef struct term {
    int64_t x, w, y;
} term;

typedef void visit(term at, int64_t c, int64_t k, void *with);

// Every pair of a window's tap and a pixel of x under it, for all channels at once.
static void walk(const conv_geometry *g, int64_t zoom, visit *each, void *with)
{
    const int64_t h = g->h / zoom, w = g->w / zoom;
    for (int64_t n = 0; n < g->n; n++)
        for (int64_t i = 0; i < g->oh; i++)
            for (int64_t j = 0; j < g->ow; j++)
                for (int64_t a = 0; a < g->kh; a++)
                    for (int64_t b = 0; b < g->kw; b++) {
                        const int64_t row = i * g->stride + a - g->top;
                        const int64_t column = j * g->stride + b - g->left;
                        if (row < 0 || row >= g->h || column < 0 || column >= g->w) continue;
                        const term at = {((n * h + row / zoom) * w + column / zoom) * g->c,
                                         (a * g->kw + b) * g->c * g->k,
                                         ((n * g->oh + i) * g->ow + j) * g->k};
                        each(at, g->c, g->k, with);
                    }
}

typedef struct operands {
    double *out;
    const double *left, *right;
} operands;

static void add_forward(term at, int64_t c, int64_t k, void *with)
{
    const operands *o = with; // y, x, w
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++)
            o->out[at.y + j] += o->left[at.x + i] * o->right[at.w + i * k + j];
}

static void add_data(term at, int64_t c, int64_t k, void *with)
{
    const operands *o = with; // dx, dy, w
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++)
            o->out[at.x + i] += o->left[at.y + j] * o->right[at.w + i * k + j];
}

static void add_weights(term at, int64_t c, int64_t k, void *with)
{
    const operands *o = with; // dw, x, dy
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++)
            o->out[at.w + i * k + j] += o->left[at.x + i] * o->right[at.y + j];
}

static void forward(double *y, const double *x, const double *w, const double *bias, double slope,
                    const conv_geometry *g, int64_t zoom)
{
    const int64_t pixels = g->n * g->oh * g->ow;
    for (int64_t i = 0; i < pixels * g->k; i++) y[i] = bias ? bias[i % g->k] : 0.0;
    walk(g, zoom, add_forward, &(operands){y, x, w});
    for (int64_t i = 0; i < pixels * g->k; i++) y[i] = y[i] > 0.0 ? y[i] : slope * y[i];
}

static void data(double *dx, const double *dy, const double *w, const conv_geometry *g,
                 int64_t zoom)
{
    const int64_t size = g->n * (g->h / zoom) * (g->w / zoom) * g->c;
    for (int64_t i = 0; i < size; i++) dx[i] = 0.0;
    walk(g, zoom, add_data, &(operands){dx, dy, w});
}

static void weights(double *dw, const double *x, const double *dy, bool accumulate,
                    const conv_geometry *g, int64_t zoom)
{
    if (!accumulate)
        for (int64_t i = 0; i < g->kh * g->kw * g->c * g->k; i++) dw[i] = 0.0;
    walk(g, zoom, add_weights, &(operands){dw, x, dy});
}

void conv_forward_reference(double *restrict y, const double *restrict x, const double *restrict w,
                            const double *restrict bias, double slope, const conv_geometry *g)
{
    forward(y, x, w, bias, slope, g, 1);
}

void conv_grad_input_reference(double *restrict dx, const double *restrict dy,
                               const double *restrict w, const conv_geometry *g)
{
    data(dx, dy, w, g, 1);
}

void conv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                 const double *restrict dy, bool accumulate, const conv_geometry *g)
{
    weights(dw, x, dy, accumulate, g, 1);
}

void upconv_forward_reference(double *restrict y, const double *restrict x,
                              const double *restrict w, const double *restrict bias, double slope,
                              const conv_geometry *g)
{
    forward(y, x, w, bias, slope, g, 2);
}

void upconv_grad_input_reference(double *restrict dx, const double *restrict dy,
                                 const double *restrict w, const conv_geometry *g)
{
    data(dx, dy, w, g, 2);
}

void upconv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                   const double *restrict dy, bool accumulate,
                                   const conv_geometry *g)
{
    weights(dw, x, dy, accumulate, g, 2);
}
