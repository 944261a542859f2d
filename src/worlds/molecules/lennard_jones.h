// SPDX-License-Identifier: MIT
// Lennard-Jones particles in a periodic square box, in reduced units (epsilon = sigma = m = 1).
#ifndef WORLDS_MOLECULES_LENNARD_JONES_H
#define WORLDS_MOLECULES_LENNARD_JONES_H

#include <stdint.h>

#include "math/rng.h"

enum { LENNARD_JONES_MAX = 16 };

/// What a box is like. The pair potential 4 (r^-12 - r^-6) is cut off at half the box.
typedef struct lennard_jones {
    int count; ///< particles, a multiple of 4
    double side, temperature;
    double mean_energy;  ///< of the thermostatted box, the shifted potential included
    double soak, settle; ///< time under the thermostat, and after it
} lennard_jones;

extern const lennard_jones lennard_jones_gas, lennard_jones_liquid; ///< md-4 and md-16

/// Positions (never wrapped), velocities and forces, an axis at a time.
typedef struct lennard_jones_box {
    double q[2][LENNARD_JONES_MAX], v[2][LENNARD_JONES_MAX], f[2][LENNARD_JONES_MAX];
} lennard_jones_box;

/// Fills in the forces.
void lennard_jones_force(lennard_jones_box *box, const lennard_jones *model);

/// `count` steps of velocity Verlet; the forces must be there, and are there afterwards.
void lennard_jones_move(lennard_jones_box *box, const lennard_jones *model, double step,
                        int64_t count);

/// The same with a Langevin thermostat that keeps the total momentum at zero.
void lennard_jones_thermostat(lennard_jones_box *box, const lennard_jones *model, double step,
                              int64_t count, rng *r);

double lennard_jones_kinetic(const lennard_jones_box *box, const lennard_jones *model);
/// Shifted to be zero at the cut-off: this is what the forces conserve.
double lennard_jones_potential(const lennard_jones_box *box, const lennard_jones *model);

/// Random points pushed apart, with velocities at the temperature.
void lennard_jones_random_start(lennard_jones_box *box, const lennard_jones *model, rng *r);

/// A box in equilibrium at the mean energy of its temperature.
void lennard_jones_equilibrate(lennard_jones_box *box, const lennard_jones *model, rng *place,
                               rng *heat);

/// For tests: uses "avx2" or "portable" loops, the same bits; zero if this processor lacks them.
int lennard_jones_select(const char *set);

#endif
