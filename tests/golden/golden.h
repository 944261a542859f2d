// SPDX-License-Identifier: MIT
// What golden tests share: cases are .npz files, told apart by the keys inside them.
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdbool.h>

#include "plumb/file.h"

/// What a case returns instead of its number of failures if nothing here can judge it yet.
enum { GOLDEN_SKIPPED = -1 };

/// A kind of case: files that have `key` are judged by `judge`, which prints every failure, each
/// beginning with `path`, and returns their number.
typedef struct golden_kind {
    const char *key;
    int (*judge)(plumb_file *file, const char *path);
} golden_kind;

/// Judges every .npz in `area` of PLUMB_GOLDEN (else of tests/golden) by the first kind that fits;
/// `kinds` ends with a NULL key. Returns what main should: 0, 1 if anything failed, 77 if no case
/// was judged.
int golden_run(const char *area, const golden_kind *kinds);

/// The array `name` as doubles, freed by the caller, and how many; NULL if it is not there.
double *golden_read(int64_t *count, plumb_file *file, const char *name);
/// A scalar, or `fallback` if it is not there.
double golden_scalar(plumb_file *file, const char *name, double fallback);

/// Compares `count` numbers with the array `name`; returns the failures, 1 if it is not there.
int golden_same(plumb_file *file, const char *path, const char *name, const double *got,
                int64_t count, double absolute, double relative);

/// 0 if got is want within absolute + relative * |want|, NaN and infinities being themselves; else
/// says so and is 1.
int golden_near(const char *path, const char *what, int64_t index, double got, double want,
                double absolute, double relative);

int golden_adam(plumb_file *file, const char *path); ///< steps of the optimiser
/// Planted models are counted, not failed one by one; the second is 1 if too many were wrong.
int golden_planted(plumb_file *file, const char *path);
int golden_planted_verdict(void);
int golden_forecast(plumb_file *file, const char *path);   ///< image sequences
int golden_mlp(plumb_file *file, const char *path);        ///< SyMetric by a network
int golden_polynomial(plumb_file *file, const char *path); ///< SyMetric by polynomials
int golden_neighbours(plumb_file *file, const char *path); ///< distance to the k-th neighbour
int golden_outliers(plumb_file *file, const char *path);   ///< Mahalanobis, PCA, SVM, forest
int golden_forest(plumb_file *file, const char *path);     ///< trees that are given
int golden_tuples(plumb_file *file, const char *path);     ///< what scores of tuples are worth
int golden_uniformity(plumb_file *file, const char *path); ///< of r_k
int golden_free_clips(plumb_file *file, const char *path); ///< Physical Concepts
int golden_probes(plumb_file *file, const char *path);     ///< the same, tuples
int golden_checksum(plumb_file *file, const char *path);   ///< CRC-32C
int golden_example(plumb_file *file, const char *path);    ///< two Gaussians
int golden_patch(plumb_file *file, const char *path);      ///< frames cut into patches
int golden_cell(plumb_file *file, const char *path);       ///< one ST-LSTM cell
int golden_perception(plumb_file *file, const char *path); ///< PLATO's autoencoder
int golden_dynamics(plumb_file *file, const char *path);   ///< PLATO's recurrent network
int golden_predrnn(plumb_file *file, const char *path);    ///< a whole network and its training
int golden_models(plumb_file *file, const char *path);     ///< HGN and HGN++
int golden_layers(plumb_file *file, const char *path);     ///< convolutions, energies, Adam
int golden_integrators(plumb_file *file, const char *path);
int golden_objects(plumb_file *file, const char *path); ///< `bodies`: points, a chain, sprites

#endif
