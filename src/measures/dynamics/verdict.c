// SPDX-License-Identifier: MIT
// The verdict in words. Every limit is a number that is printed beside it.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "measures/dynamics/dynamics.h"

// Below this R2 of the readout its motion is not judged.
#define MIN_R2 0.6

const char *plumb_dynamics_verdict_name(plumb_dynamics_verdict verdict)
{
    static const char *const names[] = {"unknown", "right",    "out-of-step", "drifts",
                                        "stops",   "diverges", "other"};
    const int count = (int)(sizeof names / sizeof *names);
    return (int)verdict >= 0 && (int)verdict < count ? names[verdict] : "unknown";
}

// A conserved quantity changes clearly more than in the readout of encoded latents.
static bool is_drifting(const plumb_dynamics_conserved *quantity)
{
    return quantity->measured &&
           quantity->rollout > 0.2 + 2.0 * fmax(quantity->encoded, quantity->truth);
}

static plumb_dynamics_verdict choose_verdict(const plumb_dynamics *r)
{
    const double scored = (double)r->motion.scored;
    if (r->r2 < MIN_R2) return PLUMB_DYNAMICS_UNKNOWN;
    if (r->motion.diverged * 10 > r->motion.trajectories || r->range > 3.0)
        return PLUMB_DYNAMICS_DIVERGES;
    if (r->range < 0.2) return PLUMB_DYNAMICS_STOPS;
    // A slow spiral may be near the truth to the last step, and is wrong all the same. What drives
    // a world changes what it would keep.
    if (!r->driven && (is_drifting(&r->energy) || is_drifting(&r->found)))
        return PLUMB_DYNAMICS_DRIFTS;
    // As far as the readout itself is right. If that is not far, it does not say much.
    if (r->motion.vpt.value >= 0.9 * r->floor.vpt.value)
        return r->floor.vpt.value >= 0.8 * scored ? PLUMB_DYNAMICS_RIGHT : PLUMB_DYNAMICS_UNKNOWN;
    if (r->range < 0.5) return PLUMB_DYNAMICS_STOPS;
    if (r->histogram < 0.25 + r->histogram_floor && r->spectrum < 0.35 + r->spectrum_floor)
        return PLUMB_DYNAMICS_OUT_OF_STEP;
    return PLUMB_DYNAMICS_OTHER;
}

static const char *describe_quantity(const plumb_dynamics *r, const plumb_dynamics_conserved **out)
{
    *out = is_drifting(&r->energy) ? &r->energy : &r->found;
    return *out == &r->energy ? "the energy" : "a quantity that the world keeps";
}

// A slow or fast clock explains most of the error, also where that is still small: what is right
// for all steps of these trajectories would not be for longer ones.
static void add_clock(char *text, size_t size, const plumb_flow *flow)
{
    const double off = flow->clock - 1.0;
    const bool is_off =
        (flow->clock_ci.low > 1.0 || flow->clock_ci.high < 1.0) && fabs(off) > 0.002;
    if (!flow->measured || !is_off || !(1.0 - flow->r2_clock < 0.5 * (1.0 - flow->r2))) return;
    const size_t used = strlen(text);
    text_format(text + used, size - used, "; its time runs %.2g %% %s", 100.0 * fabs(off),
                off > 0.0 ? "fast" : "slow");
}

plumb_status dynamics_decide(plumb_dynamics *out, arena *mem)
{
    char text[600];
    const plumb_dynamics_conserved *quantity;
    const char *name = describe_quantity(out, &quantity);
    const long long scored = (long long)out->motion.scored;
    out->verdict = choose_verdict(out);
    switch (out->verdict) {
    case PLUMB_DYNAMICS_UNKNOWN:
        if (out->r2 >= MIN_R2)
            text_format(text, sizeof text,
                        "the state read out of encoded latents is itself right for %.3g of %lld "
                        "steps only (R2 %.2f); the rollout is no worse, and more cannot be told",
                        out->floor.vpt.value, scored, out->r2);
        else
            text_format(
                text, sizeof text,
                "the state cannot be read out of the encoded latents (R2 %.2f), so its motion "
                "cannot be told",
                out->r2);
        break;
    case PLUMB_DYNAMICS_RIGHT:
        text_format(text, sizeof text,
                    "the state read out of the rollout is right for %.3g of %lld steps, as far as "
                    "that read out of encoded latents",
                    out->motion.vpt.value, scored);
        break;
    case PLUMB_DYNAMICS_OUT_OF_STEP:
        text_format(text, sizeof text,
                    "right for %.3g of %lld steps; after that it moves as the world does, but out "
                    "of step",
                    out->motion.vpt.value, scored);
        break;
    case PLUMB_DYNAMICS_DRIFTS:
        text_format(text, sizeof text,
                    "%s changes by %.3g deviations (%+.3g on average) in the rollout, by %.3g in "
                    "encoded latents: it spirals",
                    name, quantity->rollout, quantity->trend, quantity->encoded);
        break;
    case PLUMB_DYNAMICS_STOPS:
        text_format(text, sizeof text,
                    "the motion dies out: in the last third it has %.2g of the true range",
                    out->range);
        break;
    case PLUMB_DYNAMICS_DIVERGES:
        text_format(text, sizeof text,
                    "the rollout leaves the range of the truth: %.3g times its range in the last "
                    "third, %lld of %lld trajectories are not finite",
                    out->range, (long long)out->motion.diverged,
                    (long long)out->motion.trajectories);
        break;
    case PLUMB_DYNAMICS_OTHER:
        text_format(text, sizeof text,
                    "right for %.3g of %lld steps; after that it moves otherwise than the world",
                    out->motion.vpt.value, scored);
        break;
    }
    if (out->verdict == PLUMB_DYNAMICS_RIGHT || out->verdict == PLUMB_DYNAMICS_OUT_OF_STEP ||
        out->verdict == PLUMB_DYNAMICS_OTHER)
        add_clock(text, sizeof text, &out->flow);
    out->why = arena_strdup(mem, text);
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}
