// SPDX-License-Identifier: MIT
// Progress on stderr: a bar on a terminal, else a line every 30 s or 5 %. Nothing is shown for work
// that ends within a second.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/command.h"

// There is one progress at a time: a program does one thing after the other.
static struct {
    const char *what;
    bool terminal, shown;
    double started, shown_at, shown_fraction;
    bool announced; // how long it will take
} progress;

double progress_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// True if it is time to show `fraction`.
static bool is_due(double fraction, double now)
{
    if (now - progress.started < 1.0) return false;
    const double since = now - progress.shown_at;
    if (progress.terminal) return since >= 0.1;
    return since >= (fraction - progress.shown_fraction >= 0.05 ? 1.0 : 30.0);
}

void progress_show(double fraction, const char *details)
{
    const double now = progress_clock();
    if (!is_due(fraction, now)) return;
    if (progress.terminal) {
        char bar[21];
        for (int i = 0; i < 20; i++) bar[i] = i < (int)(20.0 * fraction) ? '#' : '.';
        bar[20] = 0;
        // \r goes to the start of the line, \033[K removes the rest of the old one.
        fprintf(stderr, "\r%s [%s] %s\033[K", progress.what, bar, details);
        progress.shown = true;
    } else fprintf(stderr, "%s: %s\n", progress.what, details);
    progress.shown_at = now;
    progress.shown_fraction = fraction;
}

void progress_announced(void)
{
    progress.announced = true;
}

// Long work says so once, as soon as it is known from how far it has come. What the library has
// said before it began counts.
static void announce_duration(double elapsed, double fraction)
{
    static const double sure = 2.0, sure_fraction = 0.01, long_seconds = 10.0;
    struct rusage used;
    char text[32];
    const double all = fraction > 0.0 ? elapsed / fraction : 0.0;
    // Before 1 % the extrapolation may be wrong by hours.
    if (progress.announced || elapsed < sure || fraction < sure_fraction || all < long_seconds)
        return;
    progress.announced = true;
    if (progress.terminal && progress.shown) fprintf(stderr, "\r\033[K");
    fprintf(stderr, "plumb %s: about %s", progress.what, table_duration(text, sizeof text, all));
    // Linux counts in KiB.
    if (!getrusage(RUSAGE_SELF, &used))
        fprintf(stderr, ", %.0f MB so far", 1.024e-3 * (double)used.ru_maxrss);
    fputc('\n', stderr);
}

// The callback of the library: shows percent, and the time left by linear extrapolation.
static void report_fraction(void *context, double fraction)
{
    (void)context;
    const double elapsed = progress_clock() - progress.started;
    // Before 1 % the extrapolation is too uncertain to be shown.
    const double left = fraction > 0.01 ? elapsed / fraction - elapsed : (double)NAN;
    announce_duration(elapsed, fraction);
    char details[64];
    if (!progress.terminal)
        snprintf(details, sizeof details, "%.0f %% after %.0f s", 100.0 * fraction, elapsed);
    else if (isnan(left)) snprintf(details, sizeof details, "%3.0f %%", 100.0 * fraction);
    else snprintf(details, sizeof details, "%3.0f %%, %.0f s left", 100.0 * fraction, left);
    progress_show(fraction, details);
}

void progress_begin(const char *what)
{
    progress.what = what;
    progress.terminal = isatty(STDERR_FILENO);
    progress.started = progress_clock();
    progress.shown_at = progress.shown_fraction = 0.0;
    progress.shown = progress.announced = false;
    plumb_set_progress(report_fraction, NULL);
}

void progress_stage(const char *what)
{
    progress_end();
    progress_begin(what);
    if (!progress.terminal) return;
    // The name of the stage is shown at once, before its first fraction.
    fprintf(stderr, "%s ...", what);
    progress.shown = true;
    progress.shown_at = progress.started;
}

// Removes the bar.
void progress_end(void)
{
    plumb_set_progress(NULL, NULL);
    if (progress.terminal && progress.shown) fprintf(stderr, "\r\033[K");
    progress.shown = false;
}
