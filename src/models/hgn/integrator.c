// SPDX-License-Identifier: MIT
// Compositions of kicks and drifts, and explicit Runge-Kutta methods [Higgins21, code].
#include "models/hgn/integrator.h"

#include <string.h>

enum { STAGES = 16 };

typedef enum family { COMPOSED, RUNGE_KUTTA } family;

struct integrator_method {
    const char *name;
    family family;
    int stages;
    double c[STAGES]; // kicks: p += c dt force
    double d[STAGES]; // drifts: q += d dt velocity, after the kick of the same number
};

// Runge-Kutta methods by their tableau: k_i at the state moved by dt a[i] k_(i-1 ..), weights b.
typedef struct tableau {
    const char *name;
    int stages;
    double a[4][4];
    double b[4];
} tableau;

static const tableau tableaux[] = {
    {"general_euler", 1, {{0}}, {1}},
    {"rk2", 2, {{0}, {0.5}}, {0, 1}},
    {"rk4", 4, {{0}, {0.5}, {0, 0.5}, {0, 0, 1}}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}},
    {"rk38", 4, {{0}, {1.0 / 3}, {-1.0 / 3, 1}, {1, -1, 1}}, {1.0 / 8, 3.0 / 8, 3.0 / 8, 1.0 / 8}},
};
enum { TABLEAUX = sizeof tableaux / sizeof *tableaux };

enum { MOST = 24 };
static integrator_method table[MOST];
static int count;

static integrator_method *add(const char *name, int stages)
{
    integrator_method *s = &table[count++];
    *s = (integrator_method){.name = name, .family = COMPOSED, .stages = stages};
    return s;
}

// A palindrome that sums to 1: the given numbers, what is missing in the middle (once, or in two
// halves), and the numbers again.
static void mirror(double *out, int length, const double *given)
{
    int half = (length + 1) / 2;
    double sum = 0.0;
    for (int i = 0; i < half - 1; i++) sum += given[i];
    for (int i = 0; i < half - 1; i++) out[i] = out[length - 1 - i] = given[i];
    if (length % 2) out[half - 1] = 1.0 - 2.0 * sum;
    else out[half - 1] = out[half] = 0.5 - sum;
}

// c before d, one more kick than drifts.
static void add_momentum_first(const char *name, int kicks, const double *c, const double *d)
{
    integrator_method *s = add(name, kicks);
    mirror(s->c, kicks, c);
    mirror(s->d, kicks - 1, d);
}

// The same with the roles changed: a first kick of zero shifts the kicks by one.
static void add_position_first(const char *name, int drifts, const double *outer,
                               const double *inner)
{
    integrator_method *s = add(name, drifts);
    memcpy(s->d, outer, (size_t)drifts * sizeof *outer);
    memcpy(s->c + 1, inner, (size_t)(drifts - 1) * sizeof *inner);
}

// Leapfrogs of weights w, mirrored to `length`: the outer sequence joins neighbours' halves.
static void add_leapfrogs(const char *name_p, const char *name_q, int length, const double *given)
{
    double w[STAGES], outer[STAGES];
    mirror(w, length, given);
    for (int i = 0; i <= length; i++)
        outer[i] = ((i ? w[i - 1] : 0.0) + (i < length ? w[i] : 0.0)) / 2;
    integrator_method *s = add(name_p, length + 1);
    memcpy(s->c, outer, (size_t)(length + 1) * sizeof *outer);
    memcpy(s->d, w, (size_t)length * sizeof *w);
    add_position_first(name_q, length + 1, outer, w);
}

