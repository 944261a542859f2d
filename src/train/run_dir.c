// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "train/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/status.h"
#include "io/safetensors.h"

// The files of a run; the lock is kept for good.
static const char *const files[] = {
    "config.json", "optimizer.safetensors",     "weights.safetensors", "results.json",
    "log.jsonl",   "events.out.tfevents.plumb",
};
enum { FILES = sizeof files / sizeof *files, TEXT_LIMIT = 1 << 24 };
static const char lock_name[] = "lock";

typedef char filename[4096];

static const char *in_run(filename name, const char *path, const char *file)
{
    snprintf(name, sizeof(filename), "%s/%s", path, file);
    return name;
}

// ---- the directory ----

// A file of a run, or what a killed process left of one (see output_file_open).
static bool is_ours(const char *name, bool *leftover)
{
    *leftover = false;
    if (!strcmp(name, lock_name)) return true;
    for (int i = 0; i < FILES; i++) {
        const size_t length = strlen(files[i]);
        if (strncmp(name, files[i], length)) continue;
        if (!name[length]) return true;
        *leftover = !strncmp(name + length, ".part-", 6) && strlen(name + length) == 12;
        if (*leftover) return true;
    }
    return false;
}

typedef struct content {
    bool config, files, strangers;
} content;

static plumb_status look(content *out, const char *path, bool sweep)
{
    DIR *dir = opendir(path);
    if (!dir) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    *out = (content){0};
    for (struct dirent *e; (e = readdir(dir));) {
        bool leftover;
        filename name;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (!is_ours(e->d_name, &leftover)) out->strangers = true;
        else if (leftover && sweep) unlink(in_run(name, path, e->d_name));
        else if (!leftover && strcmp(e->d_name, lock_name)) out->files = true;
        if (!strcmp(e->d_name, "config.json")) out->config = true;
    }
    closedir(dir);
    return PLUMB_OK;
}

