// SPDX-License-Identifier: MIT
// The definition of the convolutions: plain loops in double. `upsampling` is 2 if x is upsampled
// (nearest neighbour) before the convolution, else 1.
#include "engine/kernels/conv.h"

// Offsets of the first channels of x, w and y that one tap of one window multiplies.
typedef struct product_at {
    int64_t x, w, y;
} product_at;

typedef void product_visitor(product_at at, int64_t c, int64_t k, void *context);

// Visits every pair of a window's tap and the pixel of x under it, all channels at once.
static void visit_products(const conv_geometry *conv, int64_t upsampling,
                           product_visitor *visit_product, void *context)
{
    const int64_t h = conv->h / upsampling, w = conv->w / upsampling;
    for (int64_t n = 0; n < conv->n; n++)
        for (int64_t i = 0; i < conv->oh; i++)
            for (int64_t j = 0; j < conv->ow; j++)
                for (int64_t a = 0; a < conv->kh; a++)
                    for (int64_t b = 0; b < conv->kw; b++) {
                        // Taps outside the image multiply zeros; they are skipped.
                        const int64_t row = i * conv->stride + a - conv->top;
                        const int64_t column = j * conv->stride + b - conv->left;
                        if (row < 0 || row >= conv->h || column < 0 || column >= conv->w) continue;
                        const product_at at = {
                            ((n * h + row / upsampling) * w + column / upsampling) * conv->c,
                            (a * conv->kw + b) * conv->c * conv->k,
                            ((n * conv->oh + i) * conv->ow + j) * conv->k};
                        visit_product(at, conv->c, conv->k, context);
                    }
}

typedef struct operands {
    double *out;
    const double *left, *right;
} operands;

// y[j] += sum_i x[i] w[i, j]
static void add_forward(product_at at, int64_t c, int64_t k, void *context)
{
    const operands *operand = context; // y, x, w
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++)
            operand->out[at.y + j] += operand->left[at.x + i] * operand->right[at.w + i * k + j];
}

// dx[i] += sum_j dy[j] w[i, j]
static void add_grad_input(product_at at, int64_t c, int64_t k, void *context)
{
    const operands *operand = context; // dx, dy, w
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++)
            operand->out[at.x + i] += operand->left[at.y + j] * operand->right[at.w + i * k + j];
}

// dw[i, j] += x[i] dy[j]
static void add_grad_weights(product_at at, int64_t c, int64_t k, void *context)
{
    const operands *operand = context; // dw, x, dy
    for (int64_t i = 0; i < c; i++)
        for (int64_t j = 0; j < k; j++)
            operand->out[at.w + i * k + j] += operand->left[at.x + i] * operand->right[at.y + j];
}

// y = leaky(x * w + bias): bias first, then the products, then the slope below 0.
static void compute_forward(double *y, const double *x, const double *w, const double *bias,
                            double slope, const conv_geometry *conv, int64_t upsampling)
{
    const int64_t pixels = conv->n * conv->oh * conv->ow;
    for (int64_t i = 0; i < pixels * conv->k; i++) y[i] = bias ? bias[i % conv->k] : 0.0;
    visit_products(conv, upsampling, add_forward, &(operands){y, x, w});
    for (int64_t i = 0; i < pixels * conv->k; i++) y[i] = y[i] > 0.0 ? y[i] : slope * y[i];
}

static void compute_grad_input(double *dx, const double *dy, const double *w,
                               const conv_geometry *conv, int64_t upsampling)
{
    const int64_t size = conv->n * (conv->h / upsampling) * (conv->w / upsampling) * conv->c;
    for (int64_t i = 0; i < size; i++) dx[i] = 0.0;
    visit_products(conv, upsampling, add_grad_input, &(operands){dx, dy, w});
}

// The sum runs over frames and windows; with `accumulate` it is added to dw.
static void compute_grad_weights(double *dw, const double *x, const double *dy, bool accumulate,
                                 const conv_geometry *conv, int64_t upsampling)
{
    if (!accumulate)
        for (int64_t i = 0; i < conv->kh * conv->kw * conv->c * conv->k; i++) dw[i] = 0.0;
    visit_products(conv, upsampling, add_grad_weights, &(operands){dw, x, dy});
}

void conv_forward_reference(double *restrict y, const double *restrict x, const double *restrict w,
                            const double *restrict bias, double slope, const conv_geometry *conv)
{
    compute_forward(y, x, w, bias, slope, conv, 1);
}

void conv_grad_input_reference(double *restrict dx, const double *restrict dy,
                               const double *restrict w, const conv_geometry *conv)
{
    compute_grad_input(dx, dy, w, conv, 1);
}

void conv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                 const double *restrict dy, bool accumulate,
                                 const conv_geometry *conv)
{
    compute_grad_weights(dw, x, dy, accumulate, conv, 1);
}

void upconv_forward_reference(double *restrict y, const double *restrict x,
                              const double *restrict w, const double *restrict bias, double slope,
                              const conv_geometry *conv)
{
    compute_forward(y, x, w, bias, slope, conv, 2);
}

void upconv_grad_input_reference(double *restrict dx, const double *restrict dy,
                                 const double *restrict w, const conv_geometry *conv)
{
    compute_grad_input(dx, dy, w, conv, 2);
}

void upconv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                   const double *restrict dy, bool accumulate,
                                   const conv_geometry *conv)
{
    compute_grad_weights(dw, x, dy, accumulate, conv, 2);
}
