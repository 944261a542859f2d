// SPDX-License-Identifier: MIT
// Simulates items of a world into a file. The fields are listed once; the memory of each item in
// flight is bound to the members of plumb_world_item by their offsets.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/cost.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/item_pipeline.h"
#include "dataset/options.h"
#include "plumb/dataset.h"
#include "worlds/loop.h"

enum {
    DEFAULT_STEPS = 256,
    DEFAULT_LOOP_STATES = 64,
    MIN_LOOP_STATES = 8,
    TRAJECTORIES_PER_THREAD = 4, // items in flight
    ROOMS_PER_THREAD = 16,       // more, because the time per item varies more
    MAX_IN_FLIGHT_BYTES = 1 << 26,
    CONCEPT_LETTERS = 32,
};

// Offset of a field that is no member of plumb_world_item.
static const size_t no_member = SIZE_MAX;

// Memory of one item in flight.
typedef struct simulated_item {
    plumb_world_item arrays;
    int64_t *integers; // parameters that are integers, converted
    int64_t loop;      // its number
} simulated_item;

typedef struct simulate_job {
    const plumb_world *world;
    const plumb_world_info *info;
    plumb_world_options options;
    int64_t steps, first;
    uint64_t seed;
    int64_t loop_states; // trajectories of each loop; 0: no loops
    world_loop *loops;
    int64_t loop_field; // index of the field "loop"
    double dt;          // time between frames
    char concept_name[CONCEPT_LETTERS];
    size_t member[ITEM_PIPELINE_MAX_FIELDS]; // offset of each field in plumb_world_item
    int64_t first_parameter;                 // index of the field of the first parameter
    int64_t concept_field;                   // probes: index of the field "concept"
    item_pipeline pipeline;
    simulated_item *items;
} simulate_job;

// ---- fields ----

static void add_field(simulate_job *job, const char *name, size_t member, plumb_dtype dtype,
                      int ndim, const int64_t *shape)
{
    job->member[job->pipeline.field_count] = member;
    item_pipeline_add_field(&job->pipeline, name, dtype, ndim, shape);
}

#define MEMBER(name) offsetof(plumb_world_item, name)

// Colours and offsets have an axis even if it has length one, as in [Botev21].
static bool has_axis(const plumb_world_parameter *parameter)
{
    return parameter->count > 1 || !strcmp(parameter->name, "color_index") ||
           !strcmp(parameter->name, "offset");
}

// The arrays of a trajectory, then one field per parameter.
static plumb_status list_trajectory_fields(simulate_job *job, bool published)
{
    const plumb_world_info *info = job->info;
    const int64_t t = job->steps, image = job->options.image;
    if (info->parameter_count > ITEM_PIPELINE_MAX_FIELDS - 16)
        return fail(PLUMB_EVALUE, "%s has too many parameters", info->name);
    // Shapes per item; t frames, n degrees of freedom.
    add_field(job, "frames", MEMBER(frames), PLUMB_UINT8, 4,
              (int64_t[]){t, image, image, info->channels});
    add_field(job, "state", MEMBER(state), PLUMB_FLOAT64, 2, (int64_t[]){t, 2 * info->n});
    add_field(job, "derivative", MEMBER(derivative), PLUMB_FLOAT64, 2, (int64_t[]){t, 2 * info->n});
    add_field(job, "canonical", MEMBER(canonical), PLUMB_FLOAT64, 2,
              (int64_t[]){t, 2 * info->canonical_n});
    add_field(job, "energy", MEMBER(energy), PLUMB_FLOAT64, 1, &t);
    add_field(job, "time", MEMBER(time), PLUMB_FLOAT64, 1, &t);
    if (info->actions)
        add_field(job, "action", MEMBER(action), PLUMB_FLOAT64, 2, (int64_t[]){t, info->actions});
    job->loop_field = job->pipeline.field_count;
    if (job->loop_states) add_field(job, "loop", no_member, PLUMB_INT64, 0, NULL);
    job->first_parameter = job->pipeline.field_count;
    for (int64_t i = 0; i < info->parameter_count; i++) {
        const plumb_world_parameter *parameter = &info->parameters[i];
        int64_t count = parameter->count;
        // mass-spring without colours has one offset, 0, in [Botev21]; all others have two.
        if (published && !strcmp(info->name, "mass-spring") && !strcmp(parameter->name, "offset"))
            count = 1;
        add_field(job, parameter->name, no_member, parameter->integer ? PLUMB_INT64 : PLUMB_FLOAT64,
                  has_axis(parameter), &count);
    }
    return PLUMB_OK;
}