__attribute__((constructor)) static void fill_table(void)
{
    integrator_method *s = add("symp_euler_p", 1);
    s->c[0] = s->d[0] = 1.0;
    add_position_first("symp_euler_q", 2, (double[]){1, 0}, (double[]){1});
    add_leapfrogs("leap_frog_p", "leap_frog_q", 1, NULL);
    double b = 1.2599210498948731648, x = 1 / (4 - 2 * b), y = 1 / (2 - b); // b = 2^(1/3)
    add_position_first("ruth4", 4, (double[]){x, 0.5 - x, 0.5 - x, x}, (double[]){y, 1 - 2 * y, y});
    add_momentum_first("sym4", 7,
                       (double[]){0.0792036964311957, 0.353172906049774, -0.0420650803577195},
                       (double[]){0.209515106613362, -0.143851773179818});
    add_momentum_first(
        "sym6", 11,
        (double[]){0.0502627644003922, 0.413514300428344, 0.0450798897943977, -0.188054853819569,
                   0.541960678450780},
        (double[]){0.148816447901042, -0.132385865767784, 0.067307604692185, 0.432666402578175});
    add_leapfrogs("so4_p", "so4_q", 5, (double[]){0.28, 0.62546642846767004501});
    add_leapfrogs(
        "so6_p", "so6_q", 7,
        (double[]){0.78451361047755726382, 0.23557321335935813368, -1.17767998417887100695});
    add_leapfrogs("so8_p", "so8_q", 15,
                  (double[]){0.74167036435061295345, -0.40910082580003159400,
                             0.19075471029623837995, -0.57386247111608226666,
                             0.29906418130365592384, 0.33462491824529818378,
                             0.31529309239676659663});
    for (int i = 0; i < TABLEAUX; i++) {
        s = add(tableaux[i].name, i);
        s->family = RUNGE_KUTTA;
    }
}

static const char *const synonyms[][2] = {
    {"symp_euler", "symp_euler_q"},
    {"leap_frog", "leap_frog_p"},
    {"stormer_verlet", "leap_frog_p"},
    {"so4", "so4_p"},
    {"so6", "so6_p"},
    {"so8", "so8_p"},
};
enum { SYNONYMS = sizeof synonyms / sizeof *synonyms };

const integrator_method *integrator_find(const char *name)
{
    for (int i = 0; i < SYNONYMS; i++)
        if (!strcmp(synonyms[i][0], name)) name = synonyms[i][1];
    for (int i = 0; i < count; i++)
        if (!strcmp(table[i].name, name)) return &table[i];
    return NULL;
}

const char *integrator_name(int i)
{
    if (i < count) return table[i].name;
    return i - count < SYNONYMS ? synonyms[i - count][0] : NULL;
}

// x + h sign v
static graph_node *moved(graph *g, graph_node *x, graph_node *v, double h, graph_node *sign)
{
    if (h == 0.0) return x;
    graph_node *step = sign ? op_multiply(g, op_scale(g, sign, h), v) : op_scale(g, v, h);
    return op_add(g, x, step);
}

static phase_state composed(const integrator_method *s, graph *g, const vector_field *f,
                            phase_state at, double dt, graph_node *sign)
{
    for (int i = 0; i < s->stages; i++) {
        if (s->c[i] != 0.0) at.p = moved(g, at.p, f->force(f->self, at), s->c[i] * dt, sign);
        if (s->d[i] != 0.0) at.q = moved(g, at.q, f->velocity(f->self, at), s->d[i] * dt, sign);
    }
    return at;
}

static phase_state runge_kutta(const tableau *t, graph *g, const vector_field *f, phase_state at,
                               double dt, graph_node *sign)
{
    phase_state k[4], end = at;
    for (int i = 0; i < t->stages; i++) {
        phase_state here = at;
        for (int j = 0; j < i; j++) {
            here.q = moved(g, here.q, k[j].q, t->a[i][j] * dt, sign);
            here.p = moved(g, here.p, k[j].p, t->a[i][j] * dt, sign);
        }
        k[i] = (phase_state){f->velocity(f->self, here), f->force(f->self, here)};
    }
    for (int i = 0; i < t->stages; i++) {
        end.q = moved(g, end.q, k[i].q, t->b[i] * dt, sign);
        end.p = moved(g, end.p, k[i].p, t->b[i] * dt, sign);
    }
    return end;
}

phase_state integrator_step(const integrator_method *s, graph *g, const vector_field *f,
                            phase_state at, double dt, graph_node *sign, int parts)
{
    for (int i = 0; i < parts; i++)
        at = s->family == COMPOSED ? composed(s, g, f, at, dt / parts, sign)
                                   : runge_kutta(&tableaux[s->stages], g, f, at, dt / parts, sign);
    return at;
}
