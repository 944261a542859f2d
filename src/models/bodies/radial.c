// SPDX-License-Identifier: MIT
// The table of a potential of a distance.
#include "models/bodies/radial.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

jets_shape radial_shape(const radial_spec *spec)
{
    return (jets_shape){.features = spec->form == RADIAL_LINEAR ? 1 : 2, .width = spec->width};
}

// Features at x, and their first and second derivative by x.
static void find_features(double f[2][3], const radial_spec *spec, double x)
{
    const double scale = 4.0 / (spec->high - spec->low);
    if (spec->form == RADIAL_LOG) {
        const double inverse2 = spec->low * spec->low * exp(-2.0 * x);
        f[0][0] = 2.0 * (x - log(spec->low)) - 1.0;
        f[0][1] = 2.0;
        f[0][2] = 0.0;
        f[1][0] = 2.0 * inverse2;
        f[1][1] = -4.0 * inverse2;
        f[1][2] = 8.0 * inverse2;
        return;
    }
    f[0][0] = scale * (x - spec->low) - 2.0;
    f[0][1] = scale;
    f[0][2] = 0.0;
    // 1 / r, softened so that it stays finite where the data end.
    const double soft = x + 0.2 * spec->low, inverse = 2.0 * spec->low / soft;
    f[1][0] = inverse - 1.0;
    f[1][1] = -inverse / soft;
    f[1][2] = 2.0 * inverse / (soft * soft);
}

plumb_status radial_alloc(radial_table *out, arena *mem, const radial_spec *spec)
{
    const jets_shape shape = radial_shape(spec);
    *out = (radial_table){.spec = *spec,
                          .value = ARENA_ALLOC(mem, double, spec->nodes),
                          .slope = ARENA_ALLOC(mem, double, spec->nodes),
                          .energy = ARENA_ALLOC(mem, double, spec->nodes),
                          .value_seed = ARENA_ALLOC(mem, double, spec->nodes),
                          .slope_seed = ARENA_ALLOC(mem, double, spec->nodes)};
    const plumb_status st = jets_alloc(&out->net, mem, &shape, spec->nodes);
    if (st || !out->value || !out->slope || !out->energy || !out->value_seed || !out->slope_seed)
        return PLUMB_EMEMORY;
    // A little more than the data have, because a rollout can go astray.
    double from = 0.7 * spec->low, to = 1.3 * spec->high;
    if (spec->cut > 0.0 && to > spec->cut) to = spec->cut;
    if (spec->form == RADIAL_LOG) from = log(from), to = log(to);
    out->first = from;
    out->step = (to - from) / (spec->nodes - 1);
    for (int n = 0; n < spec->nodes; n++) {
        double f[2][3], *at = out->net.features + n * JET_PARTS * shape.features;
        find_features(f, spec, out->first + n * out->step);
        // Both directions are x, so that the mixed derivative is the second one.
        for (int k = 0; k < shape.features; k++) {
            at[JET_VALUE * shape.features + k] = f[k][0];
            at[JET_A * shape.features + k] = at[JET_B * shape.features + k] = f[k][1];
            at[JET_AB * shape.features + k] = f[k][2];
        }
    }
    return PLUMB_OK;
}

void radial_fill(radial_table *table, const float *parameters)
{
    const int nodes = table->spec.nodes;
    jets_run(&table->net, parameters);
    for (int n = 0; n < nodes; n++) {
        table->value[n] = table->net.output[n * JET_PARTS + JET_A];
        table->slope[n] = table->step * table->net.output[n * JET_PARTS + JET_AB];
        table->value_seed[n] = table->slope_seed[n] = 0.0;
    }
    // The integral of the cubic over an interval.
    table->energy[0] = table->net.output[JET_VALUE];
    for (int n = 0; n + 1 < nodes; n++)
        table->energy[n + 1] =
            table->energy[n] + table->step * (0.5 * (table->value[n] + table->value[n + 1]) +
                                              (table->slope[n] - table->slope[n + 1]) / 12.0);
}

void radial_add_gradient(radial_table *table, float *gradient)
{
    for (int n = 0; n < table->spec.nodes; n++) {
        double *seed = table->net.output_seed + n * JET_PARTS;
        seed[JET_VALUE] = seed[JET_B] = 0.0;
        seed[JET_A] = table->value_seed[n];
        seed[JET_AB] = table->step * table->slope_seed[n];
    }
    jets_add_gradient(&table->net, gradient);
}

