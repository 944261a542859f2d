// SPDX-License-Identifier: MIT
// The training loop. A step has three parallel regions. In the first each share computes the
// gradients of its replicas, each into a block of its own. In the second and third the parameters
// are cut into chunks of fixed size, and each share has some of them: it sums the replicas'
// blocks over a fixed tree and squares the sum; then, when the norm is known, it updates. A chunk
// is computed the same way in any share.
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

typedef struct training_loop {
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

    double best_validation; // infinity: none yet
    int64_t best_step;

    double started, saved_at; // clock
    int64_t first_step;
} training_loop;

// ---- parallel regions ----

// First replica of a share of this rank, and how many it has.
static int64_t first_replica(int64_t *size, const training_loop *loop, int share, int shares)
{
    return loop->reduce.first + thread_team_split(size, loop->reduce.count, share, shares);
}

// One share per replica, so that a thread which is slower than the others takes fewer.
static int replica_shares(const training_loop *loop)
{
    return loop->reduce.count < PARALLEL_MAX_THREADS ? (int)loop->reduce.count
                                                     : PARALLEL_MAX_THREADS;
}

static plumb_status init_replicas(void *context, int share, int shares)
{
    training_loop *loop = context;
    int64_t size;
    const int64_t first = first_replica(&size, loop, share, shares);
    plumb_status st = PLUMB_OK;
    for (int64_t r = first; r < first + size && !st; r++)
        st = loop->model->init_replica(loop->model->context, r);
    return st;
}

// First region: each replica writes its own block and its own terms.
static plumb_status compute_gradients(void *context, int share, int shares)
{
    training_loop *loop = context;
    int64_t size;
    const int64_t first = first_replica(&size, loop, share, shares);
    plumb_status st = PLUMB_OK;
    for (int64_t r = first; r < first + size && !st; r++)
        st = loop->model->gradient(loop->model->context, r, loop->checkpoint.step,
                                   loop->gradient + (r - loop->reduce.first) * loop->stride,
                                   loop->terms + r * loop->model->term_count);
    return st;
}

// Floats of a chunk; the last one may be shorter.
static int64_t chunk_size(const training_loop *loop, int64_t chunk)
{
    const int64_t left = loop->model->parameter_count - chunk * GRADIENT_CHUNK;
    return left < GRADIENT_CHUNK ? left : GRADIENT_CHUNK;
}

// Sums within this rank; with one rank that is the whole sum.
static plumb_status sum_local(void *context, int share, int shares)
{
    training_loop *loop = context;
    int64_t size;
    const int64_t first = thread_team_split(&size, loop->chunks, share, shares);
    for (int64_t p = first; p < first + size; p++) {
        all_reduce_local(&loop->reduce, loop->gradient, p);
        if (loop->reduce.ranks == 1)
            loop->squares[p] =
                gradient_sum_squares(loop->gradient + p * GRADIENT_CHUNK, chunk_size(loop, p));
    }
    return PLUMB_OK;
}

// The sum over ranks, for this rank's slice.
static plumb_status sum_remote(void *context, int share, int shares)
{
    training_loop *loop = context;
    int64_t size;
    const all_reduce *s = &loop->reduce;
    const int64_t first =
        s->part_first[s->rank] + thread_team_split(&size, s->part_count[s->rank], share, shares);
    for (int64_t p = first; p < first + size; p++) {
        float *sum = loop->gradient + p * GRADIENT_CHUNK;
        const int64_t count = chunk_size(loop, p);
        memcpy(sum, all_reduce_remote(s, p), (size_t)count * sizeof *sum);
        loop->squares[p] = gradient_sum_squares(sum, count);
    }
    return PLUMB_OK;
}

// Third region: Adam on the chunks of this worker, which are neighbours.
static plumb_status update_parameters(void *context, int share, int shares)
{
    training_loop *loop = context;
    int64_t size;
    const int64_t first = thread_team_split(&size, loop->chunks, share, shares);
    if (!size) return PLUMB_OK;
    const int64_t at = first * GRADIENT_CHUNK;
    const int64_t count = (size - 1) * GRADIENT_CHUNK + chunk_size(loop, first + size - 1);
    adam_step(loop->model->parameters + at, loop->checkpoint.first_moment + at,
              loop->checkpoint.second_moment + at, loop->gradient + at, count,
              &(adam_update){&loop->opt->adam, loop->rate, loop->scale, loop->checkpoint.step + 1});
    return PLUMB_OK;
}

