// SPDX-License-Identifier: MIT
// Reads and writes records of Physical Concepts. Row 0 of the keys is a free-scene clip, rows 1 and
// 2 are the possible and impossible clips of a probe.
#include "dataset/physical_concepts.h"

#include <stdio.h>
#include <string.h>

#include "io/tf_example.h"

static const char *const field_names[PHYSICAL_CONCEPTS_FIELDS] = {"frames", "mask", "camera_pose"};
static const char *const feature_keys[3][PHYSICAL_CONCEPTS_FIELDS] = {
    {"image", "mask", "camera_pose"},
    {"possible_image", "possible_mask", "possible_camera_pose"},
    {"impossible_image", "impossible_mask", "impossible_camera_pose"}};

const char *physical_concepts_name(int field)
{
    return field_names[field];
}

// frames (4, steps, n, n, 3), mask (4, steps, n, n), camera_pose (4, steps, 6); a free scene lacks
// the first axis.
plumb_array physical_concepts_array(const physical_concepts_layout *layout, int field)
{
    const int64_t n = layout->size, shape[6] = {4, layout->steps, n, n, 3};
    const int64_t pose[3] = {4, layout->steps, PHYSICAL_CONCEPTS_POSE};
    const int from = layout->probe ? 0 : 1;
    if (field == 2) return plumb_array_view(NULL, PLUMB_FLOAT32, 3 - from, pose + from);
    return plumb_array_view(NULL, PLUMB_UINT8, (field ? 4 : 5) - from, shape + from);
}

// The features of a record by their keys. The last of equal keys wins.
typedef struct found_features {
    bool present[3][PHYSICAL_CONCEPTS_FIELDS];
    tf_feature feature[3][PHYSICAL_CONCEPTS_FIELDS];
} found_features;

static plumb_status find_features(found_features *out, const void *example, size_t bytes,
                                  const char *what)
{
    *out = (found_features){0};
    tf_example_reader reader = tf_example_begin(example, bytes);
    for (;;) {
        bool present;
        tf_feature feature;
        const plumb_status st = tf_example_next(&present, &feature, &reader, what);
        if (st || !present) return st;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++)
                if (feature.key.size == strlen(feature_keys[i][k]) &&
                    !memcmp(feature.key.at, feature_keys[i][k], feature.key.size)) {
                    out->present[i][k] = true;
                    out->feature[i][k] = feature;
                }
    }
}

// Number of bytes or floats of a feature.
static plumb_status get_length(int64_t *out, const tf_feature *feature, bool floats,
                               const char *key, const char *what)
{
    char named[600];
    int64_t parts = 0;
    snprintf(named, sizeof named, "%s: \"%s\"", what, key);
    const tf_kind want = floats ? TF_FLOATS : TF_BYTES;
    if (feature->kind != want)
        return fail(PLUMB_EFORMAT, "%s is not a list of %s", named, floats ? "floats" : "bytes");
    plumb_status st = tf_example_count(&parts, feature, named);
    if (st) return st;
    *out = parts;
    if (floats) return PLUMB_OK;
    tf_span span = {0};
    if (parts != 1)
        return fail(PLUMB_EFORMAT, "%s has %lld strings of bytes, wanted 1", named,
                    (long long)parts);
    st = tf_example_bytes(&span, feature, 0, named);
    *out = (int64_t)span.size;
    return st;
}

static plumb_status reject_missing(const char *key, const char *what)
{
    return fail(PLUMB_EFORMAT, "%s has no feature \"%s\"", what, key);
}

// Integer square root by bisection, up to 65536.
static int64_t compute_root(int64_t square)
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
    found_features found;
    plumb_status st = find_features(&found, example, bytes, what);
    if (st) return st;
    // A probe has possible_image; a free scene has image and mask.
    const int row = found.present[1][0] ? 1 : 0;
    *is = found.present[row][0] && (row || found.present[0][1]);
    if (!*is) return PLUMB_OK;
    const int64_t clips = row ? 2 : 1;
    int64_t length[PHYSICAL_CONCEPTS_FIELDS] = {0};
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS && !st; k++)
        st = found.present[row][k] ? get_length(&length[k], &found.feature[row][k], k == 2,
                                                feature_keys[row][k], what)
                                   : reject_missing(feature_keys[row][k], what);
    if (st) return st;
    // The lengths must be those of whole clips of square frames.
    const int64_t steps = length[2] / (clips * PHYSICAL_CONCEPTS_POSE);
    const int64_t pixels = steps ? length[1] / (clips * steps) : 0, size = compute_root(pixels);
    if (steps < 1 || size < 1 || length[2] != clips * steps * PHYSICAL_CONCEPTS_POSE ||
        length[1] != clips * steps * size * size || length[0] != 3 * length[1])
        return fail(PLUMB_EFORMAT,
                    "%s: %lld bytes of pictures, %lld of masks and %lld numbers of the camera are "
                    "no clip of square frames",
                    what, (long long)length[0], (long long)length[1], (long long)length[2]);
    *out = (physical_concepts_layout){.probe = row, .steps = steps, .size = size};
    return PLUMB_OK;
}

