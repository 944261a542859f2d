// SPDX-License-Identifier: MIT
// What commands share in speaking to people and programs: records, cells, progress, bars.
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/command.h"

int cli_print_record(const cli_command *c, plumb_record *record)
{
    const char *line;
    if (plumb_record_to_json(&line, record)) return cli_last_error(c);
    puts(line);
    return EXIT_DONE;
}

int cli_write_items(const cli_command *c, const char *path, int64_t count, cli_item_record *fill,
                    const void *result)
{
    plumb_record **items = calloc((size_t)count + 1, sizeof(plumb_record *));
    bool whole = items;
    for (int64_t i = 0; whole && i < count; i++) {
        items[i] = plumb_record_create();
        whole = items[i];
        if (whole) fill(items[i], result, i);
    }
    int code = EXIT_DONE;
    if (!whole) code = cli_error(c, EXIT_FAILED, "no memory");
    else if (plumb_record_write_lines(path, items, count)) code = cli_last_error(c);
    for (int64_t i = 0; items && i < count; i++) plumb_record_free(items[i]);
    free(items);
    return code;
}

const char *cli_format_interval(char *text, size_t size, plumb_interval interval)
{
    if (isnan(interval.low)) text[0] = 0;
    else snprintf(text, size, "95 %% [%.4g, %.4g]", interval.low, interval.high);
    return text;
}

static struct {
    const char *what;
    bool terminal;
    double started, said;
    double said_fraction;
} progress;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Nothing is shown for work that ends within a second; batch logs get a line every 30 s or 5 %.
static void report(void *context, double fraction)
{
    (void)context;
    const double t = now(), elapsed = t - progress.started;
    if (elapsed < 1.0) return;
    const double left = fraction > 0.01 ? elapsed / fraction - elapsed : (double)NAN;
    if (progress.terminal) {
        if (t - progress.said < 0.1) return;
        char gauge[31];
        for (int i = 0; i < 30; i++) gauge[i] = i < (int)(30.0 * fraction) ? '#' : '.';
        gauge[30] = 0;
        fprintf(stderr, "\r%s [%s] %3.0f %%", progress.what, gauge, 100.0 * fraction);
        if (!isnan(left)) fprintf(stderr, ", %.0f s left ", left);
    } else {
        if (t - progress.said < 30.0 && fraction - progress.said_fraction < 0.05) return;
        if (t - progress.said < 1.0) return;
        fprintf(stderr, "%s: %.0f %% after %.0f s\n", progress.what, 100.0 * fraction, elapsed);
    }
    progress.said = t;
    progress.said_fraction = fraction;
}

void progress_begin(const char *what)
{
    progress.what = what;
    progress.terminal = isatty(STDERR_FILENO);
    progress.started = now();
    progress.said = progress.said_fraction = 0.0;
    plumb_set_progress(report, NULL);
}

void progress_stage(const char *what)
{
    progress_end();
    progress_begin(what);
    if (!progress.terminal) return;
    fprintf(stderr, "%s ...", what);
    progress.said = progress.started;
}

void progress_end(void)
{
    plumb_set_progress(NULL, NULL);
    if (progress.terminal && progress.said > 0.0) fprintf(stderr, "\r\033[K");
}

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };
static struct sigaction usual[STOP_SIGNALS];
static volatile sig_atomic_t caught;
static bool comes_again; // the work is saved, and worth another start

static void on_stop(int signal)
{
    caught = signal;
    plumb_set_stop(true);
}

void signals_begin(void)
{
    signal(SIGXFSZ, SIG_IGN); // a file beyond the limit is an error like a full disk
    for (int i = 0; i < STOP_SIGNALS; i++) {
        struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(stop_signals[i], NULL, &usual[i]);
        if (stop_signals[i] == SIGUSR1 && !comes_again) continue;
        // nohup and the like want a signal ignored; let them
        if (usual[i].sa_handler != SIG_IGN) sigaction(stop_signals[i], &action, NULL);
    }
}

void signals_begin_resumable(void)
{
    comes_again = true;
    signals_begin();
}

int signals_end(int code)
{
    for (int i = 0; i < STOP_SIGNALS; i++) sigaction(stop_signals[i], &usual[i], NULL);
    plumb_set_stop(false);
    if (comes_again && code != EXIT_DONE && (caught == SIGTERM || caught == SIGUSR1))
        return EXIT_TEMPFAIL;
    if (caught && code != EXIT_DONE) {
        fflush(stdout);
        raise(caught); // so that the shell knows, too
    }
    return code;
}

// The bar a wish names and the level it asks for; NULL, said on stderr, if it makes no sense.
static const requirement *find_bar(const cli_command *c, const char *wish, const requirement *bars,
                                   int count, double *level)
{
    char name[64];
    const size_t length = strcspn(wish, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, wish);
    for (int i = 0; i < count; i++) {
        if (strcmp(bars[i].name, name)) continue;
        *level = bars[i].standard;
        if (wish[length] != '=') return &bars[i];
        char *end;
        *level = strtod(wish + length + 1, &end);
        if (end != wish + length + 1 && !*end) return &bars[i];
        cli_error(c, EXIT_USAGE, "--require %s: the bar is not a number", wish);
        return NULL;
    }
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", bars[i].name);
    cli_error(c, EXIT_USAGE, "--require knows %s, not \"%s\"", list, name);
    return NULL;
}

static int judge(const cli_command *c, const requirement *b, double level)
{
    const bool met = b->smaller ? b->value <= level : b->value >= level; // NaN never
    if (met) return EXIT_DONE;
    return cli_error(c, EXIT_REQUIREMENT, "%s is %.6g, required %s %.6g", b->name, b->value,
                     b->smaller ? "at most" : "at least", level);
}

static int walk_bars(const cli_command *c, const char *require, const requirement *bars, int count,
                     bool measured)
{
    if (!require) return EXIT_DONE;
    char *copy = strdup(require), *rest = copy;
    if (!copy) return cli_error(c, EXIT_FAILED, "no memory");
    int worst = EXIT_DONE;
    for (char *wish; worst != EXIT_USAGE && (wish = strsep(&rest, ","));) {
        double level;
        const requirement *b = find_bar(c, wish, bars, count, &level);
        const int code = !b ? EXIT_USAGE : measured ? judge(c, b, level) : EXIT_DONE;
        if (code != EXIT_DONE) worst = code;
    }
    free(copy);
    return worst;
}

int require_parse(const cli_command *c, const char *require, const requirement *bars, int count)
{
    return walk_bars(c, require, bars, count, false);
}

int require_check(const cli_command *c, const char *require, const requirement *bars, int count)
{
    return walk_bars(c, require, bars, count, true);
}