// Where r is in the table: dU/dx is a sum of two values and two slopes.
typedef struct table_place {
    int node;
    double x_slope, x_curve; // dx/dr, d2x/dr2
    double weight[4];        // of value, slope, next value, next slope
    double change[4];        // their derivatives by x
    double u;                // share of the interval
} table_place;

static bool find_place(table_place *out, const radial_table *table, double r)
{
    const radial_spec *spec = &table->spec;
    if (spec->cut > 0.0 && r >= spec->cut) return false;
    const double x = spec->form == RADIAL_LOG ? log(r) : r;
    out->x_slope = spec->form == RADIAL_LOG ? 1.0 / r : 1.0;
    out->x_curve = spec->form == RADIAL_LOG ? -1.0 / (r * r) : 0.0;
    const double t = (x - table->first) / table->step, last = (double)(spec->nodes - 1);
    const double inverse = 1.0 / table->step;
    memset(out->weight, 0, sizeof out->weight);
    memset(out->change, 0, sizeof out->change);
    // Beyond the table: a straight line from its end.
    if (!(t > 0.0 && t < last)) {
        const bool low = !(t > 0.0);
        out->node = low ? 0 : spec->nodes - 2;
        out->u = low ? t : t - (last - 1.0);
        out->weight[low ? 0 : 2] = 1.0;
        out->weight[low ? 1 : 3] = low ? t : t - last;
        out->change[low ? 1 : 3] = inverse;
        return true;
    }
    out->node = (int)t;
    const double u = t - out->node, v = 1.0 - u;
    out->u = u;
    out->weight[0] = (1.0 + 2.0 * u) * v * v;
    out->weight[1] = u * v * v;
    out->weight[2] = u * u * (3.0 - 2.0 * u);
    out->weight[3] = -u * u * v;
    out->change[0] = -6.0 * u * v * inverse;
    out->change[1] = v * (1.0 - 3.0 * u) * inverse;
    out->change[2] = 6.0 * u * v * inverse;
    out->change[3] = u * (3.0 * u - 2.0) * inverse;
    return true;
}

static double sum_nodes(const double *weight, const radial_table *table, int node)
{
    return weight[0] * table->value[node] + weight[1] * table->slope[node] +
           weight[2] * table->value[node + 1] + weight[3] * table->slope[node + 1];
}

void radial_force(double *force, double *slope, const radial_table *table, double r)
{
    table_place at;
    *force = *slope = 0.0;
    if (!find_place(&at, table, r)) return;
    const double value = sum_nodes(at.weight, table, at.node);
    *force = value * at.x_slope;
    *slope = sum_nodes(at.change, table, at.node) * at.x_slope * at.x_slope + value * at.x_curve;
}

void radial_add_seed(radial_table *table, double r, double seed)
{
    table_place at;
    if (!find_place(&at, table, r)) return;
    seed *= at.x_slope;
    table->value_seed[at.node] += seed * at.weight[0];
    table->slope_seed[at.node] += seed * at.weight[1];
    table->value_seed[at.node + 1] += seed * at.weight[2];
    table->slope_seed[at.node + 1] += seed * at.weight[3];
}

double radial_energy(const radial_table *table, double r)
{
    table_place at;
    const int last = table->spec.nodes - 1;
    // At the cut the energy jumps to 0, as the force does.
    if (!find_place(&at, table, r)) return 0.0;
    const double step = table->step, u = at.u;
    if (u < 0.0) return table->energy[0] + step * u * (table->value[0] + 0.5 * u * table->slope[0]);
    if (u > 1.0) {
        const double beyond = u - 1.0;
        return table->energy[last] +
               step * beyond * (table->value[last] + 0.5 * beyond * table->slope[last]);
    }
    // Integrals of the four weights from 0 to u.
    const double u2 = u * u, u3 = u2 * u, u4 = u2 * u2;
    const double part[4] = {u - u3 + 0.5 * u4, 0.5 * u2 - 2.0 / 3.0 * u3 + 0.25 * u4, u3 - 0.5 * u4,
                            0.25 * u4 - u3 / 3.0};
    return table->energy[at.node] + step * sum_nodes(part, table, at.node);
}