// A free scene is one clip and has no axis of clips.
static void list_room_fields(simulate_job *job)
{
    const plumb_world_info *info = job->info;
    const int skip = info->clips == 1;
    const int64_t clips = info->clips, n = job->options.image, t = job->steps;
    const int64_t cuts = PLUMB_ROOM_CUTS, events = PLUMB_ROOM_EVENTS, letters = CONCEPT_LETTERS;
    add_field(job, "frames", MEMBER(frames), PLUMB_UINT8, 5 - skip,
              (int64_t[]){clips, t, n, n, info->channels} + skip);
    add_field(job, "mask", MEMBER(mask), PLUMB_UINT8, 4 - skip, (int64_t[]){clips, t, n, n} + skip);
    add_field(job, "camera_pose", MEMBER(camera), PLUMB_FLOAT32, 3 - skip,
              (int64_t[]){clips, t, 6} + skip);
    add_field(job, "objects", MEMBER(objects), PLUMB_FLOAT64, 4 - skip,
              (int64_t[]){clips, t, PLUMB_ROOM_OBJECTS, PLUMB_ROOM_OBJECT_SIZE} + skip);
    if (info->kind == PLUMB_WORLD_PROBE) {
        add_field(job, "cut", MEMBER(cut), PLUMB_INT64, 1, &cuts);
        job->concept_field = job->pipeline.field_count;
        add_field(job, "concept", no_member, PLUMB_UINT8, 1, &letters);
        snprintf(job->concept_name, sizeof job->concept_name, "%s", info->concept_name);
    } else {
        add_field(job, "blocks", MEMBER(event_counts), PLUMB_UINT8, 1, &events);
    }
}

// ---- items in flight ----

// Points the fields of the parameters into the array of all parameters, or its integer copy.
static plumb_status bind_parameters(simulate_job *job, simulated_item *item, const void **data)
{
    const int64_t total = job->info->parameter_total;
    item->arrays.parameters = ARENA_ALLOC(&job->pipeline.mem, double, total);
    item->integers = ARENA_ALLOC(&job->pipeline.mem, int64_t, total);
    if (!item->arrays.parameters || !item->integers) return PLUMB_EMEMORY;
    int64_t at = 0;
    for (int64_t i = 0; i < job->info->parameter_count; i++) {
        const plumb_world_parameter *parameter = &job->info->parameters[i];
        data[job->first_parameter + i] = parameter->integer
                                             ? (const void *)(item->integers + at)
                                             : (const void *)(item->arrays.parameters + at);
        at += parameter->count;
    }
    return PLUMB_OK;
}

// Allocates the arrays of all items in flight.
static plumb_status bind_items(simulate_job *job)
{
    item_pipeline *pipeline = &job->pipeline;
    job->items = ARENA_ALLOC(&pipeline->mem, simulated_item, pipeline->item_capacity);
    if (!job->items) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < pipeline->item_capacity; k++) {
        simulated_item *item = &job->items[k];
        const void **data = pipeline->items[k].data;
        for (int64_t i = 0; i < pipeline->field_count; i++) {
            if (pipeline->field[i].shared || job->member[i] == no_member) continue;
            void *memory =
                arena_alloc(&pipeline->mem, (int64_t)writer_bytes(&pipeline->field[i]), 1);
            if (!memory) return PLUMB_EMEMORY;
            data[i] = memory;
            // Sets the member of plumb_world_item that has this offset.
            memcpy((char *)&item->arrays + job->member[i], &memory, sizeof memory);
        }
        if (job->info->kind == PLUMB_WORLD_PROBE) data[job->concept_field] = job->concept_name;
        if (job->info->kind != PLUMB_WORLD_TRAJECTORY) continue;
        if (job->loop_states) data[job->loop_field] = &item->loop;
        const plumb_status st = bind_parameters(job, item, data);
        if (st) return st;
    }
    return PLUMB_OK;
}

