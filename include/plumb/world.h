// SPDX-License-Identifier: MIT
// Simulated systems whose exact states are known, and images of them [Higgins21, Botev21]; rooms
// with rigid bodies, and probes of physical concepts in them [Piloto22].
//
// Item I of world W with seed S is always the same, for any count, thread or batch.
#ifndef PLUMB_WORLD_H
#define PLUMB_WORLD_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One entry of the table of worlds. It is constant and never freed.
typedef struct plumb_world plumb_world;

/// What one item of a world is.
typedef enum plumb_world_kind {
    /// A trajectory of a dynamical system: any number of steps, with state and energy.
    PLUMB_WORLD_TRAJECTORY,
    /// A clip of a room with rigid bodies: PLUMB_ROOM_STEPS frames, masks and objects, no phase
    /// space.
    PLUMB_WORLD_ROOM,
    /// A tuple of clips of a room. The impossible clips are the possible ones, cut where both show
    /// the
    /// same image and joined crosswise. So at every time the two frames of the possible pair are
    /// those of the impossible pair, byte for byte, and so are the two pairs of consecutive frames:
    /// a
    /// program that sees fewer than three frames cannot tell them apart.
    PLUMB_WORLD_PROBE,
} plumb_world_kind;

// ---- the table ----

/// Number of worlds: trajectories in the order of the paper's table, then rooms, then probes.
PLUMB_API int64_t plumb_world_count(void);
PLUMB_API const plumb_world *plumb_world_at(int64_t index);

/// Finds a world by name, "pendulum+c". "rooms/impossible" is found by name only: each of its items
/// is the two impossible clips of a tuple, of all concepts in turn, for training. Fails with
/// PLUMB_EVALUE and a message with the nearest name.
PLUMB_API plumb_status plumb_world_find(const plumb_world **out, const char *name);

/// A parameter that is drawn once per trajectory: mass, colour, offset ...
typedef struct plumb_world_parameter {
    const char *name; ///< Name in data files: "m", "color_index".
    int64_t count;    ///< Values per trajectory.
    bool integer;     ///< The values are integers.
} plumb_world_parameter;

/// The names of parameters that enter the equations of motion (k, m, l, g ...), by index; NULL past
/// the last. Measures take arrays of these names as constants of the trajectories.
PLUMB_API const char *plumb_world_constant_name(int64_t index);

/// Description of a world.
typedef struct plumb_world_info {
    const char *name;                ///< "pendulum+c".
    const char *summary;             ///< One line.
    int64_t n;                       ///< Half the dimension of the published state; 0 in rooms.
    int64_t canonical_n;             ///< Half the dimension of the minimal canonical coordinates.
    double dt;                       ///< Default time between frames.
    int64_t height, width, channels; ///< Default size of a frame in pixels.
    bool upright;                    ///< Row 0 of a frame is the top; else the bottom.
    bool reversible;                 ///< Can be simulated backward in time.
    const plumb_world_parameter *parameters; ///< (parameter_count)
    int64_t parameter_count;                 ///< May be 0.
    const char *const *state_names;          ///< (2n) "q", "p", "x1" ...: labels for plots.
    const char *const *canonical_names;      ///< (2 canonical_n)
    const bool *angles;       ///< (canonical_n) true if a canonical position is an angle.
    int64_t parameter_total;  ///< Values of all parameters together, per trajectory.
    plumb_world_kind kind;    ///< What an item is.
    int64_t clips;            ///< Clips per item: 4 in a probe, else 1; 2 in rooms/impossible.
    int64_t steps;            ///< Frames per clip if fixed, as in rooms; 0: any number.
    const char *concept_name; ///< Probes: "continuity" ...; else NULL.
    const char *const *event_names; ///< rooms/freeform: (PLUMB_ROOM_EVENTS) "roll" ...; else NULL.
    int64_t actions; ///< Numbers of the action of a frame; 0 if nothing drives the world.
} plumb_world_info;

PLUMB_API const plumb_world_info *plumb_world_get_info(const plumb_world *world);

// ---- options ----

/// How colours are chosen.
typedef enum plumb_world_colors {
    PLUMB_WORLD_COLORS_WORLD, ///< By the rule of the world.
    PLUMB_WORLD_COLORS_FIXED, ///< Particle k always has colour k.
    PLUMB_WORLD_COLORS_SIX,   ///< Drawn from six, as in the +c worlds.
    /// All white. In two-body worlds colour index 0 is that of the body further left at time 0.
    PLUMB_WORLD_COLORS_WHITE,
} plumb_world_colors;

