// SPDX-License-Identifier: MIT
// Gathers for a report what a path holds: runs, directories of runs, records, arrays to be
// measured.
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "plumb/evaluation.h"
#include "plumb/kappa.h"
#include "plumb/report.h"
#include "plumb/rollout.h"
#include "plumb/surprise.h"
#include "report/options.h"

enum { LONGEST = 4096, DEEPEST = 3 };

// A whole file with a zero behind it; NULL text and PLUMB_OK if there is none.
static plumb_status read_text(char **out, arena *mem, const char *folder, const char *name)
{
    char path[LONGEST];
    *out = NULL;
    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    size_t size;
    if (access(path, F_OK)) return PLUMB_OK;
    return input_file_read_all(out, &size, mem, path, INT64_C(1) << 30);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static bool is_run(const char *path)
{
    char name[LONGEST];
    snprintf(name, sizeof name, "%s/config.json", path);
    return !access(name, R_OK);
}

// "runs/a/" is "a", and so is "x/a.npz".
static void short_name(char out[256], const char *path)
{
    char copy[LONGEST];
    snprintf(copy, sizeof copy, "%s", path);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/') copy[--n] = 0;
    const char *slash = strrchr(copy, '/');
    snprintf(out, 256, "%.255s", slash ? slash + 1 : copy);
    static const char *const suffixes[] = {".npz", ".h5", ".hdf5", ".json", ".jsonl"};
    char *dot = strrchr(out, '.');
    for (int i = 0; dot && dot != out && i < 5; i++)
        if (!strcmp(dot, suffixes[i])) *dot = 0;
}

// ---- arrays, measured ----

static plumb_status give(plumb_report *r, const char *name, plumb_record *record)
{
    const char *text;
    plumb_status st = record ? plumb_record_to_json(&text, record)
                             : fail(PLUMB_EMEMORY, "no memory for a record");
    if (!st) st = plumb_report_add_record(r, name, text);
    plumb_record_free(record);
    return st;
}

static const plumb_array *find(const plumb_named_array *a, int64_t count, const char *name,
                               int ndim)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(a[i].name, name) && (!ndim || a[i].array.ndim == ndim)) return &a[i].array;
    return NULL;
}

static plumb_status measure_state(plumb_report *r, const char *name, const plumb_named_array *a,
                                  int64_t count, int threads)
{
    plumb_phase_space result;
    plumb_phase_space_options o = plumb_phase_space_defaults();
    o.threads = threads;
    const plumb_array *latent = find(a, count, "latent", 3), *truth = find(a, count, "truth", 3);
    if (!latent || !truth) return PLUMB_OK;
    const plumb_phase_space_input in = {.size = sizeof in,
                                        .latent = latent,
                                        .variance = find(a, count, "variance", 0),
                                        .momenta = find(a, count, "momenta", 3),
                                        .truth = truth,
                                        .canonical = find(a, count, "canonical", 3)};
    const plumb_status st = plumb_phase_space_measure(&result, &in, &o);
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_phase_space_record(record, &result, &o);
    plumb_phase_space_clear(&result);
    return give(r, name, record);
}

static plumb_status measure_forecast(plumb_report *r, const char *name, const plumb_named_array *a,
                                     int64_t count, int threads)
{
    plumb_forecast result;
    plumb_forecast_options o = plumb_forecast_defaults();
    o.threads = threads;
    o.average = PLUMB_FORECAST_AVERAGE_MEAN;
    const plumb_array *truth = find(a, count, "frames", 5),
                      *prediction = find(a, count, "prediction", 5);
    if (!truth) truth = find(a, count, "truth", 5);
    if (!truth || !prediction) return PLUMB_OK;
    // Short films: half of them is what the model is taken to have been trained on.
    if (truth->shape[1] <= o.split) o.split = truth->shape[1] / 2;
    plumb_status st = plumb_forecast_measure(&result, prediction, NULL, truth, NULL, &o);
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_forecast_record(record, &result, &o);
    plumb_forecast_clear(&result);
    return give(r, name, record);
}

static plumb_status measure_surprise(plumb_report *r, const char *name, const plumb_named_array *a,
                                     int64_t count, int threads)
{
    plumb_surprise result;
    plumb_surprise_options o = plumb_surprise_defaults();
    o.threads = threads;
    plumb_surprise_input in = {.size = sizeof in,
                               .surprise = find(a, count, "surprise", 0),
                               .prediction = find(a, count, "prediction", 6),
                               .feature = find(a, count, "feature", 0),
                               .observation = find(a, count, "observation", 0),
                               .surprise_naive = find(a, count, "surprise_voe", 0),
                               .concepts = find(a, count, "concept", 0)};
    if (!in.surprise) in.truth = find(a, count, "truth", 6);
    if (in.surprise) in.prediction = NULL;
    if (!in.surprise && !(in.truth && in.prediction)) return PLUMB_OK;
    // Few tuples have few neighbours; the record, and the page, say how many were taken.
    plumb_status st = plumb_surprise_measure(&result, &in, &o);
    while (st == PLUMB_EVALUE && in.feature && o.k > 1) {
        o.k /= 2;
        st = plumb_surprise_measure(&result, &in, &o);
    }
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_surprise_record(record, &result, &o);
    if (!in.surprise && result.frames) { // over time, for the figure
        const plumb_named_array moments = {
            "surprise", plumb_array_view((void *)result.frame_surprise, PLUMB_FLOAT64, 3,
                                         (int64_t[]){result.tested, 4, result.frames})};
        st = plumb_report_add_arrays(r, name, &moments, 1);
    }
    plumb_surprise_clear(&result);
    if (!st) return give(r, name, record);
    plumb_record_free(record);
    return st;
}

