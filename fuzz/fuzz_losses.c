// SPDX-License-Identifier: MIT
// Any bytes as metadata.csv beside a right file of losses; bytes with a zero among them as the name
// of a block and the labels of such a file. What is read must have the sizes that it says.
#include "plumb/file.h"
#include "plumb/surprise.h"
#include "support.h"

enum { CLIPS = 8, WINDOWS = 3, WIDTH = 8, LOSSES = CLIPS * 2 * WINDOWS };

static void read_losses(const char *path, const char *metadata, int64_t context)
{
    plumb_surprise_losses_options options = plumb_surprise_losses_defaults();
    options.metadata = metadata;
    options.context = context;
    plumb_surprise_losses losses;
    if (plumb_surprise_losses_read(&losses, path, &options)) return;
    fuzz_read_array(&losses.surprise);
    if (losses.has_concepts) fuzz_read_array(&losses.concepts);
    plumb_surprise_losses_clear(&losses);
}

// A .safetensors file: losses (8, 2, 3), then `bytes` bytes with the header `others`. It is the
// cheapest to write of the formats that can be read.
static const char *write_losses(const char *name, const char *others, const void *data,
                                size_t bytes)
{
    uint8_t file[4096] = {0};
    double values[LOSSES];
    for (int i = 0; i < LOSSES; i++) values[i] = i % 7 + 0.5;
    const int header = snprintf(
        (char *)file + 8, 1024,
        "{\"losses\":{\"dtype\":\"F64\",\"shape\":[8,2,3],\"data_offsets\":[0,384]},%s}", others);
    for (int i = 0; i < 2; i++) file[i] = (uint8_t)(header >> 8 * i);
    memcpy(file + 8 + header, values, sizeof values);
    memcpy(file + 8 + header + sizeof values, data, bytes);
    return fuzz_write(name, file, 8 + (size_t)header + sizeof values + bytes);
}

static void read_table(const uint8_t *data, size_t size)
{
    static char path[128];
    if (!path[0]) {
        uint8_t names[CLIPS * WIDTH] = {0};
        for (int i = 0; i < CLIPS; i++) {
            memcpy(names + i * WIDTH, "a.mp4", 5);
            names[i * WIDTH] = (uint8_t)('a' + i);
        }
        strcpy(path, write_losses("named.safetensors",
                                  "\"names\":{\"dtype\":\"U8\",\"shape\":[8,8],"
                                  "\"data_offsets\":[384,448]}",
                                  names, sizeof names));
    }
    read_losses(path, fuzz_write("metadata.csv", data, size), (int64_t)(size % 3) - 1);
}

static void read_labels(const uint8_t *data, size_t size)
{
    uint8_t bytes[2 + CLIPS] = {0};
    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    read_losses(
        write_losses("labelled.safetensors",
                     "\"block\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[384,386]},"
                     "\"labels\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[386,394]}",
                     bytes, sizeof bytes),
        NULL, (int64_t)(size % 3) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && memchr(data, 0, size)) read_labels(data, size);
    else read_table(data, size);
    return 0;
}
