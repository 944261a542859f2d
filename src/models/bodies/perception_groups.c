// SPDX-License-Identifier: MIT
// Objects that share a colour. In one frame they are the densest parts of their colour; from frame
// to frame each is the one nearest to where its motion leads. Which one is called the first is a
// convention: the one further left in the first frame.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/stats.h"
#include "models/bodies/perception_steps.h"

enum { ANCHOR_EVERY = 8, REFINE_STEPS = 10, SHIFT_STEPS = 4 };

static int find_group_size(const perception *seen, int first)
{
    int n = 1;
    while (first + n < seen->scene.count && seen->colour_of[first + n] == seen->colour_of[first])
        n++;
    return n;
}

// ---- one frame ----

// Weights of the pixels of one colour: map (height, width). Returns their sum.
static double fill_map(double *map, const perception *seen, int colour, const uint8_t *frame)
{
    const sprite_scene *scene = &seen->scene;
    const int64_t pixels = scene->height * scene->width, C = scene->channels;
    double weight[SPRITES_MAX], sum = 0.0;
    for (int64_t k = 0; k < pixels; k++) {
        map[k] = perception_weigh_pixel(weight, seen, NULL, seen->colours, frame + k * C,
                                        scene->background + k * C)
                     ? weight[colour]
                     : 0.0;
        sum += map[k];
    }
    return sum;
}

// The square of side 2 half + 1 with the largest sum of the map: sums of rows, then of columns.
static void find_densest(double xy[2], const double *map, double *sums, const sprite_scene *scene,
                         int half)
{
    const int64_t H = scene->height, W = scene->width;
    double best = -1.0;
    for (int64_t r = 0; r < H; r++)
        for (int64_t c = 0; c < W; c++) {
            double sum = 0.0;
            for (int64_t k = c - half < 0 ? 0 : c - half; k <= c + half && k < W; k++)
                sum += map[r * W + k];
            sums[r * W + c] = sum;
        }
    for (int64_t r = 0; r < H; r++)
        for (int64_t c = 0; c < W; c++) {
            double sum = 0.0;
            for (int64_t k = r - half < 0 ? 0 : r - half; k <= r + half && k < H; k++)
                sum += sums[k * W + c];
            if (sum <= best) continue;
            best = sum;
            xy[0] = (double)c;
            xy[1] = (double)r;
        }
}

// Moves a place to the centroid of the map around it.
static void shift_to_centroid(double xy[2], const double *map, const sprite_scene *scene,
                              double radius)
{
    for (int step = 0; step < SHIFT_STEPS; step++) {
        double sum = 1e-12, x = 0.0, y = 0.0;
        for (int64_t r = 0; r < scene->height; r++)
            for (int64_t c = 0; c < scene->width; c++) {
                const double w = map[r * scene->width + c];
                if (!(w > 0.0) || hypot((double)c - xy[0], (double)r - xy[1]) > radius) continue;
                sum += w;
                x += w * (double)c;
                y += w * (double)r;
            }
        if (!(sum > 1e-9)) return;
        xy[0] = x / sum;
        xy[1] = y / sum;
    }
}

// Takes a disc out of the map.
static void remove_disc(double *map, const double xy[2], const sprite_scene *scene, double radius,
                        double contrast)
{
    for (int64_t r = 0; r < scene->height; r++)
        for (int64_t c = 0; c < scene->width; c++) {
            const double depth = radius + 1.0 - hypot((double)c - xy[0], (double)r - xy[1]);
            double *w = &map[r * scene->width + c];
            if (depth > 0.0) *w = fmax(0.0, *w - contrast * (depth < 1.0 ? depth : 1.0));
        }
}

void perception_find_places(double *xy, double *mass, const perception *seen, const uint8_t *frame,
                            sprite_scratch *scratch)
{
    const int K = seen->scene.count;
    if (!seen->grouped) {
        perception_find_colours(xy, mass, seen, NULL, K, frame);
        return;
    }
    for (int first = 0, n; first < K; first += n) {
        const int colour = seen->colour_of[first];
        double *map = scratch->alpha[0];
        n = find_group_size(seen, first);
        const double total = fill_map(map, seen, colour, frame);
        for (int k = first; k < first + n; k++) {
            const double radius = fmax(seen->scene.sprites[k].radius, 1.0);
            mass[k] = total / n;
            find_densest(xy + 2 * k, map, scratch->slope[0], &seen->scene, (int)(radius + 0.5));
            shift_to_centroid(xy + 2 * k, map, &seen->scene, radius + 1.0);
            remove_disc(map, xy + 2 * k, &seen->scene, radius, (double)seen->contrast[colour]);
        }
    }
}

