// SPDX-License-Identifier: MIT
// Any bytes as results.jsonl: the names of the finished runs are read, and all records are added to
// a report. What a report takes is also drawn.
#include "base/arena.h"
#include "plumb/report.h"
#include "support.h"
#include "sweep/results_file.h"

static void draw_report(plumb_report *report)
{
    plumb_report_correlation correlation;
    for (int64_t i = 0; plumb_report_correlation_at(&correlation, report, i); i++) {}
    const int64_t count = plumb_report_figure_count(report);
    for (int64_t i = 0; i < count; i++) {
        const char *text, *name = plumb_report_figure_name(report, i);
        // A figure that is listed can be drawn.
        if (!name || plumb_report_figure_svg(&text, report, name) || !strstr(text, "<svg")) abort();
    }
    if (plumb_report_save(report, "/dev/null")) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena mem = {0};
    results_file_names names;
    const char *path = fuzz_write("results.jsonl", data, size);
    if (!results_file_finished(&names, &mem, fuzz_folder()))
        for (int64_t i = 0; i < names.count; i++)
            if (!results_file_has(&names, names.names[i])) abort();
    arena_clear(&mem);
    plumb_report *report;
    if (plumb_report_create(&report)) abort();
    if (!plumb_report_add_path(report, path, NULL)) draw_report(report);
    else if (!plumb_last_error()[0] || strchr(plumb_last_error(), '\n')) abort();
    plumb_report_free(report);
    return 0;
}
