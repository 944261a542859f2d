// SPDX-License-Identifier: MIT
// Panels that several figures of a phase space share: clouds of points, and curves over time.
#ifndef REPORT_PHASE_PANELS_H
#define REPORT_PHASE_PANELS_H

#include "report/report_model.h"

/// The name of a coordinate of the truth or of the latents, which have the numbers of the model.
void phase_panels_name(char out[48], const report_model *model, bool latent, int64_t index);

/// Draws a line and its name at the top of a figure.
void phase_panels_legend(drawing *canvas, double x, double width, int color, const char *text);

/// Height of the clouds of truth and latents of `count` trajectories, one color each.
double phase_panels_clouds_height(const report_model *model);
/// Draws them from `y` on. Every pair is drawn, or the figure says how many are not.
plumb_status phase_panels_clouds(drawing *canvas, arena *mem, const report_model *model, double y,
                                 int64_t count);

/// One coordinate of one trajectory over time: the truth, and what F reads off the latents.
typedef struct time_row {
    const report_model *model;
    int64_t trajectory, coordinate;
    double y;         ///< of its panel
    const char *name; ///< above its left edge; NULL: none
} time_row;

enum { TIME_ROW_HEIGHT = 144 }; ///< of a row, with its labels
/// Draws all frames and, for long videos, a close-up of the last ones. The trained frames are
/// shaded, and a red line is at the VPT.
plumb_status phase_panels_time(drawing *canvas, arena *mem, const time_row *row);
/// The text below the rows.
const char *phase_panels_time_label(const report_model *model);

#endif
