// SPDX-License-Identifier: MIT
// What a row of the table of worlds is made of.
//
// A world moves in coordinates of its own, its phase: as many numbers as the published state has,
// and equal to it, except that the positions of molecules are not wrapped into their box.
#ifndef WORLDS_WORLD_H
#define WORLDS_WORLD_H

#include "math/rng.h"
#include "plumb/world.h"

enum {
    WORLD_MAX_STATE = 64,       ///< numbers of a state
    WORLD_MAX_PARAMETERS = 128, ///< numbers of all parameters together
    WORLD_MAX_IMAGE = 1024,
};

/// The options, resolved for one world.
typedef struct world_plan {
    double interval;      ///< time between the frames kept; negative backward
    int64_t stride;       ///< md: integration steps in a frame
    int64_t image;        ///< height and width
    int64_t reject_steps; ///< frames, for the rule of two-body+c
    plumb_world_colors colors;
} world_plan;

/// What random numbers are for. Each purpose has a stream of its own, so that a colour rule, say,
/// moves no particle.
typedef enum world_stream {
    WORLD_STREAM_STATE,
    WORLD_STREAM_PARAMETERS,
    WORLD_STREAM_STYLE,
    WORLD_STREAM_THERMOSTAT
} world_stream;

struct plumb_world {
    plumb_world_info info;
    uint8_t id;         ///< in the random streams, from 1: never changed, never used again
    uint32_t positive;  ///< bit i: number i of the parameters must be above zero
    bool colored;       ///< has colours to choose
    bool interior;      ///< every number of a state must be above zero
    int64_t substeps;   ///< md: integration steps in a frame; else 0
    const void *model;  ///< constants of the row, known to its file alone
    size_t motion_size; ///< bytes of what `start` prepares
    size_t style_size;  ///< bytes of what `style` prepares

    /// Draws parameters and the phase at time 0.
    plumb_status (*sample)(double *phase, double *parameters, const plumb_world *world,
                           const world_plan *plan, uint64_t seed, int64_t item);
    /// Prepares to move from a phase.
    void (*start)(void *motion, const plumb_world *world, const double *phase,
                  const double *parameters, const world_plan *plan);
    /// The phase at a frame; frames are asked for in growing order, some may be left out.
    void (*state_at)(double *phase, void *motion, int64_t frame);
    void (*derivative)(double *out, const plumb_world *world, const double *phase,
                       const double *parameters);
    double (*energy)(const plumb_world *world, const double *phase, const double *parameters);
    /// Phase to published state; NULL if they are the same.
    void (*to_published)(double *state, const plumb_world *world, const double *phase);
    /// Phase to minimal canonical coordinates; NULL if they are the same.
    void (*canonical)(double *out, const plumb_world *world, const double *phase,
                      const double *parameters);
    /// Prepares to draw.
    void (*style)(void *style, const plumb_world *world, const double *parameters,
                  const world_plan *plan);
    void (*render)(uint8_t *frame, const void *style, const double *phase);
};

/// The random stream of one item of one world for one purpose.
rng world_rng(const plumb_world *world, uint64_t seed, int64_t item, world_stream purpose);

/// Uniform in [low, high).
double world_uniform(rng *r, double low, double high);

/// An isotropic direction times a radius between low and high, uniform in radius or in area.
void world_annulus(double out[2], rng *r, double low, double high, bool by_area);

// The rows, each in the file it is named after.
// clang-format off
extern const plumb_world
    mass_spring_plain, mass_spring_varied, mass_spring_damped,
    pendulum_plain, pendulum_varied, pendulum_damped,
    double_pendulum_plain, double_pendulum_varied, double_pendulum_damped,
    two_body_plain, two_body_varied,
    matching_pennies_row, rock_paper_scissors_row,
    camera_circle, camera_spiral,
    lennard_jones_4, lennard_jones_16;
// clang-format on

#endif
