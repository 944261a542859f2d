// SPDX-License-Identifier: MIT
// The frame protocols of the published code [Higgins21], and the plain one.
#include "measures/forecast/protocol.h"

#include "base/status.h"

// skip: frames that are no targets. training: frames that the model was trained on.
static void count_skipped(int64_t *skip, int64_t *training, const plumb_forecast_options *opt)
{
    const int64_t i = opt->inference, t = opt->target;
    *skip = 0;
    *training = opt->split;
    switch (opt->frames) {
    case PLUMB_FORECAST_PROTOCOL_PLAIN: break;
    case PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE: *skip = i - 1, *training = i + t - 1; break;
    case PLUMB_FORECAST_PROTOCOL_NO_OVERLAP: *skip = i, *training = i + t; break;
    case PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE: *training = i + t; break;
    case PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE: *skip = 1, *training = t; break;
    }
}

const char *forecast_protocol_name(plumb_forecast_protocol frames)
{
    static const char *const names[] = {"plain", "overlap-by-one", "no-overlap",
                                        "include-inference", "autoregressive"};
    return names[frames];
}

plumb_status forecast_protocol_plan(forecast_plan *out, const plumb_forecast_options *opt,
                                    int64_t steps, int64_t predicted, bool backward)
{
    int64_t skip, training;
    count_skipped(&skip, &training, opt);
    if (training >= steps)
        return fail(
            PLUMB_ENUMERIC,
            "the truth has %lld frames, of which %s takes %lld before extrapolation begins; "
            "the truth must be longer",
            (long long)steps, forecast_protocol_name(opt->frames), (long long)training);

    const char *what = backward ? "the backward prediction" : "the prediction";
    const int64_t count = steps - skip, rec = training - skip;
    if (opt->frames == PLUMB_FORECAST_PROTOCOL_PLAIN && predicted != steps)
        return fail(PLUMB_ESHAPE, "%s has %lld frames and the truth %lld; they must be equal", what,
                    (long long)predicted, (long long)steps);
    if (predicted < count)
        return fail(PLUMB_ESHAPE, "%s has %lld frames; %s and a truth of %lld need %lld", what,
                    (long long)predicted, forecast_protocol_name(opt->frames), (long long)steps,
                    (long long)count);

    const int64_t beyond = count - rec;
    const int64_t near = opt->extrapolate && opt->extrapolate < beyond ? opt->extrapolate : beyond;
    if (backward)
        *out = (forecast_plan){.first = 0,
                               .count = count,
                               .shift = 0,
                               .rec = {beyond, rec},
                               .ext = {beyond - near, near},
                               .vpt = {0, beyond}};
    else
        *out = (forecast_plan){.first = skip,
                               .count = count,
                               .shift = predicted - steps,
                               .rec = {0, rec},
                               .ext = {rec, near},
                               .vpt = {rec, beyond}};
    return PLUMB_OK;
}

int64_t forecast_protocol_valid_steps(const double *errors, int64_t count, double threshold,
                                      bool reversed)
{
    for (int64_t i = 0; i < count; i++)
        if (errors[reversed ? count - 1 - i : i] > threshold) return i;
    return count;
}
