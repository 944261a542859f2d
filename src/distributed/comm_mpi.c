// SPDX-License-Identifier: MIT
// Messages by Open MPI. The library is loaded with dlopen, and only if mpirun started several
// processes, so neither the library nor a normal start of the program depends on it. The handles of
// Open MPI are addresses of symbols, which dlsym finds.
//
// If a rank dies, mpirun sends SIGTERM to the others and, a second later, SIGKILL. A rank that
// blocks inside MPI would have no time to save. So every wait polls, and ends soon after a stop was
// requested or a rank on the same machine is gone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "distributed/comm.h"

#ifndef OPEN_MPI
#error "only Open MPI is known here: build with -DPLUMB_MPI=OFF"
#endif

enum { MAX_RANKS = 4096, TAG = 7 };
static const double stop_timeout = 0.25; // seconds to wait for other ranks after a stop request

// Where a rank runs.
typedef struct rank_place {
    char host[64];
    int64_t pid;
} rank_place;

// The functions and handles of Open MPI, filled by load_library().
static struct {
    void *handle;
    MPI_Comm world;
    MPI_Datatype byte, real;
    int (*initialized)(int *);
    int (*init)(int *, char ***, int, int *);
    int (*finalize)(void);
    int (*comm_rank)(MPI_Comm, int *);
    int (*comm_size)(MPI_Comm, int *);
    int (*test)(MPI_Request *, int *, MPI_Status *);
    int (*allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                     MPI_Request *);
    int (*allgatherv)(const void *, int, MPI_Datatype, void *, const int *, const int *,
                      MPI_Datatype, MPI_Comm, MPI_Request *);
    int (*alltoallv)(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                     const int *, MPI_Datatype, MPI_Comm, MPI_Request *);
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*probe)(int, int, MPI_Comm, int *, MPI_Status *);
    int (*receive)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*handler)(MPI_Comm, MPI_Errhandler);
} mpi;

// This process among the others. Without mpirun it is rank 0 of 1.
static struct {
    int rank, size, local;
    bool finalize_at_end; // MPI was initialised here
    bool broken;          // a rank is gone: no more messages
    rank_place *places;
} job = {0, 1, 1, false, false, NULL};

bool comm_available(void)
{
    return true;
}

int comm_rank(void)
{
    return job.rank;
}

int comm_size(void)
{
    return job.size;
}

int comm_local_size(void)
{
    return job.local;
}

// ---- start and end ----

// Loads Open MPI and finds all functions that are used.
static bool load_library(void)
{
    static const struct {
        const char *name;
        void **target;
    } rows[] = {
        {"ompi_mpi_comm_world", (void **)&mpi.world},
        {"ompi_mpi_byte", (void **)&mpi.byte},
        {"ompi_mpi_float", (void **)&mpi.real},
        {"MPI_Initialized", (void **)&mpi.initialized},
        {"MPI_Init_thread", (void **)&mpi.init},
        {"MPI_Finalize", (void **)&mpi.finalize},
        {"MPI_Comm_rank", (void **)&mpi.comm_rank},
        {"MPI_Comm_size", (void **)&mpi.comm_size},
        {"MPI_Test", (void **)&mpi.test},
        {"MPI_Iallgather", (void **)&mpi.allgather},
        {"MPI_Iallgatherv", (void **)&mpi.allgatherv},
        {"MPI_Ialltoallv", (void **)&mpi.alltoallv},
        {"MPI_Ibcast", (void **)&mpi.bcast},
        {"MPI_Send", (void **)&mpi.send},
        {"MPI_Iprobe", (void **)&mpi.probe},
        {"MPI_Recv", (void **)&mpi.receive},
        {"MPI_Comm_set_errhandler", (void **)&mpi.handler},
    };
    if (mpi.handle) return true;
    // Global: the plug-ins of Open MPI look for its symbols there.
    mpi.handle = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    if (!mpi.handle) mpi.handle = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    bool complete = mpi.handle;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && complete; i++)
        complete = (*rows[i].target = dlsym(mpi.handle, rows[i].name));
    return complete;
}

// True if mpirun, or srun with PMIx, started several processes.
static bool is_one_of_several(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    if (!size && getenv("PMIX_RANK")) size = getenv("SLURM_NTASKS");
    return size && strtol(size, NULL, 10) > 1;
}