/// What is behind the discs of springs, pendulums and two bodies.
typedef enum plumb_world_background {
    PLUMB_WORLD_BACKGROUND_PLAIN,   ///< One colour.
    PLUMB_WORLD_BACKGROUND_TEXTURE, ///< Waves and squares of many colours, the same in all frames.
} plumb_world_background;

/// How the cover of these discs falls off from their centre.
typedef enum plumb_world_profile {
    PLUMB_WORLD_PROFILE_DISC, ///< Full, with a soft edge.
    PLUMB_WORLD_PROFILE_RING, ///< A disc with a hole of half its radius.
    PLUMB_WORLD_PROFILE_BLOB, ///< exp(-(distance / radius)^2).
} plumb_world_profile;

/// Options of a simulation. Rooms have none except `image`: the others must keep their defaults.
typedef struct plumb_world_options {
    size_t size; ///< sizeof(plumb_world_options).
    double dt;   ///< Time between frames, up to 1e6. Default 0: the dt of the world.
    /// Keep every stride-th frame, so that frame t is at time t stride dt; 0 to 1000000, in a
    /// driven world at most 1. In the md worlds: integration steps per frame, of dt / stride each.
    /// Default 0: every frame; md: 10 steps of 0.002, or as many as dt needs. No frame may be later
    /// than time 2^32.
    int64_t stride;
    /// Height and width of a frame in pixels, a multiple of 4: up to 1024, in rooms 16 to 256.
    /// Default 0: the size of the world, 32, in rooms 64.
    int64_t image;
    bool backward;             ///< Time runs backward: frame t is at time -t dt. Default false.
    plumb_world_colors colors; ///< Default PLUMB_WORLD_COLORS_WORLD.
    /// two-body+c rejects orbits that leave the canvas within this many frames. Default 0: first
    /// plus the number of steps.
    int64_t reject_steps;
    int64_t first; ///< Frames to skip at the start; the others are bit-identical. Default 0.
    plumb_world_background background; ///< Default PLUMB_WORLD_BACKGROUND_PLAIN.
    plumb_world_profile profile;       ///< Default PLUMB_WORLD_PROFILE_DISC.
} plumb_world_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_world_defaults() calls it.
PLUMB_API void plumb_world_options_init(plumb_world_options *options, size_t size);

/// Returns the defaults.
static inline plumb_world_options plumb_world_defaults(void)
{
    plumb_world_options options;
    plumb_world_options_init(&options, sizeof options);
    return options;
}

/// Checks a number of steps and options without simulating. Fails with PLUMB_EVALUE as
/// plumb_world_simulate() would. May be NULL: options.
PLUMB_API plumb_status plumb_world_check_options(const plumb_world *world, int64_t steps,
                                                 const plumb_world_options *options);

// ---- simulation ----

/// Sizes of rooms.
enum {
    PLUMB_ROOM_STEPS = 15,       ///< Frames per clip.
    PLUMB_ROOM_OBJECTS = 8,      ///< Places for objects; object i has the value i + 1 in a mask.
    PLUMB_ROOM_OBJECT_SIZE = 21, ///< Values per object and frame, in the columns below.
    PLUMB_ROOM_CUTS = 2,         ///< Cuts per tuple.
    PLUMB_ROOM_EVENTS = 12,      ///< Kinds of event in a free scene.
};

/// First column of each quantity of an object. Lengths and times are in units in which g is 9.81.
enum {
    PLUMB_ROOM_COLUMN_SHAPE = 0,             ///< A plumb_room_shape.
    PLUMB_ROOM_COLUMN_HALF_EXTENT = 1,       ///< 3: half extents; of a ball its radius.
    PLUMB_ROOM_COLUMN_COLOR = 4,             ///< 3: red, green, blue, 0 to 1.
    PLUMB_ROOM_COLUMN_MASS = 7,              ///< 0 if nothing moves it.
    PLUMB_ROOM_COLUMN_POSITION = 8,          ///< 3: of the centre of mass; z is up.
    PLUMB_ROOM_COLUMN_ORIENTATION = 11,      ///< 4: a unit quaternion, w first.
    PLUMB_ROOM_COLUMN_VELOCITY = 15,         ///< 3: of the centre of mass.
    PLUMB_ROOM_COLUMN_ANGULAR_VELOCITY = 18, ///< 3: in the axes of the room.
};

