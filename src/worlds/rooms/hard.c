// SPDX-License-Identifier: MIT
// The camera goes out and back, the same path in both halves of a clip, because a clip may be
// played backward. Bodies are added to places that are free in A and B at all times.
#include "worlds/rooms/hard.h"

#include <math.h>
#include <string.h>

enum { MIDDLE = ROOM_SCENE_STEPS / 2, ADDED = 2, TRIES = 60 };

// At frame t: 0 in the middle, 1 at both ends.
static double get_progress(int t)
{
    const double u = (double)(t - MIDDLE) / MIDDLE;
    return u * u;
}

static void move_camera(room_scene *a, room_scene *b, rng *random)
{
    const double azimuth = room_scene_uniform(random, -2.0, 2.0),
                 turn = room_scene_uniform(random, -6.0, 6.0);
    const double rise = room_scene_uniform(random, -2.0, 2.0),
                 away = room_scene_uniform(random, -0.1, 0.1);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
        raytrace_camera *camera = &a->camera[t];
        camera->azimuth += azimuth + turn * get_progress(t);
        camera->elevation += rise * get_progress(t);
        camera->distance += away * get_progress(t);
        b->camera[t] = *camera;
    }
}

// ---- squares of two colours ----

static bool has_same_look(const rigid_body *x, const rigid_body *y)
{
    return x->shape == y->shape && !memcmp(x->color, y->color, sizeof x->color) &&
           !memcmp(x->half, y->half, sizeof x->half);
}

// Bodies that look alike in A and B get squares; what differs between them stays as it is.
static void add_squares(room_scene *a, room_scene *b, rng *random)
{
    for (int i = 0; i < ROOM_SCENE_BODIES; i++) {
        const rigid_body *body = &a->bodies[0][i];
        const double side = room_scene_uniform(random, 0.08, 0.16);
        double other[3];
        room_scene_color(other, &a->floor, random);
        const bool wanted = rng_below(random, 2);
        if (body->shape == PLUMB_ROOM_SHAPE_NONE || !has_same_look(body, &b->bodies[0][i]) ||
            !wanted)
            continue;
        for (int t = 0; t < ROOM_SCENE_STEPS; t++)
            for (int k = 0; k < 2; k++) {
                rigid_body *now = k ? &b->bodies[t][i] : &a->bodies[t][i];
                now->square_side = side;
                memcpy(now->square_color, other, sizeof other);
            }
    }
}

// ---- more bodies ----

// Half extents of a body along x and y.
static void get_extent(double extent[2], const rigid_body *body)
{
    double axis[3][3];
    body_axes(axis, body->q);
    for (int k = 0; k < 2; k++) {
        extent[k] = 0.0;
        for (int i = 0; i < 3; i++)
            extent[k] +=
                fabs(axis[i][k]) * body->half[body->shape == PLUMB_ROOM_SHAPE_BALL ? 0 : i];
    }
}

// Does a body that stands still come near another one in any frame of the scene?
static bool is_near(const room_scene *scene, const rigid_body *body)
{
    double mine[2], other[2];
    get_extent(mine, body);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++)
        for (int i = 0; i < ROOM_SCENE_BODIES; i++) {
            const rigid_body *x = &scene->bodies[t][i];
            if (x->shape == PLUMB_ROOM_SHAPE_NONE) continue;
            get_extent(other, x);
            if (fabs(x->x[0] - body->x[0]) < mine[0] + other[0] + 0.03 &&
                fabs(x->x[1] - body->x[1]) < mine[1] + other[1] + 0.03)
                return true;
        }
    return false;
}

// The first place that no body takes at any time; -1: none.
static int find_free_place(const room_scene *a, const room_scene *b)
{
    for (int i = 0; i < ROOM_SCENE_BODIES; i++) {
        bool taken = false;
        for (int t = 0; t < ROOM_SCENE_STEPS; t++)
            taken = taken || a->bodies[t][i].shape != PLUMB_ROOM_SHAPE_NONE ||
                    b->bodies[t][i].shape != PLUMB_ROOM_SHAPE_NONE;
        if (!taken) return i;
    }
    return -1;
}

static void put_body(room_scene *a, room_scene *b, int place, const rigid_body *body)
{
    for (int t = 0; t < ROOM_SCENE_STEPS; t++) a->bodies[t][place] = b->bodies[t][place] = *body;
}

// A ball or a box that stands still beside or behind what happens.
static void add_bystander(room_scene *a, room_scene *b, rng *random)
{
    const int place = find_free_place(a, b);
    for (int i = 0; i < TRIES && place >= 0; i++) {
        const bool ball = rng_below(random, 2);
        const double size = room_scene_uniform(random, 0.10, 0.18);
        const double half[3] = {size, size, size};
        rigid_body body =
            ball ? body_make_ball(size, 10.0) : body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
        room_scene_color(body.color, &a->floor, random);
        body.x[0] = room_scene_uniform(random, -1.4, 1.4);
        body.x[1] = room_scene_uniform(random, -0.2, 1.3);
        body.x[2] = size;
        if (is_near(a, &body) || is_near(b, &body)) continue;
        put_body(a, b, place, &body);
        return;
    }
}

// A thin pole between the camera and what happens, which hides some of it now and then.
static void add_pole(room_scene *a, room_scene *b, rng *random)
{
    const int place = find_free_place(a, b);
    const double half[3] = {room_scene_uniform(random, 0.025, 0.045), 0.03,
                            room_scene_uniform(random, 0.3, 0.5)};
    rigid_body pole = body_make_box(PLUMB_ROOM_SHAPE_POLE, half, 0.0);
    for (int k = 0; k < 3; k++) pole.color[k] = 0.5;
    pole.x[0] = room_scene_uniform(random, -0.8, 0.8);
    pole.x[1] = room_scene_uniform(random, -0.95, -0.7);
    pole.x[2] = half[2];
    if (place >= 0 && !is_near(a, &pole) && !is_near(b, &pole)) put_body(a, b, place, &pole);
}

void hard_change_scenes(room_scene *a, room_scene *b, rng *random)
{
    move_camera(a, b, random);
    add_squares(a, b, random);
    add_pole(a, b, random);
    for (int i = 0; i < ADDED; i++) add_bystander(a, b, random);
}
