// SPDX-License-Identifier: MIT
// Options of reports and of figures of one item.
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include "base/option.h"
#include "plumb/report.h"

extern const option_table report_option_table, item_figure_option_table;

#endif
