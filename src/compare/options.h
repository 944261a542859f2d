// SPDX-License-Identifier: MIT
// Options of the comparison, and the scores that were added.
#ifndef COMPARE_OPTIONS_H
#define COMPARE_OPTIONS_H

#include "base/arena.h"
#include "base/option.h"
#include "plumb/compare.h"

extern const option_table compare_option_table;

/// One run of a model.
typedef struct compare_run {
    int64_t model;
    const double *scores; ///< (items)
    struct compare_run *next;
} compare_run;

struct plumb_compare {
    arena mem;
    const char *name[64];
    int64_t models, items; ///< items is 0 before the first run
    compare_run *first, *last;
};

#endif
