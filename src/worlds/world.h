// SPDX-License-Identifier: MIT
// Internal interface of a world: one entry of the table, made of constants and functions.
//
// A world moves in coordinates called its phase. They have the dimension of the published state and
// equal it, except that the positions of molecules are not wrapped into their box.
#ifndef WORLDS_WORLD_H
#define WORLDS_WORLD_H

#include "math/rng.h"
#include "plumb/world.h"

enum {
    WORLD_MAX_STATE = 64,       ///< Dimension of a state.
    WORLD_MAX_PARAMETERS = 128, ///< Values of all parameters together.
    WORLD_MAX_IMAGE = 1024,     ///< Height and width in pixels.
};

/// Options resolved for one world.
typedef struct world_plan {
    double interval;           ///< Time between frames; negative if time runs backward.
    int64_t stride;            ///< md: integration steps per frame; 1 in other worlds.
    int64_t image;             ///< Height and width of a frame in pixels.
    int64_t reject_steps;      ///< two-body+c: frames during which a body must stay on the canvas.
    plumb_world_colors colors; ///< Colour rule.
    plumb_world_background background;
    plumb_world_profile profile;
} world_plan;

/// Purposes of random numbers. Each has its own stream, so that for example a colour rule does not
/// change the motion.
typedef enum world_stream {
    WORLD_STREAM_STATE,
    WORLD_STREAM_PARAMETERS,
    WORLD_STREAM_STYLE,
    WORLD_STREAM_THERMOSTAT
} world_stream;

struct plumb_world {
    plumb_world_info info;
    uint8_t id;         ///< Number in the random streams, from 1. Never changed, never reused.
    uint32_t positive;  ///< Bit i: parameter value i must be above zero.
    bool colored;       ///< The world accepts a colour rule.
    bool interior;      ///< Every value of a state must be above zero.
    int64_t substeps;   ///< md: default integration steps per frame; else 0.
    const void *model;  ///< Constants of the entry, used by its own file only. Rooms: the probe.
    size_t motion_size; ///< Bytes of the motion that begin_motion prepares.
    size_t style_size;  ///< Bytes of the style that prepare_style prepares.

    /// Samples the parameters and the phase at time 0.
    plumb_status (*sample_start)(double *phase, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item);
    /// Prepares the motion that starts at a phase.
    void (*begin_motion)(void *motion, const plumb_world *world, const double *phase,
                         const double *parameters, const world_plan *plan);
    /// Computes the phase at a frame. Frames come in increasing order; some may be skipped.
    void (*compute_phase)(double *phase, void *motion, int64_t frame);
    /// Computes d phase / dt, in a driven world without the action.
    void (*compute_derivative)(double *out, const plumb_world *world, const double *phase,
                               const double *parameters);
    double (*compute_energy)(const plumb_world *world, const double *phase,
                             const double *parameters);
    /// Driven worlds: the action that is held from the frame at `time` to the next. Action i adds
    /// to the derivative of momentum i; compute_derivative is without it. Called if
    /// info.actions is not 0.
    void (*compute_action)(double *action, const double *parameters, double time);
    /// One more quantity of a phase, and its description. NULL if there is none.
    const plumb_world_quantity *quantity;
    void (*compute_quantity)(double *out, const double *phase, const double *parameters);
    /// Converts a phase to the published state. NULL if they are the same.
    void (*to_published)(double *state, const plumb_world *world, const double *phase);
    /// Converts a phase to minimal canonical coordinates. NULL if they are the same.
    void (*compute_canonical)(double *out, const plumb_world *world, const double *phase,
                              const double *parameters);
    /// Prepares the appearance of a trajectory.
    void (*prepare_style)(void *style, const plumb_world *world, const double *parameters,
                          const world_plan *plan);
    /// Renders a phase into (image, image, channels).
    void (*render_frame)(uint8_t *frame, const void *style, const double *phase);

    /// Rooms only: checks the options instead of the common rules, and makes a whole item.
    plumb_status (*check_options)(const plumb_world *world, int64_t steps,
                                  const plumb_world_options *options);
    plumb_status (*simulate_item)(const plumb_world_item *out, const plumb_world *world,
                                  const world_plan *plan, uint64_t seed, int64_t item);
};

/// Renders one frame of a published state into (image, image, channels), for tests. May be NULL:
/// parameters, as in plumb_world_simulate_from(); options.
plumb_status world_render(uint8_t *frame, const plumb_world *world, const double *state,
                          const double *parameters, const plumb_world_options *options);

/// Returns the random stream of one item of one world for one purpose.
rng world_rng(const plumb_world *world, uint64_t seed, int64_t item, world_stream purpose);

/// Draws a number uniform in [low, high).
double world_uniform(rng *random, double low, double high);

/// Draws a point of an annulus: isotropic direction, radius low to high, uniform in radius or area.
void world_annulus(double out[2], rng *random, double low, double high, bool by_area);

/// Number of concepts that have probes.
enum { ROOM_CONCEPTS = 5 };

// The entries of the table, each in the file it is named after; rooms are in rooms/room.c.
// clang-format off
extern const plumb_world
    mass_spring_plain, mass_spring_varied, mass_spring_damped,
    pendulum_plain, pendulum_varied, pendulum_damped, pendulum_driven,
    double_pendulum_plain, double_pendulum_varied, double_pendulum_damped,
    two_body_plain, two_body_varied,
    matching_pennies_entry, rock_paper_scissors_entry,
    camera_circle, camera_spiral,
    lennard_jones_4, lennard_jones_16,
    henon_heiles_low, henon_heiles_middle, henon_heiles_high,
    room_freeform,
    room_continuity, room_inertia, room_persistence, room_solidity, room_unchangeableness,
    room_support, room_collision,
    room_hard_continuity, room_hard_inertia, room_hard_persistence, room_hard_solidity,
    room_hard_unchangeableness,
    room_impossible;
// clang-format on

#endif
