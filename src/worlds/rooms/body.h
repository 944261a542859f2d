// SPDX-License-Identifier: MIT
// Rigid bodies of a room: balls, boxes, and bodies made of boxes. The coordinates of a body have
// their origin in its centre of mass and their axes along those of inertia.
#ifndef WORLDS_ROOMS_BODY_H
#define WORLDS_ROOMS_BODY_H

#include "plumb/world.h"
#include "worlds/render/raytrace_boxes.h"

enum { BODY_MAX_PARTS = 6 };

typedef struct body_part {
    bool ball;                 ///< A ball of radius half[0], else a box.
    double offset[3], half[3]; ///< Centre and half extents in the coordinates of the body.
} body_part;

typedef struct rigid_body {
    plumb_room_shape shape;
    double half[3];                      ///< Half extents of the whole body; of a ball its radius.
    double color[3];                     ///< Red, green, blue, 0 to 1.
    double square_side, square_color[3]; ///< Squares of a second colour; side 0: none.
    double mass;                         ///< 0 if nothing moves it.
    int part_count;
    body_part part[BODY_MAX_PARTS];
    double inertia[3]; ///< Moments of inertia about the axes of the body.
    double radius;     ///< Radius of a ball around the whole body.
    double x[3],
        q[4]; ///< Position of the centre of mass; orientation, a unit quaternion (w first).
    double v[3], w[3];  ///< Velocity and angular velocity in room coordinates.
    double friction;    ///< Coefficient of friction.
    double restitution; ///< 0: no bounce, 1: elastic.
    double release;     ///< Time in seconds until which the body is held in place.
    bool intangible;    ///< No contacts: a curtain and its pole.
    bool mirror;        ///< Two such bodies bounce elastically and without friction.
    bool hinged;        ///< Can only rotate about its first axis at `pivot`.
    double pivot[3];
} rigid_body;

rigid_body body_make_ball(double radius, double mass);
rigid_body body_make_box(plumb_room_shape shape, const double half[3], double mass);
/// Makes a box without lid. `half` reaches to the middle of the walls, which extend `wall` to
/// either side of it; half[2] is half the height. The floor is `wall` thick. To stand on the floor
/// of the room, x[2] must be body_lowest_point().
rigid_body body_make_container(const double half[3], double wall, double mass);
/// Makes the same upside down: open below.
rigid_body body_make_cover(const double half[3], double wall, double mass);
/// Makes two legs of width `leg` and a lintel of the same thickness.
rigid_body body_make_arch(const double half[3], double leg, double mass);

/// Height of the centre of mass above the lowest point, for the current orientation.
double body_lowest_point(const rigid_body *body);
void body_rotate(rigid_body *body, const double axis[3], double angle);
/// Hinges the body at its lower edge at +y, at its current position.
void body_hinge(rigid_body *body);
/// Sets position and velocity of a hinged body from orientation and angular velocity.
void body_update_hinged(rigid_body *body);

/// Computes the axes of the body in room coordinates, as rows.
void body_axes(double axis[3][3], const double q[4]);

/// Kinetic plus potential energy.
double body_energy(const rigid_body *body);

/// Writes the PLUMB_ROOM_OBJECT_SIZE values of a data file.
void body_write(double *row, const rigid_body *body);

/// Adds the parts to a scene, all with the same id.
void body_add_to_scene(raytrace_box_scene *scene, const rigid_body *body, uint8_t id);

#endif
