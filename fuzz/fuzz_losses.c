// SPDX-License-Identifier: MIT
// Any bytes as metadata.csv beside a right file of losses; and the bytes behind the first zero as
// the labels of one. What is read must have the sizes that it says.
#include "plumb/file.h"
#include "plumb/surprise.h"
#include "support.h"

enum { CLIPS = 8, WINDOWS = 3, WIDTH = 8, LOSSES = CLIPS * 2 * WINDOWS };

static void read_losses(const char *path, const char *metadata)
{
    for (int64_t context = -1; context < 2; context++) {
        plumb_surprise_losses_options options = plumb_surprise_losses_defaults();
        options.metadata = metadata;
        options.context = context;
        plumb_surprise_losses losses;
        if (plumb_surprise_losses_read(&losses, path, &options)) continue;
        fuzz_read_array(&losses.surprise);
        if (losses.has_concepts) fuzz_read_array(&losses.concepts);
        plumb_surprise_losses_clear(&losses);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t shape[] = {CLIPS, 2, WINDOWS}, name_shape[] = {CLIPS, WIDTH};
    static double values[LOSSES];
    static uint8_t names[CLIPS * WIDTH], labels[CLIPS];
    static const char *named;
    if (!named) {
        for (int i = 0; i < LOSSES; i++) values[i] = i % 7 + 0.5;
        for (int i = 0; i < CLIPS; i++)
            memcpy(names + i * WIDTH, "a.mp4", 5), names[i * WIDTH] += (uint8_t)i;
        const plumb_named_array arrays[] = {
            {"losses", plumb_array_view(values, PLUMB_FLOAT64, 3, shape)},
            {"names", plumb_array_view(names, PLUMB_UINT8, 2, name_shape)}};
        named = strdup(fuzz_path("named.npz"));
        if (plumb_file_write(named, arrays, 2, false)) abort();
    }
    read_losses(named, fuzz_write("metadata.csv", data, size));
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    if (!zero) return 0;
    const size_t rest = size - (size_t)(zero + 1 - data);
    memset(labels, 0, sizeof labels);
    memcpy(labels, zero + 1, rest < sizeof labels ? rest : sizeof labels);
    const int64_t clips = CLIPS;
    const plumb_named_array arrays[] = {
        {"losses", plumb_array_view(values, PLUMB_FLOAT64, 3, shape)},
        {"labels", plumb_array_view(labels, PLUMB_UINT8, 1, &clips)},
        {"block", plumb_array_view((void *)data, PLUMB_UINT8, 1, &(int64_t){size < 2 ? 0 : 2})}};
    const char *path = fuzz_path("labelled.npz");
    if (plumb_file_write(path, arrays, 3, false)) abort();
    read_losses(path, NULL);
    return 0;
}
