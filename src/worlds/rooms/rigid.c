// SPDX-License-Identifier: MIT
// Sequential impulses [Catto05]: impulses are applied contact by contact, in several rounds.
// Contacts are found before bodies touch: within a step a pair may approach by its gap and not
// more, so that no overlap arises. Bounces are applied afterwards. Overlaps left by rounding are
// removed from the positions, not through the velocities. If impulses added energy (bounces with
// friction at several points can), the step is solved again without bounces, then without friction.
// Then the energy cannot grow, because every impulse lowers the dual objective. Free flight is
// exact.
//
// No physics library is used, for bit-identical results on every machine and number of threads, at
// ten times the speed.
#include "worlds/rooms/rigid.h"

#include <math.h>
#include <string.h>

#include "worlds/vec3.h"

enum { SOLVER_ROUNDS = 16, CORRECTION_ROUNDS = 4 };
static const double gravity = 9.81;
static const double converged_change = 1e-5; // largest change of velocity in the last round
static const double min_bounce_speed = 0.2;  // slower approaches do not bounce
static const double allowed_overlap = 2e-4;  // smaller overlaps are not corrected
static const double correction_share = 0.3;  // share of the overlap that a round removes

// Velocities of a body during a step.
typedef struct moving_body {
    bool is_moving;
    double inverse_mass, inverse_inertia[3][3]; // 0 if the body does not move
    double v[3], w[3];                          // v is that of the pivot
} moving_body;

// A direction in which a contact acts, and the effect of an impulse along it.
typedef struct contact_axis {
    double direction[3];
    double moment_a[3], moment_b[3]; // arm x direction
    double spin_a[3], spin_b[3];     // inverse inertia * moment
    double mass;                     // effective mass: impulse per change of speed
} contact_axis;

// A contact, prepared for the solver.
typedef struct contact_constraint {
    contact_point *contact;
    moving_body *a, *b; // the floor is a body at rest
    contact_axis normal, tangent[2];
    double friction, restitution;
    double approach_speed; // before the step; negative if they approach
    double allowed_speed;  // -gap / h, or 0 if they touch
} contact_constraint;

static void multiply_matrix(double out[3], double m[3][3], const double v[3])
{
    for (int k = 0; k < 3; k++) out[k] = vec3_dot(m[k], v);
}

// True for a body that moves: it has mass, has contacts, and is released.
static bool is_free(const rigid_world *world, const rigid_body *body)
{
    return body->mass > 0.0 && !body->intangible && world->time >= body->release;
}

// Tensor with eigenvalues f along the axes of the body: sum_k axis_k axis_k^T f_k.
static void build_tensor(double out[3][3], const double q[4], const double f[3])
{
    double axis[3][3];
    body_axes(axis, q);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = axis[0][i] * axis[0][j] * f[0] + axis[1][i] * axis[1][j] * f[1] +
                        axis[2][i] * axis[2][j] * f[2];
}

// The point that impulses rotate a body about: its hinge or its centre of mass.
static const double *get_pivot(const rigid_body *body)
{
    return body->hinged ? body->pivot : body->x;
}

// Moment of inertia about the hinge (Steiner).
static double get_hinge_inertia(const rigid_body *body)
{
    return body->inertia[0] +
           body->mass * (body->half[1] * body->half[1] + body->half[2] * body->half[2]);
}

// Inverse inertia tensor in room coordinates; of a hinged body only about its hinge.
static void compute_inverse_inertia(double out[3][3], const rigid_body *body)
{
    if (body->hinged) {
        const double only[3] = {1.0 / get_hinge_inertia(body), 0.0, 0.0};
        build_tensor(out, body->q, only);
        return;
    }
    const double f[3] = {1.0 / body->inertia[0], 1.0 / body->inertia[1], 1.0 / body->inertia[2]};
    build_tensor(out, body->q, f);
}

// ---- contacts ----

// Contacts of all pairs that can touch within two steps at their current speeds. With `all`, also
// of bodies that do not move.
static void find_contacts(contact_list *out, const rigid_world *world, double h, bool all)
{
    out->count = 0;
    for (int i = 0; i < world->count; i++) {
        const rigid_body *first = &world->bodies[i];
        if (first->intangible) continue;
        const bool is_moving = is_free(world, first);
        const double first_speed =
            sqrt(vec3_dot(first->v, first->v)) + first->radius * sqrt(vec3_dot(first->w, first->w));
        if (is_moving || all)
            contact_find_floor(out, world->bodies, i, 0.005 + 2.0 * h * first_speed);
        for (int j = 0; j < i; j++) {
            const rigid_body *second = &world->bodies[j];
            if (second->intangible || !(is_moving || all || is_free(world, second))) continue;
            const double second_speed = sqrt(vec3_dot(second->v, second->v)) +
                                        second->radius * sqrt(vec3_dot(second->w, second->w));
            contact_find(out, world->bodies, i, j, 0.005 + 2.0 * h * (first_speed + second_speed));
        }
    }
}