// All arrays of a file, by the last part of their names.
static plumb_status read_arrays(plumb_named_array **out, int64_t *count, arena *mem,
                                plumb_file *file)
{
    const int64_t n = plumb_file_array_count(file);
    plumb_named_array *a = ARENA_ALLOC(mem, plumb_named_array, n);
    if (!a) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < n && !st; i++) {
        const char *name = plumb_file_array_name(file, i), *slash = strrchr(name, '/');
        a[i].name = slash ? slash + 1 : name;
        st = plumb_file_read_array(&a[i].array, file, name);
    }
    *out = a;
    *count = n;
    return st;
}

static plumb_status add_arrays(plumb_report *r, const char *name, const char *path, bool measure,
                               int threads)
{
    arena mem = {0};
    plumb_file *file = NULL;
    plumb_named_array *a = NULL;
    int64_t count = 0;
    plumb_status st = plumb_file_open(&file, path);
    if (!st) st = read_arrays(&a, &count, &mem, file);
    if (!st && measure && !(find(a, count, "latent", 3) && find(a, count, "truth", 3)) &&
        !find(a, count, "prediction", 0) && !find(a, count, "surprise", 0))
        st =
            fail(PLUMB_EFILE,
                 "%s: has neither latent and truth, nor frames and prediction, nor surprise", path);
    if (!st && measure) st = measure_state(r, name, a, count, threads);
    if (!st && measure) st = measure_forecast(r, name, a, count, threads);
    if (!st && measure) st = measure_surprise(r, name, a, count, threads);
    if (!st) st = plumb_report_add_arrays(r, name, a, count);
    plumb_file_close(file);
    arena_clear(&mem);
    return st;
}

// ---- runs ----

// Steps and losses of log.jsonl. A last line that was cut is passed over.
static plumb_status add_log(plumb_report *r, const char *name, char *text, arena *mem)
{
    int64_t lines = 0, n = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    double *step = ARENA_ALLOC(mem, double, lines + 1), *loss = ARENA_ALLOC(mem, double, lines + 1);
    if (!step || !loss) return PLUMB_EMEMORY;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        double s = (double)NAN, l = (double)NAN;
        json j = json_begin(line, strlen(line), "log.jsonl");
        json_object(&j);
        for (const char *key; (key = json_key(&j));) {
            const char *skipped;
            size_t size;
            if (!strcmp(key, "step")) s = json_double(&j);
            else if (!strcmp(key, "loss") && json_peek(&j) == JSON_NUMBER) l = json_double(&j);
            else json_skip(&j, &skipped, &size);
        }
        if (json_end(&j) || !isfinite(s) || n > lines) continue;
        step[n] = s;
        loss[n++] = l;
    }
    const plumb_named_array arrays[] = {{"step", plumb_array_view(step, PLUMB_FLOAT64, 1, &n)},
                                        {"loss", plumb_array_view(loss, PLUMB_FLOAT64, 1, &n)}};
    return n ? plumb_report_add_arrays(r, name, arrays, 2) : PLUMB_OK;
}

// How many frames the forecast in results.json was judged on; 0 if it says nothing.
static int64_t judged_steps(const char *results)
{
    const char *at = results ? strstr(results, "\"vpt_frames\": [") : NULL;
    long long first = 0, end = 0;
    return at && sscanf(at, "\"vpt_frames\": [%lld, %lld]", &first, &end) == 2 && end > 0 &&
                   end < 1000000
               ? end
               : 0;
}

static plumb_status add_rollout(plumb_report *r, const char *name, const char *run,
                                const char *results, const plumb_report_options *opt)
{
    const char *place = getenv("TMPDIR");
    char path[LONGEST];
    snprintf(path, sizeof path, "%s/plumb-report-XXXXXX.npz", place && *place ? place : "/tmp");
    const int fd = mkstemps(path, 4);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: cannot be made", path);
    close(fd);
    plumb_rollout_options o = plumb_rollout_defaults();
    o.count = opt->videos > 2 ? opt->videos : 2;
    o.steps = opt->steps > 0 ? opt->steps : judged_steps(results) ? judged_steps(results) : 1000;
    o.threads = opt->threads;
    plumb_status st = plumb_rollout_save(path, run, &o);
    if (!st) st = add_arrays(r, name, path, false, opt->threads);
    unlink(path);
    return st;
}

