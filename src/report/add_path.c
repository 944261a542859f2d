// SPDX-License-Identifier: MIT
// Adds the contents of a path to a report: a run, a directory of runs, a file of records, or a file
// of arrays, which are measured first.
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "plumb/evaluation.h"
#include "plumb/report.h"
#include "plumb/rollout.h"
#include "report/measure_arrays.h"
#include "report/options.h"
#include "report/state_readout.h"

// MAX_DEPTH limits how far directories are searched for runs.
enum { PATH_SIZE = 4096, MAX_DEPTH = 3 };

// Reads a whole file as text. *out is NULL if the file does not exist.
static plumb_status read_text(char **out, arena *mem, const char *folder, const char *name)
{
    char path[PATH_SIZE];
    *out = NULL;
    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    size_t size;
    if (access(path, F_OK)) return PLUMB_OK;
    // A file of more than 1 GiB is rejected.
    return input_file_read_all(out, &size, mem, path, INT64_C(1) << 30);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

// A run directory is recognised by its config.json.
static bool is_run(const char *path)
{
    char name[PATH_SIZE];
    snprintf(name, sizeof name, "%s/config.json", path);
    return !access(name, R_OK);
}

// The last part of a path without a known suffix: "runs/a/" and "x/a.npz" give "a".
static void get_base_name(char out[256], const char *path)
{
    char copy[PATH_SIZE];
    snprintf(copy, sizeof copy, "%s", path);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/') copy[--n] = 0;
    const char *slash = strrchr(copy, '/');
    snprintf(out, 256, "%.255s", slash ? slash + 1 : copy);
    static const char *const suffixes[] = {".npz", ".h5", ".hdf5", ".json", ".jsonl"};
    char *dot = strrchr(out, '.');
    // A name such as ".npz" has no suffix and stays.
    for (int i = 0; dot && dot != out && i < 5; i++)
        if (!strcmp(dot, suffixes[i])) *dot = 0;
}

// ---- arrays ----

// The latents of a Lagrangian model are (q, v). Where the file has its momenta, they replace v, and
// their own array is no longer needed: a phase space is (q, p), for measures and figures alike.
static plumb_status join_momenta(plumb_named_array *arrays, int64_t count, arena *mem)
{
    plumb_array *latent = (plumb_array *)measure_find_array(arrays, count, "latent", 3);
    const plumb_array *momenta = measure_find_array(arrays, count, "momenta", 3);
    // Another shape is left to the measure, whose message names it.
    if (!latent || !momenta || momenta->shape[0] != latent->shape[0] ||
        momenta->shape[1] != latent->shape[1] || 2 * momenta->shape[2] != latent->shape[2])
        return PLUMB_OK;
    const int64_t rows = latent->shape[0] * latent->shape[1], m = momenta->shape[2];
    double *joined = ARENA_ALLOC(mem, double, rows * 2 * m);
    if (!joined) return PLUMB_EMEMORY;
    plumb_array_to_double(joined, latent, 0, rows * 2 * m);
    for (int64_t i = 0; i < rows; i++)
        plumb_array_to_double(joined + i * 2 * m + m, momenta, i * m, m);
    *latent = plumb_array_view(joined, PLUMB_FLOAT64, 3,
                               (int64_t[]){latent->shape[0], latent->shape[1], 2 * m});
    for (int64_t i = 0; i < count; i++)
        if (&arrays[i].array == momenta) arrays[i].name = "momenta that are in latent";
    return PLUMB_OK;
}

// Reads all arrays of a file. They get the last part of their names.
static plumb_status read_arrays(plumb_named_array **out, int64_t *count, arena *mem,
                                plumb_file *file)
{
    const int64_t n = plumb_file_array_count(file);
    plumb_named_array *arrays = ARENA_ALLOC(mem, plumb_named_array, n);
    if (!arrays) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < n && !st; i++) {
        const char *name = plumb_file_array_name(file, i), *slash = strrchr(name, '/');
        arrays[i].name = slash ? slash + 1 : name;
        st = plumb_file_read_array(&arrays[i].array, file, name);
    }
    *out = arrays;
    *count = n;
    return st ? st : join_momenta(arrays, n, mem);
}

