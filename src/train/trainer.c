// SPDX-License-Identifier: MIT
// The training loop. A step has three parallel regions. In the first each worker computes the
// gradients of its replicas, each into a block of its own. In the second and third the parameters
// are cut into chunks of fixed size, and each worker takes some of them: it sums the replicas'
// blocks over a fixed tree and squares the sum; then, when the norm is known, it updates. A chunk
// is computed the same way by any worker.
//
// Under MPI each rank has some of the replicas, and in the second region some of the chunks
// (all_reduce.h). All ranks get the same sum and do the same update; rank 0 writes the run.
#define _GNU_SOURCE
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "base/thread_team.h"
#include "distributed/all_reduce.h"
#include "distributed/comm.h"
#include "engine/gradient_sum.h"

typedef struct trainer {
    trainable_model *model;
    run_dir *run;
    const trainer_options *opt;
    arena mem;
    thread_team *team;
    checkpoint_state checkpoint;

    all_reduce reduce; // which rank has which replicas
    int64_t stride;    // floats from one replica's gradient to the next
    float *gradient;   // (replicas of this rank, stride); the sum ends up in the first
    double *terms;     // (replicas, terms); likewise
    double *squares;   // (parts)
    int64_t chunks;
    double *report;  // (1 + max replicas of a rank * terms): what ranks exchange in a step
    double *reports; // (ranks, ..)
    int64_t report_size;
    int32_t *actions;   // (ranks)
    double rate, scale; // of this step

    double started, saved_at; // clock
    int64_t first_step;
} trainer;

// ---- parallel regions ----

// First replica of a worker of this rank, and how many it has.
static int64_t first_replica(int64_t *size, const trainer *x, int worker, int workers)
{
    return x->reduce.first + thread_team_split(size, x->reduce.count, worker, workers);
}

// A replica is set up by the thread that will compute it: its memory is near that core.
static plumb_status init_replicas(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = first_replica(&size, x, worker, workers);
    plumb_status st = PLUMB_OK;
    for (int64_t r = first; r < first + size && !st; r++)
        st = x->model->init_replica(x->model->context, r);
    return st;
}

// First region: each replica writes its own block and its own terms.
static plumb_status compute_gradients(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = first_replica(&size, x, worker, workers);
    plumb_status st = PLUMB_OK;
    for (int64_t r = first; r < first + size && !st; r++)
        st = x->model->gradient(x->model->context, r, x->checkpoint.step,
                                x->gradient + (r - x->reduce.first) * x->stride,
                                x->terms + r * x->model->term_count);
    return st;
}

// Floats of a chunk; the last one may be shorter.
static int64_t chunk_size(const trainer *x, int64_t chunk)
{
    const int64_t left = x->model->parameter_count - chunk * GRADIENT_CHUNK;
    return left < GRADIENT_CHUNK ? left : GRADIENT_CHUNK;
}

// Sums within this rank; with one rank that is the whole sum.
static plumb_status sum_local(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = thread_team_split(&size, x->chunks, worker, workers);
    for (int64_t p = first; p < first + size; p++) {
        all_reduce_local(&x->reduce, x->gradient, p);
        if (x->reduce.ranks == 1)
            x->squares[p] =
                gradient_sum_squares(x->gradient + p * GRADIENT_CHUNK, chunk_size(x, p));
    }
    return PLUMB_OK;
}

// The sum over ranks, for this rank's slice.
static plumb_status sum_remote(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const all_reduce *s = &x->reduce;
    const int64_t first =
        s->part_first[s->rank] + thread_team_split(&size, s->part_count[s->rank], worker, workers);
    for (int64_t p = first; p < first + size; p++) {
        float *sum = x->gradient + p * GRADIENT_CHUNK;
        const int64_t count = chunk_size(x, p);
        memcpy(sum, all_reduce_remote(s, p), (size_t)count * sizeof *sum);
        x->squares[p] = gradient_sum_squares(sum, count);
    }
    return PLUMB_OK;
}

