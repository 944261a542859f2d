// SPDX-License-Identifier: MIT
// The entries of the model registry. Each is defined in the file of its model.
#ifndef MODELS_REGISTRY_ENTRIES_H
#define MODELS_REGISTRY_ENTRIES_H

#include "models/registry.h"

extern const registry_entry hgn_entry, hgn_plus_plus_entry, plato_entry, bodies_entry,
    predrnn_entry;
extern const registry_entry lgn_entry, ode_entry, rgn_entry, ar_entry;

#endif
