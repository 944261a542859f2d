// SPDX-License-Identifier: MIT
// Sym [Higgins21, section 4]: A^ = J A J^T, Q = A^ A^^T, Sym = mean over entries of (Q / c - I)^2.
#include "measures/symetric/sym_score.h"

#include <math.h>

// out (2n, 2n) = A^ = J A J^T with A = [[0, I], [-I, 0]], as a sum over the pairs (q, p) of which
// both are columns of J; returns max |A^|. A^ is antisymmetric, so half of it is computed. The
// published code has A with the opposite sign, which has no effect on Q.
static double transform_form(double *out, const double *j, const sym_score_input *in)
{
    const int64_t rows = 2 * in->n, columns = in->columns;
    double largest = 0.0;
    for (int64_t a = 0; a < rows; a++) {
        out[a * rows + a] = 0.0;
        for (int64_t b = 0; b < a; b++) {
            const double *ja = j + a * columns, *jb = j + b * columns;
            double sum = 0.0;
            for (int64_t k = 0; k < in->pairs; k++) {
                const int64_t q = in->q[k], p = in->p[k];
                sum += ja[q] * jb[p] - ja[p] * jb[q];
            }
            out[a * rows + b] = sum;
            out[b * rows + a] = -sum;
            largest = fmax(largest, fabs(sum));
        }
    }
    return largest;
}

// The largest squared row norm of J.
static double max_row_norm2(const double *j, int64_t rows, int64_t columns)
{
    double largest = 0.0;
    for (int64_t a = 0; a < rows; a++) {
        double sum = 0.0;
        for (int64_t k = 0; k < columns; k++) sum += j[a * columns + k] * j[a * columns + k];
        largest = fmax(largest, sum);
    }
    return largest;
}

// q = form form^T; returns max |q|.
static double multiply_form(double *q, const double *form, int64_t rows)
{
    double largest = 0.0;
    for (int64_t a = 0; a < rows; a++)
        for (int64_t b = 0; b < rows; b++) {
            double sum = 0.0;
            for (int64_t k = 0; k < rows; k++) sum += form[a * rows + k] * form[b * rows + k];
            q[a * rows + b] = sum;
            largest = fmax(largest, fabs(sum));
        }
    return largest;
}

// 1/c for the c that minimises sum |c Q - I|^2: sum |Q|^2 / sum <Q, I>.
static double minimising_norm(const double *q, int64_t points, int64_t rows)
{
    double squares = 0.0, trace = 0.0;
    for (int64_t i = 0; i < points * rows * rows; i++) squares += q[i] * q[i];
    for (int64_t p = 0; p < points; p++)
        for (int64_t a = 0; a < rows; a++) trace += q[(p * rows + a) * rows + a];
    return trace > 0.0 ? squares / trace : 0.0;
}

void sym_score_compute(sym_score *out, double *jacobians, const sym_score_input *in,
                       double *scratch)
{
    const int64_t points = in->points, columns = in->columns;
    const int64_t rows = 2 * in->n, size = rows * rows;
    double *forms = scratch, *squares = scratch + points * size;
    double norm = 0.0;
    // A^, rho and Q of each point.
    for (int64_t p = 0; p < points; p++) {
        double *j = jacobians + p * rows * columns;
        const double length = max_row_norm2(j, rows, columns);
        for (int64_t i = 0; i < rows * columns; i++) j[i] += in->shift;
        const double area = transform_form(forms + p * size, j, in);
        out->rho[p] = length > 0.0 ? area / length : 0.0;
        norm += multiply_form(squares + p * size, forms + p * size, rows);
    }
    // c is 1 / mean over points of max |Q|, or minimises Sym.
    norm /= (double)points;
    out->norm = norm;
    if (in->scale == PLUMB_SYMETRIC_SCALE_MINIMISE) norm = minimising_norm(squares, points, rows);
    const double c = norm == 0.0 ? 1.0 : norm;
    double sum = 0.0;
    for (int64_t p = 0; p < points; p++) {
        double score = 0.0;
        for (int64_t i = 0; i < size; i++) {
            const double e = squares[p * size + i] / c - (i % (rows + 1) == 0 ? 1.0 : 0.0);
            score += e * e;
        }
        out->score[p] = score / (double)size;
        sum += out->score[p];
    }
    out->sym = sum / (double)points;
}
