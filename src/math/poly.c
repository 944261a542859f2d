// SPDX-License-Identifier: MIT
// Monomials: counting, numbering, gradients and values.
#include "math/poly.h"

#include <string.h>

#include "math/vector.h"

int64_t poly_count(int64_t dims, int order)
{
    // C(d+1, 1), C(d+2, 2), ...: each step multiplies first, so that the division is exact.
    int64_t value = 1;
    for (int k = 1; k <= order; k++) {
        if (__builtin_mul_overflow(value, dims + k, &value)) return -1;
        value /= k;
    }
    return value - 1;
}

plumb_status poly_init(poly *out, arena *mem, int64_t dims, int order)
{
    *out = (poly){.dims = dims, .order = order, .count = poly_count(dims, order)};
    if (out->count < 0)
        return fail(PLUMB_EMEMORY, "a polynomial of order %d in %lld variables has too many terms",
                    order, (long long)dims);
    int64_t next = 0;
    for (int k = 1; k <= order; k++) {
        int64_t *run = out->run[k] = ARENA_ALLOC(mem, int64_t, dims + 1);
        if (!run) return PLUMB_EMEMORY;
        for (int64_t i = 0; i < dims; i++)
            run[i + 1] = run[i] + (k == 1 ? 1 : out->run[k - 1][dims] - out->run[k - 1][i]);
        out->first[k] = next;
        next += run[dims];
    }
    out->first[order + 1] = next;
    return PLUMB_OK;
}

// The first variable of the monomial at `offset` of degree k, by bisection.
static int64_t find_leader(const poly *basis, int k, int64_t offset)
{
    int64_t low = 0, high = basis->dims; // run[low] <= offset < run[high]
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (basis->run[k][middle] <= offset) low = middle;
        else high = middle;
    }
    return low;
}

int poly_variables(int64_t variables[POLY_MAX_ORDER], const poly *basis, int64_t monomial)
{
    int degree = 1;
    while (basis->first[degree + 1] <= monomial) degree++;
    int64_t offset = monomial - basis->first[degree];
    for (int k = degree; k > 1; k--) {
        const int64_t i = find_leader(basis, k, offset);
        variables[degree - k] = i;
        offset += basis->run[k - 1][i] - basis->run[k][i];
    }
    variables[degree - 1] = offset;
    return degree;
}

int64_t poly_index(const poly *basis, const int64_t *variables, int degree)
{
    int64_t offset = variables[degree - 1];
    for (int k = 2; k <= degree; k++) {
        const int64_t i = variables[degree - k];
        offset += basis->run[k][i] - basis->run[k - 1][i];
    }
    return basis->first[degree] + offset;
}

void poly_gradient(double *gradient, const poly *basis, int64_t monomial, double weight,
                   const double *x)
{
    int64_t v[POLY_MAX_ORDER];
    const int degree = poly_variables(v, basis, monomial);
    // Product rule: leave out one factor at a time. A repeated variable is left out once for each
    // of its factors.
    for (int skip = 0; skip < degree; skip++) {
        double product = weight;
        for (int i = 0; i < degree; i++)
            if (i != skip) product *= x[v[i]];
        gradient[v[skip]] += product;
    }
}

void poly_expand(double *out, const poly *basis, int degree, const double *x, int64_t stride,
                 int64_t n)
{
    for (int64_t i = 0; i < basis->dims && x != out; i++)
        memcpy(out + i * stride, x + i * stride, (size_t)n * sizeof *out);
    // Degree k, first variable i: x_i times a run of degree k - 1.
    for (int k = 2; k <= degree; k++)
        for (int64_t i = 0; i < basis->dims; i++) {
            const double *from = out + (basis->first[k - 1] + basis->run[k - 1][i]) * stride;
            double *to = out + (basis->first[k] + basis->run[k][i]) * stride;
            const int64_t length = basis->run[k][i + 1] - basis->run[k][i];
            for (int64_t j = 0; j < length; j++)
                vector_product(to + j * stride, from + j * stride, x + i * stride, n);
        }
}