// Warm start: contacts that existed in the previous step start with their impulses.
static void reuse_impulses(contact_list *list, const contact_list *before)
{
    for (int i = 0; i < list->count; i++) {
        contact_point *current = &list->contacts[i];
        double nearest = 4e-4;
        for (int j = 0; j < before->count; j++) {
            const contact_point *previous = &before->contacts[j];
            if (previous->a != current->a || previous->b != current->b ||
                previous->part != current->part)
                continue;
            double off[3];
            for (int k = 0; k < 3; k++) off[k] = previous->point[k] - current->point[k];
            if (vec3_dot(off, off) >= nearest) continue;
            nearest = vec3_dot(off, off);
            current->normal_impulse = previous->normal_impulse;
            memcpy(current->tangent_impulse, previous->tangent_impulse,
                   sizeof current->tangent_impulse);
        }
    }
}

// Effective mass of the pair along a direction: 1 / (1/m_a + 1/m_b + moments by inverse inertia).
static void init_axis(contact_axis *axis, const contact_constraint *constraint,
                      const double arm_a[3], const double arm_b[3], const double direction[3])
{
    memcpy(axis->direction, direction, sizeof axis->direction);
    vec3_cross(axis->moment_a, arm_a, direction);
    vec3_cross(axis->moment_b, arm_b, direction);
    multiply_matrix(axis->spin_a, constraint->a->inverse_inertia, axis->moment_a);
    multiply_matrix(axis->spin_b, constraint->b->inverse_inertia, axis->moment_b);
    const double inverse_mass = constraint->a->inverse_mass + constraint->b->inverse_mass +
                                vec3_dot(axis->moment_a, axis->spin_a) +
                                vec3_dot(axis->moment_b, axis->spin_b);
    axis->mass = inverse_mass > 1e-9 ? 1.0 / inverse_mass : 0.0; // 0 along the axis of a hinge
}

// Change of speed that an impulse causes along its axis.
static double get_speed_change(const contact_axis *axis, double impulse)
{
    return axis->mass > 0.0 ? fabs(impulse) / axis->mass : 0.0;
}

// Relative speed of the two contact points along an axis.
static inline double get_relative_speed(const contact_constraint *constraint,
                                        const contact_axis *axis)
{
    const moving_body *a = constraint->a, *b = constraint->b;
    return vec3_dot(axis->direction, a->v) - vec3_dot(axis->direction, b->v) +
           vec3_dot(axis->moment_a, a->w) - vec3_dot(axis->moment_b, b->w);
}

// Applies an impulse to a and its opposite to b.
static inline void apply_impulse(const contact_constraint *constraint, const contact_axis *axis,
                                 double impulse)
{
    moving_body *a = constraint->a, *b = constraint->b;
    const double change_a = impulse * a->inverse_mass, change_b = impulse * b->inverse_mass;
    for (int k = 0; k < 3; k++) {
        a->v[k] += change_a * axis->direction[k];
        a->w[k] += impulse * axis->spin_a[k];
        b->v[k] -= change_b * axis->direction[k];
        b->w[k] -= impulse * axis->spin_b[k];
    }
}

// Two unit vectors perpendicular to n and to each other; a function of n only.
static void make_tangents(double out[2][3], const double n[3])
{
    const int thin = fabs(n[0]) < 0.6 ? 0 : 1;
    const double e[3] = {(double)(thin == 0), (double)(thin == 1), 0.0};
    vec3_cross(out[0], n, e);
    const double length = sqrt(vec3_dot(out[0], out[0]));
    for (int k = 0; k < 3; k++) out[0][k] /= length;
    vec3_cross(out[1], n, out[0]);
}

