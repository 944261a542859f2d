// SPDX-License-Identifier: MIT
// Names and shapes of the DeepMind Hamiltonian suite [Botev21] and the corresponding ones of plumb.
#ifndef DATASET_DM_HAMILTONIAN_H
#define DATASET_DM_HAMILTONIAN_H

#include <stdbool.h>

#include "dataset/features_txt.h"

/// Gets name, type and shape in plumb of a feature of the suite. `shared`: it is the same for all
/// items. The name points into the key of the feature or to a constant.
void dm_hamiltonian_to_plumb(const char **name, plumb_array *array, bool *shared,
                             const feature_spec *spec);

/// Gets the feature for an array of plumb. The key is allocated in `mem`. `*published` is true if
/// files of the suite have this array.
plumb_status dm_hamiltonian_from_plumb(feature_spec *out, bool *published, arena *mem,
                                       const char *name, const plumb_array *array, bool shared);

/// Writes the name of the world for a folder of the suite, or "". "pendulum_colors_dt_0_05" is
/// pendulum+c.
void dm_hamiltonian_world(char out[64], const char *folder);

#endif
