// SPDX-License-Identifier: MIT
// Isolation forest [Liu08]: points that few random cuts isolate are anomalies.
#ifndef MEASURES_SURPRISE_ISOLATION_FOREST_H
#define MEASURES_SURPRISE_ISOLATION_FOREST_H

#include <stdint.h>

enum { ISOLATION_FOREST_MAX_SAMPLE = 4096 };

/// A tree as arrays over its nodes; node 0 is the root. left < 0 marks a leaf.
typedef struct isolation_tree {
    const int32_t *left, *right, *feature;
    const double *threshold; ///< left if x <= threshold
    const int32_t *size;     ///< points of the sample in the node
} isolation_tree;

/// Mean path length of a search in n points that fails: 0, 0, 1, 2(ln(n-1) + 0.5772..) - 2(n-1)/n.
double isolation_forest_average(int64_t n);

/// Depth of the leaf that x falls into, plus isolation_forest_average of its size.
double isolation_forest_path(const isolation_tree *tree, const double *x);

/// 2^(-mean path / isolation_forest_average(sample)).
double isolation_forest_score(double mean_path, int64_t sample);

#endif