// Prepares a contact: axes, friction, restitution, approach speed, and the approach that its gap
// allows within this step.
static void init_constraint(contact_constraint *constraint, contact_point *found,
                            const rigid_world *world, moving_body *moving, moving_body *floor,
                            double h)
{
    static const rigid_body ground = {.friction = 0.5};
    const rigid_body *a = &world->bodies[found->a],
                     *b = found->b == CONTACT_FLOOR ? &ground : &world->bodies[found->b];
    *constraint = (contact_constraint){.contact = found,
                                       .a = &moving[found->a],
                                       .b = found->b == CONTACT_FLOOR ? floor : &moving[found->b]};
    double arm_a[3], arm_b[3], sides[2][3];
    for (int k = 0; k < 3; k++) {
        arm_a[k] = found->point[k] - get_pivot(a)[k];
        arm_b[k] = found->point[k] - get_pivot(b)[k];
    }
    make_tangents(sides, found->normal);
    init_axis(&constraint->normal, constraint, arm_a, arm_b, found->normal);
    for (int t = 0; t < 2; t++)
        init_axis(&constraint->tangent[t], constraint, arm_a, arm_b, sides[t]);
    constraint->friction = sqrt(a->friction * b->friction);
    constraint->restitution = fmax(a->restitution, b->restitution);
    if (a->mirror && b->mirror) constraint->restitution = 1.0, constraint->friction = 0.0;
    constraint->approach_speed = get_relative_speed(constraint, &constraint->normal);
    constraint->allowed_speed = found->gap > 0.0 ? -found->gap / h : 0.0;
}

// ---- solving ----

// The impulse that stops the approach at the allowed speed; the accumulated impulse stays >= 0.
// Returns the change of speed.
static double solve_normal(contact_constraint *constraint)
{
    contact_point *contact = constraint->contact;
    const double by =
        (constraint->allowed_speed - get_relative_speed(constraint, &constraint->normal)) *
        constraint->normal.mass;
    const double wanted = contact->normal_impulse + by, sum = wanted > 0.0 ? wanted : 0.0,
                 change = sum - contact->normal_impulse;
    contact->normal_impulse = sum;
    if (change != 0.0) apply_impulse(constraint, &constraint->normal, change);
    return get_speed_change(&constraint->normal, change);
}

// The impulses that stop sliding, limited to the friction cone. Returns the change of speed.
static double solve_friction(contact_constraint *constraint)
{
    contact_point *contact = constraint->contact;
    double sum[2], changed = 0.0;
    if (!(contact->normal_impulse > 0.0) && contact->tangent_impulse[0] == 0.0 &&
        contact->tangent_impulse[1] == 0.0)
        return 0.0;
    for (int t = 0; t < 2; t++)
        sum[t] =
            contact->tangent_impulse[t] -
            get_relative_speed(constraint, &constraint->tangent[t]) * constraint->tangent[t].mass;
    const double max_friction = constraint->friction * contact->normal_impulse,
                 square = sum[0] * sum[0] + sum[1] * sum[1];
    const double scale = square > max_friction * max_friction ? max_friction / sqrt(square) : 1.0;
    for (int t = 0; t < 2; t++) {
        const double change = scale * sum[t] - contact->tangent_impulse[t];
        contact->tangent_impulse[t] = scale * sum[t];
        if (change != 0.0) apply_impulse(constraint, &constraint->tangent[t], change);
        changed += get_speed_change(&constraint->tangent[t], change);
    }
    return changed;
}

// Makes the pair separate at restitution times its approach speed.
static void apply_restitution(contact_constraint *constraint)
{
    contact_point *contact = constraint->contact;
    if (!(constraint->approach_speed < -min_bounce_speed) || !(contact->normal_impulse > 0.0))
        return;
    const double by = (-constraint->restitution * constraint->approach_speed -
                       get_relative_speed(constraint, &constraint->normal)) *
                      constraint->normal.mass;
    const double sum = fmax(contact->normal_impulse + by, 0.0),
                 change = sum - contact->normal_impulse;
    contact->normal_impulse = sum;
    if (change != 0.0) apply_impulse(constraint, &constraint->normal, change);
}

// Kinetic energy with the velocities of the step.
static double compute_motion_energy(const rigid_world *world, const moving_body *moving)
{
    double sum = 0.0;
    for (int i = 0; i < world->count; i++) {
        if (!moving[i].is_moving) continue;
        rigid_body body = world->bodies[i];
        memcpy(body.v, moving[i].v, sizeof body.v);
        memcpy(body.w, moving[i].w, sizeof body.w);
        if (body.hinged) body_update_hinged(&body);
        body.x[2] = 0.0;
        sum += body_energy(&body);
    }
    return sum;
}

typedef enum solve_mode { SOLVE_ALL, SOLVE_NO_BOUNCE, SOLVE_NO_FRICTION } solve_mode;