// A trajectory that starts on a loop.
static plumb_status make_loop_item(simulated_item *item, const simulate_job *job, int64_t number)
{
    item->loop = number / job->loop_states;
    const world_loop *loop = &job->loops[item->loop];
    arena mem = {0};
    double *state = ARENA_ALLOC(&mem, double, (2 * job->info->n));
    plumb_status st = state ? PLUMB_OK : PLUMB_EMEMORY;
    if (!st) {
        world_loop_state(state, loop, job->world, number % job->loop_states, job->loop_states);
        st = plumb_world_simulate_from(&item->arrays, job->world, state, loop->parameters,
                                       job->steps, &job->options);
    }
    item->loop += job->first;
    arena_clear(&mem);
    return st;
}

// Called on any thread.
static plumb_status make_item(void *context, int64_t place, int64_t number)
{
    const simulate_job *job = context;
    simulated_item *item = &job->items[place];
    const plumb_status st =
        job->loop_states ? make_loop_item(item, job, number)
                         : plumb_world_simulate(&item->arrays, job->world, job->seed,
                                                job->first + number, job->steps, &job->options);
    const int64_t total = job->info->parameter_total;
    for (int64_t i = 0; i < total && !st; i++)
        item->integers[i] = (int64_t)item->arrays.parameters[i];
    return st;
}

static plumb_status make_loops(simulate_job *job, int64_t loops)
{
    if (job->info->kind != PLUMB_WORLD_TRAJECTORY)
        return fail(PLUMB_EVALUE, "%s has no states, so it has no loops of states",
                    job->info->name);
    job->loops = ARENA_ALLOC(&job->pipeline.mem, world_loop, loops);
    if (!job->loops) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < loops && !st; i++) {
        st = world_loop_make(&job->loops[i], &job->pipeline.mem, job->world, job->seed,
                             job->first + i, job->loop_states);
        if (!st) st = status_check_stop();
    }
    return st;
}

// Several items per thread, so that no thread waits for the slowest; fewer if items are large.
static int64_t choose_capacity(const simulate_job *job, int threads)
{
    const bool trajectory = job->info->kind == PLUMB_WORLD_TRAJECTORY;
    const size_t bytes = item_pipeline_bytes(&job->pipeline);
    int64_t capacity = (int64_t)threads * (trajectory ? TRAJECTORIES_PER_THREAD : ROOMS_PER_THREAD);
    // Frames of large images: at most MAX_IN_FLIGHT_BYTES in memory.
    while (trajectory && capacity > threads && (size_t)capacity * bytes > MAX_IN_FLIGHT_BYTES)
        capacity--;
    return capacity;
}

// ---- cost ----

// Says how much will be written and, if it is long, the time, from that of one item.
static plumb_status log_cost(simulate_job *job, const char *path, int64_t count, int threads,
                             const plumb_dataset_write_options *write)
{
    char size[COST_TEXT];
    const double bytes = (double)count * (double)item_pipeline_bytes(&job->pipeline);
    const char *dot = strrchr(path, '.');
    // Frames in records are PNGs.
    const bool smaller = write->compress || (dot && strcmp(dot, ".npz") && strcmp(dot, ".h5"));
    status_log("%s: %s%s will be written", path, smaller ? "at most " : "", cost_size(size, bytes));
    if (count < 4 * threads) return PLUMB_OK;
    const double started = clock_now();
    const plumb_status st = make_item(job, 0, 0);
    const double one = clock_now() - started;
    cost_log(one * (double)count / (double)threads, 0.0);
    return st;
}

// ---- checks ----