static plumb_status take_lock(run_dir *r)
{
    filename name;
    r->lock = open(in_run(name, r->path, lock_name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (r->lock < 0) return fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    if (!flock(r->lock, LOCK_EX | LOCK_NB)) {
        char text[32];
        const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        if (ftruncate(r->lock, 0) || pwrite(r->lock, text, (size_t)length, 0) != length)
            return fail(PLUMB_EFILE, "%s: cannot be written: %s", name, strerror(errno));
        return PLUMB_OK;
    }
    if (errno != EWOULDBLOCK) { // a file system without locks
        status_log("%s: cannot be locked (%s); keep other processes out of it yourself", r->path,
                   strerror(errno));
        return PLUMB_OK;
    }
    char text[32] = "";
    if (pread(r->lock, text, sizeof text - 1, 0) < 1) text[0] = 0;
    text[strspn(text, "0123456789")] = 0;
    return fail(PLUMB_EFILE, "%s: process %s is training into it; wait for it or choose another",
                r->path, text[0] ? text : "of another's");
}

plumb_status run_dir_remove_files(const run_dir *r)
{
    filename name;
    for (int i = FILES - 1; i >= 0; i--) // config.json goes last: until then it is a run
        if (unlink(in_run(name, r->path, files[i])) && errno != ENOENT)
            return fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    return PLUMB_OK;
}

static plumb_status prepare(run_dir *r, run_dir_mode mode)
{
    content c;
    plumb_status st = look(&c, r->path, true);
    if (st) return st;
    if (mode == RUN_DIR_RESUME)
        return c.config ? PLUMB_OK
                        : fail(PLUMB_EFILE,
                               "%s/config.json: is missing, so there is no run to go on with; "
                               "begin one without --resume",
                               r->path);
    if (c.strangers && !c.config)
        return fail(PLUMB_EFILE, "%s: holds other files and no run; choose another directory",
                    r->path);
    if (c.files && mode == RUN_DIR_NEW)
        return fail(PLUMB_EFILE,
                    "%s: a run is there already; go on with --resume, or begin anew with --force",
                    r->path);
    return PLUMB_OK;
}

plumb_status run_dir_open(run_dir *r, const char *path, run_dir_mode mode)
{
    *r = (run_dir){.lock = -1, .saved = -1};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length >= sizeof r->path - 64)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", path);
    memcpy(r->path, path, length);
    struct stat about;
    const bool there = !stat(r->path, &about);
    if (!length || (there && !S_ISDIR(about.st_mode)))
        return fail(PLUMB_EFILE, "%s: a run is a directory, and this is none", path);
    if (!there && mode == RUN_DIR_RESUME)
        return fail(PLUMB_EFILE, "%s: there is no such run; begin one without --resume", r->path);
    if (!there && mkdir(r->path, 0777) && errno != EEXIST)
        return fail(PLUMB_EFILE, "%s: cannot be made: %s", r->path, strerror(errno));
    r->made = !there;
    content c = {0};
    plumb_status st = PLUMB_OK;
    // Before the lock, which would be a file in somebody's directory.
    if (there) st = look(&c, r->path, false);
    if (!st && c.strangers && !c.config && !c.files)
        st = fail(PLUMB_EFILE, "%s: holds other files and no run; choose another directory",
                  r->path);
    if (!st) st = take_lock(r);
    if (!st) st = prepare(r, mode);
    if (st) run_dir_close(r);
    return st;
}

void run_dir_close(run_dir *r)
{
    if (r->log) fclose(r->log);
    r->log = NULL;
    tensorboard_close(r->events);
    r->events = NULL;
    filename name;
    // A directory that came to nothing goes again, while it is still locked.
    if (r->made && r->lock >= 0 && access(in_run(name, r->path, "config.json"), F_OK)) {
        unlink(in_run(name, r->path, lock_name));
        rmdir(r->path);
    }
    if (r->lock >= 0) close(r->lock);
    r->lock = -1;
}

// ---- small files of text ----

plumb_status run_dir_read_config(char **text, size_t *size, arena *mem, const char *path)
{
    filename name;
    if (access(in_run(name, path, "config.json"), F_OK))
        return fail(PLUMB_EFILE, "%s: is missing, so %s is no run", name, path);
    return input_file_read_all(text, size, mem, name, TEXT_LIMIT);
}

plumb_status run_dir_write_config(const run_dir *r, plumb_record *config)
{
    filename name;
    return plumb_record_write_lines(in_run(name, r->path, "config.json"), &config, 1);
}

plumb_status run_dir_write_results(const char *path, const char *section, plumb_record *record)
{
    filename name;
    arena mem = {0};
    output_file out;
    char *old = NULL;
    size_t size = 0;
    const char *line;
    plumb_status st = PLUMB_OK;
    if (!access(in_run(name, path, "results.json"), F_OK))
        st = input_file_read_all(&old, &size, &mem, name, TEXT_LIMIT);
    if (!st) st = plumb_record_to_json(&line, record);
    if (!st) st = output_file_open(&out, name);
    if (st) {
        arena_clear(&mem);
        return st;
    }
    fputc('{', out.stream);
    if (old) {
        json j = json_begin(old, size, name);
        json_object(&j);
        for (const char *key; (key = json_key(&j));) {
            const char *text;
            size_t length;
            json_skip(&j, &text, &length);
            if (j.st || !strcmp(key, section) || strpbrk(key, "\"\\")) continue;
            fprintf(out.stream, "\"%s\": %.*s, ", key, (int)length, text);
        }
        if (json_end(&j)) // nothing of it can be trusted
            st = fail(PLUMB_EFORMAT, "%s; remove it", plumb_last_error());
    }
    fprintf(out.stream, "\"%s\": %s}\n", section, line);
    if (st) output_file_discard(&out);
    else st = output_file_commit(&out);
    arena_clear(&mem);
    return st;
}

// ---- checkpoints ----

enum { BLOCKS = 7, NOTES = 7 };

// Of the names, shapes and order of everything that is not in the file under its own name.
static plumb_status hash_layout(char out[33], const trainable_model *t)
{
    buffer b = {0};
    for (int64_t i = 0; i < t->tensor_count; i++) {
        buffer_printf(&b, "%s:%lld", t->tensors[i].name, (long long)t->tensors[i].offset);
        for (int k = 0; k < t->tensors[i].rank; k++)
            buffer_printf(&b, ",%lld", (long long)t->tensors[i].shape[k]);
        buffer_put(&b, "\n", 1);
    }
    for (int64_t i = 0; i < t->state_count; i++) buffer_printf(&b, "state %s\n", t->state_names[i]);
    for (int64_t i = 0; i < t->term_count; i++) buffer_printf(&b, "term %s\n", t->term_names[i]);
    buffer_put(&b, "", 1);
    if (!b.failed) hash_bytes(out, (const char *)b.data, strlen((const char *)b.data));
    const plumb_status st = b.failed ? fail(PLUMB_EMEMORY, "no memory for a checkpoint") : PLUMB_OK;
    buffer_clear(&b);
    return st;
}

// The parts of optimizer.safetensors. `counts` are step and summed.
static void list_blocks(plumb_named_array out[BLOCKS], const trainable_model *t,
                        const checkpoint_state *s, int64_t counts[2])
{
    const int64_t two = 2;
    out[0] = (plumb_named_array){
        "value", plumb_array_view(t->parameters, PLUMB_FLOAT32, 1, &t->parameter_count)};
    out[1] = (plumb_named_array){"first_moment",
                                 plumb_array_view(s->m, PLUMB_FLOAT32, 1, &t->parameter_count)};
    out[2] = (plumb_named_array){"second_moment",
                                 plumb_array_view(s->v, PLUMB_FLOAT32, 1, &t->parameter_count)};
    out[3] =
        (plumb_named_array){"state", plumb_array_view(t->state, PLUMB_FLOAT64, 1, &t->state_count)};
    out[4] = (plumb_named_array){"sum", plumb_array_view(s->sum, PLUMB_FLOAT64, 1, &t->term_count)};
    out[5] =
        (plumb_named_array){"line", plumb_array_view(s->line, PLUMB_FLOAT64, 1, &t->term_count)};
    out[6] = (plumb_named_array){"counts", plumb_array_view(counts, PLUMB_INT64, 1, &two)};
}

static plumb_status list_weights(plumb_named_array **out, arena *mem, const trainable_model *t)
{
    *out = ARENA_ALLOC(mem, plumb_named_array, t->tensor_count);
    if (!*out) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < t->tensor_count; i++) {
        const model_tensor *x = &t->tensors[i];
        (*out)[i] = (plumb_named_array){
            x->name, plumb_array_view(t->parameters + x->offset, PLUMB_FLOAT32, x->rank, x->shape)};
    }
    return PLUMB_OK;
}

