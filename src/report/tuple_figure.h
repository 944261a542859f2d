// SPDX-License-Identifier: MIT
// A tuple of four clips as four film strips.
#ifndef REPORT_TUPLE_FIGURE_H
#define REPORT_TUPLE_FIGURE_H

#include "plot/drawing.h"
#include "plumb/report.h"

/// Is the item a tuple: frames (4, steps, height, width, channels)?
bool tuple_figure_applies(plumb_dataset *dataset, int64_t item);

/// Draws it into the bytes of a file, SVG or PNG.
plumb_status tuple_figure_draw(plumb_image_size *out, buffer *bytes, plumb_dataset *dataset,
                               int64_t item, const plumb_item_figure_options *opt, bool svg);

#endif