// ---- groups ----

// Marks all pixels that are connected with `start` and returns how many they are.
static int64_t mark_part(bool *inside, int64_t *stack, const sprite_scene *scene, int64_t start)
{
    const int64_t W = scene->width, H = scene->height;
    int64_t depth = 0, count = 0;
    stack[depth++] = start;
    inside[start] = false;
    while (depth) {
        const int64_t at = stack[--depth], r = at / W, c = at % W;
        const int64_t next[4] = {c > 0 ? at - 1 : -1, c < W - 1 ? at + 1 : -1, r > 0 ? at - W : -1,
                                 r < H - 1 ? at + W : -1};
        count++;
        for (int i = 0; i < 4; i++)
            if (next[i] >= 0 && inside[next[i]]) {
                inside[next[i]] = false;
                stack[depth++] = next[i];
            }
    }
    return count;
}

// Parts of a colour in one frame that are not connected; single pixels do not count.
static int count_parts(const perception *seen, int colour, const uint8_t *frame, double *map,
                       bool *inside, int64_t *stack)
{
    const int64_t pixels = seen->scene.height * seen->scene.width;
    int parts = 0;
    fill_map(map, seen, colour, frame);
    for (int64_t k = 0; k < pixels; k++) inside[k] = map[k] > 0.5 * (double)seen->contrast[colour];
    for (int64_t k = 0; k < pixels; k++)
        if (inside[k]) parts += mark_part(inside, stack, &seen->scene, k) > 1;
    return parts;
}

plumb_status perception_find_groups(perception *seen, const uint8_t *const *frames, int count)
{
    const int64_t pixels = seen->scene.height * seen->scene.width;
    arena mem = {0};
    double *map = ARENA_ALLOC(&mem, double, pixels), *parts = ARENA_ALLOC(&mem, double, count);
    bool *inside = ARENA_ALLOC(&mem, bool, pixels);
    int64_t *stack = ARENA_ALLOC(&mem, int64_t, pixels);
    plumb_status st = map && parts && inside && stack ? PLUMB_OK : PLUMB_EMEMORY;
    int found = 0;
    for (int colour = 0; colour < seen->colours && !st; colour++) {
        for (int n = 0; n < count; n++)
            parts[n] = count_parts(seen, colour, frames[n], map, inside, stack);
        // Objects that touch are one part, so most frames have at most as many parts as objects.
        int size = (int)stats_quantile(parts, count, 0.8);
        if (seen->colours == 1) size = seen->scene.count;
        for (int k = 0; k < size && found + k < SPRITES_MAX; k++)
            seen->colour_of[found + k] = colour;
        found += size;
    }
    arena_clear(&mem);
    if (!st && found != seen->scene.count)
        st = fail(PLUMB_EVALUE,
                  "the frames show %d objects of %d colours, not %d; with other colours or "
                  "objects that always touch set colours to the number of objects",
                  found, seen->colours, seen->scene.count);
    return st;
}

// ---- tracks ----

// The difference of two places on one axis; in a periodic picture the shorter way.
static double find_gap(const group_video *video, double a, double b, int axis)
{
    const double side = (double)(axis ? video->scene->height : video->scene->width) - 1.0;
    const double gap = a - b;
    return video->seen->periodic ? gap - side * nearbyint(gap / side) : gap;
}

static double find_distance(const group_video *video, const double *a, const double *b)
{
    return hypot(find_gap(video, a[0], b[0], 0), find_gap(video, a[1], b[1], 1));
}

// Gauss-Newton from `xy`; returns the error.
static double refine_frame(double *xy, const group_video *video, int64_t t)
{
    const sprite_scene *scene = video->scene;
    const uint8_t *frame = video->frames + t * scene->height * scene->width * scene->channels;
    perception_refine(xy, scene, frame, video->seen->periodic, REFINE_STEPS, video->scratch);
    return sprites_error(scene, xy, frame, video->picture, video->scratch);
}

static double find_alone(double *xy, const group_video *video, int64_t t)
{
    const sprite_scene *scene = video->scene;
    double mass[SPRITES_MAX];
    perception_find_places(xy, mass, video->seen,
                           video->frames + t * scene->height * scene->width * scene->channels,
                           video->scratch);
    return refine_frame(xy, video, t);
}