static plumb_status hash_named(char out[33], arena *mem, const plumb_named_array *arrays,
                               int64_t count)
{
    const plumb_array **list = ARENA_ALLOC(mem, const plumb_array *, count);
    if (!list) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) list[i] = &arrays[i].array;
    hash_arrays(out, list, (int)count);
    return PLUMB_OK;
}

static plumb_status write_file(const run_dir *r, const char *file, const trainable_model *t,
                               int64_t step, const plumb_named_array *arrays, int64_t count,
                               arena *mem)
{
    char sum[33], layout[33], number[24];
    filename name;
    plumb_status st = hash_named(sum, mem, arrays, count);
    if (!st) st = hash_layout(layout, t);
    if (st) return st;
    snprintf(number, sizeof number, "%lld", (long long)step);
    const safetensors_metadata_entry notes[NOTES] = {
        {"plumb", plumb_version()}, {"model", t->name}, {"step", number}, {"settings", r->identity},
        {"layout", layout},         {"data", r->film},  {"hash", sum},
    };
    return safetensors_write(in_run(name, r->path, file), arrays, count, notes, NOTES);
}

static plumb_status save_weights(const run_dir *r, const trainable_model *t, int64_t step)
{
    arena mem = {0};
    plumb_named_array *weights;
    plumb_status st = list_weights(&weights, &mem, t);
    if (!st) st = write_file(r, "weights.safetensors", t, step, weights, t->tensor_count, &mem);
    arena_clear(&mem);
    return st;
}

plumb_status checkpoint_save(run_dir *r, const trainable_model *t, const checkpoint_state *s)
{
    arena mem = {0};
    plumb_named_array blocks[BLOCKS];
    int64_t counts[2] = {s->step, s->summed};
    list_blocks(blocks, t, s, counts);
    plumb_status st = write_file(r, "optimizer.safetensors", t, s->step, blocks, BLOCKS, &mem);
    arena_clear(&mem);
    if (st) return st;
    r->saved = s->step;
    return save_weights(r, t, s->step);
}

