// SPDX-License-Identifier: MIT
// Every integrator on four systems whose energies are written as graphs; their derivatives are
// those of the graphs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden_models.h"
#include "models/latent_dynamics/integrator.h"

typedef struct hamiltonian {
    graph *g;
    plumb_file *file;
    graph_node *(*energy)(const struct hamiltonian *h, phase_state s);
} hamiltonian;

static double constant(const hamiltonian *h, const char *name)
{
    return golden_scalar(h->file, name, 0.0);
}

static graph_node *half_square(graph *g, graph_node *x)
{
    return op_scale(g, op_sum_per_item(g, op_square(g, x)), 0.5);
}

static graph_node *spring(const hamiltonian *h, phase_state s)
{
    graph_node *kinetic =
        op_scale(h->g, half_square(h->g, s.p), 1.0 / constant(h, "const.spring_m"));
    return op_add(h->g, kinetic,
                  op_scale(h->g, half_square(h->g, s.q), constant(h, "const.spring_k")));
}

static graph_node *pendulum(const hamiltonian *h, phase_state s)
{
    graph_node *lift = op_add_scalar(h->g, op_scale(h->g, op_cos(h->g, s.q), -1.0), 1.0);
    return op_add(h->g, half_square(h->g, s.p),
                  op_scale(h->g, op_sum_per_item(h->g, lift), constant(h, "const.pend_g")));
}

static graph_node *column(graph *g, graph_node *x, int64_t i)
{
    return op_slice(g, x, 1, i, 1);
}

static graph_node *henon(const hamiltonian *h, phase_state s)
{
    graph *g = h->g;
    graph_node *x = column(g, s.q, 0), *y = column(g, s.q, 1);
    graph_node *cubic = op_subtract(g, op_multiply(g, op_square(g, x), y),
                                    op_scale(g, op_multiply(g, op_square(g, y), y), 1.0 / 3.0));
    graph_node *round = op_add(g, half_square(g, s.p), half_square(g, s.q));
    return op_add(g, round, op_sum_per_item(g, cubic));
}

static graph_node *nonsep(const hamiltonian *h, phase_state s)
{
    graph *g = h->g;
    graph_node *mass =
        op_add_scalar(g, op_scale(g, op_square(g, s.q), constant(h, "const.nonsep_a")), 1.0);
    graph_node *kinetic =
        op_scale(g, op_sum_per_item(g, op_multiply(g, op_square(g, s.p), mass)), 0.5);
    graph_node *cross = op_multiply(g, column(g, s.q, 0), column(g, s.p, 1));
    return op_add(g, op_add(g, kinetic, half_square(g, s.q)),
                  op_scale(g, op_sum_per_item(g, cross), 0.25));
}

static const struct {
    const char *name;
    graph_node *(*energy)(const hamiltonian *h, phase_state s);
} systems[] = {{"spring", spring}, {"pendulum", pendulum}, {"henon", henon}, {"nonsep", nonsep}};
enum { SYSTEMS = sizeof systems / sizeof *systems };

// p may have been made from q, and q from p: both are variables.
static void slopes(const hamiltonian *h, graph_node **d, phase_state s)
{
    graph_node *H = h->energy(h, s);
    graph_gradient(h->g, d, (graph_node *[]){s.q, s.p}, 2, &H, NULL, 1);
}

static graph_node *velocity(void *context, phase_state s)
{
    const hamiltonian *h = context;
    graph_node *d[2];
    slopes(h, d, s);
    return d[1];
}

static graph_node *force(void *context, phase_state s)
{
    const hamiltonian *h = context;
    graph_node *d[2];
    slopes(h, d, s);
    return op_scale(h->g, d[0], -1.0);
}

// A system at its start, and what is asked of it.
typedef struct trial {
    golden_judgement *j;
    const char *system;
    hamiltonian h;
    vector_field f;
    phase_state start;
    double *q0, *p0;
    int64_t count;
} trial;

static bool begin(trial *t, golden_judgement *j, int system)
{
    *t = (trial){.j = j, .system = systems[system].name};
    if (graph_create(&t->h.g)) return false;
    t->h.file = j->file;
    t->h.energy = systems[system].energy;
    GOLDEN_NAME(q, "%s.q0", t->system);
    GOLDEN_NAME(p, "%s.p0", t->system);
    t->q0 = golden_read(&t->count, j->file, q);
    t->p0 = golden_read(&t->count, j->file, p);
    int64_t size[2] = {3, t->count / 3};
    t->start.q = op_input(t->h.g, "q", 0, 2, size);
    t->start.p = op_input(t->h.g, "p", 0, 2, size);
    t->f = (vector_field){.context = &t->h, .velocity = velocity, .force = force};
    if (!t->q0 || !t->p0) golden_wrong(j, "no start");
    return t->q0 && t->p0;
}

static void end(trial *t)
{
    graph_free(t->h.g);
    free(t->q0);
    free(t->p0);
}