// Third region: Adam on the chunks of this worker, which are neighbours.
static plumb_status update_parameters(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = thread_team_split(&size, x->chunks, worker, workers);
    if (!size) return PLUMB_OK;
    const int64_t at = first * GRADIENT_CHUNK;
    const int64_t count = (size - 1) * GRADIENT_CHUNK + chunk_size(x, first + size - 1);
    adam_step(x->model->parameters + at, x->checkpoint.first_moment + at,
              x->checkpoint.second_moment + at, x->gradient + at, count,
              &(adam_update){&x->opt->adam, x->rate, x->scale, x->checkpoint.step + 1});
    return PLUMB_OK;
}

// The same tree as the gradients: r += r + 1, then r += r + 2, then r += r + 4 ..
static void add_terms(trainer *x)
{
    const int64_t n = x->model->term_count;
    for (int64_t reach = 1; reach < x->model->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < x->model->replicas; r += 2 * reach)
            for (int64_t i = 0; i < n; i++) x->terms[r * n + i] += x->terms[(r + reach) * n + i];
}

// Exchanges the terms of all replicas, and whether any of them failed.
static plumb_status share_terms(trainer *x, plumb_status st)
{
    const int64_t n = x->model->term_count;
    if (x->reduce.ranks == 1) return st;
    x->report[0] = (double)st;
    memcpy(x->report + 1, x->terms + x->reduce.first * n,
           (size_t)(x->reduce.count * n) * sizeof *x->report);
    plumb_status met =
        comm_all_gather(x->reports, x->report, (size_t)x->report_size * sizeof *x->report);
    bool bad = false;
    for (int k = 0; k < x->reduce.ranks && !met; k++) {
        int64_t size;
        const int64_t first = thread_team_split(&size, x->model->replicas, k, x->reduce.ranks);
        const double *report = x->reports + k * x->report_size;
        bad = bad || report[0] != 0.0;
        memcpy(x->terms + first * n, report + 1, (size_t)(size * n) * sizeof *report);
    }
    return met ? met : bad ? comm_all_ok(st) : PLUMB_OK;
}

// Second region: sums within the rank, then across ranks, then all ranks get the whole.
static plumb_status sum_gradients(trainer *x)
{
    plumb_status st = thread_team_run(x->team, sum_local, x);
    if (st || x->reduce.ranks == 1) return st;
    st = all_reduce_exchange(&x->reduce, x->gradient);
    if (!st) st = thread_team_run(x->team, sum_remote, x);
    if (st) return st;
    return all_reduce_gather(&x->reduce, x->gradient, x->squares);
}

// ---- NaN and infinity ----

// The tensor of the first element that is not finite, or NULL.
static const char *find_nonfinite(const trainable_model *model, const float *block)
{
    for (int64_t i = 0; i < model->tensor_count; i++) {
        const int64_t end =
            i + 1 < model->tensor_count ? model->tensors[i + 1].offset : model->parameter_count;
        for (int64_t k = model->tensors[i].offset; k < end; k++)
            if (!isfinite(block[k])) return model->tensors[i].name;
    }
    return NULL;
}

// Names the loss term and the tensor, and the last checkpoint that is still good.
static plumb_status fail_nonfinite(const trainer *x)
{
    const trainable_model *model = x->model;
    char what[300] = "", last[4200] = "";
    const char *value = find_nonfinite(model, model->parameters),
               *gradient = find_nonfinite(model, x->gradient);
    for (int64_t i = 0; i < model->term_count && !what[0]; i++)
        if (!isfinite(x->terms[i]))
            snprintf(what, sizeof what, "\"%.60s\" is %s", model->term_names[i],
                     isnan(x->terms[i]) ? "NaN" : "infinite");
    const size_t used = strlen(what);
    if (value)
        snprintf(what + used, sizeof what - used, "%sthe parameter \"%.100s\" is not finite",
                 used ? ", and " : "", value);
    else if (gradient)
        snprintf(what + used, sizeof what - used, "%sthe gradient of \"%.100s\" is not finite",
                 used ? ", and " : "", gradient);
    if (x->run && x->run->saved_step >= 0)
        snprintf(last, sizeof last, "; the last good checkpoint is step %lld in %s",
                 (long long)x->run->saved_step, x->run->path);
    return fail(PLUMB_ENUMERIC, "step %lld: %s%s", (long long)x->checkpoint.step, what, last);
}

