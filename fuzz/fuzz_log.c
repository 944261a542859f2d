// SPDX-License-Identifier: MIT
// Any bytes as log.jsonl and as the TensorBoard events of a run that is resumed: both are cut
// behind a step, and what is left is complete and is not cut again.
#include "io/tensorboard.h"
#include "support.h"
#include "train/run_dir.h"

static off_t file_size(const char *name)
{
    struct stat info;
    return stat(fuzz_path(name), &info) ? -1 : info.st_size;
}

// Opens the log at `step` and returns the sizes that are left.
static bool open_log(off_t size[2], int64_t step)
{
    run_log log = {0};
    if (run_log_open(&log, fuzz_folder(), step)) return false;
    run_log_close(&log);
    size[0] = file_size("log.jsonl");
    size[1] = file_size(RUN_DIR_EVENTS);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tensorboard_event event;
    if (tensorboard_parse(&event, data, size) && strlen(event.tag) >= sizeof event.tag) abort();
    const int64_t step = size ? data[0] : 0;
    fuzz_write("log.jsonl", data, size);
    fuzz_write(RUN_DIR_EVENTS, data, size);
    off_t first[2], second[2];
    if (!open_log(first, step)) return 0;
    if (!open_log(second, step) || first[0] != second[0] || first[1] != second[1]) abort();
    return 0;
}