// Adds the arrays of a file; with `measure`, also what all measures that apply to them find.
static plumb_status add_arrays(plumb_report *report, const char *name, const char *path,
                               bool measure, int threads)
{
    arena mem = {0};
    plumb_file *file = NULL;
    plumb_named_array *arrays = NULL;
    int64_t count = 0;
    plumb_status st = plumb_file_open(&file, path);
    if (!st) st = read_arrays(&arrays, &count, &mem, file);
    // Without any of these arrays no measure applies.
    if (!st && measure &&
        !(measure_find_array(arrays, count, "latent", 3) &&
          measure_find_array(arrays, count, "truth", 3)) &&
        !measure_find_array(arrays, count, "prediction", 0) &&
        !measure_find_array(arrays, count, "surprise", 0))
        st =
            fail(PLUMB_EFILE,
                 "%s: has neither latent and truth, nor frames and prediction, nor surprise", path);
    // The latents come first, so that the map of SyMetric can be applied to them.
    if (!st) st = report_model_add_arrays(report, name, arrays, count);
    if (!st && measure) st = measure_arrays(report, name, arrays, count, threads);
    plumb_file_close(file);
    arena_clear(&mem);
    return st;
}

// ---- runs ----

// Adds steps and losses of log.jsonl. An incomplete last line is skipped.
static plumb_status add_log(plumb_report *report, const char *name, char *text, arena *mem)
{
    // One entry per line at most.
    int64_t lines = 0, n = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    double *step = ARENA_ALLOC(mem, double, lines + 1), *loss = ARENA_ALLOC(mem, double, lines + 1);
    if (!step || !loss) return PLUMB_EMEMORY;
    // strtok_r() changes the text, which is a copy of the file.
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        double step_value = (double)NAN, loss_value = (double)NAN;
        json in = json_begin(line, strlen(line), "log.jsonl");
        json_object(&in);
        for (const char *key; (key = json_key(&in));) {
            const char *skipped;
            size_t size;
            // A loss that is NaN is null in the log, and stays NaN here.
            if (!strcmp(key, "step")) step_value = json_double(&in);
            else if (!strcmp(key, "loss") && json_peek(&in) == JSON_NUMBER)
                loss_value = json_double(&in);
            else json_skip(&in, &skipped, &size);
        }
        if (json_end(&in) || !isfinite(step_value) || n > lines) continue;
        step[n] = step_value;
        loss[n++] = loss_value;
    }
    const plumb_named_array arrays[] = {{"step", plumb_array_view(step, PLUMB_FLOAT64, 1, &n)},
                                        {"loss", plumb_array_view(loss, PLUMB_FLOAT64, 1, &n)}};
    return n ? report_model_add_arrays(report, name, arrays, 2) : PLUMB_OK;
}

// Number of frames of the forecast in results.json; 0 if it has none.
static int64_t find_forecast_steps(const char *results)
{
    const char *at = results ? strstr(results, "\"vpt_frames\": [") : NULL;
    long long first = 0, end = 0;
    return at && sscanf(at, "\"vpt_frames\": [%lld, %lld]", &first, &end) == 2 && end > 0 &&
                   end < 1000000
               ? end
               : 0;
}

// Creates an empty temporary file, whose name ends in .npz.
static plumb_status create_temporary(char path[PATH_SIZE])
{
    const char *place = getenv("TMPDIR");
    snprintf(path, PATH_SIZE, "%s/plumb-report-XXXXXX.npz", place && *place ? place : "/tmp");
    // mkstemps() keeps the suffix of four characters, which sets the format of the file.
    const int fd = mkstemps(path, 4);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: cannot be created", path);
    close(fd);
    return PLUMB_OK;
}

// Fits the map of SyMetric to the arrays of a file and applies it to the latents of the model.
static plumb_status read_states_off(report_model *model, arena *keep, const char *path, int threads)
{
    arena mem = {0};
    plumb_file *file = NULL;
    plumb_named_array *arrays = NULL;
    int64_t count = 0;
    plumb_symetric measured;
    plumb_symetric_options options = plumb_symetric_defaults();
    options.resamples = 0;
    options.threads = threads;
    plumb_status st = plumb_file_open(&file, path);
    if (!st) st = read_arrays(&arrays, &count, &mem, file);
    if (!st) {
        const plumb_phase_space_input in = measure_find_phase_space(arrays, count);
        const plumb_array *parameters = measure_find_array(arrays, count, "parameters", 2);
        if (parameters) st = report_model_set_constants(model, keep, in.latent, parameters);
        if (!st) st = plumb_symetric_measure(&measured, in.latent, in.variance, in.truth, &options);
    }
    if (!st) {
        st = state_readout_set(model, keep, &measured);
        plumb_symetric_clear(&measured);
    }
    plumb_file_close(file);
    arena_clear(&mem);
    return st;
}

