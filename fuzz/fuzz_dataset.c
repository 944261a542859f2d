// SPDX-License-Identifier: MIT
// Any bytes as a dataset: an .npz file; and features.txt with a record beside it, which the first
// zero separates. Every field of every item is read, and the frames are loaded as for training.
#include "base/arena.h"
#include "dataset/video_load.h"
#include "io/tfrecord.h"
#include "plumb/dataset.h"
#include "support.h"

static void read_items(plumb_dataset *dataset)
{
    char world[64];
    plumb_dataset_world_name(world, dataset);
    const int64_t items = plumb_dataset_item_count(dataset),
                  fields = plumb_dataset_field_count(dataset);
    for (int64_t item = 0; item < items && item < 4; item++)
        for (int64_t i = 0; i < fields; i++) {
            plumb_array array;
            const char *field = plumb_dataset_field_name(dataset, i);
            if (!plumb_dataset_has_field(dataset, field)) abort();
            if (!plumb_dataset_read_field(&array, dataset, item, field)) fuzz_read_array(&array);
        }
}

static void read_dataset(const char *path)
{
    plumb_dataset *dataset;
    if (plumb_dataset_open(&dataset, path, NULL)) return;
    read_items(dataset);
    plumb_dataset_close(dataset);
    for (int masks = 0; masks < 2; masks++) {
        arena mem = {0};
        video_set videos;
        if (!video_load_file(&videos, &mem, path, 0, masks, NULL, NULL)) {
            char hash[33];
            video_hash(hash, &videos);
        }
        arena_clear(&mem);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_dataset(fuzz_write("input.npz", data, size));
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t text = zero ? (size_t)(zero - data) : size;
    const size_t rest = zero ? size - text - 1 : 0;
    // Right checksums around the record: random bytes would not have them.
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    tfrecord_frame(head, tail, data + size - rest, rest);
    uint8_t *record = malloc(sizeof head + rest + sizeof tail);
    memcpy(record, head, sizeof head);
    if (rest) memcpy(record + sizeof head, data + size - rest, rest);
    memcpy(record + sizeof head + rest, tail, sizeof tail);
    fuzz_write("features.txt", data, text);
    const char *path = fuzz_write("input.tfrecord", record, sizeof head + rest + sizeof tail);
    free(record);
    read_dataset(path);
    return 0;
}