// Checks count, steps and first.
static plumb_status check_job(const simulate_job *job, int64_t count)
{
    const plumb_world_info *info = job->info;
    if (job->first > ((int64_t)1 << 48) - count)
        return fail(PLUMB_EVALUE, "first is %lld; it must be 0 to 2^48 - count",
                    (long long)job->first);
    if (info->kind == PLUMB_WORLD_PROBE && !info->concept_name)
        return fail(PLUMB_EVALUE, "%s is for training; simulate the probes themselves", info->name);
    return PLUMB_OK;
}

// Simulates the start of the first item, so that options the world rejects fail before a file is
// started. The time of the second frame is the time between frames.
static plumb_status try_first_item(simulate_job *job)
{
    double time[2] = {0};
    plumb_world_options options = job->options;
    job->dt = job->info->dt;
    if (job->info->kind != PLUMB_WORLD_TRAJECTORY)
        return plumb_world_simulate(&(plumb_world_item){0}, job->world, job->seed, job->first,
                                    job->steps, &options);
    if (!options.reject_steps) options.reject_steps = 2; // any number is fine
    const plumb_status st = plumb_world_simulate(&(plumb_world_item){.time = time}, job->world,
                                                 job->seed, job->first, 2, &options);
    job->dt = time[1] - time[0];
    return st;
}

plumb_status plumb_dataset_simulate(const char *path, const plumb_world *world,
                                    const plumb_dataset_simulate_options *options)
{
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(world);
    // Options of three structs, each with its defaults.
    plumb_dataset_simulate_options resolved = plumb_dataset_simulate_defaults();
    plumb_dataset_write_options write = plumb_dataset_write_defaults();
    simulate_job job = {
        .world = world, .info = plumb_world_get_info(world), .options = plumb_world_defaults()};
    plumb_status st =
        options_resolve(&resolved, sizeof resolved, options, "plumb_dataset_simulate_options");
    if (!st) st = options_check_ranges(&dataset_simulate_option_table, &resolved);
    if (!st)
        st = options_resolve(&job.options, sizeof job.options, resolved.world,
                             "plumb_world_options");
    if (!st)
        st = options_resolve(&write, sizeof write, resolved.write, "plumb_dataset_write_options");
    if (st) return st;
    // Rooms have a fixed number of steps.
    const int64_t default_steps = job.info->steps ? job.info->steps : DEFAULT_STEPS;
    job.steps = resolved.steps ? resolved.steps : default_steps;
    job.first = resolved.first;
    job.seed = resolved.seed;
    if (!job.options.image) job.options.image = job.info->height;
    const int threads = resolved.threads ? resolved.threads : parallel_threads();

    if (resolved.loops) {
        if (!resolved.loop_states) resolved.loop_states = DEFAULT_LOOP_STATES;
        if (resolved.loop_states < MIN_LOOP_STATES)
            return fail(PLUMB_EVALUE, "loop_states is %lld; it must be %d or more",
                        (long long)resolved.loop_states, MIN_LOOP_STATES);
        resolved.count = resolved.loops * resolved.loop_states;
        job.loop_states = resolved.loop_states;
    }
    st = check_job(&job, resolved.count);
    if (!st) st = try_first_item(&job);
    if (!st && job.loop_states) st = make_loops(&job, resolved.loops);
    if (!st && job.info->kind == PLUMB_WORLD_TRAJECTORY)
        st = list_trajectory_fields(&job, write.published);
    else if (!st) list_room_fields(&job);
    if (st) {
        arena_clear(&job.pipeline.mem);
        return st;
    }
    // Fields first, then the file, then the memory of the items, then the loop.
    item_pipeline_add_origin(&job.pipeline, job.info->name, job.info->upright, job.seed, job.first,
                             job.dt);
    job.pipeline.make = make_item;
    job.pipeline.context = &job;
    st = item_pipeline_open(&job.pipeline, path, resolved.count, choose_capacity(&job, threads),
                            &write);
    if (!st) st = bind_items(&job);
    if (!st) st = log_cost(&job, path, resolved.count, threads, &write);
    if (!st) st = item_pipeline_run(&job.pipeline, resolved.count, threads);
    return item_pipeline_close(&job.pipeline, st);
}
