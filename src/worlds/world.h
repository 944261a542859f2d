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
    WORLDS_MAX_STATE = 64,       ///< numbers of a state
    WORLDS_MAX_PARAMETERS = 128, ///< numbers of all parameters together
    WORLDS_MAX_IMAGE = 1024,
};

/// The options, resolved for one world.
typedef struct worlds_plan {
    double interval;      ///< time between the frames kept; negative backward
    int64_t stride;       ///< md: integration steps in a frame
    int64_t image;        ///< height and width
    int64_t reject_steps; ///< frames, for the rule of two-body+c
    plumb_world_colors colors;
} worlds_plan;

/// What random numbers are for. Each purpose has a stream of its own, so that a colour rule, say,
/// moves no particle.
typedef enum worlds_purpose {
    WORLDS_STATE,
    WORLDS_PARAMETERS,
    WORLDS_LOOK,
    WORLDS_HEAT
} worlds_purpose;

struct plumb_world {
    plumb_world_facts facts;
    uint8_t id;         ///< in the random streams, from 1: never changed, never used again
    uint32_t positive;  ///< bit i: number i of the parameters must be above zero
    bool colored;       ///< has colours to choose
    bool interior;      ///< every number of a state must be above zero
    int64_t substeps;   ///< md: integration steps in a frame; else 0
    const void *model;  ///< constants of the row, known to its file alone
    size_t motion_size; ///< bytes of what `start` prepares
    size_t look_size;   ///< bytes of what `look` prepares

    /// Draws parameters and the phase at time 0.
    plumb_status (*begin)(double *phase, double *parameters, const plumb_world *world,
                          const worlds_plan *plan, uint64_t seed, int64_t item);
    /// Prepares to move from a phase.
    void (*start)(void *motion, const plumb_world *world, const double *phase,
                  const double *parameters, const worlds_plan *plan);
    /// The phase at a frame; frames are asked for in growing order, some may be left out.
    void (*at)(double *phase, void *motion, int64_t frame);
    void (*derivative)(double *out, const plumb_world *world, const double *phase,
                       const double *parameters);
    double (*energy)(const plumb_world *world, const double *phase, const double *parameters);
    /// Phase to published state; NULL if they are the same.
    void (*publish)(double *state, const plumb_world *world, const double *phase);
    /// Phase to minimal canonical coordinates; NULL if they are the same.
    void (*canonical)(double *out, const plumb_world *world, const double *phase,
                      const double *parameters);
    /// Prepares to draw.
    void (*look)(void *look, const plumb_world *world, const double *parameters,
                 const worlds_plan *plan);
    void (*draw)(uint8_t *frame, const void *look, const double *phase);
};

/// The random stream of one item of one world for one purpose.
rng worlds_rng(const plumb_world *world, uint64_t seed, int64_t item, worlds_purpose purpose);

/// Uniform in [low, high).
double worlds_uniform(rng *r, double low, double high);

/// An isotropic direction times a radius between low and high, uniform in radius or in area.
void worlds_annulus(double out[2], rng *r, double low, double high, bool by_area);

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
