// SPDX-License-Identifier: MIT
// One-class support vector machine, solved by libsvm where this build and machine have it.
#ifndef MEASURES_SURPRISE_ONE_CLASS_SVM_H
#define MEASURES_SURPRISE_ONE_CLASS_SVM_H

#include "base/arena.h"
#include "plumb/status.h"

typedef struct one_class_svm_settings {
    bool linear;  ///< else exp(-width |a - b|^2)
    double width; ///< 0: 1 / (dims * variance of all entries together)
    double nu;
    double tolerance; ///< at which the solver stops
    int threads;
} one_class_svm_settings;

/// PLUMB_OK, or PLUMB_EMISSING with a line that says what is missing.
plumb_status one_class_svm_load(void);

/// decision[i] of asked[i], positive inside: sum of alpha K(seen, asked) - rho, with alpha in 0 to
/// 1 and their sum nu * seen_count. `rho` may be NULL. `mem` lends scratch.
plumb_status one_class_svm_decide(double *decision, double *rho, arena *mem, const double *seen,
                                  int64_t seen_count, const double *asked, int64_t asked_count,
                                  int64_t dims, const one_class_svm_settings *settings);

#endif
