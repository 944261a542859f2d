// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "base/cost.h"

#include <sys/resource.h>

#include "base/status.h"
#include "base/text.h"

// Shorter calls say nothing.
static const double long_seconds = 10.0;

const char *cost_duration(char text[COST_TEXT], double seconds)
{
    if (seconds < 99.5) text_format(text, COST_TEXT, "%.2g s", seconds);
    else if (seconds < 5940.0) text_format(text, COST_TEXT, "%.0f min", seconds / 60.0);
    else text_format(text, COST_TEXT, "%.2g h", seconds / 3600.0);
    return text;
}

const char *cost_size(char text[COST_TEXT], double bytes)
{
    if (bytes < 1e6) text_format(text, COST_TEXT, "%.0f KB", bytes / 1e3);
    else if (bytes < 1e9) text_format(text, COST_TEXT, "%.0f MB", bytes / 1e6);
    else text_format(text, COST_TEXT, "%.1f GB", bytes / 1e9);
    return text;
}

double cost_peak_bytes(void)
{
    struct rusage used;
    // Linux counts in KiB.
    return getrusage(RUSAGE_SELF, &used) ? 0.0 : 1024.0 * (double)used.ru_maxrss;
}

void cost_log(double seconds, double bytes)
{
    char time[COST_TEXT], size[COST_TEXT];
    if (!(seconds > long_seconds)) return;
    if (bytes > 0.0)
        status_log("about %s, %s of memory", cost_duration(time, seconds), cost_size(size, bytes));
    else status_log("about %s", cost_duration(time, seconds));
}
