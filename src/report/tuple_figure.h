// SPDX-License-Identifier: MIT
// The figure of a tuple of four clips: four strips of frames.
#ifndef REPORT_TUPLE_FIGURE_H
#define REPORT_TUPLE_FIGURE_H

#include "plot/drawing.h"
#include "plumb/report.h"

/// True if the item is a tuple: frames (4, steps, height, width, channels).
bool tuple_figure_applies(plumb_dataset *dataset, int64_t item);

/// Draws the tuple and appends the bytes of an SVG or PNG file to `bytes`.
plumb_status tuple_figure_draw(plumb_image_size *out, buffer *bytes, plumb_dataset *dataset,
                               int64_t item, const plumb_item_figure_options *opt, bool svg);

#endif
