// SPDX-License-Identifier: MIT
// Options of evaluations, rollouts, audits and loss files.
#ifndef EVALUATE_OPTIONS_H
#define EVALUATE_OPTIONS_H

#include "base/option.h"
#include "plumb/audit.h"
#include "plumb/evaluation.h"
#include "plumb/rollout.h"

extern const option_table evaluation_option_table, rollout_option_table, audit_option_table,
    surprise_losses_option_table;

#endif
