// SPDX-License-Identifier: MIT
// What is fitted on known tuples for every scorer: its gamma, and thresholds for single clips.
#ifndef MEASURES_SURPRISE_DECISIONS_H
#define MEASURES_SURPRISE_DECISIONS_H

#include "measures/surprise/known_tuples.h"

/// The gamma, 0 or more, with which s - gamma r decides most known tuples outside `fold`; of
/// equally good ones the least. s and r are (known, 4). Gammas from a thousandth to a thousand
/// times that at which both terms differ as much inside tuples are tried, four in each decade.
double decisions_choose_gamma(const known_tuples *known, const double *s, const double *r,
                              int64_t fold);

/// Thresholds from the scores of known clips (known, 4), applied to those that are judged, `score`
/// (tested, 4). Fills `decision` and `level` of `to`. Fails with PLUMB_EMEMORY.
plumb_status decisions_measure(plumb_surprise_score *to, arena *mem, const known_tuples *known,
                               const double *known_score, const double *score, int64_t tested,
                               const plumb_surprise_options *opt);

#endif
