// SPDX-License-Identifier: MIT
// Three rounds of a crew a step. In the first each worker computes the gradients of its replicas,
// each into a block of its own. In the second and third the parameters are cut into parts of fixed
// size, and each worker takes some of them: sums the replicas' blocks over the tree and squares the
// sum; then, when the norm is known, updates. A part is computed the same way whoever has it.
//
// Under MPI each rank has some of the replicas, and of the second round some of the parts
// (all_reduce.h); the sum is everybody's, so all ranks update alike, and rank 0 keeps the run.
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
    trainable_model *t;
    run_dir *run;
    const trainer_options *opt;
    arena mem;
    thread_team *crew;
    checkpoint_state s;

    all_reduce ranks; // whose replicas are whose
    int64_t stride;   // floats from one replica's gradient to the next
    float *gradient;  // (replicas of this rank, stride); the sum ends up in the first
    double *terms;    // (replicas, terms); likewise
    double *square;   // (parts)
    int64_t parts;
    double *report;  // (1 + most replicas of a rank * terms): what ranks tell each other of a step
    double *reports; // (ranks, ..)
    int64_t report_size;
    int32_t *votes;     // (ranks)
    double rate, scale; // of this step

    double started, saved_at; // clock
    int64_t begun_at;
} trainer;

// ---- rounds ----

// Replicas of a worker of this rank.
static int64_t share_of(int64_t *size, const trainer *x, int worker, int workers)
{
    return x->ranks.first + thread_team_split(size, x->ranks.count, worker, workers);
}

static plumb_status enter_all(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = share_of(&size, x, worker, workers);
    plumb_status st = PLUMB_OK;
    for (int64_t r = first; r < first + size && !st; r++) st = x->t->init_replica(x->t->context, r);
    return st;
}

static plumb_status compute(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = share_of(&size, x, worker, workers);
    plumb_status st = PLUMB_OK;
    for (int64_t r = first; r < first + size && !st; r++)
        st = x->t->gradient(x->t->context, r, x->s.step,
                            x->gradient + (r - x->ranks.first) * x->stride,
                            x->terms + r * x->t->term_count);
    return st;
}

static int64_t part_size(const trainer *x, int64_t part)
{
    const int64_t left = x->t->parameter_count - part * GRADIENT_CHUNK;
    return left < GRADIENT_CHUNK ? left : GRADIENT_CHUNK;
}

// What this rank can add by itself; where it is the only one, that is all.
static plumb_status add_up(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = thread_team_split(&size, x->parts, worker, workers);
    for (int64_t p = first; p < first + size; p++) {
        all_reduce_local(&x->ranks, x->gradient, p);
        if (x->ranks.ranks == 1)
            x->square[p] = gradient_sum_squares(x->gradient + p * GRADIENT_CHUNK, part_size(x, p));
    }
    return PLUMB_OK;
}

// The rest, of this rank's slice.
static plumb_status add_rest(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const all_reduce *s = &x->ranks;
    const int64_t first =
        s->part_first[s->rank] + thread_team_split(&size, s->part_count[s->rank], worker, workers);
    for (int64_t p = first; p < first + size; p++) {
        float *sum = x->gradient + p * GRADIENT_CHUNK;
        const int64_t count = part_size(x, p);
        memcpy(sum, all_reduce_remote(s, p), (size_t)count * sizeof *sum);
        x->square[p] = gradient_sum_squares(sum, count);
    }
    return PLUMB_OK;
}

static plumb_status update(void *context, int worker, int workers)
{
    trainer *x = context;
    int64_t size;
    const int64_t first = thread_team_split(&size, x->parts, worker, workers);
    if (!size) return PLUMB_OK;
    const int64_t at = first * GRADIENT_CHUNK;
    const int64_t count = (size - 1) * GRADIENT_CHUNK + part_size(x, first + size - 1);
    adam_step(x->t->parameters + at, x->s.m + at, x->s.v + at, x->gradient + at, count,
              &(adam_update){&x->opt->adam, x->rate, x->scale, x->s.step + 1});
    return PLUMB_OK;
}

static void add_terms(trainer *x)
{
    const int64_t n = x->t->term_count;
    for (int64_t reach = 1; reach < x->t->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < x->t->replicas; r += 2 * reach)
            for (int64_t i = 0; i < n; i++) x->terms[r * n + i] += x->terms[(r + reach) * n + i];
}

