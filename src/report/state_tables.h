// SPDX-License-Identifier: MIT
// The parts of the page about probes, the motion of rollouts, predicted states and comparisons.
#ifndef REPORT_STATE_TABLES_H
#define REPORT_STATE_TABLES_H

#include "report/report_model.h"

/// Prints what the records of plumb probe, dynamics and forecast of states say, as paragraphs and
/// tables; nothing if there are none.
void state_tables_print(buffer *html, const report_model *model);
/// Prints the tables of plumb compare.
void state_tables_print_comparison(buffer *html, const report_model *model);

#endif
