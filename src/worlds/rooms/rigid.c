// SPDX-License-Identifier: MIT
// Impulses one contact after the other, again and again [Catto05]. Contacts are found before they
// happen: a pair may approach by its gap within a step, and no faster, so that nothing sinks in.
// Bounces come after, overlaps that rounding leaves are taken out of the positions and not of the
// velocities, and where impulses have added energy (frictional bounces at several points can) the
// step is solved again without bounces, then without friction: then it cannot grow, for the dual
// problem goes down with every impulse. Free flight is exact.
//
// Why not a library: the same bits on every machine and any thread count, at ten times the speed.
#include "worlds/rooms/rigid.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 16, REPAIRS = 4 };
static const double gravity = 9.81;
static const double settled = 1e-5; // change of velocity in a round that is the last
static const double slow = 0.2;     // approaches below this do not bounce
static const double slop = 2e-4;    // overlap that is left alone
static const double repair = 0.3;   // share of the rest that goes in a round

typedef struct moving {
    bool moves;
    double by_mass, by_inertia[3][3]; // 0 for what does not move
    double v[3], w[3];                // v: of the point it turns about
} moving;

// A direction in which a contact acts, and what an impulse along it does.
typedef struct lever {
    double along[3], turn_a[3], turn_b[3]; // arm x direction
    double spin_a[3], spin_b[3];           // the same by inertia
    double mass;
} lever;

// A contact made ready.
typedef struct joint {
    contact *c;
    moving *a, *b; // b: the floor's is at rest
    lever normal, across[2];
    double friction, restitution, approach, allowed;
} joint;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void times(double out[3], double m[3][3], const double v[3])
{
    for (int k = 0; k < 3; k++) out[k] = dot(m[k], v);
}

static bool is_free(const rigid *r, const body *b)
{
    return b->mass > 0.0 && !b->ghost && r->time >= b->release;
}

// sum over axes of axis axis^T f_k
static void spread(double out[3][3], const double q[4], const double f[3])
{
    double axis[3][3];
    body_axes(axis, q);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = axis[0][i] * axis[0][j] * f[0] + axis[1][i] * axis[1][j] * f[1] +
                        axis[2][i] * axis[2][j] * f[2];
}

// What impulses act about: a hinge, or the centre of mass.
static const double *about(const body *b)
{
    return b->hinged ? b->pivot : b->x;
}

static double hinge_inertia(const body *b)
{
    return b->inertia[0] + b->mass * (b->half[1] * b->half[1] + b->half[2] * b->half[2]);
}

static void by_inertia(double out[3][3], const body *b)
{
    if (b->hinged) {
        const double only[3] = {1.0 / hinge_inertia(b), 0.0, 0.0};
        spread(out, b->q, only);
        return;
    }
    const double f[3] = {1.0 / b->inertia[0], 1.0 / b->inertia[1], 1.0 / b->inertia[2]};
    spread(out, b->q, f);
}

// ---- contacts ----

static void find_contacts(contact_list *out, const rigid *r, double h, bool all)
{
    out->count = 0;
    for (int i = 0; i < r->count; i++) {
        const body *p = &r->body[i];
        if (p->ghost) continue;
        const bool moves = is_free(r, p);
        const double fast = sqrt(dot(p->v, p->v)) + p->radius * sqrt(dot(p->w, p->w));
        if (moves || all) contact_find_floor(out, r->body, i, 0.005 + 2.0 * h * fast);
        for (int j = 0; j < i; j++) {
            const body *q = &r->body[j];
            if (q->ghost || !(moves || all || is_free(r, q))) continue;
            const double also = sqrt(dot(q->v, q->v)) + q->radius * sqrt(dot(q->w, q->w));
            contact_find(out, r->body, i, j, 0.005 + 2.0 * h * (fast + also));
        }
    }
}

// Impulses of the step before, where the contact is still there.
static void remember(contact_list *now, const contact_list *before)
{
    for (int i = 0; i < now->count; i++) {
        contact *c = &now->at[i];
        double nearest = 4e-4;
        for (int j = 0; j < before->count; j++) {
            const contact *o = &before->at[j];
            if (o->a != c->a || o->b != c->b || o->part != c->part) continue;
            double off[3];
            for (int k = 0; k < 3; k++) off[k] = o->point[k] - c->point[k];
            if (dot(off, off) >= nearest) continue;
            nearest = dot(off, off);
            c->normal_impulse = o->normal_impulse;
            memcpy(c->tangent_impulse, o->tangent_impulse, sizeof c->tangent_impulse);
        }
    }
}

