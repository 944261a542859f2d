// SPDX-License-Identifier: MIT
// One-class support vector machine, solved by libsvm where this build and machine have it.
#ifndef MEASURES_SURPRISE_ONE_CLASS_SVM_H
#define MEASURES_SURPRISE_ONE_CLASS_SVM_H

#include "base/arena.h"
#include "plumb/status.h"

typedef struct one_class_svm_settings {
    bool linear;      ///< else exp(-width |a - b|^2)
    double width;     ///< 0: 1 / (dims * variance of all entries together)
    double nu;        ///< bound on the share of observed points outside, above 0, at most 1
    double tolerance; ///< at which the solver stops
    int threads;
} one_class_svm_settings;

/// PLUMB_OK, or PLUMB_EMISSING with a line that says what is missing.
plumb_status one_class_svm_load(void);

/// Points to fit and points to decide, (count, dims) each.
typedef struct one_class_svm_points {
    const double *observed;
    int64_t observed_count;
    const double *queries;
    int64_t query_count;
    int64_t dims;
} one_class_svm_points;

/// decision (query_count), positive inside: sum of alpha K(observed, query) - rho, with alpha in 0
/// to 1 and their sum nu * observed_count. May be NULL: rho. `mem` gives scratch.
plumb_status one_class_svm_decide(double *decision, double *rho, arena *mem,
                                  const one_class_svm_points *points,
                                  const one_class_svm_settings *settings);

#endif