static void exchange(double *xy, int i, int k)
{
    for (int c = 0; c < 2; c++) {
        const double keep = xy[2 * i + c];
        xy[2 * i + c] = xy[2 * k + c];
        xy[2 * k + c] = keep;
    }
}

// Exchanges objects of a group as long as that brings them nearer to `want`.
static void match_places(double *xy, const group_video *video, const double *want)
{
    const int K = video->scene->count;
    const int *colour = video->seen->colour_of;
    bool moved = true;
    for (int round = 0; round < K && moved; round++) {
        moved = false;
        for (int i = 0; i < K; i++)
            for (int k = i + 1; k < K && colour[k] == colour[i]; k++) {
                const double keep = find_distance(video, xy + 2 * i, want + 2 * i) +
                                    find_distance(video, xy + 2 * k, want + 2 * k);
                const double swap = find_distance(video, xy + 2 * k, want + 2 * i) +
                                    find_distance(video, xy + 2 * i, want + 2 * k);
                if (!(swap < keep - 1e-9)) continue;
                exchange(xy, i, k);
                moved = true;
            }
    }
}

// Where the motion over the last two frames leads; `steps` is how many frames are known.
static void extrapolate(double *out, const double *xy, const group_video *video, int64_t t,
                        int direction, int64_t steps)
{
    const int n = 2 * video->scene->count;
    const double *last = xy + (t - direction) * n, *before = xy + (t - 2 * direction) * n;
    for (int i = 0; i < n; i++) {
        const double side = (double)(i % 2 ? video->scene->height : video->scene->width) - 1.0;
        out[i] = last[i] + (steps > 1 ? find_gap(video, last[i], before[i], i % 2) : 0.0);
        if (video->seen->periodic) out[i] -= side * floor(out[i] / side);
    }
}

// Frames from the anchor on, in one direction.
static void follow_tracks(double *xy, double *error, const group_video *video, int64_t anchor,
                          int direction)
{
    const int n = 2 * video->scene->count;
    int64_t known = 1;
    for (int64_t t = anchor + direction; t >= 0 && t < video->steps; t += direction, known++) {
        double want[2 * SPRITES_MAX], alone[2 * SPRITES_MAX], *at = xy + t * n;
        extrapolate(want, xy, video, t, direction, known);
        memcpy(at, want, (size_t)n * sizeof *at);
        error[t] = refine_frame(at, video, t);
        if (error[t] <= 3.0 * error[anchor] + 3e-6) continue;
        const double other = find_alone(alone, video, t);
        if (!(other < 0.7 * error[t])) continue;
        match_places(alone, video, want);
        memcpy(at, alone, (size_t)n * sizeof *at);
        error[t] = other;
    }
}

// In the first frame objects of a group are numbered from left to right.
static void number_objects(double *xy, const group_video *video)
{
    const int K = video->scene->count;
    const int *colour = video->seen->colour_of;
    for (int n = 1; n < K; n++)
        for (int k = n; k > 0 && colour[k] == colour[k - 1] && xy[2 * k] < xy[2 * k - 2]; k--)
            for (int64_t t = 0; t < video->steps; t++) exchange(xy + t * 2 * K, k, k - 1);
}

// The mass of each colour, shared by its objects.
static void find_masses(double *mass, const group_video *video)
{
    const perception *seen = video->seen;
    const int64_t size = seen->scene.height * seen->scene.width * seen->scene.channels;
    const int K = seen->scene.count;
    for (int64_t t = 0; t < video->steps; t++) {
        double xy[2 * SPRITES_MAX], total[SPRITES_MAX];
        int objects[SPRITES_MAX] = {0};
        perception_find_colours(xy, total, seen, NULL, seen->colours, video->frames + t * size);
        for (int k = 0; k < K; k++) objects[seen->colour_of[k]]++;
        for (int k = 0; k < K; k++)
            mass[t * K + k] = total[seen->colour_of[k]] / objects[seen->colour_of[k]];
    }
}

double perception_track_groups(double *xy, double *error, double *mass, const group_video *video)
{
    const int n = 2 * video->scene->count;
    int64_t anchor = 0;
    for (int64_t t = 0; t < video->steps; t += ANCHOR_EVERY) {
        error[t] = find_alone(xy + t * n, video, t);
        if (error[t] < error[anchor]) anchor = t;
    }
    follow_tracks(xy, error, video, anchor, 1);
    follow_tracks(xy, error, video, anchor, -1);
    number_objects(xy, video);
    find_masses(mass, video);
    double sum = 0.0;
    for (int64_t t = 0; t < video->steps; t++) sum += error[t];
    return sum;
}
