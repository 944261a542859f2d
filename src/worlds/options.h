// SPDX-License-Identifier: MIT
// Options of a simulation.
#ifndef WORLDS_OPTIONS_H
#define WORLDS_OPTIONS_H

#include "base/option.h"
#include "plumb/world.h"

extern const option_table world_option_table;

#endif