// The same tree as the gradients: r += r + 1, then r += r + 2, then r += r + 4 ..
static void add_terms(training_loop *loop)
{
    const int64_t n = loop->model->term_count;
    for (int64_t reach = 1; reach < loop->model->replicas; reach *= 2)
        for (int64_t r = 0; r + reach < loop->model->replicas; r += 2 * reach)
            for (int64_t i = 0; i < n; i++)
                loop->terms[r * n + i] += loop->terms[(r + reach) * n + i];
}

// Exchanges the terms of all replicas, and whether any of them failed.
static plumb_status share_terms(training_loop *loop, plumb_status st)
{
    const int64_t n = loop->model->term_count;
    if (loop->reduce.ranks == 1) return st;
    // A rank sends its status and the terms of its replicas in one message.
    loop->report[0] = (double)st;
    memcpy(loop->report + 1, loop->terms + loop->reduce.first * n,
           (size_t)(loop->reduce.count * n) * sizeof *loop->report);
    plumb_status met = comm_all_gather(loop->reports, loop->report,
                                       (size_t)loop->report_size * sizeof *loop->report);
    bool bad = false;
    for (int k = 0; k < loop->reduce.ranks && !met; k++) {
        int64_t size;
        const int64_t first =
            thread_team_split(&size, loop->model->replicas, k, loop->reduce.ranks);
        const double *report = loop->reports + k * loop->report_size;
        bad = bad || report[0] != 0.0;
        memcpy(loop->terms + first * n, report + 1, (size_t)(size * n) * sizeof *report);
    }
    return met ? met : bad ? comm_all_ok(st) : PLUMB_OK;
}

