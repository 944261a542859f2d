// SPDX-License-Identifier: MIT
// The rows of the catalogue, each made in its model's file.
#ifndef MODELS_REGISTRY_ROWS_H
#define MODELS_REGISTRY_ROWS_H

#include "models/registry.h"

extern const registry_entry hgn_row, hgn_plus_plus_row, plato_row, predrnn_row;
extern const registry_entry lgn_row, ode_row, rgn_row, ar_row;

#endif
