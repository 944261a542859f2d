// SPDX-License-Identifier: MIT
// Things in a room: balls, boxes, and what can be built of boxes. A body's own frame has its origin
// in the centre of mass and its axes along those of inertia.
#ifndef WORLDS_ROOMS_BODY_H
#define WORLDS_ROOMS_BODY_H

#include "plumb/room.h"
#include "worlds/render/raytrace_boxes.h"

enum { BODY_PARTS = 6 };

typedef struct body_part {
    bool ball; ///< of radius half[0]
    double offset[3], half[3];
} body_part;

typedef struct body {
    plumb_room_shape kind;
    double half[3], color[3];
    double mass; ///< 0: nothing moves it
    int parts;
    body_part part[BODY_PARTS];
    double inertia[3], radius; ///< radius of a ball around all of it
    double x[3], q[4], v[3], w[3];
    double friction, restitution;
    double release; ///< seconds it is held for
    bool ghost;     ///< nothing touches it: a curtain and its pole
    bool mirror;    ///< two of these bounce elastically and without friction
    bool hinged;    ///< turns about its own first axis at `pivot` and does nothing else
    double pivot[3];
} body;

body body_ball(double radius, double mass);
body body_box(plumb_room_shape kind, const double half[3], double mass);
/// Open above. `half` is to the middle of the walls, which are `wall` thick on either side of it;
/// half[2] is half the height. The floor is `wall` thick. Stands with its lower side at `x[2] -
/// body_lowest_point`.
body body_container(const double half[3], double wall, double mass);
body body_cover(const double half[3], double wall, double mass); ///< open below
/// Two legs `leg` wide and a lintel as thick.
body body_arch(const double half[3], double leg, double mass);

/// How far the lowest point is below the centre of mass, as the body is turned.
double body_lowest_point(const body *b);
void body_rotate(body *b, const double axis[3], double angle);
/// From here on it is hinged on its edge at +y below, where that is now.
void body_hinge(body *b);
/// Place and velocity of a hinged body, from how it is turned and turns.
void body_update_hinged(body *b);

/// Rows are the body's axes in the world.
void body_axes(double axis[3][3], const double q[4]);

/// Energy of motion and of height.
double body_energy(const body *b);

/// The row of a data file, PLUMB_ROOM_OBJECT_SIZE.
void body_write(double *row, const body *b);

/// Adds the parts to a scene, all of them with one id.
void body_add_to_scene(raytrace_box_scene *scene, const body *b, uint8_t id);

#endif
