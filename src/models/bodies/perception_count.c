// SPDX-License-Identifier: MIT
// How many objects there are, if the user does not say: each number is tried on a few videos, and
// the smallest whose pictures are about as good as the best is taken.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "math/stats.h"
#include "models/bodies/perception.h"

enum { TRIAL_VIDEOS = 10, MORE = 2, MORE_UNEXPLAINED = 5 };

// Median squared error of frames that a right number of objects explains; noise of cameras is
// below.
static const double explained_error = 1e-4;
// A number is as good as another if its error is at most this many times that of the other. Errors
// below the second constant are those of rounding to bytes.
static const double margin = 2.0, rounding_error = 4e-6;

// The error of one number of objects and colours: the 90 % quantile over frames, so that an object
// that shows in few frames counts. Infinite if they cannot be found.
static plumb_status try_count(double *error, const video_set *videos,
                              const perception_options *options, int objects, int colours)
{
    arena mem = {0};
    perception seen;
    track_set tracks;
    perception_options trial = *options;
    trial.objects = objects;
    trial.colours = colours;
    trial.quick = true;
    *error = (double)INFINITY;
    plumb_status st = perception_learn(&seen, &mem, videos, &trial);
    video_set few = *videos;
    if (few.count > TRIAL_VIDEOS) few.count = TRIAL_VIDEOS;
    if (!st) st = perception_track(&tracks, &mem, &seen, &few, options->threads);
    // A place that is lost has no error.
    for (int64_t i = 0; !st && i < tracks.count * tracks.steps; i++)
        if (!isfinite(tracks.error[i])) tracks.error[i] = 1.0;
    if (!st) *error = stats_quantile(tracks.error, tracks.count * tracks.steps, 0.9);
    arena_clear(&mem);
    return st == PLUMB_EVALUE ? PLUMB_OK : st;
}

// Tries to find one object, for the message.
static plumb_status learn_one(const video_set *videos, const perception_options *options)
{
    arena mem = {0};
    perception seen;
    perception_options trial = *options;
    trial.objects = trial.colours = 1;
    trial.quick = true;
    const plumb_status st = perception_learn(&seen, &mem, videos, &trial);
    arena_clear(&mem);
    return st;
}

// The better of two ways: every object has a colour of its own, or all have one. Sets the colours.
static plumb_status try_colours(double *error, int *colours, const video_set *videos,
                                const perception_options *options, int objects)
{
    const bool given = options->colours > 0;
    *colours = given ? options->colours : objects;
    if (given && options->own_looks && options->colours < objects) {
        *error = (double)INFINITY;
        return PLUMB_OK;
    }
    plumb_status st = try_count(error, videos, options, objects, *colours);
    if (st || given || objects == 1 || options->own_looks || *error < explained_error) return st;
    double one;
    st = try_count(&one, videos, options, objects, 1);
    if (!st && margin * one < *error) {
        *error = one;
        *colours = 1;
    }
    return st;
}

plumb_status perception_choose(perception_choice *out, const video_set *videos,
                               const perception_options *options)
{
    double error[SPRITES_MAX + 1], least = (double)INFINITY;
    int colours[SPRITES_MAX + 1], tried = 0, most = options->objects, enough = 0;
    size_t used = 0;
    *out = (perception_choice){0};
    plumb_status st = PLUMB_OK;
    for (int n = 1; n <= most && !st; n++) {
        st = try_colours(&error[n], &colours[n], videos, options, n);
        if (!st) st = status_check_stop();
        if (st) break;
        tried = n;
        text_format(out->text + used, sizeof out->text - used, "%s%d: %.2g", n > 1 ? ", " : "", n,
                    error[n]);
        used = strlen(out->text);
        // Two more after the first that explains the frames: does one of them do so better?
        const bool better = margin * fmax(error[n], rounding_error) < fmax(least, rounding_error);
        least = fmin(least, error[n]);
        if (better) enough = 0;
        else enough++;
        if (enough >= (least < explained_error ? MORE : MORE_UNEXPLAINED)) break;
    }
    if (st) return st;
    for (int n = tried; n >= 1; n--)
        if (error[n] <= fmax(margin * least, rounding_error)) {
            out->objects = n;
            out->colours = colours[n];
        }
    // If none could be tried, the reason is that of the first.
    if (isinf(least)) st = learn_one(videos, options);
    if (st) return st;
    if (!(least < explained_error))
        return fail(PLUMB_EVALUE,
                    "no number of round objects up to %d explains the frames (error by number: "
                    "%s); this model is for a fixed number of round objects that keep their "
                    "colours and stay in the picture, before a background at rest%s",
                    tried, out->text,
                    options->profile ? "; set objects if you know them"
                                     : "; if they are not discs, set profile=learnt; set objects "
                                       "if you know them");
    return PLUMB_OK;
}
