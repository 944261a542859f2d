// SPDX-License-Identifier: MIT
// Closed loops of states through the encoder of a trained run: the loops are simulated and drawn,
// the encoder infers latents from the frames, and the actions of the loops are compared.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "evaluate/trained_model.h"
#include "plumb/dataset.h"
#include "plumb/evaluation.h"
#include "plumb/file.h"
#include "plumb/rollout.h"

enum { PATH_SIZE = 4096 };

// Creates an empty temporary file, whose name ends in .npz.
static plumb_status create_temporary(char path[PATH_SIZE])
{
    const char *place = getenv("TMPDIR");
    snprintf(path, PATH_SIZE, "%s/plumb-loops-XXXXXX.npz", place && *place ? place : "/tmp");
    // mkstemps() keeps the suffix of four characters, which sets the format of the file.
    const int fd = mkstemps(path, 4);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: cannot be created", path);
    close(fd);
    return PLUMB_OK;
}

// What of a run the loops need: its world, its input frames and the size of its frames.
typedef struct loop_frames {
    char world[512];
    int64_t steps, image;
    int64_t inferred; // the step whose state the encoder infers
    uint64_t seed;
} loop_frames;

static plumb_status read_run(loop_frames *out, const char *run, const char *world)
{
    trained_model trained = {0};
    plumb_status st = trained_model_open_dynamics(&trained, run, NULL);
    if (!st) {
        const run_config_data *data = &trained.config.data;
        snprintf(out->world, sizeof out->world, "%s", world ? world : data->world);
        const model_dynamics *dynamics = trained.model.dynamics;
        out->steps = dynamics->first_step + (dynamics->window > 2 ? dynamics->window : 2);
        out->inferred = dynamics->inferred_step;
        out->image = data->image;
        out->seed = (uint64_t)data->data_seed + 1; // other states than those of the training
        if (!out->world[0])
            st = fail(PLUMB_EVALUE,
                      "%s was trained on a file; the option world names the world "
                      "whose loops are measured",
                      run);
    }
    trained_model_close(&trained);
    return st;
}

static plumb_status simulate_loops(const char *path, const loop_frames *frames,
                                   const plumb_evaluation_loops_options *opt)
{
    const plumb_world *world;
    plumb_world_options world_options = plumb_world_defaults();
    plumb_dataset_write_options write = plumb_dataset_write_defaults();
    plumb_dataset_simulate_options simulate = plumb_dataset_simulate_defaults();
    if (frames->image) world_options.image = frames->image;
    write.replace = true;
    simulate.loops = opt->loops, simulate.loop_states = opt->loop_states;
    simulate.steps = frames->steps, simulate.seed = frames->seed;
    simulate.threads = opt->threads;
    simulate.world = &world_options, simulate.write = &write;
    const plumb_status st = plumb_world_find(&world, frames->world);
    return st ? st : plumb_dataset_simulate(path, world, &simulate);
}

// out (items, d): the states at one step of `array` (items, steps, d), in `mem`.
static plumb_status take_step(plumb_array *out, arena *mem, const plumb_array *array, int64_t step)
{
    const int64_t items = array->shape[0], steps = array->shape[1], d = array->shape[2];
    double *values = ARENA_ALLOC(mem, double, (items * d));
    if (!values) return PLUMB_EMEMORY;
    if (step >= steps) step = steps - 1;
    for (int64_t i = 0; i < items; i++)
        plumb_array_to_double(values + i * d, array, (i * steps + step) * d, d);
    *out = plumb_array_view(values, PLUMB_FLOAT64, 2, (int64_t[]){items, d});
    return PLUMB_OK;
}

// Reads the numbers of the loops from `loops`, latents and truth from `rollout`, and compares the
// states that the encoder infers. They are a closed loop too, because the flow moves loops to loops
// and keeps their action.
static plumb_status measure_files(plumb_loops *result, const char *loops, const char *rollout,
                                  int64_t step)
{
    arena mem = {0};
    plumb_file *simulated = NULL, *encoded = NULL;
    plumb_array loop, latent, truth;
    plumb_status st = plumb_file_open(&simulated, loops);
    if (!st) st = plumb_file_read_array(&loop, simulated, "loop");
    if (!st) st = plumb_file_open(&encoded, rollout);
    if (!st) st = plumb_file_read_array(&latent, encoded, "latent");
    const bool canonical = !st && plumb_file_has_array(encoded, "canonical");
    if (!st) st = plumb_file_read_array(&truth, encoded, canonical ? "canonical" : "truth");
    if (!st && (latent.ndim != 3 || truth.ndim != 3))
        st = fail(PLUMB_ESHAPE, "the rollout has no trajectories");
    plumb_array states, inferred;
    if (!st) st = take_step(&inferred, &mem, &latent, step);
    if (!st) st = take_step(&states, &mem, &truth, step);
    if (!st) st = plumb_loops_measure(result, &inferred, &states, &loop, NULL);
    plumb_file_close(simulated);
    plumb_file_close(encoded);
    arena_clear(&mem);
    return st;
}

void plumb_evaluation_loops_options_init(plumb_evaluation_loops_options *options, size_t size)
{
    const plumb_evaluation_loops_options defaults = {
        .size = sizeof defaults, .loops = 32, .loop_states = 32};
    options_init(options, size, &defaults, sizeof defaults);
}

plumb_status plumb_evaluation_loops(plumb_loops *result, const char *run,
                                    const plumb_evaluation_loops_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(run);
    plumb_evaluation_loops_options opt = plumb_evaluation_loops_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_evaluation_loops_options");
    if (st) return st;
    if (opt.loops < 2 || opt.loops > 100000 || opt.loop_states < 8 || opt.loop_states > 4096)
        return fail(PLUMB_EVALUE,
                    "loops is %lld and loop_states %lld; expected 2 to 100000, 8 to "
                    "4096",
                    (long long)opt.loops, (long long)opt.loop_states);
    loop_frames frames = {0};
    char loops[PATH_SIZE] = "", rollout[PATH_SIZE] = "";
    st = read_run(&frames, run, opt.world);
    if (!st) st = create_temporary(loops);
    if (!st) st = create_temporary(rollout);
    if (!st) st = simulate_loops(loops, &frames, &opt);
    plumb_rollout_options roll = plumb_rollout_defaults();
    roll.count = opt.loops * opt.loop_states, roll.steps = frames.steps;
    roll.data = loops, roll.threads = opt.threads;
    if (!st) st = plumb_rollout_save(rollout, run, &roll);
    if (!st) st = measure_files(result, loops, rollout, frames.inferred);
    if (*loops) unlink(loops);
    if (*rollout) unlink(rollout);
    return st;
}
