// SPDX-License-Identifier: MIT
// Text tables: rows of name, value, interval and note. Columns have fixed widths, and the last one
// is wrapped, so that a table fits the terminal.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/command.h"

enum { VALUE_COLUMN = 17, NOTE_COLUMN = 53 }; // where values and notes start

const char *table_interval(char *text, size_t size, plumb_interval interval)
{
    // NaN means that no interval was computed, and nothing is printed.
    if (isnan(interval.low)) text[0] = 0;
    else snprintf(text, size, "95 %% [%.4g, %.4g]", interval.low, interval.high);
    return text;
}

// "  name           value     95 % [low, high]          note"
void table_row(const char *name, double value, plumb_interval interval, const char *note)
{
    char text[64];
    table_interval(text, sizeof text, interval);
    int column = isnan(value) ? printf("  %-14s %-9s", name, "unknown")
                              : printf("  %-14s %-9.4g", name, value);
    // Without a note the interval is not padded, so that no line ends in spaces.
    if (text[0] || note[0]) column += printf(note[0] ? " %-25s " : " %s", text);
    if (note[0]) help_wrap(note, column, NOTE_COLUMN);
    putchar('\n');
}

void table_value(const char *name, double value, const char *note)
{
    const int column = printf("  %-14s %-9.4g ", name, value);
    if (note[0]) help_wrap(note, column, VALUE_COLUMN + 10);
    putchar('\n');
}

void table_text(const char *name, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const int column = printf("  %-14s ", name);
    help_wrap(text, column, VALUE_COLUMN);
    putchar('\n');
}

void table_paragraph(const char *format, ...)
{
    char text[1600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    help_wrap(text, 0, 0);
    putchar('\n');
}

const char *table_duration(char *text, size_t size, double seconds)
{
    // Up to two minutes in seconds, up to two hours in minutes.
    if (seconds < 120.0) snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 7200.0) snprintf(text, size, "%.0f min", seconds / 60.0);
    else snprintf(text, size, "%.1f h", seconds / 3600.0);
    return text;
}

// "q1 0.99, p1 0.00": which part of the state the latents hold.
static void print_coordinates(const plumb_kappa *kappa)
{
    enum { MAX_PAIRS = 16 };
    char text[400];
    size_t used = 0;
    const int64_t n = kappa->n;
    if (!kappa->r2_coordinates || n > MAX_PAIRS) return;
    for (int64_t i = 0; i < 2 * n && used < sizeof text; i++) {
        const char name = i < n ? 'q' : 'p';
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c", i ? ", " : "", name);
        if (n > 1 && used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%lld", (long long)(i % n + 1));
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " %.2f",
                                     kappa->r2_coordinates[i]);
    }
    table_text("  of each", "%s", text);
}

// The verdict of kappa is a paragraph below its table.
void table_kappa(const plumb_kappa *kappa)
{
    print_coordinates(kappa);
    if (!isnan(kappa->kappa_constants))
        table_row("by constants", kappa->kappa_constants, kappa->kappa_constants_ci,
                  "decides: c is a function of the constants");
    if (isfinite(kappa->symplectic_r2))
        table_value("symplectic R2", kappa->symplectic_r2,
                    "truth to latents by a map symplectic by design, held out");
    if (kappa->symplectic_why) table_text("symplectic", "not measured: %s", kappa->symplectic_why);
    if (isfinite(kappa->symplectic))
        table_row("symplectic", kappa->symplectic, kappa->symplectic_ci,
                  "the lesser R2 of that map and of one from latents to truth");
    if (kappa->reduced) table_text("reduced", "%s", kappa->reduced);
    putchar('\n');
    if (kappa->canonical == PLUMB_VERDICT_NOT_DETERMINED)
        table_paragraph("canonical ?: %s", kappa->why);
    else table_paragraph("canonical %d: %s", (int)kappa->canonical, kappa->why);
}

// "0.9512 per step", the change over the trajectory, the energy and the clock; what is not known is
// left out.
void table_flow(const plumb_flow *flow)
{
    char note[128];
    if (!flow->measured) return;
    putchar('\n');
    if (isfinite(flow->area_rate)) {
        if (isfinite(flow->true_area_rate))
            snprintf(note, sizeof note, "factor per step; of the truth %.5g", flow->true_area_rate);
        else snprintf(note, sizeof note, "factor per step");
        table_row("area", flow->area_rate, flow->area_rate_ci, note);
    }
    if (isfinite(flow->area_change)) {
        snprintf(note, sizeof note, "over %lld steps, beyond the true flow",
                 (long long)flow->steps);
        table_row("area change", flow->area_change, flow->area_change_ci, note);
    }
    if (isfinite(flow->energy_change))
        table_row("energy change", flow->energy_change, flow->energy_change_ci,
                  "the same of the energy");
    if (isfinite(flow->clock)) {
        snprintf(note, sizeof note, "the model's time; R2 of the state %.4g, after it %.4g",
                 flow->r2, flow->r2_clock);
        table_row("clock", flow->clock, flow->clock_ci, note);
    }
    putchar('\n');
    const char *word = plumb_verdict_name(flow->verdict), *why = flow->why;
    const size_t length = strlen(word);
    if (!strncmp(why, word, length) && !strncmp(why + length, ": ", 2)) why += length + 2;
    table_paragraph("flow %s: %s", word, why);
}

// MSE as published, and VPT with the number of frames it can count.
void table_direction(const char *name, const plumb_forecast_direction *direction)
{
    char note[64];
    printf("\n%s\n", name);
    table_row("MSE Rec", direction->rec.published, direction->rec.published_ci, "");
    table_row("MSE Ext", direction->ext.published, direction->ext.published_ci, "");
    snprintf(note, sizeof note, "of %lld frames", (long long)direction->length);
    table_row("VPT", direction->vpt, direction->vpt_ci, note);
    table_stills(direction);
}

// The paper says mean, its code takes medians.
void table_averages(const plumb_forecast *forecast)
{
    table_value("  mean", forecast->vpt_mean, "over trajectories, as the paper says");
    table_value("  median", forecast->vpt_median, "of batches, as in the published code");
}

// What needs no model, and what is left of the VPT by a threshold that it fails.
void table_stills(const plumb_forecast_direction *direction)
{
    char note[96];
    snprintf(note, sizeof note, "VPT of a still picture, the mean frame: relative error %.3g",
             direction->mean_frame.error);
    table_value("  mean frame", direction->mean_frame.vpt, note);
    if (isfinite(direction->last_frame.vpt)) {
        snprintf(note, sizeof note, "VPT of a copy of the last frame: relative error %.3g",
                 direction->last_frame.error);
        table_value("  last frame", direction->last_frame.vpt, note);
    }
    snprintf(note, sizeof note, "VPT by threshold %.3g, at most half of these errors",
             direction->still_threshold);
    table_value("  above still", direction->vpt_above_still, note);
}

void table_loops(const plumb_loops *loops)
{
    table_row("cosine", loops->cosine, loops->cosine_ci,
              "of latent and true actions; 1 or -1: canonical");
    table_row("slope", loops->slope, loops->slope_ci,
              "latent action per true action, the constant c");
}
