// SPDX-License-Identifier: MIT
// The models of a report in the form of [Higgins21, Table 1].
#ifndef REPORT_PAPER_TABLE_H
#define REPORT_PAPER_TABLE_H

#include "report/report_model.h"

/// Prints the table as HTML; nothing if no model has both a VPT and R2.
void paper_table_print(buffer *html, const plumb_report *report);

#endif