// ---- one step ----

static plumb_status run_step(trainer *x)
{
    plumb_status st = share_terms(x, thread_team_run(x->team, compute_gradients, x));
    if (st) return st;
    add_terms(x);
    st = sum_gradients(x);
    if (st) return st;
    // The norm of the whole gradient: chunks are added in their order, by every rank alike.
    double square = 0.0;
    bool finite = true;
    for (int64_t p = 0; p < x->chunks; p++) square += x->squares[p];
    for (int64_t i = 0; i < x->model->term_count; i++) finite = finite && isfinite(x->terms[i]);
    if (!finite || !isfinite(square)) return fail_nonfinite(x);
    // Learning rate of this step; the gradient is scaled down to the largest norm.
    x->rate = adam_schedule_rate(&x->opt->schedule, x->checkpoint.step);
    x->scale = adam_clip_factor(sqrt(square), x->opt->clip);
    st = thread_team_run(x->team, update_parameters, x);
    if (!st && x->model->after_step)
        st = x->model->after_step(x->model->context, x->checkpoint.step, x->terms);
    if (st) return st;
    // Terms are averaged until the next line of the log.
    for (int64_t i = 0; i < x->model->term_count; i++) x->checkpoint.sum[i] += x->terms[i];
    x->checkpoint.summed++;
    x->checkpoint.step++;
    return PLUMB_OK;
}

static double total_seconds(const trainer *x)
{
    return (x->run ? x->run->log.seconds : 0.0) + clock_now() - x->started;
}

// The mean of the steps since the last line; if that was just now, the line itself.
static double mean_loss(const trainer *x)
{
    if (x->checkpoint.summed) return x->checkpoint.sum[0] / (double)x->checkpoint.summed;
    return x->checkpoint.line[0];
}

// A line every log steps and at the end; it has the mean of the steps since the last one.
static plumb_status write_line(trainer *x)
{
    const bool end = x->checkpoint.step == x->opt->schedule.steps;
    if (!end && (x->opt->log < 1 || x->checkpoint.step % x->opt->log)) return PLUMB_OK;
    for (int64_t i = 0; i < x->model->term_count; i++) {
        x->checkpoint.line[i] = x->checkpoint.sum[i] / (double)x->checkpoint.summed;
        x->checkpoint.sum[i] = 0.0;
    }
    x->checkpoint.summed = 0;
    if (!x->run) return PLUMB_OK;
    return run_log_write(&x->run->log, x->model,
                         &(run_log_line){.step = x->checkpoint.step,
                                         .terms = x->checkpoint.line,
                                         .rate = x->rate,
                                         .seconds = total_seconds(x)});
}

// Does nothing on ranks without a run, or if this step is saved already.
static plumb_status save_checkpoint(trainer *x)
{
    if (!x->run || x->run->saved_step == x->checkpoint.step) return PLUMB_OK;
    const plumb_status st = checkpoint_save(x->run, x->model, &x->checkpoint);
    x->saved_at = clock_now();
    return st;
}

// By steps or by time.
static bool is_time_to_save(const trainer *x)
{
    const trainer_options *o = x->opt;
    return (o->save > 0 && x->checkpoint.step % o->save == 0) ||
           (o->save_seconds > 0.0 && clock_now() - x->saved_at >= o->save_seconds);
}

