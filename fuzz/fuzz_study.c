// SPDX-License-Identifier: MIT
// Any bytes as a study: refused in one line, or a list of runs that no two of are called alike.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/study_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    study_file s;
    char *text = malloc(size ? size : 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    if (study_file_read(&s, text, size, "input", false)) {
        if (!plumb_last_error()[0] || strchr(plumb_last_error(), '\n')) abort();
    } else {
        if (s.run_count < 1 || s.run_count > STUDY_FILE_MAX_RUNS) abort();
        for (int64_t i = 0; i < s.run_count && i < 8; i++) {
            arena mem = {0};
            run_config r;
            if (!s.runs[i].name[0] || strchr(s.runs[i].name, '/') || s.runs[i].name[0] == '.')
                abort();
            if (i && !strcmp(s.runs[i].name, s.runs[i - 1].name)) abort();
            if (study_run_resolve(&r, &mem, &s, &s.runs[i]) && !plumb_last_error()[0]) abort();
            arena_clear(&mem);
        }
        study_file_clear(&s);
    }
    free(text);
    return 0;
}