static void lever_set(lever *l, const joint *j, const double arm_a[3], const double arm_b[3],
                      const double along[3])
{
    memcpy(l->along, along, sizeof l->along);
    cross(l->turn_a, arm_a, along);
    cross(l->turn_b, arm_b, along);
    times(l->spin_a, j->a->by_inertia, l->turn_a);
    times(l->spin_b, j->b->by_inertia, l->turn_b);
    const double ease =
        j->a->by_mass + j->b->by_mass + dot(l->turn_a, l->spin_a) + dot(l->turn_b, l->spin_b);
    l->mass = ease > 1e-9 ? 1.0 / ease : 0.0; // 0: along a hinge, nothing gives way
}

// How much an impulse changes the velocity along its lever.
static double effect(const lever *l, double impulse)
{
    return l->mass > 0.0 ? fabs(impulse) / l->mass : 0.0;
}

static inline double speed_along(const joint *j, const lever *l)
{
    const moving *a = j->a, *b = j->b;
    return dot(l->along, a->v) - dot(l->along, b->v) + dot(l->turn_a, a->w) - dot(l->turn_b, b->w);
}

static inline void kick(const joint *j, const lever *l, double by)
{
    moving *a = j->a, *b = j->b;
    const double of_a = by * a->by_mass, of_b = by * b->by_mass;
    for (int k = 0; k < 3; k++) {
        a->v[k] += of_a * l->along[k];
        a->w[k] += by * l->spin_a[k];
        b->v[k] -= of_b * l->along[k];
        b->w[k] -= by * l->spin_b[k];
    }
}

// Two directions across the normal, the same for the same normal.
static void across(double out[2][3], const double n[3])
{
    const int thin = fabs(n[0]) < 0.6 ? 0 : 1;
    const double e[3] = {(double)(thin == 0), (double)(thin == 1), 0.0};
    cross(out[0], n, e);
    const double length = sqrt(dot(out[0], out[0]));
    for (int k = 0; k < 3; k++) out[0][k] /= length;
    cross(out[1], n, out[0]);
}

static void prepare(joint *j, contact *c, const rigid *r, moving *m, moving *still, double h)
{
    static const body ground = {.friction = 0.5};
    const body *a = &r->body[c->a], *b = c->b == CONTACT_FLOOR ? &ground : &r->body[c->b];
    *j = (joint){.c = c, .a = &m[c->a], .b = c->b == CONTACT_FLOOR ? still : &m[c->b]};
    double arm_a[3], arm_b[3], sides[2][3];
    for (int k = 0; k < 3; k++) {
        arm_a[k] = c->point[k] - about(a)[k];
        arm_b[k] = c->point[k] - about(b)[k];
    }
    across(sides, c->normal);
    lever_set(&j->normal, j, arm_a, arm_b, c->normal);
    for (int t = 0; t < 2; t++) lever_set(&j->across[t], j, arm_a, arm_b, sides[t]);
    j->friction = sqrt(a->friction * b->friction);
    j->restitution = fmax(a->restitution, b->restitution);
    if (a->mirror && b->mirror) j->restitution = 1.0, j->friction = 0.0;
    j->approach = speed_along(j, &j->normal);
    j->allowed = c->gap > 0.0 ? -c->gap / h : 0.0;
}

// ---- solving ----

// Each returns how much it has changed a velocity.
static double push(joint *j)
{
    contact *c = j->c;
    const double by = (j->allowed - speed_along(j, &j->normal)) * j->normal.mass;
    const double wanted = c->normal_impulse + by, sum = wanted > 0.0 ? wanted : 0.0,
                 change = sum - c->normal_impulse;
    c->normal_impulse = sum;
    if (change != 0.0) kick(j, &j->normal, change);
    return effect(&j->normal, change);
}

static double rub(joint *j)
{
    contact *c = j->c;
    double sum[2], changed = 0.0;
    if (!(c->normal_impulse > 0.0) && c->tangent_impulse[0] == 0.0 && c->tangent_impulse[1] == 0.0)
        return 0.0;
    for (int t = 0; t < 2; t++)
        sum[t] = c->tangent_impulse[t] - speed_along(j, &j->across[t]) * j->across[t].mass;
    const double most = j->friction * c->normal_impulse, square = sum[0] * sum[0] + sum[1] * sum[1];
    const double share = square > most * most ? most / sqrt(square) : 1.0;
    for (int t = 0; t < 2; t++) {
        const double change = share * sum[t] - c->tangent_impulse[t];
        c->tangent_impulse[t] = share * sum[t];
        if (change != 0.0) kick(j, &j->across[t], change);
        changed += effect(&j->across[t], change);
    }
    return changed;
}