// Adds the states that the map of SyMetric reads off the latents of a run. The map is fitted as
// plumb evaluate fits it: to short trajectories, of which none is shown.
static plumb_status add_readout(plumb_report *report, const char *name, const char *run,
                                int threads)
{
    char path[PATH_SIZE];
    report_model *model = report_model_find(report, name);
    if (!model) return PLUMB_EMEMORY;
    if (!model->latent || !model->truth) return PLUMB_OK;
    const double trajectories = json_tree_double(model->measure, "trajectories"),
                 steps = json_tree_double(model->measure, "steps");
    plumb_rollout_options rollout = plumb_rollout_defaults();
    rollout.measured = true;
    // Those of the evaluation, within limits that keep a page fast.
    rollout.count = trajectories >= 2 && trajectories <= 1000 ? (int64_t)trajectories : 100;
    rollout.steps = steps >= 2 && steps <= 1000 ? (int64_t)steps : 60;
    rollout.threads = threads;
    plumb_status st = create_temporary(path);
    if (st) return st;
    st = plumb_rollout_save(path, run, &rollout);
    if (!st) st = read_states_off(model, &report->mem, path, threads);
    unlink(path);
    // Undefined, as for a truth that never changes: the figures that need it are left out.
    return st == PLUMB_ENUMERIC ? PLUMB_OK : st;
}

// Rolls out a run into a temporary file and adds its arrays.
static plumb_status add_rollout(plumb_report *report, const char *name, const char *run,
                                const char *results, const plumb_report_options *options)
{
    char path[PATH_SIZE];
    plumb_status st = create_temporary(path);
    if (st) return st;
    plumb_rollout_options rollout = plumb_rollout_defaults();
    const int64_t forecast_steps = find_forecast_steps(results);
    rollout.count = options->videos > 2 ? options->videos : 2;
    rollout.steps = options->steps ? options->steps : forecast_steps ? forecast_steps : 1000;
    rollout.traversal_steps = options->traversal_steps;
    rollout.threads = options->threads;
    st = plumb_rollout_save(path, run, &rollout);
    if (!st) st = add_arrays(report, name, path, false, options->threads);
    unlink(path);
    return st ? st : add_readout(report, name, run, options->threads);
}

// Adds a run: its config, its results, its log and a rollout.
static plumb_status add_run(plumb_report *report, const char *path,
                            const plumb_report_options *options)
{
    arena mem = {0};
    char base[256], *config, *results, *log;
    get_base_name(base, path);
    const char *name = options->name ? options->name : base;
    plumb_status st = read_text(&config, &mem, path, "config.json");
    if (!st) st = read_text(&results, &mem, path, "results.json");
    if (!st) st = read_text(&log, &mem, path, "log.jsonl");
    if (!st && config) st = plumb_report_add_record(report, name, config);
    if (!st && results) st = plumb_report_add_record(report, name, results);
    if (!st && log) st = add_log(report, name, log, &mem);
    if (!st && options->videos > 0) {
        // A model that cannot be rolled out (PLUMB_EVALUE) is shown by its records.
        st = add_rollout(report, name, path, results, options);
        if (st == PLUMB_EVALUE) st = PLUMB_OK;
    }
    arena_clear(&mem);
    return st;
}

// ---- records and directories ----

