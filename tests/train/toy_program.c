// SPDX-License-Identifier: MIT
// plumb with one more model, the toy.
#include "train/toy_model.h"