static void bounce(joint *j)
{
    contact *c = j->c;
    if (!(j->approach < -slow) || !(c->normal_impulse > 0.0)) return;
    const double by = (-j->restitution * j->approach - speed_along(j, &j->normal)) * j->normal.mass;
    const double sum = fmax(c->normal_impulse + by, 0.0), change = sum - c->normal_impulse;
    c->normal_impulse = sum;
    if (change != 0.0) kick(j, &j->normal, change);
}

static double dynamics_energy(const rigid *r, const moving *m)
{
    double sum = 0.0;
    for (int i = 0; i < r->count; i++) {
        if (!m[i].moves) continue;
        body b = r->body[i];
        memcpy(b.v, m[i].v, sizeof b.v);
        memcpy(b.w, m[i].w, sizeof b.w);
        if (b.hinged) body_update_hinged(&b);
        b.x[2] = 0.0;
        sum += body_energy(&b);
    }
    return sum;
}

typedef enum effort { ALL, NO_BOUNCE, NO_FRICTION } effort;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void solve(joint *joints, int count, effort how)
{
    for (int i = 0; i < count; i++) {
        joint *j = &joints[i];
        contact *c = j->c;
        if (how == ALL) {
            kick(j, &j->normal, c->normal_impulse);
            for (int t = 0; t < 2; t++) kick(j, &j->across[t], c->tangent_impulse[t]);
        } else {
            c->normal_impulse = c->tangent_impulse[0] = c->tangent_impulse[1] = 0.0;
        }
    }
    double changed = 1.0;
    for (int round = 0; round < ROUNDS && changed > settled; round++) {
        changed = 0.0;
        for (int i = 0; i < count && how != NO_FRICTION; i++)
            changed = larger(changed, rub(&joints[i]));
        for (int i = 0; i < count; i++) changed = larger(changed, push(&joints[i]));
    }
    for (int i = 0; i < count && how == ALL; i++) bounce(&joints[i]);
}

// With the most of it that adds no energy.
static void solve_all(rigid *r, moving *m, joint *joints, int count)
{
    moving saved[PLUMB_ROOM_OBJECTS];
    memcpy(saved, m, sizeof saved);
    const double before = dynamics_energy(r, m);
    for (effort how = ALL;; how++) {
        solve(joints, count, how);
        if (how == NO_FRICTION || dynamics_energy(r, m) <= before * (1.0 + 1e-12) + 1e-15) return;
        memcpy(m, saved, sizeof saved);
    }
}

// ---- moving on ----

static void turn(double q[4], const double w[3], double h)
{
    const double fast = sqrt(dot(w, w));
    if (fast * h < 1e-12) return;
    body b = {.q = {q[0], q[1], q[2], q[3]}};
    const double axis[3] = {w[0] / fast, w[1] / fast, w[2] / fast};
    body_rotate(&b, axis, fast * h);
    double length = 0.0;
    for (int k = 0; k < 4; k++) length += b.q[k] * b.q[k];
    for (int k = 0; k < 4; k++) q[k] = b.q[k] / sqrt(length);
}

// Angular momentum stays; the midpoint rule keeps energy to second order.
static void spin(body *b, double h)
{
    if (b->kind == PLUMB_ROOM_SHAPE_BALL) {
        turn(b->q, b->w, h);
        return;
    }
    double tensor[3][3], momentum[3];
    body half = *b;
    spread(tensor, b->q, b->inertia);
    times(momentum, tensor, b->w);
    turn(half.q, b->w, 0.5 * h);
    by_inertia(tensor, &half);
    times(half.w, tensor, momentum);
    turn(b->q, half.w, h);
    by_inertia(tensor, b);
    times(b->w, tensor, momentum);
}

