// SPDX-License-Identifier: MIT
// The published configurations, and which frames they look at [Higgins21, code].
#include "models/hgn/hgn.h"

hgn_config hgn_config_plus_plus(void)
{
    hgn_config c = {.image = 32,
                    .channels = 3,
                    .window = 5,
                    .targets = 60,
                    .split = HGN_OVERLAP,
                    .latent = 32,
                    .encoder_blocks = 3,
                    .encoder_act = ACT_LEAKY,
                    .potential = ENERGY_NET,
                    .kinetic = ENERGY_NET,
                    .integrator = "leap_frog",
                    .dt = 0.125,
                    .parts = 1,
                    .decoder_blocks = 3,
                    .decoder_depth = 2,
                    .decoder_start = 16,
                    .decoder_act = ACT_LEAKY,
                    .objective = HGN_ELBO,
                    .beta = 1.0,
                    .kappa = 0.001};
    for (int b = 0; b < 3; b++) {
        hgn_block *e = &c.encoder[b];
        e->layers = b == 2 ? 3 : 2;
        for (int i = 0; i < e->layers; i++) e->width[i] = 64, e->kernel[i] = 3;
        c.decoder_width[b] = 64;
    }
    c.energy = (energy_net){.layers = 5, .width = {250, 250, 250, 250}, .act = ACT_SWISH};
    return c;
}

hgn_config hgn_config_original(void)
{
    hgn_config c = hgn_config_plus_plus();
    c.window = 31;
    c.targets = 0;
    c.split = HGN_INCLUDE;
    c.maps = true;
    c.encoder_act = ACT_RELU;
    for (int b = 0; b < 3; b++)
        c.encoder[b] = (hgn_block){.layers = 2,
                                   .width = {b ? 64 : 32, 64},
                                   .kernel = {2, 4},
                                   .padding = {OP_VALID, OP_SAME}};
    c.transform_layers = 5;
    c.transform_width = 64;
    c.energy = (energy_net){.conv = true,
                            .layers = 5,
                            .width = {32, 64, 64, 64},
                            .kernel = {3, 2, 2, 2, 2},
                            .stride = {1, 2, 1, 2, 1},
                            .padding = {OP_SAME, OP_VALID, OP_SAME, OP_VALID, OP_SAME},
                            .act = ACT_SOFTPLUS};
    c.decoder_act = ACT_LEAKY2;
    c.objective = HGN_GECO;
    return c;
}

bool hgn_config_reversible(const hgn_config *c)
{
    return c->dynamics != HGN_MAP && c->dynamics != HGN_RECURRENT;
}

int64_t hgn_first_step(const hgn_config *c)
{
    if (c->dynamics == HGN_RECURRENT) return 1;
    return c->dynamics == HGN_MAP ? hgn_frame_plan_make(c).at : 0;
}

// What only some dynamics can do.
static plumb_status check_dynamics(const hgn_config *c)
{
    if (c->dynamics != HGN_HAMILTONIAN && c->maps)
        return fail(PLUMB_EVALUE, "states that are maps of channels need a Hamiltonian");
    if (hgn_config_reversible(c)) return PLUMB_OK;
    if (c->both_ways || (c->split == HGN_INCLUDE && c->window > 1))
        return fail(PLUMB_EVALUE, "this model cannot be run backward in time; frames before the "
                                  "inferred one are no targets for it");
    if (c->dynamics == HGN_RECURRENT && c->targets < 2)
        return fail(PLUMB_EVALUE, "targets=%lld; one frame to begin with and one to predict are 2",
                    (long long)c->targets);
    if (c->dynamics == HGN_RECURRENT && c->window > c->targets)
        return fail(PLUMB_EVALUE, "a window of %lld frames and clips of %lld; want no more",
                    (long long)c->window, (long long)c->targets);
    return PLUMB_OK;
}

plumb_status hgn_config_check(const hgn_config *c)
{
    int64_t grain = INT64_C(1) << c->decoder_blocks;
    if (c->image % grain || c->image < grain)
        return fail(PLUMB_EVALUE,
                    "images of %lld x %lld; %d decoder blocks need a multiple of %lld",
                    (long long)c->image, (long long)c->image, c->decoder_blocks, (long long)grain);
    if (c->latent < 2 || c->latent % 2)
        return fail(PLUMB_EVALUE, "latent %lld; q and p need an even number", (long long)c->latent);
    if (c->both_ways && c->window % 2 == 0)
        return fail(PLUMB_EVALUE, "a window of %lld frames; training both ways needs an odd one",
                    (long long)c->window);
    if (!integrator_find(c->integrator))
        return fail(PLUMB_EVALUE, "no integrator is called %s", c->integrator);
    if (!energy_of_positions(c->potential))
        return fail(PLUMB_EVALUE,
                    "potential=%s is a form of kinetic energy; want separable_net, dep_net, "
                    "embed_quad or rest_quad",
                    energy_names[c->potential]);
    if (c->maps && c->encoder_blocks != c->decoder_blocks)
        return fail(PLUMB_EVALUE,
                    "%d encoder blocks and %d decoder blocks; maps need equal numbers",
                    c->encoder_blocks, c->decoder_blocks);
    return check_dynamics(c);
}

hgn_frame_plan hgn_frame_plan_make(const hgn_config *c)
{
    int64_t K = c->window, T = c->targets;
    hgn_frame_plan t = {.at = K - 1, .now = true};
    if (c->dynamics == HGN_RECURRENT)
        return (hgn_frame_plan){
            .at = K - 1, .length = T, .forward = T - 1, .first_target = 1, .targets = T - 1};
    if (c->both_ways) {
        t.at = K / 2;
        t.length = t.targets = K + T;
        t.back = t.at;
        t.forward = t.length - t.at - 1;
    } else if (c->split == HGN_OVERLAP) {
        t.length = K + T - 1;
        t.forward = T - 1;
        t.first_target = K - 1;
        t.targets = T;
    } else if (c->split == HGN_NO_OVERLAP) {
        t.length = K + T;
        t.forward = T;
        t.now = false;
        t.first_target = K;
        t.targets = T;
    } else {
        t.length = t.targets = K + T;
        t.back = K - 1;
        t.forward = T;
    }
    return t;
}
