// SPDX-License-Identifier: MIT
// Stands in for one_class_svm.c where libsvm's header was not found when plumb was built.
#include "base/status.h"
#include "measures/surprise/one_class_svm.h"
#include "measures/surprise/scorers.h"

plumb_status one_class_svm_load(void)
{
    return fail(PLUMB_EMISSING, "this build has no scorer ocsvm: libsvm-dev was not there");
}

plumb_status one_class_svm_decide(double *decision, double *rho, arena *mem, const double *seen,
                                  int64_t seen_count, const double *asked, int64_t asked_count,
                                  int64_t dims, const one_class_svm_settings *settings)
{
    (void)decision, (void)rho, (void)mem, (void)seen, (void)seen_count, (void)asked;
    (void)asked_count, (void)dims, (void)settings;
    return one_class_svm_load();
}

plumb_status scorer_ocsvm(double *r, arena *mem, const scorer_task *task)
{
    (void)r, (void)mem, (void)task;
    return one_class_svm_load();
}
