// SPDX-License-Identifier: MIT
// Compositions of kicks and drifts, and explicit Runge-Kutta methods [Higgins21, code].
#include "models/latent_dynamics/integrator.h"

#include <string.h>

enum { MAX_STAGES = 16 };

typedef enum family { COMPOSED, RUNGE_KUTTA } family;

struct integrator_method {
    const char *name;
    family family;
    int stages;
    double c[MAX_STAGES]; // kicks: p += c dt force
    double d[MAX_STAGES]; // drifts: q += d dt velocity, after the kick of the same number
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

enum { MAX_METHODS = 24 };
static integrator_method methods[MAX_METHODS];
static int method_count;

static integrator_method *add_method(const char *name, int stages)
{
    integrator_method *s = &methods[method_count++];
    *s = (integrator_method){.name = name, .family = COMPOSED, .stages = stages};
    return s;
}

// Coefficients that are a palindrome and sum to 1: the given ones, the rest in the middle (once, or
// in two halves), and the given ones in reverse.
static void fill_palindrome(double *out, int length, const double *given)
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
    integrator_method *s = add_method(name, kicks);
    fill_palindrome(s->c, kicks, c);
    fill_palindrome(s->d, kicks - 1, d);
}

// The same with the roles changed: a first kick of zero shifts the kicks by one.
static void add_position_first(const char *name, int drifts, const double *outer,
                               const double *inner)
{
    integrator_method *s = add_method(name, drifts);
    memcpy(s->d, outer, (size_t)drifts * sizeof *outer);
    memcpy(s->c + 1, inner, (size_t)(drifts - 1) * sizeof *inner);
}

// Leapfrogs of weights w, mirrored to `length`: the outer sequence joins neighbours' halves.
static void add_leapfrogs(const char *name_p, const char *name_q, int length, const double *given)
{
    double w[MAX_STAGES], outer[MAX_STAGES];
    fill_palindrome(w, length, given);
    for (int i = 0; i <= length; i++)
        outer[i] = ((i ? w[i - 1] : 0.0) + (i < length ? w[i] : 0.0)) / 2;
    integrator_method *s = add_method(name_p, length + 1);
    memcpy(s->c, outer, (size_t)(length + 1) * sizeof *outer);
    memcpy(s->d, w, (size_t)length * sizeof *w);
    add_position_first(name_q, length + 1, outer, w);
}

// All methods, with the coefficients of the published code. p and q say which moves first.
__attribute__((constructor)) static void fill_table(void)
{
    integrator_method *s = add_method("symp_euler_p", 1);
    s->c[0] = s->d[0] = 1.0;
    add_position_first("symp_euler_q", 2, (double[]){1, 0}, (double[]){1});
    add_leapfrogs("leap_frog_p", "leap_frog_q", 1, NULL);
    // Ruth and Forest: fourth order, three stages of force.
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
    // Runge-Kutta methods; `stages` is their row in the tableaux.
    for (int i = 0; i < TABLEAUX; i++) {
        s = add_method(tableaux[i].name, i);
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
    for (int i = 0; i < method_count; i++)
        if (!strcmp(methods[i].name, name)) return &methods[i];
    return NULL;
}

// Methods first, then synonyms; NULL behind the last.
const char *integrator_name(int i)
{
    if (i < method_count) return methods[i].name;
    return i - method_count < SYNONYMS ? synonyms[i - method_count][0] : NULL;
}

// ---- graphs ----

// x + h sign v
static graph_node *add_scaled(graph *g, graph_node *x, graph_node *v, double h, graph_node *sign)
{
    if (h == 0.0) return x;
    graph_node *step = sign ? op_multiply(g, op_scale(g, sign, h), v) : op_scale(g, v, h);
    return op_add(g, x, step);
}

// Kicks and drifts in turn. Each sees what the one before has changed, so it is symplectic.
static phase_state step_composed(const integrator_method *method, graph *g, const vector_field *f,
                                 phase_state state, double dt, graph_node *sign)
{
    for (int i = 0; i < method->stages; i++) {
        if (method->c[i] != 0.0)
            state.p = add_scaled(g, state.p, f->force(f->context, state), method->c[i] * dt, sign);
        if (method->d[i] != 0.0)
            state.q =
                add_scaled(g, state.q, f->velocity(f->context, state), method->d[i] * dt, sign);
    }
    return state;
}

// All stages from the state at the start, then their weighted sum.
static phase_state step_runge_kutta(const tableau *t, graph *g, const vector_field *f,
                                    phase_state state, double dt, graph_node *sign)
{
    phase_state k[4], end = state;
    for (int i = 0; i < t->stages; i++) {
        // Stage i: the slope at the state moved along the stages before.
        phase_state here = state;
        for (int j = 0; j < i; j++) {
            here.q = add_scaled(g, here.q, k[j].q, t->a[i][j] * dt, sign);
            here.p = add_scaled(g, here.p, k[j].p, t->a[i][j] * dt, sign);
        }
        k[i] = (phase_state){f->velocity(f->context, here), f->force(f->context, here)};
    }
    for (int i = 0; i < t->stages; i++) {
        end.q = add_scaled(g, end.q, k[i].q, t->b[i] * dt, sign);
        end.p = add_scaled(g, end.p, k[i].p, t->b[i] * dt, sign);
    }
    return end;
}

phase_state integrator_step(const integrator_method *method, graph *g, const vector_field *f,
                            phase_state state, double dt, graph_node *sign, int substeps)
{
    for (int i = 0; i < substeps; i++)
        state = method->family == COMPOSED
                    ? step_composed(method, g, f, state, dt / substeps, sign)
                    : step_runge_kutta(&tableaux[method->stages], g, f, state, dt / substeps, sign);
    return state;
}