// The terms of everybody's replicas, and whether any of them failed.
static plumb_status share_terms(trainer *x, plumb_status st)
{
    const int64_t n = x->t->term_count;
    if (x->ranks.ranks == 1) return st;
    x->report[0] = (double)st;
    memcpy(x->report + 1, x->terms + x->ranks.first * n,
           (size_t)(x->ranks.count * n) * sizeof *x->report);
    plumb_status met =
        comm_all_gather(x->reports, x->report, (size_t)x->report_size * sizeof *x->report);
    bool bad = false;
    for (int k = 0; k < x->ranks.ranks && !met; k++) {
        int64_t size;
        const int64_t first = thread_team_split(&size, x->t->replicas, k, x->ranks.ranks);
        const double *report = x->reports + k * x->report_size;
        bad = bad || report[0] != 0.0;
        memcpy(x->terms + first * n, report + 1, (size_t)(size * n) * sizeof *report);
    }
    return met ? met : bad ? comm_all_ok(st) : PLUMB_OK;
}

static plumb_status sum_up(trainer *x)
{
    plumb_status st = thread_team_run(x->crew, add_up, x);
    if (st || x->ranks.ranks == 1) return st;
    st = all_reduce_exchange(&x->ranks, x->gradient);
    if (!st) st = thread_team_run(x->crew, add_rest, x);
    if (st) return st;
    return all_reduce_gather(&x->ranks, x->gradient, x->square);
}

// ---- numbers that are none ----

// The tensor of the first element that is not finite, or NULL.
static const char *culprit(const trainable_model *t, const float *block)
{
    for (int64_t i = 0; i < t->tensor_count; i++) {
        const int64_t end = i + 1 < t->tensor_count ? t->tensors[i + 1].offset : t->parameter_count;
        for (int64_t k = t->tensors[i].offset; k < end; k++)
            if (!isfinite(block[k])) return t->tensors[i].name;
    }
    return NULL;
}

static plumb_status refuse(const trainer *x)
{
    const trainable_model *t = x->t;
    char what[300] = "", last[4200] = "";
    const char *value = culprit(t, t->parameters), *gradient = culprit(t, x->gradient);
    for (int64_t i = 0; i < t->term_count && !what[0]; i++)
        if (!isfinite(x->terms[i]))
            snprintf(what, sizeof what, "\"%.60s\" is %s", t->term_names[i],
                     isnan(x->terms[i]) ? "NaN" : "infinite");
    const size_t used = strlen(what);
    if (value)
        snprintf(what + used, sizeof what - used, "%sthe parameter \"%.100s\" is not finite",
                 used ? ", and " : "", value);
    else if (gradient)
        snprintf(what + used, sizeof what - used, "%sthe gradient of \"%.100s\" is not finite",
                 used ? ", and " : "", gradient);
    if (x->run && x->run->saved >= 0)
        snprintf(last, sizeof last, "; the last good checkpoint is step %lld in %s",
                 (long long)x->run->saved, x->run->path);
    return fail(PLUMB_ENUMERIC, "step %lld: %s%s", (long long)x->s.step, what, last);
}

// ---- one step ----

static plumb_status advance(trainer *x)
{
    plumb_status st = share_terms(x, thread_team_run(x->crew, compute, x));
    if (st) return st;
    add_terms(x);
    st = sum_up(x);
    if (st) return st;
    double square = 0.0;
    bool finite = true;
    for (int64_t p = 0; p < x->parts; p++) square += x->square[p];
    for (int64_t i = 0; i < x->t->term_count; i++) finite = finite && isfinite(x->terms[i]);
    if (!finite || !isfinite(square)) return refuse(x);
    x->rate = adam_schedule_rate(&x->opt->schedule, x->s.step);
    x->scale = adam_clip_factor(sqrt(square), x->opt->clip);
    st = thread_team_run(x->crew, update, x);
    if (!st && x->t->after_step) st = x->t->after_step(x->t->context, x->s.step, x->terms);
    if (st) return st;
    for (int64_t i = 0; i < x->t->term_count; i++) x->s.sum[i] += x->terms[i];
    x->s.summed++;
    x->s.step++;
    return PLUMB_OK;
}

static double seconds_of(const trainer *x)
{
    return (x->run ? x->run->seconds : 0.0) + clock_now() - x->started;
}

