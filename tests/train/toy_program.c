// SPDX-License-Identifier: MIT
// plumb as it is, and one model more.
#include "train/toy_model.h"
