// SPDX-License-Identifier: MIT
// Arrays of a file, measured for a report.
#ifndef REPORT_MEASURE_ARRAYS_H
#define REPORT_MEASURE_ARRAYS_H

#include "plumb/phase_space.h"
#include "plumb/report.h"

/// The array of this name; `ndim` 0 accepts any number of axes. NULL if there is none.
const plumb_array *measure_find_array(const plumb_named_array *arrays, int64_t count,
                                      const char *name, int ndim);
/// The arrays of a phase space; `latent` or `truth` is NULL if there is none.
plumb_phase_space_input measure_find_phase_space(const plumb_named_array *arrays, int64_t count);

/// Measures the arrays by every measure that applies to them, and adds the records to the model of
/// this name. `threads` as in the options of the measures.
plumb_status measure_arrays(plumb_report *report, const char *name, const plumb_named_array *arrays,
                            int64_t count, int threads);

#endif