// Appends the values of a feature: one pair of clips of a probe, or a free-scene clip.
static plumb_status append_feature(buffer *out, const tf_feature *feature, const char *key,
                                   bool floats, int64_t count, const char *what)
{
    int64_t have = 0;
    plumb_status st = get_length(&have, feature, floats, key, what);
    if (st) return st;
    if (have != count)
        return fail(PLUMB_EFORMAT, "%s: \"%s\" has %lld %s, wanted %lld", what, key,
                    (long long)have, floats ? "floats" : "bytes", (long long)count);
    if (floats) {
        unsigned char *place = buffer_grow(out, (size_t)count * sizeof(float));
        if (!place) return fail(PLUMB_EMEMORY, "%s: no memory for it", what);
        return tf_example_floats((float *)(void *)place, feature, what);
    }
    tf_span span;
    st = tf_example_bytes(&span, feature, 0, what);
    if (st) return st;
    buffer_put(out, span.at, span.size);
    return out->failed ? fail(PLUMB_EMEMORY, "%s: no memory for it", what) : PLUMB_OK;
}

plumb_status physical_concepts_read(buffer *out, const physical_concepts_layout *layout, int field,
                                    const void *example, size_t bytes, const char *what)
{
    found_features found;
    buffer_reset(out);
    plumb_status st = find_features(&found, example, bytes, what);
    const plumb_array shape = physical_concepts_array(layout, field);
    // A probe has two features per field: clips 0 and 1 are possible, 2 and 3 impossible.
    const int64_t count = plumb_array_count(&shape) / (layout->probe ? 2 : 1);
    for (int row = layout->probe ? 1 : 0; row <= (layout->probe ? 2 : 0) && !st; row++)
        st = found.present[row][field]
                 ? append_feature(out, &found.feature[row][field], feature_keys[row][field],
                                  field == 2, count, what)
                 : reject_missing(feature_keys[row][field], what);
    return st;
}

void physical_concepts_append(buffer *features, const physical_concepts_layout *layout,
                              const void *frames, const void *mask, const float *pose)
{
    const int64_t clips = layout->probe ? 2 : 1,
                  pixels = clips * layout->steps * layout->size * layout->size;
    const int64_t numbers = clips * layout->steps * PHYSICAL_CONCEPTS_POSE;
    // The first half of a probe is the possible pair, the second half the impossible pair.
    const uint8_t *frame_bytes = frames, *mask_bytes = mask;
    for (int row = layout->probe ? 1 : 0; row <= (layout->probe ? 2 : 0); row++) {
        const int64_t half = row == 2;
        tf_example_put_bytes(features, feature_keys[row][0], frame_bytes + half * 3 * pixels,
                             (size_t)(3 * pixels));
        tf_example_put_bytes(features, feature_keys[row][1], mask_bytes + half * pixels,
                             (size_t)pixels);
        tf_example_put_floats(features, feature_keys[row][2], pose + half * numbers, numbers);
    }
}

// Finds a folder in a path. Returns the rest of the path after it, or NULL.
static const char *find_folder(const char *path, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == '/' || !at[length])) return at + length;
    return NULL;
}

// The world and the concept from the folders of the path, such as .../solidity/test/.
void physical_concepts_world(char out[64], char concept_name[32], const char *path)
{
    static const char *const concepts[] = {"continuity", "directional_inertia",
                                           "object_persistence", "solidity", "unchangeableness"};
    out[0] = 0;
    if (concept_name) concept_name[0] = 0;
    for (int i = 0; i < 5; i++)
        if (find_folder(path, concepts[i])) {
            if (concept_name) snprintf(concept_name, 32, "%s", concepts[i]);
            snprintf(out, 64, "rooms/%s", concepts[i]);
            for (char *letter = out; *letter; letter++)
                if (*letter == '_') *letter = '-';
            return;
        }
    if (find_folder(path, "freeform")) snprintf(out, 64, "rooms/freeform");
}