// Second region: sums within the rank, then across ranks, then all ranks get the whole.
static plumb_status sum_gradients(training_loop *loop)
{
    plumb_status st = thread_team_run(loop->team, sum_local, loop, thread_team_size(loop->team));
    if (st || loop->reduce.ranks == 1) return st;
    st = all_reduce_exchange(&loop->reduce, loop->gradient);
    if (!st) st = thread_team_run(loop->team, sum_remote, loop, thread_team_size(loop->team));
    if (st) return st;
    return all_reduce_collect(&loop->reduce, loop->gradient, loop->squares);
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
static plumb_status fail_nonfinite(const training_loop *loop)
{
    const trainable_model *model = loop->model;
    char what[300] = "", last[4200] = "";
    const char *value = find_nonfinite(model, model->parameters),
               *gradient = find_nonfinite(model, loop->gradient);
    for (int64_t i = 0; i < model->term_count && !what[0]; i++)
        if (!isfinite(loop->terms[i]))
            snprintf(what, sizeof what, "\"%.60s\" is %s", model->term_names[i],
                     isnan(loop->terms[i]) ? "NaN" : "infinite");
    // A parameter that is not finite explains its gradient, so that one is named alone.
    const size_t used = strlen(what);
    if (value)
        snprintf(what + used, sizeof what - used, "%sthe parameter \"%.100s\" is not finite",
                 used ? ", and " : "", value);
    else if (gradient)
        snprintf(what + used, sizeof what - used, "%sthe gradient of \"%.100s\" is not finite",
                 used ? ", and " : "", gradient);
    if (loop->run && loop->run->saved_step >= 0)
        snprintf(last, sizeof last, "; the last good checkpoint is step %lld in %s",
                 (long long)loop->run->saved_step, loop->run->path);
    return fail(PLUMB_ENUMERIC, "step %lld: %s%s", (long long)loop->checkpoint.step, what, last);
}

// ---- one step ----

// The learning rate of a step. A model with two phases has a schedule for each.
static double choose_rate(const training_loop *loop, int64_t step)
{
    adam_schedule schedule = loop->opt->schedule;
    const int64_t second = loop->model->second_phase;
    if (second <= 0 || second >= schedule.steps) return adam_schedule_rate(&schedule, step);
    schedule.steps = step < second ? second : schedule.steps - second;
    return adam_schedule_rate(&schedule, step < second ? step : step - second);
}

static plumb_status run_step(training_loop *loop)
{
    plumb_status st = share_terms(
        loop, thread_team_run(loop->team, compute_gradients, loop, replica_shares(loop)));
    if (st) return st;
    add_terms(loop);
    st = sum_gradients(loop);
    if (st) return st;
    // The norm of the whole gradient: chunks are added in their order, the same on every rank.
    double square = 0.0;
    bool finite = true;
    for (int64_t p = 0; p < loop->chunks; p++) square += loop->squares[p];
    for (int64_t i = 0; i < loop->model->term_count; i++)
        finite = finite && isfinite(loop->terms[i]);
    if (!finite || !isfinite(square)) return fail_nonfinite(loop);
    // Learning rate of this step; the gradient is scaled down to the largest norm.
    loop->rate = choose_rate(loop, loop->checkpoint.step);
    loop->scale = adam_clip_factor(sqrt(square), loop->opt->clip_norm);
    st = thread_team_run(loop->team, update_parameters, loop, thread_team_size(loop->team));
    if (!st && loop->model->after_step)
        st = loop->model->after_step(loop->model->context, loop->checkpoint.step, loop->terms);
    if (st) return st;
    // Terms are averaged until the next line of the log.
    for (int64_t i = 0; i < loop->model->term_count; i++) loop->checkpoint.sum[i] += loop->terms[i];
    loop->checkpoint.summed++;
    loop->checkpoint.step++;
    return PLUMB_OK;
}

static double total_seconds(const training_loop *loop)
{
    return (loop->run ? loop->run->log.seconds : 0.0) + clock_now() - loop->started;
}

// The mean of the steps since the last line; if that was just now, the line itself.
static double mean_loss(const training_loop *loop)
{
    if (loop->checkpoint.summed) return loop->checkpoint.sum[0] / (double)loop->checkpoint.summed;
    return loop->checkpoint.line[0];
}

static bool is_line_due(const training_loop *loop)
{
    const int64_t step = loop->checkpoint.step;
    return step == loop->opt->schedule.steps ||
           (loop->opt->log_steps > 0 && step % loop->opt->log_steps == 0);
}

// The error on validation clips, if it is due at this line; NaN if not. The best weights are kept
// beside the last ones. Only rank 0 has a run.
static plumb_status validate(double *loss, training_loop *loop)
{
    const trainer_options *opt = loop->opt;
    const int64_t step = loop->checkpoint.step, every = opt->validation_steps,
                  before = step - (opt->log_steps > 0 ? opt->log_steps : 0);
    *loss = (double)NAN;
    if (!loop->run || !opt->validate || every < 1) return PLUMB_OK;
    // At the first line of each interval, and at the end.
    if (step != opt->schedule.steps && step / every == (before < 0 ? 0 : before) / every)
        return PLUMB_OK;
    plumb_status st = opt->validate(opt->validate_context, loss);
    // Other ranks do not wait for a rank that stops here.
    if (st == PLUMB_ESTOPPED && loop->reduce.ranks > 1) st = PLUMB_OK;
    if (st || !(*loss < loop->best_validation)) return st;
    loop->best_validation = *loss;
    loop->best_step = step;
    return checkpoint_save_best(loop->run, loop->model, step, *loss);
}

// A line every log steps and at the end; it has the mean of the steps since the last one.
static plumb_status write_line(training_loop *loop)
{
    if (!is_line_due(loop)) return PLUMB_OK;
    double validation;
    const plumb_status st = validate(&validation, loop);
    if (st) return st;
    for (int64_t i = 0; i < loop->model->term_count; i++) {
        // The sum starts again, and the line is kept: it is the loss until the next step.
        loop->checkpoint.line[i] = loop->checkpoint.sum[i] / (double)loop->checkpoint.summed;
        loop->checkpoint.sum[i] = 0.0;
    }
    loop->checkpoint.summed = 0;
    if (!loop->run) return PLUMB_OK;
    return run_log_write(&loop->run->log, loop->model,
                         &(run_log_line){.step = loop->checkpoint.step,
                                         .terms = loop->checkpoint.line,
                                         .rate = loop->rate,
                                         .validation = validation,
                                         .seconds = total_seconds(loop)});
}

// Does nothing on ranks without a run, or if this step is saved already.
static plumb_status save_checkpoint(training_loop *loop)
{
    if (!loop->run || loop->run->saved_step == loop->checkpoint.step) return PLUMB_OK;
    const plumb_status st = checkpoint_save(loop->run, loop->model, &loop->checkpoint);
    loop->saved_at = clock_now();
    return st;
}

// By steps or by time.
static bool is_time_to_save(const training_loop *loop)
{
    const trainer_options *o = loop->opt;
    return (o->checkpoint_steps > 0 && loop->checkpoint.step % o->checkpoint_steps == 0) ||
           (o->checkpoint_seconds > 0.0 && clock_now() - loop->saved_at >= o->checkpoint_seconds);
}

// The time left is by the pace of this call, and at most the time limit.
static void report_progress(const training_loop *loop)
{
    if (!loop->opt->report) return;
    const double elapsed = clock_now() - loop->started;
    const double done = (double)(loop->checkpoint.step - loop->first_step);
    trainer_progress r = {.step = loop->checkpoint.step,
                          .steps = loop->opt->schedule.steps,
                          .loss = mean_loss(loop),
                          .steps_per_second = elapsed > 0.0 ? done / elapsed : 0.0,
                          .seconds = elapsed};
    r.seconds_left =
        r.steps_per_second > 0.0 ? (double)(r.steps - r.step) / r.steps_per_second : 0.0;
    if (loop->opt->seconds > 0.0 && r.seconds_left > loop->opt->seconds - elapsed)
        r.seconds_left = loop->opt->seconds - elapsed;
    loop->opt->report(loop->opt->context, &r);
}

// Saves and returns PLUMB_ESTOPPED. `why` is "" or the reason.
static plumb_status stop_run(training_loop *loop, const char *why)
{
    char before[300] = "";
    if (why[0]) snprintf(before, sizeof before, "%.280s: ", why);
    const plumb_status st = save_checkpoint(loop);
    if (st) return st;
    if (!loop->run)
        return fail(
            PLUMB_ESTOPPED, "%sstopped at step %lld%s", before, (long long)loop->checkpoint.step,
            loop->reduce.ranks > 1 ? "; the option resume continues from the last checkpoint" : "");
    return fail(PLUMB_ESTOPPED,
                "%sstopped at step %lld, which is saved; the option resume continues from there",
                before, (long long)loop->checkpoint.step);
}

enum { CONTINUE, TIME_IS_UP, STOP, FAILED };

// What all ranks do next: the largest action of any rank. Rank 0 decides whether time is up.
static plumb_status agree_on_next(int *out, training_loop *loop, plumb_status st)
{
    const bool late = !loop->reduce.rank && loop->opt->seconds > 0.0 &&
                      clock_now() - loop->started >= loop->opt->seconds;
    const int32_t mine = st ? FAILED : status_stopped() ? STOP : late ? TIME_IS_UP : CONTINUE;
    const plumb_status met = comm_all_gather(loop->actions, &mine, sizeof mine);
    *out = CONTINUE;
    for (int k = 0; k < loop->reduce.ranks && !met; k++)
        *out = loop->actions[k] > *out ? loop->actions[k] : *out;
    return met ? met : *out == FAILED ? comm_all_ok(st) : PLUMB_OK;
}

// The loop: agree, step, log, report, save.
static plumb_status run_loop(training_loop *loop)
{
    plumb_status st = save_checkpoint(loop); // a run can be resumed from step 0 on
    // A run that was stopped while it validated has no line of that step yet.
    if (!st && loop->checkpoint.summed && is_line_due(loop)) {
        loop->rate = choose_rate(loop, loop->checkpoint.step - 1);
        st = write_line(loop);
    }
    for (int next;;) {
        st = agree_on_next(&next, loop, st);
        if (!st && next == STOP) return stop_run(loop, "");
        if (!st && (next == TIME_IS_UP || loop->checkpoint.step >= loop->opt->schedule.steps))
            break;
        if (!st) st = run_step(loop);
        if (st == PLUMB_ESTOPPED) // stopped within a step, or a rank is gone
            return stop_run(loop, loop->reduce.ranks > 1 ? plumb_last_error() : "");
        if (st) return st;
        st = write_line(loop);
        if (st == PLUMB_ESTOPPED && loop->reduce.ranks == 1) return stop_run(loop, "");
        if (!st) report_progress(loop);
        if (!st && is_time_to_save(loop)) st = save_checkpoint(loop);
    }
    st = comm_all_ok(save_checkpoint(loop));
    return st;
}

// ---- start and end ----

static plumb_status alloc_buffers(training_loop *loop)
{
    trainable_model *model = loop->model;
    // Blocks are multiples of 64 bytes apart.
    loop->stride = (model->parameter_count + 15) / 16 * 16;
    loop->chunks = (model->parameter_count + GRADIENT_CHUNK - 1) / GRADIENT_CHUNK;
    plumb_status st = all_reduce_init(&loop->reduce, &loop->mem, model->replicas,
                                      model->parameter_count, GRADIENT_CHUNK, loop->stride);
    if (st) return st;
    // Ranks exchange messages of one size, that of the rank with the most replicas.
    const int64_t most = (model->replicas + loop->reduce.ranks - 1) / loop->reduce.ranks;
    loop->report_size = 1 + most * model->term_count;
    loop->report = ARENA_ALLOC(&loop->mem, double, loop->report_size);
    loop->reports = ARENA_ALLOC(&loop->mem, double, loop->report_size * loop->reduce.ranks);
    loop->actions = ARENA_ALLOC(&loop->mem, int32_t, loop->reduce.ranks);
    loop->gradient = ARENA_ALLOC(&loop->mem, float, loop->stride * loop->reduce.count);
    loop->terms = ARENA_ALLOC(&loop->mem, double, model->replicas * model->term_count);
    loop->squares = ARENA_ALLOC(&loop->mem, double, loop->chunks);
    loop->checkpoint.first_moment = ARENA_ALLOC(&loop->mem, float, model->parameter_count);
    loop->checkpoint.second_moment = ARENA_ALLOC(&loop->mem, float, model->parameter_count);
    loop->checkpoint.sum = ARENA_ALLOC(&loop->mem, double, model->term_count);
    loop->checkpoint.line = ARENA_ALLOC(&loop->mem, double, model->term_count);
    if (!loop->gradient || !loop->terms || !loop->squares || !loop->checkpoint.first_moment ||
        !loop->checkpoint.second_moment || !loop->checkpoint.sum || !loop->checkpoint.line ||
        !loop->report || !loop->reports || !loop->actions)
        return PLUMB_EMEMORY;
    return PLUMB_OK;
}

// Sends what rank 0 read from disk to all ranks.
static plumb_status broadcast_state(training_loop *loop)
{
    trainable_model *model = loop->model;
    const size_t floats = (size_t)model->parameter_count * sizeof(float),
                 terms = (size_t)model->term_count * sizeof(double);
    int64_t counts[2] = {loop->checkpoint.step, loop->checkpoint.summed};
    // In the order of the checkpoint: parameters, moments, state, sums, counts.
    plumb_status st = comm_broadcast(model->parameters, floats);
    if (!st) st = comm_broadcast(loop->checkpoint.first_moment, floats);
    if (!st) st = comm_broadcast(loop->checkpoint.second_moment, floats);
    if (!st) st = comm_broadcast(model->state, (size_t)model->state_count * sizeof(double));
    if (!st) st = comm_broadcast(loop->checkpoint.sum, terms);
    if (!st) st = comm_broadcast(loop->checkpoint.line, terms);
    if (!st) st = comm_broadcast(counts, sizeof counts);
    loop->checkpoint.step = counts[0];
    loop->checkpoint.summed = counts[1];
    return st;
}

// Threads of this rank: its own cores if it is bound to some, else its share of the machine.
static int thread_count(const training_loop *loop)
{
    if (loop->opt->threads > 0) return loop->opt->threads;
    // Fewer threads than the machine has cores: the process is bound to some of them.
    const int all = parallel_threads(), local = comm_local_size();
    if (local < 2 || all < sysconf(_SC_NPROCESSORS_ONLN)) return all;
    return all / local > 1 ? all / local : 1;
}

// Rank 0 reads the checkpoint and opens the log; all ranks get the state, then start threads.
static plumb_status start_workers(training_loop *loop)
{
    trainable_model *model = loop->model;
    bool exists = false;
    plumb_status st =
        loop->run ? checkpoint_load(&exists, loop->run, model, &loop->checkpoint) : PLUMB_OK;
    if (!st && loop->run)
        st = run_log_open(&loop->run->log, loop->run->path, loop->checkpoint.step);
    loop->best_validation = (double)INFINITY;
    if (!st && loop->run && exists)
        loop->best_validation = checkpoint_find_best(&loop->best_step, loop->run, model);
    st = comm_all_ok(st);
    if (!st) st = broadcast_state(loop);
    if (!st) st = thread_team_create(&loop->team, thread_count(loop));
    if (!st && model->init_replica)
        st = thread_team_run(loop->team, init_replicas, loop, replica_shares(loop));
    return comm_all_ok(st);
}

plumb_status trainer_run(trainer_result *out, trainable_model *model, run_dir *run,
                         const trainer_options *opt)
{
    training_loop loop = {.model = model, .run = run, .opt = opt};
    plumb_status st = comm_all_ok(alloc_buffers(&loop));
    if (!st) st = start_workers(&loop);
    loop.started = loop.saved_at = clock_now();
    loop.first_step = loop.checkpoint.step;
    if (!st) st = run_loop(&loop);
    if (!st)
        *out = (trainer_result){
            .step = loop.checkpoint.step,
            .finished = loop.checkpoint.step >= opt->schedule.steps,
            .loss = loop.checkpoint.step ? mean_loss(&loop) : (double)NAN,
            .seconds = total_seconds(&loop),
            .seconds_here = clock_now() - loop.started,
            .first_step = loop.first_step,
            .best_validation = isfinite(loop.best_validation) ? loop.best_validation : (double)NAN,
            .best_step = loop.best_step};
    thread_team_free(loop.team);
    arena_clear(&loop.mem);
    return st;
}
