// SPDX-License-Identifier: MIT
// VPT and normalised MSE against the published code's own output (README.md beside the cases).
// VPTs are exact. Its frame errors are in double: 1e-12. Its MSEs are in float: 4e-7.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"
#include "plumb/forecast.h"

static const double frame_tolerance = 1e-12, mse_tolerance = 4e-7;

typedef struct image_case {
    plumb_file *file;
    const char *path;
    plumb_array truth, forward, backward;
    bool has_backward;
    plumb_forecast_options opt;
    int checked;
} image_case;

// As the published pipeline does: bytes are divided by 255 in float.
static bool read_truth(plumb_array *out, plumb_file *file)
{
    plumb_array bytes;
    if (plumb_file_read_array(&bytes, file, "in_images_u8") || bytes.dtype != PLUMB_UINT8)
        return false;
    const int64_t count = plumb_array_count(&bytes);
    float *data = malloc((size_t)(count + 1) * sizeof *data);
    if (!data) return false;
    for (int64_t i = 0; i < count; i++) data[i] = (float)((const uint8_t *)bytes.data)[i] / 255.0f;
    *out = plumb_array_view(data, PLUMB_FLOAT32, bytes.ndim, bytes.shape);
    return true;
}

// The first `steps` frames of a video of floats.
static plumb_array cut(const plumb_array *video, int64_t steps)
{
    plumb_array out = *video;
    out.shape[1] = steps;
    const size_t frame = sizeof(float) * (size_t)(out.shape[2] * out.shape[3] * out.shape[4]);
    char *data = malloc(frame * (size_t)(out.shape[0] * steps) + 1);
    if (!data) abort();
    for (int64_t i = 0; i < out.shape[0]; i++)
        memcpy(data + frame * (size_t)(i * steps),
               (const char *)video->data + frame * (size_t)(i * video->shape[1]),
               frame * (size_t)steps);
    out.data = data;
    return out;
}

// Compares `count` numbers with the array `name`, if the case has it.
static int check(image_case *c, const char *name, const double *got, int64_t count,
                 double tolerance)
{
    if (!plumb_file_has_array(c->file, name)) return 0;
    int64_t wanted = 0;
    double *want = golden_read(&wanted, c->file, name);
    if (!want) return 1;
    int failures = 0;
    if (wanted != count) {
        printf("%s: %s has %lld numbers, not %lld\n", c->path, name, (long long)count,
               (long long)wanted);
        failures = 1;
    }
    for (int64_t i = 0; i < count && !failures; i++)
        failures += golden_near(c->path, name, i, got[i], want[i], 0.0, tolerance);
    c->checked++;
    free(want);
    return failures;
}

static const char *name_of(char *text, size_t size, const char *direction, const char *part,
                           const char *what)
{
    snprintf(text, size, "exp_%s%s%s_%s", direction, *part ? "_" : "", part, what);
    return text;
}

static int check_vpt(image_case *c, const char *direction, const plumb_forecast_direction *d,
                     int64_t trajectories)
{
    char name[128];
    const double length = (double)d->length;
    const int64_t first = !strcmp(direction, "forward") ? d->frames - d->length : 0;
    double *errors = malloc((size_t)(trajectories * d->length) * sizeof *errors);
    if (!errors) abort();
    for (int64_t i = 0; i < trajectories; i++)
        memcpy(errors + i * d->length, d->errors + i * d->frames + first,
               (size_t)d->length * sizeof *errors);
    int failures = 0;
#define NAME(what) name_of(name, sizeof name, direction, "", what)
    failures += check(c, NAME("mse_norm_f64"), errors, trajectories * d->length, frame_tolerance);
    failures += check(c, NAME("seq_length"), &length, 1, 0.0);
    failures += check(c, NAME("vpt_per_traj"), d->vpt_per_trajectory, trajectories, 0.0);
    failures += check(c, NAME("vpt_abs"), &d->vpt, 1, 0.0);
    failures += check(c, NAME("vpt_rel"), &d->vpt_relative, 1, 1e-14);
#undef NAME
    free(errors);
    return failures;
}

// All frames: VPT, counted the published way and from the inferred state.
static int check_all_frames(image_case *c)
{
    plumb_forecast f;
    const plumb_array *backward = c->has_backward ? &c->backward : NULL;
    c->opt.backward_count = PLUMB_FORECAST_VPT_ORIGIN_PUBLISHED;
    if (plumb_forecast_measure(&f, &c->forward, backward, &c->truth, NULL, &c->opt)) {
        printf("%s: %s\n", c->path, plumb_last_error());
        return 1;
    }
    int failures = check_vpt(c, "forward", &f.forward, f.trajectories);
    if (backward) failures += check_vpt(c, "backward", &f.backward, f.trajectories);
    failures += check(c, "exp_vpt_abs", &f.vpt, 1, 0.0);
    failures += check(c, "exp_vpt_rel", &f.vpt_relative, 1, 1e-14);
    plumb_forecast_clear(&f);
    if (!backward) return failures;

    c->opt.backward_count = PLUMB_FORECAST_VPT_ORIGIN_INFERRED;
    if (plumb_forecast_measure(&f, &c->forward, backward, &c->truth, NULL, &c->opt)) {
        printf("%s: %s\n", c->path, plumb_last_error());
        return failures + 1;
    }
    failures += check(c, "alt_backward_vpt_from_inference_per_traj", f.backward.vpt_per_trajectory,
                      f.trajectories, 0.0);
    failures += check(c, "alt_backward_vpt_abs_from_inference", &f.backward.vpt, 1, 0.0);
    failures += check(c, "exp_backward_vpt_abs", &f.backward.vpt_published, 1, 0.0);
    plumb_forecast_clear(&f);
    return failures;
}