static plumb_status add_run(plumb_report *r, const char *path, const plumb_report_options *opt)
{
    arena mem = {0};
    char base[256], *config, *results, *log;
    short_name(base, path);
    const char *name = opt->name ? opt->name : base;
    plumb_status st = read_text(&config, &mem, path, "config.json");
    if (!st) st = read_text(&results, &mem, path, "results.json");
    if (!st) st = read_text(&log, &mem, path, "log.jsonl");
    if (!st && config) st = plumb_report_add_record(r, name, config);
    if (!st && results) st = plumb_report_add_record(r, name, results);
    if (!st && log) st = add_log(r, name, log, &mem);
    if (!st && opt->videos > 0) {
        // A video model has no phase space to roll out; its records speak for it.
        st = add_rollout(r, name, path, results, opt);
        if (st == PLUMB_EVALUE) st = PLUMB_OK;
    }
    arena_clear(&mem);
    return st;
}

// ---- many ----

static plumb_status add_records(plumb_report *r, const char *path, const plumb_report_options *opt)
{
    arena mem = {0};
    char base[256], *text;
    short_name(base, path);
    plumb_status st = read_text(&text, &mem, path, "");
    if (!st && !text) st = fail(PLUMB_EFILE, "%s: there is no such file or directory", path);
    int64_t number = 0;
    const bool many = text && strchr(text, '\n') && strchr(text, '\n')[1];
    const char *end =
        text ? text + strlen(text) : NULL; // a whole file ends with a newline before it
    for (char *rest = NULL, *line = st ? NULL : strtok_r(text, "\n", &rest); line && !st;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[320], own[256] = "";
        // A record may say what it is called.
        static const char *const keys[] = {"\"run\": \"", "\"name\": \""};
        for (int i = 0; i < 2 && !*own && many; i++) {
            const char *at = strstr(line, keys[i]);
            if (at) sscanf(at + strlen(keys[i]), "%255[^\"\\]", own);
        }
        number++;
        if (*own) short_name(name, own);
        else if (many)
            snprintf(name, sizeof name, "%s %lld", opt->name ? opt->name : base, (long long)number);
        else snprintf(name, sizeof name, "%s", opt->name ? opt->name : base);
        st = plumb_report_add_record(r, name, line);
        // A last line that a kill cut short is none.
        if (st == PLUMB_EFORMAT && number > 1 && line + strlen(line) == end) st = PLUMB_OK;
    }
    if (!st && !number) st = fail(PLUMB_EFORMAT, "%s: holds no record", path);
    arena_clear(&mem);
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static plumb_status add_any(plumb_report *r, const char *path, const plumb_report_options *opt,
                            int depth);

static plumb_status add_folder(plumb_report *r, const char *path, const plumb_report_options *opt,
                               int depth)
{
    char one[LONGEST];
    snprintf(one, sizeof one, "%s/results.jsonl", path);
    if (!access(one, R_OK)) return add_records(r, one, opt);
    DIR *d = opendir(path);
    if (!d) return fail(PLUMB_EFILE, "%s: cannot be opened", path);
    arena mem = {0};
    enum { MOST = 4096 };
    char **names = ARENA_ALLOC(&mem, char *, MOST);
    int64_t count = 0;
    plumb_status st = names ? PLUMB_OK : PLUMB_EMEMORY;
    for (struct dirent *e; !st && count < MOST && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(one, sizeof one, "%s/%s", path, e->d_name);
        if (is_folder(one) && !(names[count++] = arena_strdup(&mem, one))) st = PLUMB_EMEMORY;
    }
    closedir(d);
    if (!st) qsort(names, (size_t)count, sizeof *names, by_name);
    int64_t runs = 0;
    for (int64_t i = 0; i < count && !st; i++)
        if (is_run(names[i]) || depth < DEEPEST) {
            runs++;
            st = add_any(r, names[i], opt, depth + 1);
        }
    if (!st && !runs && !depth)
        st =
            fail(PLUMB_EFILE,
                 "%s: neither a run (config.json), nor a directory of runs, nor with results.jsonl",
                 path);
    arena_clear(&mem);
    return st;
}

static plumb_status add_any(plumb_report *r, const char *path, const plumb_report_options *opt,
                            int depth)
{
    plumb_status st = status_check_stop();
    if (st) return st;
    const char *dot = strrchr(path, '.');
    if (is_run(path)) return add_run(r, path, opt);
    if (is_folder(path)) return add_folder(r, path, opt, depth);
    if (dot && (!strcmp(dot, ".npz") || !strcmp(dot, ".h5") || !strcmp(dot, ".hdf5"))) {
        char base[256];
        short_name(base, path);
        return add_arrays(r, opt->name ? opt->name : base, path, true, opt->threads);
    }
    return add_records(r, path, opt);
}

plumb_status plumb_report_add_path(plumb_report *r, const char *path,
                                   const plumb_report_options *given)
{
    plumb_report_options opt = plumb_report_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, given, "plumb_report_options");
    if (!st) st = options_check_ranges(&report_option_table, &opt);
    return st ? st : add_any(r, path, &opt, 0);
}