// The mean of the steps since the last line; if that was just now, the line itself.
static double loss_of(const trainer *x)
{
    if (x->s.summed) return x->s.sum[0] / (double)x->s.summed;
    return x->s.line[0];
}

static plumb_status write_line(trainer *x)
{
    const bool end = x->s.step == x->opt->schedule.steps;
    if (!end && (x->opt->log < 1 || x->s.step % x->opt->log)) return PLUMB_OK;
    for (int64_t i = 0; i < x->t->term_count; i++) {
        x->s.line[i] = x->s.sum[i] / (double)x->s.summed;
        x->s.sum[i] = 0.0;
    }
    x->s.summed = 0;
    if (!x->run) return PLUMB_OK;
    return run_log_write(x->run, x->t, x->s.step, x->s.line, x->rate, seconds_of(x));
}

static plumb_status save(trainer *x)
{
    if (!x->run || x->run->saved == x->s.step) return PLUMB_OK;
    const plumb_status st = checkpoint_save(x->run, x->t, &x->s);
    x->saved_at = clock_now();
    return st;
}

static bool is_time_to_save(const trainer *x)
{
    const trainer_options *o = x->opt;
    return (o->save > 0 && x->s.step % o->save == 0) ||
           (o->save_seconds > 0.0 && clock_now() - x->saved_at >= o->save_seconds);
}

static void tell(const trainer *x)
{
    if (!x->opt->report) return;
    const double here = clock_now() - x->started;
    const double done = (double)(x->s.step - x->begun_at);
    trainer_progress r = {.step = x->s.step,
                          .steps = x->opt->schedule.steps,
                          .loss = loss_of(x),
                          .pace = here > 0.0 ? done / here : 0.0,
                          .seconds = here};
    r.left = r.pace > 0.0 ? (double)(r.steps - r.step) / r.pace : 0.0;
    if (x->opt->seconds > 0.0 && r.left > x->opt->seconds - here) r.left = x->opt->seconds - here;
    x->opt->report(x->opt->context, &r);
}

// `why` is "" or what made us stop.
static plumb_status stopped(trainer *x, const char *why)
{
    char before[300] = "";
    if (why[0]) snprintf(before, sizeof before, "%.280s: ", why);
    const plumb_status st = save(x);
    if (st) return st;
    if (!x->run)
        return fail(PLUMB_ESTOPPED, "%sstopped at step %lld%s", before, (long long)x->s.step,
                    x->ranks.ranks > 1 ? "; --resume goes on from the last checkpoint" : "");
    return fail(PLUMB_ESTOPPED,
                "%sstopped at step %lld, which is saved; --resume goes on from there", before,
                (long long)x->s.step);
}

enum { GO_ON, TIME_IS_UP, STOP, FAILED };

// What all ranks do next: the worst that any of them has to say. The time is rank 0's.
static plumb_status vote(int *out, trainer *x, plumb_status st)
{
    const bool late =
        !x->ranks.rank && x->opt->seconds > 0.0 && clock_now() - x->started >= x->opt->seconds;
    const int32_t mine = st ? FAILED : status_stopped() ? STOP : late ? TIME_IS_UP : GO_ON;
    const plumb_status met = comm_all_gather(x->votes, &mine, sizeof mine);
    *out = GO_ON;
    for (int k = 0; k < x->ranks.ranks && !met; k++) *out = x->votes[k] > *out ? x->votes[k] : *out;
    return met ? met : *out == FAILED ? comm_all_ok(st) : PLUMB_OK;
}

static plumb_status loop(trainer *x)
{
    plumb_status st = save(x); // so that there is something to come back to
    for (int next;;) {
        st = vote(&next, x, st);
        if (!st && next == STOP) return stopped(x, "");
        if (!st && (next == TIME_IS_UP || x->s.step >= x->opt->schedule.steps)) break;
        if (!st) st = advance(x);
        if (st == PLUMB_ESTOPPED) // a long step that looked itself, or a rank that is gone
            return stopped(x, x->ranks.ranks > 1 ? plumb_last_error() : "");
        if (st) return st;
        st = write_line(x);
        if (!st) tell(x);
        if (!st && is_time_to_save(x)) st = save(x);
    }
    st = comm_all_ok(save(x));
    return st;
}

// ---- before and after ----

