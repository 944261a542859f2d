// SPDX-License-Identifier: MIT
#include "dataset/physical_concepts.h"

#include <stdio.h>
#include <string.h>

#include "io/tf_example.h"

static const char *const names[PHYSICAL_CONCEPTS_FIELDS] = {"frames", "mask", "camera_pose"};
static const char *const keys[3][PHYSICAL_CONCEPTS_FIELDS] = {
    {"image", "mask", "camera_pose"},
    {"possible_image", "possible_mask", "possible_camera_pose"},
    {"impossible_image", "impossible_mask", "impossible_camera_pose"}};

const char *physical_concepts_name(int field)
{
    return names[field];
}

plumb_array physical_concepts_array(const physical_concepts_layout *p, int field)
{
    const int64_t n = p->size, shape[6] = {4, p->steps, n, n, 3};
    const int64_t pose[3] = {4, p->steps, PHYSICAL_CONCEPTS_POSE};
    const int from = p->probe ? 0 : 1;
    if (field == 2) return plumb_array_view(NULL, PLUMB_FLOAT32, 3 - from, pose + from);
    return plumb_array_view(NULL, PLUMB_UINT8, (field ? 4 : 5) - from, shape + from);
}

// The features of a record by their keys; the last of a key counts.
typedef struct found {
    bool there[3][PHYSICAL_CONCEPTS_FIELDS];
    tf_feature feature[3][PHYSICAL_CONCEPTS_FIELDS];
} found;

static plumb_status find(found *out, const void *example, size_t bytes, const char *what)
{
    *out = (found){0};
    tf_example_reader walk = tf_example_begin(example, bytes);
    for (;;) {
        bool there;
        tf_feature f;
        const plumb_status st = tf_example_next(&there, &f, &walk, what);
        if (st || !there) return st;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++)
                if (f.key.size == strlen(keys[i][k]) && !memcmp(f.key.at, keys[i][k], f.key.size)) {
                    out->there[i][k] = true;
                    out->feature[i][k] = f;
                }
    }
}

// How many bytes or floats a feature has.
static plumb_status length_of(int64_t *out, const tf_feature *f, bool floats, const char *key,
                              const char *what)
{
    char named[600];
    int64_t parts = 0;
    snprintf(named, sizeof named, "%s: \"%s\"", what, key);
    const tf_kind want = floats ? TF_FLOATS : TF_BYTES;
    if (f->kind != want)
        return fail(PLUMB_EFORMAT, "%s is not a list of %s", named, floats ? "floats" : "bytes");
    plumb_status st = tf_example_count(&parts, f, named);
    if (st) return st;
    *out = parts;
    if (floats) return PLUMB_OK;
    tf_span span = {0};
    if (parts != 1)
        return fail(PLUMB_EFORMAT, "%s has %lld strings of bytes, wanted 1", named,
                    (long long)parts);
    st = tf_example_bytes(&span, f, 0, named);
    *out = (int64_t)span.size;
    return st;
}

static plumb_status missing(const char *key, const char *what)
{
    return fail(PLUMB_EFORMAT, "%s has no feature \"%s\"", what, key);
}

static int64_t root_of(int64_t square)
{
    int64_t low = 0, high = 1 << 16;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (middle * middle <= square) low = middle;
        else high = middle - 1;
    }
    return low;
}

plumb_status physical_concepts_detect(physical_concepts_layout *out, bool *is, const void *example,
                                      size_t bytes, const char *what)
{
    found f;
    plumb_status st = find(&f, example, bytes, what);
    if (st) return st;
    const int row = f.there[1][0] ? 1 : 0;
    *is = f.there[row][0] && (row || f.there[0][1]);
    if (!*is) return PLUMB_OK;
    const int64_t clips = row ? 2 : 1;
    int64_t length[PHYSICAL_CONCEPTS_FIELDS] = {0};
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS && !st; k++)
        st = f.there[row][k] ? length_of(&length[k], &f.feature[row][k], k == 2, keys[row][k], what)
                             : missing(keys[row][k], what);
    if (st) return st;
    const int64_t steps = length[2] / (clips * PHYSICAL_CONCEPTS_POSE);
    const int64_t pixels = steps ? length[1] / (clips * steps) : 0, size = root_of(pixels);
    if (steps < 1 || size < 1 || length[2] != clips * steps * PHYSICAL_CONCEPTS_POSE ||
        length[1] != clips * steps * size * size || length[0] != 3 * length[1])
        return fail(PLUMB_EFORMAT,
                    "%s: %lld bytes of pictures, %lld of masks and %lld numbers of the camera are "
                    "no clip of square frames",
                    what, (long long)length[0], (long long)length[1], (long long)length[2]);
    *out = (physical_concepts_layout){.probe = row, .steps = steps, .size = size};
    return PLUMB_OK;
}

