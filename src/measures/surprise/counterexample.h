// SPDX-License-Identifier: MIT
// The likelihood ratio of the counter-example of [Lin23].
#ifndef MEASURES_SURPRISE_COUNTEREXAMPLE_H
#define MEASURES_SURPRISE_COUNTEREXAMPLE_H

/// log p(impossible) - log p(possible) at x, of N(0, deviation^2) and N(0, 1).
double counterexample_log_ratio(double x, double deviation);

#endif
