// SPDX-License-Identifier: MIT
// Isolation forest [Liu08]. Each tree has its own random stream, so the result does not depend on
// the threads.
#include "measures/surprise/isolation_forest.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/rng.h"
#include "measures/surprise/scorers.h"

enum { FOREST_STREAM = 0x74736566 };

// c(n) = 2 H(n - 1) - 2 (n - 1)/n with H(i) = ln i + Euler's constant: the mean path of an
// unsuccessful search among n points [Liu08, eq. 1].
double isolation_forest_average(int64_t n)
{
    if (n <= 1) return 0.0;
    if (n == 2) return 1.0;
    const double euler = 0.57721566490153286061, m = (double)n;
    return 2.0 * (log(m - 1.0) + euler) - 2.0 * (m - 1.0) / m;
}

// Depth of the leaf of x, plus the mean path that the points left in it would add.
double isolation_forest_path(const isolation_tree *tree, const double *x)
{
    int32_t node = 0, depth = 0;
    for (; tree->left[node] >= 0; depth++)
        node =
            x[tree->feature[node]] <= tree->threshold[node] ? tree->left[node] : tree->right[node];
    return depth + isolation_forest_average(tree->size[node]);
}

// s = 2^(-E(h) / c(sample)) [Liu08, eq. 2]; near 1 for outliers.
double isolation_forest_score(double mean_path, int64_t sample)
{
    return exp2(-mean_path / isolation_forest_average(sample));
}

// A node with its children beside each other: the right one follows the left.
typedef struct node {
    double threshold;
    int32_t feature;
    int32_t left; // 0: a leaf
    double path;  // of a leaf
} node;

typedef struct isolation_forest {
    const scorer_task *task;
    int64_t sample, trees, height, max_nodes;
    node *nodes;     // (trees, max_nodes)
    double *r;       // (query_count)
    int32_t *points; // per tree: the sample
    int32_t *features;
} isolation_forest;

// Moves points with x <= threshold to the front; returns how many.
static int64_t partition_points(int32_t *points, int64_t count, const scorer_task *task,
                                int64_t feature, double threshold)
{
    int64_t low = 0;
    for (int64_t i = 0; i < count; i++) {
        if (task->observed[points[i] * task->dims + feature] > threshold) continue;
        const int32_t swap = points[i];
        points[i] = points[low];
        points[low++] = swap;
    }
    return low;
}

// A feature that varies among the points and a cut between its least and greatest value; false if
// all points are equal. Constant features are not tried twice.
static bool choose_cut(int64_t *feature, double *threshold, const int32_t *points, int64_t count,
                       int32_t *features, const scorer_task *task, rng *random)
{
    for (int64_t left = task->dims; left > 0; left--) {
        const int64_t pick = rng_below(random, left);
        const int32_t f = features[pick];
        features[pick] = features[left - 1];
        features[left - 1] = f;
        double least = task->observed[points[0] * task->dims + f], greatest = least;
        for (int64_t i = 1; i < count; i++) {
            const double x = task->observed[points[i] * task->dims + f];
            least = fmin(least, x);
            greatest = fmax(greatest, x);
        }
        if (!(greatest > least)) continue;
        *feature = f;
        *threshold = least + rng_uniform(random) * (greatest - least);
        if (*threshold >= greatest) *threshold = least; // rounded up
        return true;
    }
    return false;
}

typedef struct branch {
    int32_t node;
    int64_t first, count, depth;
} branch;

// Splits the sample at random cuts, depth first with a stack, down to single points or `height`.
static plumb_status grow_tree(void *context, int64_t tree, int worker)
{
    (void)worker;
    const isolation_forest *forest = context;
    const scorer_task *task = forest->task;
    rng random =
        rng_at(task->opt->seed, ((uint64_t)FOREST_STREAM << 32) +
                                    task->stream * (uint64_t)forest->trees + (uint64_t)tree);
    // The tree's sample, drawn without replacement.
    int32_t *points = forest->points + tree * forest->sample,
            *features = forest->features + tree * task->dims;
    int64_t chosen[ISOLATION_FOREST_MAX_SAMPLE];
    rng_distinct(chosen, &random, forest->sample, task->observed_count);
    for (int64_t i = 0; i < forest->sample; i++) points[i] = (int32_t)chosen[i];
    for (int64_t i = 0; i < task->dims; i++) features[i] = (int32_t)i;

    // Depth first, with 64 entries: the height is at most log2 of the largest sample.
    node *nodes = forest->nodes + tree * forest->max_nodes;
    int32_t used = 1;
    branch stack[64] = {{0, 0, forest->sample, 0}};
    for (int top = 1; top > 0;) {
        const branch next = stack[--top];
        int64_t feature = 0;
        double threshold = 0.0;
        if (next.count < 2 || next.depth == forest->height ||
            !choose_cut(&feature, &threshold, points + next.first, next.count, features, task,
                        &random)) {
            nodes[next.node] =
                (node){.path = (double)next.depth + isolation_forest_average(next.count)};
            continue;
        }
        const int64_t low =
            partition_points(points + next.first, next.count, task, feature, threshold);
        nodes[next.node] =
            (node){.threshold = threshold, .feature = (int32_t)feature, .left = used};
        stack[top++] = (branch){used + 1, next.first + low, next.count - low, next.depth + 1};
        stack[top++] = (branch){used, next.first, low, next.depth + 1};
        used += 2;
    }
    return PLUMB_OK;
}

// r = 2^(-mean path / c), c the mean path of a search that fails.
static plumb_status score_query(void *context, int64_t item, int worker)
{
    (void)worker;
    const isolation_forest *forest = context;
    const double *x = forest->task->queries + item * forest->task->dims;
    double sum = 0.0;
    for (int64_t tree = 0; tree < forest->trees; tree++) {
        const node *nodes = forest->nodes + tree * forest->max_nodes, *at = nodes;
        while (at->left) at = nodes + at->left + (x[at->feature] <= at->threshold ? 0 : 1);
        sum += at->path;
    }
    forest->r[item] = isolation_forest_score(sum / (double)forest->trees, forest->sample);
    return PLUMB_OK;
}

plumb_status scorer_iforest(double *r, arena *mem, const scorer_task *task)
{
    const arena_mark mark = arena_get_mark(mem);
    isolation_forest forest = {
        .task = task, .trees = task->opt->trees, .r = r, .sample = task->opt->sample};
    if (task->observed_count < 2)
        return fail(PLUMB_ENUMERIC, "an isolation forest needs two observed clips, not %lld",
                    (long long)task->observed_count);
    if (forest.sample > task->observed_count) forest.sample = task->observed_count;
    // Height limit: log2(sample), rounded up [Liu08].
    while ((INT64_C(1) << forest.height) < forest.sample) forest.height++;
    forest.max_nodes = 2 * forest.sample;
    forest.nodes = ARENA_ALLOC(mem, node, forest.trees * forest.max_nodes);
    forest.points = ARENA_ALLOC(mem, int32_t, forest.trees * forest.sample);
    forest.features = ARENA_ALLOC(mem, int32_t, forest.trees * task->dims);
    plumb_status st = PLUMB_EMEMORY;
    if (forest.nodes && forest.points && forest.features) {
        st = parallel_for(forest.trees, task->opt->threads, grow_tree, &forest);
        if (!st) st = parallel_for(task->query_count, task->opt->threads, score_query, &forest);
    }
    arena_rewind(mem, mark);
    return st;
}