static plumb_status prepare(trainer *x)
{
    trainable_model *t = x->t;
    x->stride = (t->parameter_count + 15) / 16 * 16;
    x->parts = (t->parameter_count + GRADIENT_CHUNK - 1) / GRADIENT_CHUNK;
    plumb_status st = all_reduce_init(&x->ranks, &x->mem, t->replicas, t->parameter_count,
                                      GRADIENT_CHUNK, x->stride);
    if (st) return st;
    const int64_t most = (t->replicas + x->ranks.ranks - 1) / x->ranks.ranks;
    x->report_size = 1 + most * t->term_count;
    x->report = ARENA_ALLOC(&x->mem, double, x->report_size);
    x->reports = ARENA_ALLOC(&x->mem, double, x->report_size * x->ranks.ranks);
    x->votes = ARENA_ALLOC(&x->mem, int32_t, x->ranks.ranks);
    x->gradient = ARENA_ALLOC(&x->mem, float, x->stride * x->ranks.count);
    x->terms = ARENA_ALLOC(&x->mem, double, t->replicas * t->term_count);
    x->square = ARENA_ALLOC(&x->mem, double, x->parts);
    x->s.m = ARENA_ALLOC(&x->mem, float, t->parameter_count);
    x->s.v = ARENA_ALLOC(&x->mem, float, t->parameter_count);
    x->s.sum = ARENA_ALLOC(&x->mem, double, t->term_count);
    x->s.line = ARENA_ALLOC(&x->mem, double, t->term_count);
    if (!x->gradient || !x->terms || !x->square || !x->s.m || !x->s.v || !x->s.sum || !x->s.line ||
        !x->report || !x->reports || !x->votes)
        return PLUMB_EMEMORY;
    return PLUMB_OK;
}

// What rank 0 read from the disk, to everybody.
static plumb_status hand_out(trainer *x)
{
    trainable_model *t = x->t;
    const size_t floats = (size_t)t->parameter_count * sizeof(float),
                 terms = (size_t)t->term_count * sizeof(double);
    int64_t counts[2] = {x->s.step, x->s.summed};
    plumb_status st = comm_broadcast(t->parameters, floats);
    if (!st) st = comm_broadcast(x->s.m, floats);
    if (!st) st = comm_broadcast(x->s.v, floats);
    if (!st) st = comm_broadcast(t->state, (size_t)t->state_count * sizeof(double));
    if (!st) st = comm_broadcast(x->s.sum, terms);
    if (!st) st = comm_broadcast(x->s.line, terms);
    if (!st) st = comm_broadcast(counts, sizeof counts);
    x->s.step = counts[0];
    x->s.summed = counts[1];
    return st;
}

// Ranks that are bound to cores have those; else they share the machine's.
static int threads_of(const trainer *x)
{
    if (x->opt->threads > 0) return x->opt->threads;
    const int all = parallel_threads(), local = comm_local_size();
    if (local < 2 || all < sysconf(_SC_NPROCESSORS_ONLN)) return all;
    return all / local > 1 ? all / local : 1;
}

static plumb_status set_up(trainer *x)
{
    trainable_model *t = x->t;
    bool there = false;
    plumb_status st = x->run ? checkpoint_load(&there, x->run, t, &x->s) : PLUMB_OK;
    if (!st && x->run) st = run_log_open(x->run, x->s.step);
    st = comm_all_ok(st);
    if (!st) st = hand_out(x);
    if (!st) st = thread_team_create(&x->crew, threads_of(x));
    if (!st && t->init_replica) st = thread_team_run(x->crew, enter_all, x);
    return comm_all_ok(st);
}

plumb_status trainer_run(trainer_result *out, trainable_model *t, run_dir *run,
                         const trainer_options *opt)
{
    trainer x = {.t = t, .run = run, .opt = opt};
    plumb_status st = comm_all_ok(prepare(&x));
    if (!st) st = set_up(&x);
    x.started = x.saved_at = clock_now();
    x.begun_at = x.s.step;
    if (!st) st = loop(&x);
    if (!st)
        *out = (trainer_result){.step = x.s.step,
                                .finished = x.s.step >= opt->schedule.steps,
                                .loss = x.s.step ? loss_of(&x) : (double)NAN,
                                .seconds = seconds_of(&x),
                                .here = clock_now() - x.started,
                                .begun_at = x.begun_at};
    thread_team_free(x.crew);
    arena_clear(&x.mem);
    return st;
}
