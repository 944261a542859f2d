// SPDX-License-Identifier: MIT
// The door to MPI: Open MPI, loaded when mpirun started us with others, and only then; so neither
// the library nor a plain start of the program depends on it. Its handles are addresses of symbols,
// which dlsym finds.
//
// A rank that dies makes mpirun end the others by SIGTERM and, a second later, SIGKILL. Whoever
// waits for it must not wait inside MPI until then: so waiting is asking, and once somebody has
// asked us to stop it ends soon, and there is time to save.
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

enum { MOST_RANKS = 4096, TAG = 7 };
static const double patience = 0.25; // seconds, once we are asked to stop

typedef struct rank_place {
    char host[64];
    int64_t pid;
} rank_place;

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

static struct {
    int rank, size, local;
    bool ours;   // we began it, so we end it
    bool broken; // a rank is gone: no more messages
    rank_place *place;
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

// ---- beginning and end ----

static bool load(void)
{
    static const struct {
        const char *name;
        void **place;
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
    // Its own plug-ins look for its symbols among those of everybody.
    mpi.handle = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    if (!mpi.handle) mpi.handle = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    bool whole = mpi.handle;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && whole; i++)
        whole = (*rows[i].place = dlsym(mpi.handle, rows[i].name));
    return whole;
}

// Were we started together with others? mpirun says so, and so does srun with PMIx.
static bool has_company(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    if (!size && getenv("PMIX_RANK")) size = getenv("SLURM_NTASKS");
    return size && strtol(size, NULL, 10) > 1;
}

static plumb_status meet(void)
{
    rank_place mine = {.pid = getpid()};
    gethostname(mine.host, sizeof mine.host - 1);
    job.place = calloc((size_t)job.size, sizeof *job.place);
    if (!job.place) return fail(PLUMB_EMEMORY, "no memory for %d ranks", job.size);
    const plumb_status st = comm_all_gather(job.place, &mine, sizeof mine);
    job.local = 0;
    for (int i = 0; i < job.size && !st; i++) job.local += !strcmp(job.place[i].host, mine.host);
    return st;
}

plumb_status comm_init(void)
{
    if (!has_company() || job.size > 1) return PLUMB_OK;
    int given, begun = 0, rank = 0, size = 1;
    if (!load())
        return fail(PLUMB_EMISSING,
                    "mpirun started several ranks, and Open MPI cannot be loaded: %s",
                    mpi.handle ? "it is of another kind" : "install openmpi-bin");
    bool well = !mpi.initialized(&begun);
    if (well && !begun) well = !mpi.init(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    if (well) well = !mpi.comm_rank(mpi.world, &rank) && !mpi.comm_size(mpi.world, &size);
    void *quiet = dlsym(mpi.handle, "ompi_mpi_errors_return");
    if (well && quiet) mpi.handler(mpi.world, (MPI_Errhandler)quiet);
    if (!well || size > MOST_RANKS)
        return fail(PLUMB_EMISSING, "MPI cannot be begun, or has more than %d ranks", MOST_RANKS);
    job.ours = !begun;
    job.rank = rank;
    job.size = size;
    return size > 1 ? meet() : PLUMB_OK;
}

void comm_finalize(bool failed)
{
    // Without a rank, or with one that failed alone, the end of MPI would wait for ever.
    if (job.size > 1 && (job.broken || failed)) {
        fflush(NULL);
        if (failed && !job.broken) _exit(1); // mpirun ends the others
        // mpirun is about to go, and may drop what it has not passed on of our last words.
        nanosleep(&(struct timespec){0, 300000000}, NULL);
    } else if (job.ours) mpi.finalize();
    comm_detach();
}

void comm_detach(void)
{
    free(job.place);
    job.place = NULL;
    job.rank = 0;
    job.size = job.local = 1;
    job.ours = false;
}

// ---- waiting ----

static bool is_gone(int rank)
{
    return !strcmp(job.place[rank].host, job.place[job.rank].host) &&
           kill((pid_t)job.place[rank].pid, 0) && errno == ESRCH;
}

// The first that is gone, or -1.
static int lost_rank(void)
{
    for (int i = 0; i < job.size && job.place; i++)
        if (i != job.rank && is_gone(i)) return i;
    return -1;
}

static plumb_status give_up(int lost)
{
    job.broken = true;
    if (lost < 0) return fail(PLUMB_ESTOPPED, "the other ranks do not answer");
    int speaker = 0; // somebody has to say it: the first that is left
    while (speaker < job.rank && is_gone(speaker)) speaker++;
    if (speaker == job.rank) job.rank = 0;
    return fail(PLUMB_ESTOPPED, "rank %d is gone", lost);
}

// Asking yields where ranks are more than cores, and may then take long: what counts is the clock.
static plumb_status wait_for(int code, MPI_Request *request)
{
    const double begun = clock_now();
    double asked = 0.0, looked = begun;
    int done = 0;
    while (!code && !done) {
        code = mpi.test(request, &done, MPI_STATUS_IGNORE);
        const double now = clock_now();
        if (done || now - begun < 1e-4) continue;
        sched_yield();
        if (now - looked > 0.02) {
            const int lost = lost_rank();
            looked = now;
            if (lost >= 0) return give_up(lost);
        }
        if (!status_stopped()) continue;
        if (asked == 0.0) asked = now;
        if (now - asked > patience) return give_up(-1);
    }
    return code ? fail(PLUMB_EFILE, "MPI failed with code %d", code) : PLUMB_OK;
}

// ---- together ----

plumb_status comm_all_gather(void *all, const void *mine, size_t bytes)
{
    if (job.size == 1) {
        memmove(all, mine, bytes);
        return PLUMB_OK;
    }
    MPI_Request request;
    return wait_for(
        mpi.allgather(mine, (int)bytes, mpi.byte, all, (int)bytes, mpi.byte, mpi.world, &request),
        &request);
}

plumb_status comm_broadcast(void *data, size_t bytes)
{
    const size_t most = (size_t)1 << 28;
    plumb_status st = PLUMB_OK;
    for (size_t at = 0; job.size > 1 && at < bytes && !st; at += most) {
        MPI_Request request;
        const size_t part = bytes - at < most ? bytes - at : most;
        st = wait_for(mpi.bcast((char *)data + at, (int)part, mpi.byte, 0, mpi.world, &request),
                      &request);
    }
    return st;
}

plumb_status comm_all_to_all(float *into, const int *take, const int *take_at, const float *data,
                             const int *give, const int *give_at)
{
    MPI_Request request;
    return wait_for(mpi.alltoallv(data, give, give_at, mpi.real, into, take, take_at, mpi.real,
                                  mpi.world, &request),
                    &request);
}

plumb_status comm_all_gather_slices(float *data, const int *count, const int *at)
{
    MPI_Request request;
    return wait_for(
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
    word say = {.st = mine}, *said = NULL;
    if (st) snprintf(say.why, sizeof say.why, "%.500s", plumb_last_error());
    if (!all) return fail(PLUMB_EMEMORY, "no memory for a message");
    plumb_status met = comm_all_gather(all, &mine, sizeof mine);
    bool bad = false;
    for (int i = 0; i < job.size && !met; i++) bad = bad || all[i];
    if (!met && bad) {
        said = calloc((size_t)job.size, sizeof *said);
        met = said ? comm_all_gather(said, &say, sizeof say)
                   : fail(PLUMB_EMEMORY, "no memory for a message");
        for (int i = 0; i < job.size && !met; i++)
            if (said[i].st) {
                met = i == job.rank ? fail(st, "%s", say.why)
                                    : fail((plumb_status)said[i].st, "%s", said[i].why);
                break;
            }
    }
    free(said);
    free(all);
    return met;
}

// ---- one to one ----

plumb_status comm_send(int to, const void *data, size_t bytes)
{
    const int code = mpi.send(data, (int)bytes, mpi.byte, to, TAG, mpi.world);
    return code ? fail(PLUMB_EFILE, "MPI failed with code %d", code) : PLUMB_OK;
}

plumb_status comm_try_receive(int *from, void *data, size_t bytes)
{
    int there = 0;
    *from = -1;
    if (job.size == 1) return PLUMB_OK;
    if (status_stopped()) {
        const int lost = lost_rank();
        if (lost >= 0) return give_up(lost);
    }
    MPI_Status status;
    int code = mpi.probe(MPI_ANY_SOURCE, TAG, mpi.world, &there, &status);
    if (!code && there) {
        code = mpi.receive(data, (int)bytes, mpi.byte, status.MPI_SOURCE, TAG, mpi.world,
                           MPI_STATUS_IGNORE);
        *from = status.MPI_SOURCE;
    }
    return code ? fail(PLUMB_EFILE, "MPI failed with code %d", code) : PLUMB_OK;
}