/// Shape of an object. The values are in data files.
typedef enum plumb_room_shape {
    PLUMB_ROOM_SHAPE_NONE, ///< The place is unused.
    PLUMB_ROOM_SHAPE_BALL,
    PLUMB_ROOM_SHAPE_BOX,
    PLUMB_ROOM_SHAPE_CONTAINER, ///< Open above.
    PLUMB_ROOM_SHAPE_COVER,     ///< Open below.
    PLUMB_ROOM_SHAPE_ARCH,
    PLUMB_ROOM_SHAPE_PLANK,
    PLUMB_ROOM_SHAPE_PILLAR,
    PLUMB_ROOM_SHAPE_RAMP,
    PLUMB_ROOM_SHAPE_CURTAIN,
    PLUMB_ROOM_SHAPE_POLE,
} plumb_room_shape;

/// Memory of the caller for one item. Set a pointer to NULL to leave out an array. `image` is the
/// size of a frame. The axis of clips exists only if info.clips is not 1.
typedef struct plumb_world_item {
    double *time;       ///< (steps)
    double *state;      ///< (steps, 2n) published coordinates, q first. Trajectories.
    double *derivative; ///< (steps, 2n) d state / dt, with friction and action. Trajectories.
    double *canonical;  ///< (steps, 2 canonical_n) minimal canonical coordinates. Trajectories.
    double *energy;     ///< (steps) what friction and actions alone change. Trajectories.
    double
        *parameters; ///< (parameter_total) all parameters in the order of the info. Trajectories.
    uint8_t *frames; ///< (clips, steps, image, image, channels)
    uint8_t *mask;   ///< (clips, steps, image, image) index of the object, 0 the floor. Rooms.
    float *camera;   ///< (clips, steps, 6) look x, y, z, distance, azimuth, elevation in degrees.
                     ///< Rooms.
    double *objects; ///< (clips, steps, 8, 21) objects by the columns above. Rooms.
    int64_t *cut;    ///< (2) last frame before each cut, -1 if there is no cut. Rooms: probes.
    uint8_t *event_counts; ///< (12) events of each kind. rooms/freeform; zeros in probes.
    double *action;        ///< (steps, actions) held from a frame to the next. Driven worlds.
} plumb_world_item;

/// Simulates item `item` (0 to 2^48 - 1) with seed `seed`. Steps are frames, and the first is the
/// initial state. In a probe, clips 0 and 1 are possible, clip 2 starts as 0 and clip 3 as 1.
/// Arrays that the world does not have are not written. Any number of threads may call it at once.
/// Fails with PLUMB_EVALUE for invalid options, PLUMB_EMEMORY. May be NULL: options.
PLUMB_API plumb_status plumb_world_simulate(const plumb_world_item *out, const plumb_world *world,
                                            uint64_t seed, int64_t item, int64_t steps,
                                            const plumb_world_options *options);

/// Simulates from a given published state. `parameters` are as in plumb_world_item. Orbits are not
/// rejected. Fails with PLUMB_EVALUE for values that are not finite, masses that are not positive,
/// and in rooms, which have no state. May be NULL: parameters, for those of item 0 with seed 0;
/// options.
PLUMB_API plumb_status plumb_world_simulate_from(const plumb_world_item *out,
                                                 const plumb_world *world, const double *state,
                                                 const double *parameters, int64_t steps,
                                                 const plumb_world_options *options);

// ---- quantities ----

/// A physical quantity that follows from a state and the parameters, as a target for a probe:
/// "velocity" dq/dt and "force" dp/dt (without an action) of n columns each, "energy", and in
/// two-body worlds "orbit".
typedef struct plumb_world_quantity {
    const char *name;                ///< "velocity".
    int64_t columns;                 ///< Values per state.
    const char *const *column_names; ///< (columns), or NULL.
} plumb_world_quantity;

/// Number of quantities of a world; 0 in rooms.
PLUMB_API int64_t plumb_world_quantity_count(const plumb_world *world);
/// Quantity `index`; false if there is none.
PLUMB_API bool plumb_world_quantity_at(plumb_world_quantity *out, const plumb_world *world,
                                       int64_t index);

/// Computes quantity `index` of `count` published states (count, 2n) of one trajectory into out
/// (count, columns). `parameters` are as in plumb_world_item. Fails with PLUMB_EVALUE if there is
/// no such quantity, for masses that are not positive, and for values that are not finite. May be
/// NULL: parameters, for those of item 0 with seed 0.
PLUMB_API plumb_status plumb_world_quantity_compute(double *out, const plumb_world *world,
                                                    int64_t index, const double *state,
                                                    int64_t count, const double *parameters);

#ifdef __cplusplus
}
#endif
#endif