// Exchanges host and process id of all ranks, to find ranks on the same machine and dead ranks.
static plumb_status exchange_places(void)
{
    rank_place mine = {.pid = getpid()};
    gethostname(mine.host, sizeof mine.host - 1);
    job.places = calloc((size_t)job.size, sizeof *job.places);
    if (!job.places) return fail(PLUMB_EMEMORY, "out of memory for %d ranks", job.size);
    const plumb_status st = comm_all_gather(job.places, &mine, sizeof mine);
    job.local = 0;
    for (int i = 0; i < job.size && !st; i++) job.local += !strcmp(job.places[i].host, mine.host);
    return st;
}

plumb_status comm_init(void)
{
    if (!is_one_of_several() || job.size > 1) return PLUMB_OK;
    int given, started = 0, rank = 0, size = 1;
    if (!load_library())
        return fail(PLUMB_EMISSING,
                    "mpirun started several ranks, but Open MPI cannot be loaded: %s",
                    mpi.handle ? "the library is not Open MPI" : "install openmpi-bin");
    bool good = !mpi.initialized(&started);
    if (good && !started) good = !mpi.init(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    if (good) good = !mpi.comm_rank(mpi.world, &rank) && !mpi.comm_size(mpi.world, &size);
    // Errors are returned as codes; by default MPI would end the program.
    void *quiet = dlsym(mpi.handle, "ompi_mpi_errors_return");
    if (good && quiet) mpi.handler(mpi.world, (MPI_Errhandler)quiet);
    if (!good || size > MAX_RANKS)
        return fail(PLUMB_EMISSING, "MPI cannot be initialised, or has more than %d ranks",
                    MAX_RANKS);
    job.finalize_at_end = !started;
    job.rank = rank;
    job.size = size;
    return size > 1 ? exchange_places() : PLUMB_OK;
}

void comm_finalize(bool failed)
{
    // If a rank is missing, MPI_Finalize would wait forever.
    if (job.size > 1 && (job.broken || failed)) {
        fflush(NULL);
        if (failed && !job.broken) _exit(1); // mpirun ends the others
        // mpirun is ending, and may lose output that it has not passed on yet.
        nanosleep(&(struct timespec){0, 300000000}, NULL);
    } else if (job.finalize_at_end) mpi.finalize();
    comm_detach();
}

void comm_detach(void)
{
    free(job.places);
    job.places = NULL;
    job.rank = 0;
    job.size = job.local = 1;
    job.finalize_at_end = false;
}

// ---- waiting ----

// True if a rank on this machine has ended.
static bool is_gone(int rank)
{
    return !strcmp(job.places[rank].host, job.places[job.rank].host) &&
           kill((pid_t)job.places[rank].pid, 0) && errno == ESRCH;
}

// The first rank that is gone, or -1.
static int find_lost_rank(void)
{
    for (int i = 0; i < job.size && job.places; i++)
        if (i != job.rank && is_gone(i)) return i;
    return -1;
}

// No more messages. The message names the lost rank, or says that the others do not answer.
static plumb_status give_up(int lost)
{
    job.broken = true;
    if (lost < 0) return fail(PLUMB_ESTOPPED, "the other ranks do not answer");
    int first_alive = 0; // the first rank that is left prints the message
    while (first_alive < job.rank && is_gone(first_alive)) first_alive++;
    if (first_alive == job.rank) job.rank = 0;
    return fail(PLUMB_ESTOPPED, "rank %d is gone", lost);
}

// Waits for a request by polling. With more ranks than cores it yields, which may take long, so the
// limits are in seconds, not in polls.
static plumb_status wait_for_request(int code, MPI_Request *request)
{
    const double started = clock_now();
    double asked = 0.0, looked = started;
    int done = 0;
    while (!code && !done) {
        code = mpi.test(request, &done, MPI_STATUS_IGNORE);
        const double now = clock_now();
        // The first tenth of a millisecond only polls, since most waits are short.
        if (done || now - started < 1e-4) continue;
        sched_yield();
        // Lost ranks are looked for 50 times a second.
        if (now - looked > 0.02) {
            const int lost = find_lost_rank();
            looked = now;
            if (lost >= 0) return give_up(lost);
        }
        if (!status_stopped()) continue;
        if (asked == 0.0) asked = now;
        if (now - asked > stop_timeout) return give_up(-1);
    }
    return code ? fail(PLUMB_EFILE, "MPI failed with code %d", code) : PLUMB_OK;
}

// ---- calls of all ranks together ----

plumb_status comm_all_gather(void *all, const void *mine, size_t bytes)
{
    if (job.size == 1) {
        memmove(all, mine, bytes);
        return PLUMB_OK;
    }
    MPI_Request request;
    return wait_for_request(
        mpi.allgather(mine, (int)bytes, mpi.byte, all, (int)bytes, mpi.byte, mpi.world, &request),
        &request);
}

plumb_status comm_broadcast(void *data, size_t bytes)
{
    // Counts of MPI are int, so large data are sent in parts of 256 MiB.
    const size_t max_bytes = (size_t)1 << 28;
    plumb_status st = PLUMB_OK;
    for (size_t at = 0; job.size > 1 && at < bytes && !st; at += max_bytes) {
        MPI_Request request;
        const size_t part = bytes - at < max_bytes ? bytes - at : max_bytes;
        st = wait_for_request(
            mpi.bcast((char *)data + at, (int)part, mpi.byte, 0, mpi.world, &request), &request);
    }
    return st;
}

plumb_status comm_all_to_all(float *into, const int *receive, const int *receive_at,
                             const float *data, const int *send, const int *send_at)
{
    MPI_Request request;
    return wait_for_request(mpi.alltoallv(data, send, send_at, mpi.real, into, receive, receive_at,
                                          mpi.real, mpi.world, &request),
                            &request);
}

plumb_status comm_all_gather_slices(float *data, const int *count, const int *at)
{
    MPI_Request request;
    return wait_for_request(
        mpi.allgatherv(MPI_IN_PLACE, 0, mpi.real, data, count, at, mpi.real, mpi.world, &request),
        &request);
}

plumb_status comm_all_ok(plumb_status st)
{
    typedef struct word {
        int32_t st;
        char why[508];
    } word;
    if (job.size == 1 || job.broken) return st;
    int32_t mine = (int32_t)st, *all = calloc((size_t)job.size, sizeof *all);
    word answer = {.st = mine}, *answers = NULL;
    if (st) snprintf(answer.why, sizeof answer.why, "%.500s", plumb_last_error());
    if (!all) return fail(PLUMB_EMEMORY, "out of memory for a message");
    // First the codes alone. Messages are exchanged only if a rank has failed.
    plumb_status result = comm_all_gather(all, &mine, sizeof mine);
    bool bad = false;
    for (int i = 0; i < job.size && !result; i++) bad = bad || all[i];
    if (!result && bad) {
        answers = calloc((size_t)job.size, sizeof *answers);
        result = answers ? comm_all_gather(answers, &answer, sizeof answer)
                         : fail(PLUMB_EMEMORY, "out of memory for a message");
        for (int i = 0; i < job.size && !result; i++)
            if (answers[i].st) {
                result = i == job.rank ? fail(st, "%s", answer.why)
                                       : fail((plumb_status)answers[i].st, "%s", answers[i].why);
                break;
            }
    }
    free(answers);
    free(all);
    return result;
}

// ---- messages between two ranks ----

plumb_status comm_send(int to, const void *data, size_t bytes)
{
    const int code = mpi.send(data, (int)bytes, mpi.byte, to, TAG, mpi.world);
    return code ? fail(PLUMB_EFILE, "MPI failed with code %d", code) : PLUMB_OK;
}

plumb_status comm_try_receive(int *from, void *data, size_t bytes)
{
    int arrived = 0;
    *from = -1;
    if (job.size == 1) return PLUMB_OK;
    if (status_stopped()) {
        const int lost = find_lost_rank();
        if (lost >= 0) return give_up(lost);
    }
    MPI_Status status;
    int code = mpi.probe(MPI_ANY_SOURCE, TAG, mpi.world, &arrived, &status);
    if (!code && arrived) {
        code = mpi.receive(data, (int)bytes, mpi.byte, status.MPI_SOURCE, TAG, mpi.world,
                           MPI_STATUS_IGNORE);
        *from = status.MPI_SOURCE;
    }
    return code ? fail(PLUMB_EFILE, "MPI failed with code %d", code) : PLUMB_OK;
}
