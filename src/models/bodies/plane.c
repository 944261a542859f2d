// SPDX-License-Identifier: MIT
// The grid of a potential in the plane.
#include "models/bodies/plane.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

// Inputs of the network are larger than coordinates, which are at most about 1.
static const double feature_scale = 3.0;

jets_shape plane_shape(const plane_spec *spec)
{
    return (jets_shape){.features = 2, .width = spec->width};
}

plumb_status plane_alloc(plane_table *out, arena *mem, const plane_spec *spec)
{
    const jets_shape shape = plane_shape(spec);
    const int nodes = spec->nodes;
    *out = (plane_table){.spec = *spec,
                         .step = 2.0 * spec->half / (nodes - 1),
                         .inverse = (nodes - 1) / (2.0 * spec->half),
                         .value = ARENA_ALLOC(mem, double, nodes *nodes * 4),
                         .seed = ARENA_ALLOC(mem, double, nodes *nodes * 4)};
    const plumb_status st = jets_alloc(&out->net, mem, &shape, nodes * nodes);
    if (st || !out->value || !out->seed) return PLUMB_EMEMORY;
    for (int n = 0; n < nodes * nodes; n++) {
        double *at = out->net.features + n * JET_PARTS * 2;
        at[JET_VALUE * 2] = feature_scale * (-spec->half + n % nodes * out->step);
        at[JET_VALUE * 2 + 1] = feature_scale * (-spec->half + n / nodes * out->step);
        // The first direction is x, the second y.
        at[JET_A * 2] = at[JET_B * 2 + 1] = feature_scale;
    }
    return PLUMB_OK;
}

// Units of the four parts of a node.
static double unit_of(const plane_table *table, int part)
{
    return part == JET_VALUE ? 1.0 : part == JET_AB ? table->step * table->step : table->step;
}

void plane_fill(plane_table *table, const float *parameters)
{
    const int64_t count = (int64_t)table->spec.nodes * table->spec.nodes * 4;
    jets_run(&table->net, parameters);
    for (int64_t i = 0; i < count; i++) {
        table->value[i] = unit_of(table, (int)(i % 4)) * table->net.output[i];
        table->seed[i] = 0.0;
    }
}

void plane_add_gradient(plane_table *table, float *gradient)
{
    const int64_t count = (int64_t)table->spec.nodes * table->spec.nodes * 4;
    for (int64_t i = 0; i < count; i++)
        table->net.output_seed[i] = unit_of(table, (int)(i % 4)) * table->seed[i];
    jets_add_gradient(&table->net, gradient);
}

// One axis: the interval, and the weights of (value, slope) at its two ends with their derivatives
// by the coordinate.
typedef struct axis_place {
    int node;
    double weight[2][2], first[2][2], second[2][2];
} axis_place;

static inline void find_axis(axis_place *out, const plane_table *table, double x, bool second)
{
    // Beyond the grid the cubic of the last interval goes on for one interval, and then stays.
    const double inverse = table->inverse, last = (double)(table->spec.nodes - 1);
    double t = (x + table->spec.half) * inverse;
    if (!(t > -1.0)) t = -1.0;
    if (t > last + 1.0) t = last + 1.0;
    int node = (int)(t + 1.0) - 1; // rounded down
    node = node < 0 ? 0 : node > table->spec.nodes - 2 ? table->spec.nodes - 2 : node;
    const double u = t - node, v = 1.0 - u, uv = u * v;
    out->node = node;
    out->weight[0][0] = (v + 2.0 * uv) * v;
    out->weight[0][1] = uv * v;
    out->weight[1][0] = u * u * (3.0 - 2.0 * u);
    out->weight[1][1] = -u * uv;
    out->first[0][0] = -6.0 * uv * inverse;
    out->first[0][1] = v * (1.0 - 3.0 * u) * inverse;
    out->first[1][0] = 6.0 * uv * inverse;
    out->first[1][1] = u * (3.0 * u - 2.0) * inverse;
    if (!second) return;
    const double inverse2 = inverse * inverse;
    out->second[0][0] = (12.0 * u - 6.0) * inverse2;
    out->second[0][1] = (6.0 * u - 4.0) * inverse2;
    out->second[1][0] = (6.0 - 12.0 * u) * inverse2;
    out->second[1][1] = (6.0 * u - 2.0) * inverse2;
}

void plane_evaluate(plane_jet *out, const plane_table *table, double x, double y)
{
    axis_place a, b;
    find_axis(&a, table, x, true);
    find_axis(&b, table, y, true);
    *out = (plane_jet){0};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            const double *node = table->value + ((b.node + j) * table->spec.nodes + a.node + i) * 4;
            // Sums over the two weights of x, for the value and for the slope by y.
            double low[2], first[2], second[2];
            for (int s = 0; s < 2; s++) {
                low[s] = a.weight[i][0] * node[2 * s] + a.weight[i][1] * node[2 * s + 1];
                first[s] = a.first[i][0] * node[2 * s] + a.first[i][1] * node[2 * s + 1];
                second[s] = a.second[i][0] * node[2 * s] + a.second[i][1] * node[2 * s + 1];
            }
            out->v += b.weight[j][0] * low[0] + b.weight[j][1] * low[1];
            out->x += b.weight[j][0] * first[0] + b.weight[j][1] * first[1];
            out->y += b.first[j][0] * low[0] + b.first[j][1] * low[1];
            out->xx += b.weight[j][0] * second[0] + b.weight[j][1] * second[1];
            out->xy += b.first[j][0] * first[0] + b.first[j][1] * first[1];
            out->yy += b.second[j][0] * low[0] + b.second[j][1] * low[1];
        }
}

void plane_add_seed(plane_table *table, double x, double y, double seed_x, double seed_y)
{
    axis_place a, b;
    find_axis(&a, table, x, false);
    find_axis(&b, table, y, false);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            double *node = table->seed + ((b.node + j) * table->spec.nodes + a.node + i) * 4;
            for (int t = 0; t < 2; t++)
                for (int s = 0; s < 2; s++)
                    node[2 * t + s] += seed_x * a.first[i][s] * b.weight[j][t] +
                                       seed_y * a.weight[i][s] * b.first[j][t];
        }
}