// The time left is by the pace of this call, and at most the time limit.
static void report_progress(const trainer *x)
{
    if (!x->opt->report) return;
    const double elapsed = clock_now() - x->started;
    const double done = (double)(x->checkpoint.step - x->first_step);
    trainer_progress r = {.step = x->checkpoint.step,
                          .steps = x->opt->schedule.steps,
                          .loss = mean_loss(x),
                          .steps_per_second = elapsed > 0.0 ? done / elapsed : 0.0,
                          .seconds = elapsed};
    r.seconds_left =
        r.steps_per_second > 0.0 ? (double)(r.steps - r.step) / r.steps_per_second : 0.0;
    if (x->opt->seconds > 0.0 && r.seconds_left > x->opt->seconds - elapsed)
        r.seconds_left = x->opt->seconds - elapsed;
    x->opt->report(x->opt->context, &r);
}

// Saves and returns PLUMB_ESTOPPED. `why` is "" or the reason.
static plumb_status stop_run(trainer *x, const char *why)
{
    char before[300] = "";
    if (why[0]) snprintf(before, sizeof before, "%.280s: ", why);
    const plumb_status st = save_checkpoint(x);
    if (st) return st;
    if (!x->run)
        return fail(PLUMB_ESTOPPED, "%sstopped at step %lld%s", before,
                    (long long)x->checkpoint.step,
                    x->reduce.ranks > 1 ? "; --resume continues from the last checkpoint" : "");
    return fail(PLUMB_ESTOPPED,
                "%sstopped at step %lld, which is saved; --resume continues from there", before,
                (long long)x->checkpoint.step);
}

enum { CONTINUE, TIME_IS_UP, STOP, FAILED };

// What all ranks do next: the largest action of any rank. Rank 0 decides whether time is up.
static plumb_status agree_on_next(int *out, trainer *x, plumb_status st)
{
    const bool late =
        !x->reduce.rank && x->opt->seconds > 0.0 && clock_now() - x->started >= x->opt->seconds;
    const int32_t mine = st ? FAILED : status_stopped() ? STOP : late ? TIME_IS_UP : CONTINUE;
    const plumb_status met = comm_all_gather(x->actions, &mine, sizeof mine);
    *out = CONTINUE;
    for (int k = 0; k < x->reduce.ranks && !met; k++)
        *out = x->actions[k] > *out ? x->actions[k] : *out;
    return met ? met : *out == FAILED ? comm_all_ok(st) : PLUMB_OK;
}

// The loop: agree, step, log, report, save.
static plumb_status run_loop(trainer *x)
{
    plumb_status st = save_checkpoint(x); // a run can be resumed from step 0 on
    for (int next;;) {
        st = agree_on_next(&next, x, st);
        if (!st && next == STOP) return stop_run(x, "");
        if (!st && (next == TIME_IS_UP || x->checkpoint.step >= x->opt->schedule.steps)) break;
        if (!st) st = run_step(x);
        if (st == PLUMB_ESTOPPED) // stopped within a step, or a rank is gone
            return stop_run(x, x->reduce.ranks > 1 ? plumb_last_error() : "");
        if (st) return st;
        st = write_line(x);
        if (!st) report_progress(x);
        if (!st && is_time_to_save(x)) st = save_checkpoint(x);
    }
    st = comm_all_ok(save_checkpoint(x));
    return st;
}

// ---- start and end ----