// One half of a probe, or all of a free clip, onto the end of `out`.
static plumb_status take(buffer *out, const tf_feature *f, const char *key, bool floats,
                         int64_t count, const char *what)
{
    int64_t have = 0;
    plumb_status st = length_of(&have, f, floats, key, what);
    if (st) return st;
    if (have != count)
        return fail(PLUMB_EFORMAT, "%s: \"%s\" has %lld %s, wanted %lld", what, key,
                    (long long)have, floats ? "floats" : "bytes", (long long)count);
    if (floats) {
        unsigned char *place = buffer_grow(out, (size_t)count * sizeof(float));
        if (!place) return fail(PLUMB_EMEMORY, "%s: no memory for it", what);
        return tf_example_floats((float *)(void *)place, f, what);
    }
    tf_span span;
    st = tf_example_bytes(&span, f, 0, what);
    if (st) return st;
    buffer_put(out, span.at, span.size);
    return out->failed ? fail(PLUMB_EMEMORY, "%s: no memory for it", what) : PLUMB_OK;
}

plumb_status physical_concepts_read(buffer *out, const physical_concepts_layout *p, int field,
                                    const void *example, size_t bytes, const char *what)
{
    found f;
    buffer_reset(out);
    plumb_status st = find(&f, example, bytes, what);
    const plumb_array shape = physical_concepts_array(p, field);
    const int64_t count = plumb_array_count(&shape) / (p->probe ? 2 : 1);
    for (int row = p->probe ? 1 : 0; row <= (p->probe ? 2 : 0) && !st; row++)
        st = f.there[row][field]
                 ? take(out, &f.feature[row][field], keys[row][field], field == 2, count, what)
                 : missing(keys[row][field], what);
    return st;
}

void physical_concepts_append(buffer *features, const physical_concepts_layout *p,
                              const void *frames, const void *mask, const float *pose)
{
    const int64_t clips = p->probe ? 2 : 1, pixels = clips * p->steps * p->size * p->size;
    const int64_t numbers = clips * p->steps * PHYSICAL_CONCEPTS_POSE;
    const uint8_t *f = frames, *m = mask;
    for (int row = p->probe ? 1 : 0; row <= (p->probe ? 2 : 0); row++) {
        const int64_t half = row == 2;
        tf_example_put_bytes(features, keys[row][0], f + half * 3 * pixels, (size_t)(3 * pixels));
        tf_example_put_bytes(features, keys[row][1], m + half * pixels, (size_t)pixels);
        tf_example_put_floats(features, keys[row][2], pose + half * numbers, numbers);
    }
}

// Is `name` one of the path's folders? NULL, or what follows it.
static const char *behind(const char *path, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == '/' || !at[length])) return at + length;
    return NULL;
}

void physical_concepts_world(char out[64], char concept[32], const char *path)
{
    static const char *const concepts[] = {"continuity", "directional_inertia",
                                           "object_persistence", "solidity", "unchangeableness"};
    out[0] = 0;
    if (concept) concept[0] = 0;
    for (int i = 0; i < 5; i++)
        if (behind(path, concepts[i])) {
            if (concept) snprintf(concept, 32, "%s", concepts[i]);
            snprintf(out, 64, "rooms/%s", concepts[i]);
            for (char *c = out; *c; c++)
                if (*c == '_') *c = '-';
            return;
        }
    if (behind(path, "freeform")) snprintf(out, 64, "rooms/freeform");
}
