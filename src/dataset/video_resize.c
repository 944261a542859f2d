// SPDX-License-Identifier: MIT
// A pixel of the result covers an area of the frame, whose average it is. Areas are products of
// intervals, so rows and columns are averaged one after the other.
#include "dataset/video_resize.h"

#include <math.h>
#include <string.h>

void video_resize_fit(frame_size *out, const frame_size *wanted, int64_t height, int64_t width)
{
    *out = wanted ? *wanted : (frame_size){0};
    if (out->height) return;
    const int64_t side = out->side ? out->side : VIDEO_LARGEST_SIDE;
    const int64_t larger = height > width ? height : width;
    out->height = height;
    out->width = width;
    if (larger <= side) return;
    // Rounded, and at least one pixel.
    out->height = (2 * height * side + larger) / (2 * larger);
    out->width = (2 * width * side + larger) / (2 * larger);
    if (out->height < 1) out->height = 1;
    if (out->width < 1) out->width = 1;
}

// Averages `from` values, each of `stride` numbers, to `to`: out (to, stride).
static void average_areas(double *out, int64_t to, const double *in, int64_t from, int64_t stride)
{
    const double scale = (double)from / (double)to;
    for (int64_t i = 0; i < to; i++) {
        const double low = scale * (double)i, high = scale * (double)(i + 1);
        for (int64_t k = 0; k < stride; k++) out[i * stride + k] = 0.0;
        for (int64_t j = (int64_t)low; j < from && (double)j < high; j++) {
            const double share =
                fmin(high, (double)(j + 1)) - fmax(low, (double)j); // of value j in the area
            for (int64_t k = 0; k < stride; k++)
                out[i * stride + k] += share / scale * in[j * stride + k];
        }
    }
}

// Brings the values of one frame to 0 .. 255.
static plumb_status scale_values(double *value, int64_t count, bool is_float, const char *what)
{
    const double top = is_float ? 1.0 : 255.0;
    for (int64_t i = 0; i < count; i++) {
        // Rounding may leave floats a little outside.
        if (!(value[i] > -1e-3 && value[i] < top + 1e-3))
            return fail(PLUMB_EFORMAT, "%s: frames of %s must be 0 to %.0f; there is %g%s", what,
                        is_float ? "floats" : "integers", top, value[i],
                        is_float && value[i] > 1.0 ? "; divide by 255, or store bytes" : "");
        value[i] *= 255.0 / top;
    }
    return PLUMB_OK;
}

// The frames of a clip, and memory for one of them at each stage.
typedef struct resize_job {
    const plumb_array *frames;
    const frame_size *size;
    int64_t height, width, channels;
    bool is_float;
    double *frame, *rows, *pixels; // as stored, with fewer rows, with fewer columns too
    const char *what;
} resize_job;

static plumb_status resize_frame(uint8_t *out, const resize_job *job, int64_t step)
{
    const int64_t stride = job->width * job->channels, count = job->height * stride;
    const frame_size *size = job->size;
    plumb_array_to_double(job->frame, job->frames, step * count, count);
    const plumb_status st = scale_values(job->frame, count, job->is_float, job->what);
    if (st) return st;
    average_areas(job->rows, size->height, job->frame, job->height, stride);
    for (int64_t y = 0; y < size->height; y++)
        average_areas(job->pixels + y * size->width * job->channels, size->width,
                      job->rows + y * stride, job->width, job->channels);
    for (int64_t i = 0; i < size->height * size->width * job->channels; i++)
        out[i] = (uint8_t)fmin(255.0, fmax(0.0, job->pixels[i] + 0.5));
    return PLUMB_OK;
}

plumb_status video_resize(uint8_t *out, const plumb_array *frames, const frame_size *size,
                          const char *what)
{
    const plumb_dtype type = frames->dtype;
    arena mem = {0};
    resize_job job = {.frames = frames,
                      .size = size,
                      .height = frames->shape[1],
                      .width = frames->shape[2],
                      .channels = frames->ndim == 4 ? frames->shape[3] : 1,
                      .is_float =
                          type == PLUMB_FLOAT16 || type == PLUMB_FLOAT32 || type == PLUMB_FLOAT64,
                      .what = what};
    const int64_t steps = frames->shape[0], kept = size->height * size->width * job.channels;
    if (type == PLUMB_UINT8 && size->height == job.height && size->width == job.width) {
        memcpy(out, frames->data, (size_t)(steps * kept));
        return PLUMB_OK;
    }
    job.frame = ARENA_ALLOC(&mem, double, job.height *job.width *job.channels);
    job.rows = ARENA_ALLOC(&mem, double, size->height *job.width *job.channels);
    job.pixels = ARENA_ALLOC(&mem, double, kept);
    plumb_status st = job.frame && job.rows && job.pixels ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t t = 0; t < steps && !st; t++) st = resize_frame(out + t * kept, &job, t);
    arena_clear(&mem);
    return st;
}