static double get_larger(double a, double b)
{
    return a > b ? a : b;
}

// Rounds of friction and normal impulses until the velocities converge, then bounces.
static void solve_constraints(contact_constraint *constraints, int count, solve_mode mode)
{
    for (int i = 0; i < count; i++) {
        contact_constraint *constraint = &constraints[i];
        contact_point *contact = constraint->contact;
        if (mode == SOLVE_ALL) {
            apply_impulse(constraint, &constraint->normal, contact->normal_impulse);
            for (int t = 0; t < 2; t++)
                apply_impulse(constraint, &constraint->tangent[t], contact->tangent_impulse[t]);
        } else {
            contact->normal_impulse = contact->tangent_impulse[0] = contact->tangent_impulse[1] =
                0.0;
        }
    }
    double changed = 1.0;
    for (int round = 0; round < SOLVER_ROUNDS && changed > converged_change; round++) {
        changed = 0.0;
        for (int i = 0; i < count && mode != SOLVE_NO_FRICTION; i++)
            changed = get_larger(changed, solve_friction(&constraints[i]));
        for (int i = 0; i < count; i++)
            changed = get_larger(changed, solve_normal(&constraints[i]));
    }
    for (int i = 0; i < count && mode == SOLVE_ALL; i++) apply_restitution(&constraints[i]);
}

// Solves with bounces and friction, and without them if that added energy.
static void solve_without_gain(rigid_world *world, moving_body *moving,
                               contact_constraint *constraints, int count)
{
    moving_body saved[PLUMB_ROOM_OBJECTS];
    memcpy(saved, moving, sizeof saved);
    const double before = compute_motion_energy(world, moving);
    for (solve_mode mode = SOLVE_ALL;; mode++) {
        solve_constraints(constraints, count, mode);
        if (mode == SOLVE_NO_FRICTION ||
            compute_motion_energy(world, moving) <= before * (1.0 + 1e-12) + 1e-15)
            return;
        memcpy(moving, saved, sizeof saved);
    }
}

// ---- integration ----

// Rotates q by the angular velocity w during h and normalises it.
static void rotate_quaternion(double q[4], const double w[3], double h)
{
    const double speed = sqrt(vec3_dot(w, w));
    if (speed * h < 1e-12) return;
    rigid_body body = {.q = {q[0], q[1], q[2], q[3]}};
    const double axis[3] = {w[0] / speed, w[1] / speed, w[2] / speed};
    body_rotate(&body, axis, speed * h);
    double length = 0.0;
    for (int k = 0; k < 4; k++) length += body.q[k] * body.q[k];
    for (int k = 0; k < 4; k++) q[k] = body.q[k] / sqrt(length);
}

// Free rotation: angular momentum is conserved exactly, energy to second order by the midpoint
// rule.
static void advance_rotation(rigid_body *body, double h)
{
    if (body->shape == PLUMB_ROOM_SHAPE_BALL) {
        rotate_quaternion(body->q, body->w, h);
        return;
    }
    double tensor[3][3], momentum[3];
    rigid_body half = *body;
    build_tensor(tensor, body->q, body->inertia);
    multiply_matrix(momentum, tensor, body->w);
    rotate_quaternion(half.q, body->w, 0.5 * h);
    compute_inverse_inertia(tensor, &half);
    multiply_matrix(half.w, tensor, momentum);
    rotate_quaternion(body->q, half.w, h);
    compute_inverse_inertia(tensor, body);
    multiply_matrix(body->w, tensor, momentum);
}

// Removes overlaps from the positions.
static void correct_positions(rigid_world *world, moving_body *moving,
                              contact_constraint *constraints, int count, double h)
{
    // From here on the velocities are displacements during the step.
    for (int i = 0; i < world->count; i++)
        for (int k = 0; k < 3; k++) moving[i].v[k] *= h, moving[i].w[k] *= h;
    moving_body start[PLUMB_ROOM_OBJECTS];
    memcpy(start, moving, sizeof start);
    bool any = false;
    for (int round = 0; round < CORRECTION_ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            contact_constraint *constraint = &constraints[i];
            const double gap =
                constraint->contact->gap + get_relative_speed(constraint, &constraint->normal);
            if (gap >= -allowed_overlap) continue;
            apply_impulse(constraint, &constraint->normal,
                          correction_share * (-gap - allowed_overlap) * constraint->normal.mass);
            any = true;
        }
    for (int i = 0; i < world->count && any; i++) {
        rigid_body *body = &world->bodies[i];
        if (!moving[i].is_moving) continue;
        double by[3];
        for (int k = 0; k < 3; k++) {
            body->x[k] += moving[i].v[k] - start[i].v[k];
            by[k] = moving[i].w[k] - start[i].w[k];
        }
        rotate_quaternion(body->q, by, 1.0);
        if (body->hinged) body_update_hinged(body);
    }
}