// Does the file say that it is of this run and this model? `advice` is what to do if not.
static plumb_status check_notes(const safetensors *f, const trainable_model *t,
                                const char *identity, const char *film, const char *advice)
{
    char layout[33];
    const plumb_status st = hash_layout(layout, t);
    if (st) return st;
    const char *name = f->file.path, *model = safetensors_metadata(f, "model");
    const struct {
        const char *key, *want, *why;
    } rows[] = {
        {"settings", identity, "was made with other settings than config.json has"},
        {"layout", layout, "has other parameters than this version's model"},
        {"data", film, "was trained on other data than these"},
    };
    if (!safetensors_metadata(f, "plumb") || !model || !safetensors_metadata(f, "hash"))
        return fail(PLUMB_EFORMAT, "%s: is not a file of a run of plumb; %s", name, advice);
    if (strcmp(model, t->name))
        return fail(PLUMB_EFORMAT, "%s: is of the model %.40s, config.json is of %s; %s", name,
                    model, t->name, advice);
    for (int i = 0; i < 3; i++) {
        const char *got = safetensors_metadata(f, rows[i].key);
        if (rows[i].want && (!got || strcmp(got, rows[i].want)))
            return fail(PLUMB_EFORMAT, "%s: %s; %s", name, rows[i].why, advice);
    }
    return PLUMB_OK;
}

// All arrays of the list from the file, into their memory; and are they what was written?
static plumb_status load_arrays(const safetensors *f, const plumb_named_array *arrays,
                                int64_t count, arena *mem, const char *advice)
{
    char sum[33];
    const char *name = f->file.path;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = safetensors_find(f, arrays[i].name);
        const plumb_array *want = &arrays[i].array;
        if (at < 0)
            return fail(PLUMB_EFORMAT, "%s: has no tensor \"%s\"; %s", name, arrays[i].name,
                        advice);
        const plumb_array got = safetensors_shape(f, at);
        if (got.dtype != want->dtype || got.ndim != want->ndim ||
            memcmp(got.shape, want->shape, (size_t)got.ndim * sizeof *got.shape)) {
            char is[200], should[200];
            return fail(PLUMB_EFORMAT, "%s: tensor \"%s\" is %s %s, wanted %s %s; %s", name,
                        arrays[i].name, plumb_dtype_name(got.dtype),
                        plumb_array_shape_string(is, sizeof is, &got),
                        plumb_dtype_name(want->dtype),
                        plumb_array_shape_string(should, sizeof should, want), advice);
        }
        const plumb_status st = safetensors_load(want->data, f, at);
        if (st) return st;
    }
    const plumb_status st = hash_named(sum, mem, arrays, count);
    if (st) return st;
    return strcmp(sum, safetensors_metadata(f, "hash"))
               ? fail(PLUMB_EFORMAT, "%s: is damaged, its checksum is wrong; %s", name, advice)
               : PLUMB_OK;
}

static const char anew[] = "put the right file back, or begin anew with --force";

static plumb_status with_advice(plumb_status st, const char *advice)
{
    return st == PLUMB_EFORMAT || st == PLUMB_EFILE ? fail(st, "%s; %s", plumb_last_error(), advice)
                                                    : st;
}

// The step of the weights on the disk, -1 if they are not those of this run or not whole.
static int64_t weights_step(const run_dir *r, const trainable_model *t)
{
    filename name;
    arena mem = {0};
    safetensors f;
    int64_t step = -1;
    if (!safetensors_begin(&f, &mem, in_run(name, r->path, "weights.safetensors"))) {
        const char *text = safetensors_metadata(&f, "step");
        if (text && !check_notes(&f, t, r->identity, r->film, "")) step = strtoll(text, NULL, 10);
        safetensors_end(&f);
    }
    arena_clear(&mem);
    return step;
}

static plumb_status load_checkpoint(const run_dir *r, trainable_model *t, checkpoint_state *s,
                                    const char *name)
{
    arena mem = {0};
    safetensors f;
    plumb_named_array blocks[BLOCKS];
    int64_t counts[2] = {0};
    list_blocks(blocks, t, s, counts);
    plumb_status st = with_advice(safetensors_begin(&f, &mem, name), anew);
    if (!st) {
        st = check_notes(&f, t, r->identity, r->film, anew);
        if (!st) st = load_arrays(&f, blocks, BLOCKS, &mem, anew);
        if (!st && (counts[0] < 0 || counts[1] < 0))
            st = fail(PLUMB_EFORMAT, "%s: its step is negative; %s", name, anew);
        safetensors_end(&f);
    }
    s->step = counts[0];
    s->summed = counts[1];
    arena_clear(&mem);
    return st;
}

