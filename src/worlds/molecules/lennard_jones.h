// SPDX-License-Identifier: MIT
// Lennard-Jones particles in a periodic square box, in reduced units (epsilon = sigma = m = 1).
#ifndef WORLDS_MOLECULES_LENNARD_JONES_H
#define WORLDS_MOLECULES_LENNARD_JONES_H

#include <stdint.h>

#include "math/rng.h"

enum { LENNARD_JONES_MAX_COUNT = 16 };

/// Constants of a box. The pair potential 4 (r^-12 - r^-6) is cut off at half the side.
typedef struct lennard_jones {
    int count;              ///< Number of particles, a multiple of 4.
    double side;            ///< Side of the box.
    double temperature;     ///< In units of epsilon / k_B.
    double mean_energy;     ///< Mean total energy under the thermostat, with the shifted potential.
    double thermostat_time; ///< Time with the thermostat.
    double settle_time;     ///< Time without it, before the first frame.
} lennard_jones;

extern const lennard_jones lennard_jones_gas, lennard_jones_liquid; ///< md-4 and md-16.

/// Positions (never wrapped), velocities and forces; axis first, then particle.
typedef struct lennard_jones_box {
    double q[2][LENNARD_JONES_MAX_COUNT], v[2][LENNARD_JONES_MAX_COUNT];
    double f[2][LENNARD_JONES_MAX_COUNT];
} lennard_jones_box;

/// Computes the forces.
void lennard_jones_force(lennard_jones_box *box, const lennard_jones *model);

/// Integrates `count` steps of velocity Verlet. The forces must be set, and are set afterwards.
void lennard_jones_move(lennard_jones_box *box, const lennard_jones *model, double step,
                        int64_t count);

/// The same with a Langevin thermostat that keeps the total momentum at zero.
void lennard_jones_thermostat(lennard_jones_box *box, const lennard_jones *model, double step,
                              int64_t count, rng *random);

double lennard_jones_kinetic(const lennard_jones_box *box, const lennard_jones *model);
/// Potential energy, shifted to zero at the cut-off: kinetic plus this is what the forces conserve.
double lennard_jones_potential(const lennard_jones_box *box, const lennard_jones *model);

/// Samples random positions, pushes them apart, and samples velocities at the temperature.
void lennard_jones_random_start(lennard_jones_box *box, const lennard_jones *model, rng *random);

/// Samples a box in equilibrium whose energy is the mean energy of its temperature.
void lennard_jones_equilibrate(lennard_jones_box *box, const lennard_jones *model, rng *state_rng,
                               rng *thermostat_rng);

/// Selects "avx2" or "portable" loops, for tests; both give the same bits. Returns 0 if the
/// processor lacks them.
int lennard_jones_select(const char *set);

#endif
