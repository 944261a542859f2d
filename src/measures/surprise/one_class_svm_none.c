// SPDX-License-Identifier: MIT
// Replaces one_class_svm.c if the header of libsvm was not found at build time.
#include "base/status.h"
#include "measures/surprise/one_class_svm.h"
#include "measures/surprise/scorers.h"

plumb_status one_class_svm_load(void)
{
    return fail(PLUMB_EMISSING, "this build has no scorer ocsvm: it was built without libsvm-dev");
}

plumb_status one_class_svm_decide(double *decision, double *rho, arena *mem,
                                  const one_class_svm_points *points,
                                  const one_class_svm_settings *settings)
{
    (void)decision, (void)rho, (void)mem, (void)points, (void)settings;
    return one_class_svm_load();
}

plumb_status scorer_ocsvm(double *r, arena *mem, const scorer_task *task)
{
    (void)r, (void)mem, (void)task;
    return one_class_svm_load();
}