// Velocities after gravity, before contacts. Gravity turns a hinged body about its pivot.
static void init_moving_bodies(moving_body *moving, const rigid_world *world, double h)
{
    for (int i = 0; i < world->count; i++) {
        const rigid_body *body = &world->bodies[i];
        moving[i] = (moving_body){0};
        if (!is_free(world, body)) continue;
        moving[i].is_moving = true;
        compute_inverse_inertia(moving[i].inverse_inertia, body);
        memcpy(moving[i].w, body->w, sizeof moving[i].w);
        if (body->hinged) {
            const double arm[3] = {body->x[0] - body->pivot[0], body->x[1] - body->pivot[1], 0.0};
            const double weight[3] = {0.0, 0.0, -body->mass * gravity * h};
            double twist[3], more[3];
            vec3_cross(twist, arm, weight);
            multiply_matrix(more, moving[i].inverse_inertia, twist);
            for (int k = 0; k < 3; k++) moving[i].w[k] += more[k];
            continue;
        }
        moving[i].inverse_mass = 1.0 / body->mass;
        memcpy(moving[i].v, body->v, sizeof moving[i].v);
        moving[i].v[2] -= gravity * h;
    }
}

// Updates max_overlap and hit_while_held.
static void record_contacts(rigid_world *world, const contact_list *found)
{
    for (int i = 0; i < found->count; i++) {
        const contact_point *contact = &found->contacts[i];
        world->max_overlap = fmax(world->max_overlap, -contact->gap);
        if (!(contact->normal_impulse > 0.0) || contact->b == CONTACT_FLOOR) continue;
        for (int k = 0; k < 2; k++) {
            const rigid_body *body = &world->bodies[k ? contact->b : contact->a];
            world->hit_while_held |= body->mass > 0.0 && world->time < body->release;
        }
    }
}

void rigid_step(rigid_world *world, double h)
{
    contact_list found;
    moving_body moving[PLUMB_ROOM_OBJECTS], floor = {0};
    contact_constraint constraints[CONTACT_MAX];
    bool touched[PLUMB_ROOM_OBJECTS] = {false};
    // Contacts, then velocities that satisfy them.
    find_contacts(&found, world, h, false);
    reuse_impulses(&found, &world->contacts);
    init_moving_bodies(moving, world, h);
    for (int i = 0; i < found.count; i++)
        init_constraint(&constraints[i], &found.contacts[i], world, moving, &floor, h);
    if (found.count) solve_without_gain(world, moving, constraints, found.count);
    record_contacts(world, &found);
    for (int i = 0; i < found.count; i++)
        if (found.contacts[i].normal_impulse > 0.0) {
            touched[found.contacts[i].a] = true;
            if (found.contacts[i].b != CONTACT_FLOOR) touched[found.contacts[i].b] = true;
        }
    // Positions and orientations.
    for (int i = 0; i < world->count; i++) {
        rigid_body *body = &world->bodies[i];
        if (!moving[i].is_moving) continue;
        memcpy(body->v, moving[i].v, sizeof body->v);
        memcpy(body->w, moving[i].w, sizeof body->w);
        if (body->hinged) {
            rotate_quaternion(body->q, body->w, h);
            body_update_hinged(body);
            continue;
        }
        for (int k = 0; k < 3; k++) body->x[k] += h * body->v[k];
        if (!touched[i]) body->x[2] += 0.5 * gravity * h * h; // exact parabola in free flight
        advance_rotation(body, h);
    }
    if (found.count) correct_positions(world, moving, constraints, found.count, h);
    world->contacts = found;
    world->time += h;
}

double rigid_energy(const rigid_world *world)
{
    double sum = 0.0;
    for (int i = 0; i < world->count; i++)
        if (world->bodies[i].mass > 0.0 && !world->bodies[i].intangible)
            sum += body_energy(&world->bodies[i]);
    return sum;
}

bool rigid_overlaps(const rigid_world *world, double depth)
{
    contact_list found;
    find_contacts(&found, world, 0.0, true);
    for (int i = 0; i < found.count; i++)
        if (found.contacts[i].gap < -depth) return true;
    return false;
}