// Adds a file with one record per line.
static plumb_status add_records(plumb_report *report, const char *path,
                                const plumb_report_options *options)
{
    arena mem = {0};
    char base[256], *text;
    get_base_name(base, path);
    plumb_status st = read_text(&text, &mem, path, "");
    if (!st && !text) st = fail(PLUMB_EFILE, "%s: no such file or directory", path);
    int64_t number = 0;
    // With one record the file name is the name of the model.
    const bool many = text && strchr(text, '\n') && strchr(text, '\n')[1];
    const char *end = text ? text + strlen(text) : NULL; // a complete file has a newline before it
    for (char *rest = NULL, *line = st ? NULL : strtok_r(text, "\n", &rest); line && !st;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[320], given_name[256] = "";
        // A record may contain the name of its model.
        static const char *const keys[] = {"\"run\": \"", "\"name\": \""};
        for (int i = 0; i < 2 && !*given_name && many; i++) {
            const char *at = strstr(line, keys[i]);
            if (at) sscanf(at + strlen(keys[i]), "%255[^\"\\]", given_name);
        }
        number++;
        if (*given_name) get_base_name(name, given_name);
        else if (many)
            snprintf(name, sizeof name, "%s %lld", options->name ? options->name : base,
                     (long long)number);
        else snprintf(name, sizeof name, "%s", options->name ? options->name : base);
        st = plumb_report_add_record(report, name, line);
        // An incomplete last line is skipped.
        if (st == PLUMB_EFORMAT && number > 1 && line + strlen(line) == end) st = PLUMB_OK;
    }
    if (!st && !number) st = fail(PLUMB_EFORMAT, "%s: has no record", path);
    arena_clear(&mem);
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static plumb_status add_any(plumb_report *report, const char *path,
                            const plumb_report_options *options, int depth);

// Adds a directory: its results.jsonl, or else all runs in it, sorted by name, up to MAX_DEPTH
// levels.
static plumb_status add_folder(plumb_report *report, const char *path,
                               const plumb_report_options *options, int depth)
{
    char entry[PATH_SIZE];
    snprintf(entry, sizeof entry, "%s/results.jsonl", path);
    if (!access(entry, R_OK)) return add_records(report, entry, options);
    // All folders in it, sorted by name.
    DIR *directory = opendir(path);
    if (!directory) return fail(PLUMB_EFILE, "%s: cannot be opened", path);
    arena mem = {0};
    enum { MAX_ENTRIES = 4096 };
    char **names = ARENA_ALLOC(&mem, char *, MAX_ENTRIES);
    int64_t count = 0;
    plumb_status st = names ? PLUMB_OK : PLUMB_EMEMORY;
    for (struct dirent *item; (item = input_file_next_entry(&st, directory, path));) {
        if (item->d_name[0] == '.') continue;
        snprintf(entry, sizeof entry, "%s/%s", path, item->d_name);
        // Folders only; other files of a study are not runs.
        if (!is_folder(entry)) continue;
        if (count == MAX_ENTRIES)
            st = fail(PLUMB_EFILE, "%s: more than %d directories", path, MAX_ENTRIES);
        else if (!(names[count++] = arena_strdup(&mem, entry))) st = PLUMB_EMEMORY;
    }
    closedir(directory);
    if (!st) qsort(names, (size_t)count, sizeof *names, compare_names);
    int64_t runs = 0;
    for (int64_t i = 0; i < count && !st; i++)
        if (is_run(names[i]) || depth < MAX_DEPTH) {
            runs++;
            st = add_any(report, names[i], options, depth + 1);
        }
    if (!st && !runs && !depth)
        st = fail(PLUMB_EFILE,
                  "%s: is not a run (config.json), has no runs, and has no results.jsonl", path);
    arena_clear(&mem);
    return st;
}

// Finds out what a path is and adds it.
static plumb_status add_any(plumb_report *report, const char *path,
                            const plumb_report_options *options, int depth)
{
    // A request to stop takes effect between two models.
    plumb_status st = status_check_stop();
    if (st) return st;
    const char *dot = strrchr(path, '.');
    // The order matters: a run is also a folder, and a folder may have a name such as x.npz.
    if (is_run(path)) return add_run(report, path, options);
    if (is_folder(path)) return add_folder(report, path, options, depth);
    if (dot && (!strcmp(dot, ".npz") || !strcmp(dot, ".h5") || !strcmp(dot, ".hdf5"))) {
        char base[256];
        get_base_name(base, path);
        return add_arrays(report, options->name ? options->name : base, path, true,
                          options->threads);
    }
    return add_records(report, path, options);
}

plumb_status plumb_report_add_path(plumb_report *report, const char *path,
                                   const plumb_report_options *given)
{
    REQUIRE_ARGUMENT(report);
    REQUIRE_ARGUMENT(path);
    plumb_report_options options = plumb_report_defaults();
    plumb_status st = options_resolve(&options, sizeof options, given, "plumb_report_options");
    if (!st) st = options_check_ranges(&report_option_table, &options);
    return st ? st : add_any(report, path, &options, 0);
}