// Runs and compares; `sign` may be NULL.
static void judge(trial *t, graph_node *const *output, int outputs, const char *const *want,
                  const graph_node *sign)
{
    golden_machine m;
    if (!golden_start(&m, t->h.g, output, outputs, t->j->form)) {
        golden_wrong(t->j, want[0]);
        return;
    }
    double signs[6];
    for (int64_t i = 0; i < t->count; i++) signs[i] = i / (t->count / 3) == 1 ? -1.0 : 1.0;
    instance_set(m.i, t->start.q, t->q0);
    instance_set(m.i, t->start.p, t->p0);
    if (sign) instance_set(m.i, sign, signs);
    instance_run(m.i, 0);
    for (int i = 0; i < outputs; i++) {
        int64_t n = shape_count(&output[i]->shape);
        double *got = malloc((size_t)n * sizeof *got);
        instance_get(m.i, i, got);
        golden_close(t->j, want[i], got, n, GOLDEN_STATE);
        free(got);
    }
    golden_stop(&m);
}

static void check_start(golden_judgement *j, int system)
{
    trial t;
    if (begin(&t, j, system)) {
        GOLDEN_NAME(H, "%s.H0", t.system);
        GOLDEN_NAME(dq, "%s.dq0", t.system);
        GOLDEN_NAME(dp, "%s.dp0", t.system);
        graph_node *out[] = {t.h.energy(&t.h, t.start), velocity(&t.h, t.start),
                             force(&t.h, t.start)};
        judge(&t, out, 3, (const char *[]){H, dq, dp}, NULL);
    }
    end(&t);
}

// How a trajectory is asked for, and the end of its name.
typedef struct manner {
    const char *suffix;
    int back, forward, parts;
    bool now, signs;
} manner;

static void check_path(golden_judgement *j, int system, const integrator_method *s,
                       const char *method, const manner *how)
{
    trial t;
    if (begin(&t, j, system)) {
        graph *g = t.h.g;
        double dt = golden_scalar(j->file, "const.dt", 0.0);
        graph_node *q[32], *p[32];
        int64_t size[3] = {1, 3, t.count / 3};
        graph_node *sign = how->signs ? op_input(g, "sign", 0, 2, size + 1) : NULL;
        phase_state at = t.start;
        int total = how->back + how->now + how->forward;
        for (int i = how->back - 1; i >= 0; i--) {
            at = integrator_step(s, g, &t.f, at, -dt, sign, how->parts);
            q[i] = at.q, p[i] = at.p;
        }
        at = t.start;
        if (how->now) q[how->back] = at.q, p[how->back] = at.p;
        for (int i = how->back + how->now; i < total; i++) {
            at = integrator_step(s, g, &t.f, at, dt, sign, how->parts);
            q[i] = at.q, p[i] = at.p;
        }
        for (int i = 0; i < total; i++)
            q[i] = op_reshape(g, q[i], 3, size), p[i] = op_reshape(g, p[i], 3, size);
        graph_node *out[] = {op_concat(g, q, total, 0), op_concat(g, p, total, 0)};
        GOLDEN_NAME(q_name, "%s.%s%s.q", t.system, method, how->suffix);
        GOLDEN_NAME(p_name, "%s.%s%s.p", t.system, method, how->suffix);
        judge(&t, out, 2, (const char *[]){q_name, p_name}, sign);
    }
    end(&t);
}

static void check_method(golden_judgement *j, int system, const char *method)
{
    static const manner manners[] = {
        {.suffix = "", .forward = 20, .parts = 1},
        {.suffix = ".two_dir_sub3", .back = 4, .forward = 6, .parts = 3, .now = true},
        {.suffix = ".signed_dt", .back = 2, .forward = 6, .parts = 1, .now = true, .signs = true},
    };
    const integrator_method *s = integrator_find(method);
    if (!s) {
        golden_wrong(j, method);
        return;
    }
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
        GOLDEN_NAME(name, "%s.%s%s.q", systems[system].name, method, manners[i].suffix);
        if (!i || plumb_file_has_array(j->file, name))
            check_path(j, system, s, method, &manners[i]);
    }
}

// Methods by the names in the file: SYSTEM.METHOD.q. Every one of ours must be among them.
static void check_methods(golden_judgement *j)
{
    bool seen[64] = {false};
    for (int64_t i = 0; i < plumb_file_array_count(j->file); i++) {
        const char *name = plumb_file_array_name(j->file, i), *dot = strchr(name, '.');
        const char *last = dot ? strchr(dot + 1, '.') : NULL;
        if (!last || strcmp(last, ".q")) continue;
        char method[32];
        snprintf(method, sizeof method, "%.*s", (int)(last - dot - 1), dot + 1);
        for (int k = 0; k < SYSTEMS; k++)
            if (!strncmp(systems[k].name, name, (size_t)(dot - name))) check_method(j, k, method);
        for (int k = 0; integrator_name(k); k++)
            if (integrator_find(integrator_name(k)) == integrator_find(method)) seen[k] = true;
    }
    for (int k = 0; integrator_name(k); k++)
        if (!seen[k]) golden_wrong(j, integrator_name(k));
}

int golden_integrators(plumb_file *file, const char *path)
{
    int failures = 0;
    for (int form = 0; form < 2; form++) {
        golden_judgement j = {
            .file = file, .path = path, .form = form ? PROGRAM_FAST : PROGRAM_REFERENCE};
        for (int k = 0; k < SYSTEMS; k++) check_start(&j, k);
        check_methods(&j);
        golden_tell(&j);
        failures += j.failures;
    }
    return failures;
}
