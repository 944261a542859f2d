// SPDX-License-Identifier: MIT
// Rollouts of AR: the latents are those of the training graph on the same frames, which are true
// ones within the window and predictions after it.
#include "models/latent_dynamics/autoregressive.h"
#include "models/latent_dynamics/autoregressive_rollout.h"
#include "models/latent_dynamics/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "engine/run_graph.h"
#include "models/model_build.h"

enum { IMAGE = 8, CHANNELS = 3, FRAME = IMAGE * IMAGE * CHANNELS, STEPS = 6, LATENT = 4 };

static hgn_config small_config(hgn_recurrent_core core, int64_t window)
{
    hgn_config c = hgn_config_plus_plus();
    c.dynamics = HGN_RECURRENT;
    c.recurrent_core = core;
    c.decoder_input = true;
    c.height = c.width = IMAGE;
    c.window = window;
    c.targets = STEPS;
    c.latent = LATENT;
    c.encoder_blocks = c.decoder_blocks = 1;
    c.encoder[0].layers = 2;
    for (int i = 0; i < 2; i++) c.encoder[0].width[i] = 5, c.encoder[0].kernel[i] = 3;
    for (int i = 0; i < 2; i++) c.decoder_width[0][i] = 5;
    c.decoder_input_channels = 2;
    c.energy = (energy_net){.layers = 3, .width = {7, 6}, .act = ACT_SWISH};
    c.objective = HGN_MSE;
    CHECK_OK(hgn_config_check(&c));
    return c;
}

// A model with weights well off their start, and a video.
typedef struct trial {
    hgn_config c;
    params p;
    hgn_rollout_graph roll;
    graph_program *program;
    program_instance *i;
    float *value;
    uint8_t video[STEPS * FRAME];
    float latent[(STEPS - 1) * LATENT], prediction[(STEPS - 1) * FRAME], variance[LATENT];
} trial;

static trial *begin_trial(hgn_recurrent_core core, int64_t window)
{
    trial *t = calloc(1, sizeof *t);
    CHECK(t != NULL);
    t->c = small_config(core, window);
    CHECK_OK(hgn_rollout_build(&t->roll, &t->p, &t->c,
                               &(hgn_rollout_spec){.batch = 1,
                                                   .backward = 0,
                                                   .forward = STEPS - 1,
                                                   .decode_start = false,
                                                   .masked = false,
                                                   .train = false}));
    CHECK_OK(program_build(&t->program, t->roll.net.g, t->roll.outputs, t->roll.output_count,
                           PROGRAM_FAST));
    hgn_decoder_graph d;
    CHECK_OK(hgn_decoder_build(&d, &t->p, &t->c, 1, false));
    graph_free(d.net.g);
    t->value = calloc((size_t)t->p.size, sizeof(float));
    params_init_values(&t->p, t->value, 5);
    rng r = rng_at(3, 1);
    for (int64_t k = 0; k < t->p.size; k++) t->value[k] += 0.2f * (float)rng_normal(&r);
    for (int k = 0; k < STEPS * FRAME; k++) t->video[k] = (uint8_t)rng_below(&r, 256);
    CHECK_OK(model_build_instance(&t->i, t->program, &t->roll.net, t->value));
    return t;
}

static void end_trial(trial *t)
{
    instance_free(t->i);
    program_free(t->program);
    graph_free(t->roll.net.g);
    params_clear(&t->p);
    free(t->value), free(t);
}

static void roll_out(trial *t)
{
    model_rollout_job job = {.frames = t->video,
                             .count = 1,
                             .steps = STEPS,
                             .threads = 1,
                             .latent = t->latent,
                             .variance = t->variance,
                             .prediction = t->prediction};
    CHECK_OK(autoregressive_rollout(&t->c, &t->p, t->value, &job));
}

// The training graph on the same frames: the largest difference of its latents to the rollout's.
static double latent_error(trial *t)
{
    float *frames = instance_input(t->i, t->roll.frames);
    for (int64_t s = 0; s < STEPS - 1; s++)
        for (int k = 0; k < FRAME; k++)
            frames[s * FRAME + k] = s < t->c.window ? (float)t->video[s * FRAME + k] / 255.0f
                                                    : t->prediction[(s - 1) * FRAME + k];
    instance_run(t->i, 0);
    const float *want = instance_output(t->i, HGN_DECODER_INPUT);
    double worst = 0.0, most = 0.0;
    for (int k = 0; k < (STEPS - 1) * LATENT; k++) {
        worst = fmax(worst, fabs((double)(want[k] - t->latent[k])));
        most = fmax(most, fabs((double)want[k]));
    }
    CHECK(most > 1e-2);
    return worst;
}

TEST(a_rollout_has_the_latents_of_training_on_the_same_frames)
{
    for (int core = HGN_VANILLA; core <= HGN_GRU; core++)
        for (int64_t window = 1; window < STEPS; window += 2) {
            trial *t = begin_trial((hgn_recurrent_core)core, window);
            roll_out(t);
            CHECK(latent_error(t) < 1e-5);
            end_trial(t);
        }
}

TEST(frames_after_the_window_are_not_used)
{
    trial *t = begin_trial(HGN_GRU, 2);
    float first[(STEPS - 1) * LATENT];
    roll_out(t);
    memcpy(first, t->latent, sizeof first);
    for (int k = 2 * FRAME; k < STEPS * FRAME; k++) t->video[k] = (uint8_t)(255 - t->video[k]);
    roll_out(t);
    CHECK(!memcmp(first, t->latent, sizeof first));
    t->video[FRAME] = (uint8_t)(255 - t->video[FRAME]); // but the second one is
    roll_out(t);
    CHECK(!memcmp(first, t->latent, LATENT * sizeof(float)));
    CHECK(memcmp(first, t->latent, sizeof first));
    end_trial(t);
}

TEST(it_does_not_run_backward)
{
    trial *t = begin_trial(HGN_VANILLA, 2);
    model_rollout_job job = {.frames = t->video,
                             .count = 1,
                             .steps = STEPS,
                             .threads = 1,
                             .backward = true,
                             .latent = t->latent};
    CHECK_FAILS(autoregressive_rollout(&t->c, &t->p, t->value, &job), PLUMB_EVALUE, "backward");
    end_trial(t);
}