static int check_mse(image_case *c, const plumb_forecast *f, const char *part,
                     const plumb_forecast_mse *ahead, const plumb_forecast_mse *back)
{
    char name[128];
    const double pixels = (double)(f->height * f->width * f->channels);
    double *row = malloc(3 * (size_t)f->trajectories * sizeof *row);
    if (!row) abort();
    double *forward = row, *backward = row + f->trajectories, *both = backward + f->trajectories;
    for (int64_t i = 0; i < f->trajectories; i++) {
        forward[i] = ahead->per_trajectory[i] / pixels;
        backward[i] = back ? back->per_trajectory[i] / pixels : 0.0;
        both[i] = (forward[i] + backward[i]) / 2.0;
    }
    int failures = check(c, name_of(name, sizeof name, "forward", part, "l2_norm"), forward,
                         f->trajectories, mse_tolerance);
    if (back) {
        failures += check(c, name_of(name, sizeof name, "backward", part, "l2_norm"), backward,
                          f->trajectories, mse_tolerance);
        failures += check(c, name_of(name, sizeof name, "combined", part, "l2_norm"), both,
                          f->trajectories, mse_tolerance);
    }
    free(row);
    return failures;
}

// The first `metrics_frames` frames, predictions losing as many at their end: the MSEs.
static int check_first_frames(image_case *c)
{
    const int64_t steps = c->truth.shape[1];
    const int64_t kept = (int64_t)golden_scalar(c->file, "metrics_frames", (double)steps);
    const int64_t lost = kept < steps ? steps - kept : 0;
    plumb_array truth = cut(&c->truth, steps - lost);
    plumb_array forward = cut(&c->forward, c->forward.shape[1] - lost);
    plumb_array backward = {0};
    if (c->has_backward) backward = cut(&c->backward, c->backward.shape[1] - lost);

    plumb_forecast f;
    int failures = 1;
    if (plumb_forecast_measure(&f, &forward, c->has_backward ? &backward : NULL, &truth, NULL,
                               &c->opt)) {
        printf("%s: first %lld frames: %s\n", c->path, (long long)kept, plumb_last_error());
    } else {
        const plumb_forecast_direction *b = c->has_backward ? &f.backward : NULL;
        failures = check_mse(c, &f, "train", &f.forward.rec, b ? &b->rec : NULL);
        failures += check_mse(c, &f, "extrapolation", &f.forward.ext, b ? &b->ext : NULL);
        failures += check_mse(c, &f, "full", &f.forward.full, b ? &b->full : NULL);
        plumb_forecast_clear(&f);
    }
    free(truth.data);
    free(forward.data);
    free(backward.data);
    return failures;
}

static bool is_video(const plumb_array *array)
{
    return array->ndim == 5 && array->dtype == PLUMB_FLOAT32 && plumb_array_count(array) > 0;
}

int golden_forecast(plumb_file *file, const char *path)
{
    image_case c = {.file = file, .path = path, .opt = plumb_forecast_defaults()};
    if (!read_truth(&c.truth, file) || plumb_file_read_array(&c.forward, file, "in_pred_fwd") ||
        !is_video(&c.truth) || !is_video(&c.forward)) {
        printf("%s: no videos to compare\n", path);
        free(c.truth.data);
        return 1;
    }
    c.has_backward = plumb_file_has_array(file, "in_pred_bwd") &&
                     !plumb_file_read_array(&c.backward, file, "in_pred_bwd") &&
                     is_video(&c.backward);

    // 0 overlap_by_one, 1 no_overlap, 2 include_inference, 3 autoregressive: our order too.
    c.opt.frames = (plumb_forecast_protocol)(PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE +
                                             (int)golden_scalar(file, "cfg_split_code", 0.0));
    c.opt.inference = (int64_t)golden_scalar(file, "cfg_num_inference_steps", 5.0);
    c.opt.target = (int64_t)golden_scalar(file, "cfg_num_target_steps", 60.0);
    c.opt.threshold = golden_scalar(file, "cfg_vpt_threshold", 0.025);
    c.opt.extrapolate = 0;
    c.opt.batch = 0;
    c.opt.resamples = 10;
    int failures = check_all_frames(&c) + check_first_frames(&c);
    if (!c.checked) failures += printf("%s: nothing to compare with\n", path) > 0;
    free(c.truth.data);
    return failures;
}