plumb_status checkpoint_load(bool *there, run_dir *r, trainable_model *t, checkpoint_state *s)
{
    filename name, other;
    *there = !access(in_run(name, r->path, "optimizer.safetensors"), F_OK);
    if (!*there) {
        // Weights are written after the first checkpoint: alone, they have lost it.
        if (access(in_run(other, r->path, "weights.safetensors"), F_OK)) return PLUMB_OK;
        return fail(PLUMB_EFILE, "%s: is missing, so the run cannot go on; %s", name, anew);
    }
    plumb_status st = load_checkpoint(r, t, s, name);
    if (st) return st;
    r->saved = s->step;
    return weights_step(r, t) == s->step ? PLUMB_OK : save_weights(r, t, s->step);
}

plumb_status checkpoint_load_weights(trainable_model *t, int64_t *step, const char *path,
                                     const char *identity)
{
    filename name;
    arena mem = {0};
    safetensors f;
    plumb_named_array *weights;
    char advice[4200];
    snprintf(advice, sizeof advice, "plumb train --resume --out %s writes it anew", path);
    if (access(in_run(name, path, "weights.safetensors"), F_OK))
        return fail(PLUMB_EFILE, "%s: is missing; %s", name, advice);
    plumb_status st = with_advice(safetensors_begin(&f, &mem, name), advice);
    if (!st) {
        st = check_notes(&f, t, identity, NULL, advice);
        if (!st) st = list_weights(&weights, &mem, t);
        if (!st) st = load_arrays(&f, weights, t->tensor_count, &mem, advice);
        const char *text = safetensors_metadata(&f, "step");
        *step = text ? strtoll(text, NULL, 10) : -1;
        safetensors_end(&f);
    }
    arena_clear(&mem);
    return st;
}

// ---- the log ----

// How much of the log is of steps up to `step`, whole lines in growing order; and its seconds.
static plumb_status measure_log(off_t *keep, double *seconds, FILE *f, const char *name,
                                int64_t step)
{
    char *line = NULL;
    size_t room = 0;
    int64_t before = -1;
    *keep = 0;
    for (ssize_t length; (length = getline(&line, &room, f)) > 0;) {
        if (line[length - 1] != '\n') break;
        json j = json_begin(line, (size_t)length, name);
        int64_t at = -1;
        double time = 0.0;
        json_object(&j);
        for (const char *key; (key = json_key(&j));) {
            if (!strcmp(key, "step")) at = json_int(&j);
            else if (!strcmp(key, "seconds")) time = json_double(&j);
            else json_skip(&j, NULL, NULL);
        }
        if (json_end(&j) || at <= before) {
            status_log("%s: a line that is none of a log; it is cut there", name);
            break;
        }
        if (at > step) break;
        before = at;
        *seconds = time;
        *keep += length;
    }
    free(line);
    return ferror(f) ? fail(PLUMB_EFILE, "%s: %s", name, strerror(errno)) : PLUMB_OK;
}

plumb_status run_log_open(run_dir *r, int64_t step)
{
    filename name;
    off_t keep = 0;
    in_run(name, r->path, "log.jsonl");
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    r->log = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!r->log) {
        const plumb_status st = fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
        if (fd >= 0) close(fd);
        return st;
    }
    plumb_status st = measure_log(&keep, &r->seconds, r->log, name, step);
    if (!st && (ftruncate(fd, keep) || fseeko(r->log, keep, SEEK_SET)))
        st = fail(PLUMB_EFILE, "%s: cannot be cut: %s", name, strerror(errno));
    if (!st) st = tensorboard_open(&r->events, in_run(name, r->path, files[FILES - 1]), step);
    return st;
}

plumb_status run_log_write(run_dir *r, const trainable_model *t, int64_t step, const double *terms,
                           double rate, double seconds)
{
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "no memory for a line of the log");
    plumb_record_set_int(record, "step", step);
    for (int64_t i = 0; i < t->term_count; i++)
        plumb_record_set_double(record, t->term_names[i], terms[i]);
    plumb_record_set_double(record, "rate", rate);
    plumb_record_set_double(record, "seconds", seconds);
    const char *line;
    plumb_status st = plumb_record_to_json(&line, record);
    if (!st && (fprintf(r->log, "%s\n", line) < 0 || fflush(r->log)))
        st = fail(PLUMB_EFILE, "%s/log.jsonl: cannot be written: %s", r->path, strerror(errno));
    plumb_record_free(record);
    if (!st) st = tensorboard_write(r->events, step, t->term_names, terms, t->term_count);
    if (!st) st = tensorboard_write(r->events, step, (const char *const[]){"rate"}, &rate, 1);
    return st;
}