// Takes overlaps out of the positions. `moved` is how far each has gone since contacts were found.
static void unsink(rigid *r, moving *m, joint *joints, int count, double h)
{
    // Velocities serve as displacements from here on.
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < 3; k++) m[i].v[k] *= h, m[i].w[k] *= h;
    moving start[PLUMB_ROOM_OBJECTS];
    memcpy(start, m, sizeof start);
    bool any = false;
    for (int round = 0; round < REPAIRS; round++)
        for (int i = 0; i < count; i++) {
            joint *j = &joints[i];
            const double gap = j->c->gap + speed_along(j, &j->normal);
            if (gap >= -slop) continue;
            kick(j, &j->normal, repair * (-gap - slop) * j->normal.mass);
            any = true;
        }
    for (int i = 0; i < r->count && any; i++) {
        body *b = &r->body[i];
        if (!m[i].moves) continue;
        double by[3];
        for (int k = 0; k < 3; k++) {
            b->x[k] += m[i].v[k] - start[i].v[k];
            by[k] = m[i].w[k] - start[i].w[k];
        }
        turn(b->q, by, 1.0);
        if (b->hinged) body_update_hinged(b);
    }
}

static void start_moving(moving *m, const rigid *r, double h)
{
    for (int i = 0; i < r->count; i++) {
        const body *b = &r->body[i];
        m[i] = (moving){0};
        if (!is_free(r, b)) continue;
        m[i].moves = true;
        by_inertia(m[i].by_inertia, b);
        memcpy(m[i].w, b->w, sizeof m[i].w);
        if (b->hinged) {
            const double arm[3] = {b->x[0] - b->pivot[0], b->x[1] - b->pivot[1], 0.0};
            const double weight[3] = {0.0, 0.0, -b->mass * gravity * h};
            double twist[3], more[3];
            cross(twist, arm, weight);
            times(more, m[i].by_inertia, twist);
            for (int k = 0; k < 3; k++) m[i].w[k] += more[k];
            continue;
        }
        m[i].by_mass = 1.0 / b->mass;
        memcpy(m[i].v, b->v, sizeof m[i].v);
        m[i].v[2] -= gravity * h;
    }
}

static void note(rigid *r, const contact_list *found)
{
    for (int i = 0; i < found->count; i++) {
        const contact *c = &found->at[i];
        r->deepest = fmax(r->deepest, -c->gap);
        if (!(c->normal_impulse > 0.0) || c->b == CONTACT_FLOOR) continue;
        for (int k = 0; k < 2; k++) {
            const body *b = &r->body[k ? c->b : c->a];
            r->knocked |= b->mass > 0.0 && r->time < b->release;
        }
    }
}

void rigid_step(rigid *r, double h)
{
    contact_list found;
    moving m[PLUMB_ROOM_OBJECTS], still = {0};
    joint joints[CONTACT_MAX];
    bool touched[PLUMB_ROOM_OBJECTS] = {false};
    find_contacts(&found, r, h, false);
    remember(&found, &r->touching);
    start_moving(m, r, h);
    for (int i = 0; i < found.count; i++) prepare(&joints[i], &found.at[i], r, m, &still, h);
    if (found.count) solve_all(r, m, joints, found.count);
    note(r, &found);
    for (int i = 0; i < found.count; i++)
        if (found.at[i].normal_impulse > 0.0) {
            touched[found.at[i].a] = true;
            if (found.at[i].b != CONTACT_FLOOR) touched[found.at[i].b] = true;
        }
    for (int i = 0; i < r->count; i++) {
        body *b = &r->body[i];
        if (!m[i].moves) continue;
        memcpy(b->v, m[i].v, sizeof b->v);
        memcpy(b->w, m[i].w, sizeof b->w);
        if (b->hinged) {
            turn(b->q, b->w, h);
            body_update_hinged(b);
            continue;
        }
        for (int k = 0; k < 3; k++) b->x[k] += h * b->v[k];
        if (!touched[i]) b->x[2] += 0.5 * gravity * h * h; // a parabola, exactly
        spin(b, h);
    }
    if (found.count) unsink(r, m, joints, found.count, h);
    r->touching = found;
    r->time += h;
}

double rigid_energy(const rigid *r)
{
    double sum = 0.0;
    for (int i = 0; i < r->count; i++)
        if (r->body[i].mass > 0.0 && !r->body[i].ghost) sum += body_energy(&r->body[i]);
    return sum;
}

bool rigid_overlaps(const rigid *r, double depth)
{
    contact_list found;
    find_contacts(&found, r, 0.0, true);
    for (int i = 0; i < found.count; i++)
        if (found.at[i].gap < -depth) return true;
    return false;
}
