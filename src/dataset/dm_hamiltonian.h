// SPDX-License-Identifier: MIT
// The names and shapes of the published records [Botev21] against those of plumb's data files.
#ifndef DATASET_DM_HAMILTONIAN_H
#define DATASET_DM_HAMILTONIAN_H

#include <stdbool.h>

#include "dataset/features_txt.h"

/// The name and shape that a published feature has in plumb. `shared`: it is the same for all
/// items. The name points into the feature's key or to a constant.
void dm_hamiltonian_to_plumb(const char **name, plumb_array *array, bool *shared,
                             const feature_spec *from);

/// The other way. `mem` is for the key. `only`: is this an array that the published files have?
plumb_status dm_hamiltonian_from_plumb(feature_spec *out, bool *only, arena *mem, const char *name,
                                       const plumb_array *array, bool shared);

/// "pendulum_colors_dt_0_05" is pendulum+c. Writes plumb's name for a published folder, or "".
void dm_hamiltonian_world(char out[64], const char *folder);

#endif