static plumb_status alloc_buffers(trainer *x)
{
    trainable_model *model = x->model;
    // Blocks are multiples of 64 bytes apart.
    x->stride = (model->parameter_count + 15) / 16 * 16;
    x->chunks = (model->parameter_count + GRADIENT_CHUNK - 1) / GRADIENT_CHUNK;
    plumb_status st = all_reduce_init(&x->reduce, &x->mem, model->replicas, model->parameter_count,
                                      GRADIENT_CHUNK, x->stride);
    if (st) return st;
    const int64_t most = (model->replicas + x->reduce.ranks - 1) / x->reduce.ranks;
    x->report_size = 1 + most * model->term_count;
    x->report = ARENA_ALLOC(&x->mem, double, x->report_size);
    x->reports = ARENA_ALLOC(&x->mem, double, x->report_size * x->reduce.ranks);
    x->actions = ARENA_ALLOC(&x->mem, int32_t, x->reduce.ranks);
    x->gradient = ARENA_ALLOC(&x->mem, float, x->stride * x->reduce.count);
    x->terms = ARENA_ALLOC(&x->mem, double, model->replicas * model->term_count);
    x->squares = ARENA_ALLOC(&x->mem, double, x->chunks);
    x->checkpoint.first_moment = ARENA_ALLOC(&x->mem, float, model->parameter_count);
    x->checkpoint.second_moment = ARENA_ALLOC(&x->mem, float, model->parameter_count);
    x->checkpoint.sum = ARENA_ALLOC(&x->mem, double, model->term_count);
    x->checkpoint.line = ARENA_ALLOC(&x->mem, double, model->term_count);
    if (!x->gradient || !x->terms || !x->squares || !x->checkpoint.first_moment ||
        !x->checkpoint.second_moment || !x->checkpoint.sum || !x->checkpoint.line || !x->report ||
        !x->reports || !x->actions)
        return PLUMB_EMEMORY;
    return PLUMB_OK;
}

// Sends what rank 0 read from disk to all ranks.
static plumb_status broadcast_state(trainer *x)
{
    trainable_model *model = x->model;
    const size_t floats = (size_t)model->parameter_count * sizeof(float),
                 terms = (size_t)model->term_count * sizeof(double);
    int64_t counts[2] = {x->checkpoint.step, x->checkpoint.summed};
    plumb_status st = comm_broadcast(model->parameters, floats);
    if (!st) st = comm_broadcast(x->checkpoint.first_moment, floats);
    if (!st) st = comm_broadcast(x->checkpoint.second_moment, floats);
    if (!st) st = comm_broadcast(model->state, (size_t)model->state_count * sizeof(double));
    if (!st) st = comm_broadcast(x->checkpoint.sum, terms);
    if (!st) st = comm_broadcast(x->checkpoint.line, terms);
    if (!st) st = comm_broadcast(counts, sizeof counts);
    x->checkpoint.step = counts[0];
    x->checkpoint.summed = counts[1];
    return st;
}

// Threads of this rank: its own cores if it is bound to some, else its share of the machine.
static int thread_count(const trainer *x)
{
    if (x->opt->threads > 0) return x->opt->threads;
    const int all = parallel_threads(), local = comm_local_size();
    if (local < 2 || all < sysconf(_SC_NPROCESSORS_ONLN)) return all;
    return all / local > 1 ? all / local : 1;
}

// Rank 0 reads the checkpoint and opens the log; all ranks get the state, then start threads.
static plumb_status start_workers(trainer *x)
{
    trainable_model *model = x->model;
    bool exists = false;
    plumb_status st = x->run ? checkpoint_load(&exists, x->run, model, &x->checkpoint) : PLUMB_OK;
    if (!st && x->run) st = run_log_open(&x->run->log, x->run->path, x->checkpoint.step);
    st = comm_all_ok(st);
    if (!st) st = broadcast_state(x);
    if (!st) st = thread_team_create(&x->team, thread_count(x));
    if (!st && model->init_replica) st = thread_team_run(x->team, init_replicas, x);
    return comm_all_ok(st);
}

plumb_status trainer_run(trainer_result *out, trainable_model *model, run_dir *run,
                         const trainer_options *opt)
{
    trainer x = {.model = model, .run = run, .opt = opt};
    plumb_status st = comm_all_ok(alloc_buffers(&x));
    if (!st) st = start_workers(&x);
    x.started = x.saved_at = clock_now();
    x.first_step = x.checkpoint.step;
    if (!st) st = run_loop(&x);
    if (!st)
        *out = (trainer_result){.step = x.checkpoint.step,
                                .finished = x.checkpoint.step >= opt->schedule.steps,
                                .loss = x.checkpoint.step ? mean_loss(&x) : (double)NAN,
                                .seconds = total_seconds(&x),
                                .seconds_here = clock_now() - x.started,
                                .first_step = x.first_step};
    thread_team_free(x.team);
    arena_clear(&x.mem);
    return st;
}
