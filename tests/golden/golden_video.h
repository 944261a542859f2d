// SPDX-License-Identifier: MIT
// What the cases of video models share: a program in either form, judged array by array.
#ifndef TESTS_GOLDEN_VIDEO_H
#define TESTS_GOLDEN_VIDEO_H

#include "engine/program.h"
#include "golden/golden.h"
#include "models/params.h"

/// A case in one form: its file, where its parameters lie, and how far numbers may be off.
typedef struct video_case {
    plumb_file *file;
    const char *path;
    const char *form; ///< for messages
    graph_program *p;
    program_instance *i;
    double outputs, gradients; ///< tolerances, relative to the largest entry
    int failures;
} video_case;

/// Compares with the array `name`, relative to its largest entry.
void video_same(video_case *c, const char *name, const double *got, int64_t count,
                double tolerance);
/// Output `index`, (count) numbers, freed by the caller.
double *video_output(const video_case *c, int index, int64_t count);
/// Images (n, height, width, channels) as PyTorch has them, (n, channels, height, width), and back.
void video_to_torch(double *out, const double *in, const tensor_shape *s);
void video_from_torch(double *out, const double *in, const tensor_shape *s);
/// Array `name` of the file, or zeros and a failure; (count) numbers, freed by the caller.
double *video_read(video_case *c, const char *name, int64_t count);

#endif
