// SPDX-License-Identifier: MIT
// Two figures of one model: the true states and the latents in phase space, and the true state over
// time beside what F, the map of SyMetric, reads off the latents. All sizes are in pixels.
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "plot/palette.h"
#include "report/phase_panels.h"

enum { LEFT = 64, MAX_ROWS = 16 }; // coordinates over time; the figure says how many are left out

// ---- phase space ----

// 0 if the model has no latents or no true states.
static double get_phase_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    return model->latent && model->truth ? phase_panels_clouds_height(model) : 0;
}

// Both groups have panels of one size.
static plumb_status draw_phase(drawing *canvas, arena *mem, const plumb_report *report,
                               const report_model *model)
{
    (void)report;
    return phase_panels_clouds(canvas, mem, model, 0, model->count);
}

const figure figure_phase = {
    .name = "phase-space",
    .title = "Phase space",
    .caption =
        "The true states and the informative latents, one color per video. A canonical map may "
        "rotate and bend one into the other, but it must keep the ratio of areas. A latent whose "
        "partner is not informative is drawn as points, one row per video.",
    .height = get_phase_height,
    .draw = draw_phase,
};

// ---- over time ----

// Coordinates that are shown over time.
static int64_t count_rows(const report_model *model)
{
    return model->states < MAX_ROWS ? model->states : MAX_ROWS;
}

// 0 if there is nothing to compare over time.
static double get_trajectory_height(const plumb_report *report, const report_model *model)
{
    (void)report;
    if (!model->readout || model->steps <= 2) return 0;
    return 80 + (double)count_rows(model) * TIME_ROW_HEIGHT +
           (count_rows(model) < model->states ? 22 : 0);
}

// One row per coordinate of the first video.
static plumb_status draw_trajectory(drawing *canvas, arena *mem, const plumb_report *report,
                                    const report_model *model)
{
    const drawing_color ink = drawing_rgb(PALETTE_INK);
    const double bottom = get_trajectory_height(report, model) - 10;
    plumb_status st = PLUMB_OK;
    phase_panels_legend(canvas, LEFT, 2.6, PALETTE_AXIS, "truth");
    phase_panels_legend(canvas, LEFT + 100, 1.4, PALETTE_BLUE, "read off the latents by F");
    if (report_model_vpt_frame(model, 0) < (double)model->steps)
        phase_panels_legend(canvas, LEFT + 316, 2, PALETTE_RED,
                            "frames are wrong from here on (VPT)");
    for (int64_t i = 0; i < count_rows(model) && !st; i++) {
        char name[48];
        phase_panels_name(name, model, false, i);
        st = phase_panels_time(canvas, mem,
                               &(time_row){model, 0, i, 52 + (double)i * TIME_ROW_HEIGHT, name});
    }
    canvas->text(canvas, FIGURE_WIDTH / 2.0, bottom - (count_rows(model) < model->states ? 22 : 0),
                 15, DRAWING_MIDDLE, ink, phase_panels_time_label(model));
    if (count_rows(model) < model->states) {
        char text[80];
        snprintf(text, sizeof text, "%lld more coordinates are not shown",
                 (long long)(model->states - count_rows(model)));
        canvas->text(canvas, LEFT, bottom, 14, DRAWING_LEFT, ink, text);
    }
    return st;
}

const figure figure_trajectory = {
    .name = "trajectory",
    .title = "State read off the latents, over time",
    .caption = "One video: the true state, and the state that F, the polynomial map of SyMetric, "
               "reads off the latents. F of a run is fitted as plumb evaluate fits it, to short "
               "videos of which none is shown; F of arrays is fitted to the arrays. Shaded: the "
               "frames that the model was trained to predict. The red line marks the first "
               "predicted frame that is wrong, if there is one.",
    .height = get_trajectory_height,
    .draw = draw_trajectory,
};
