// SPDX-License-Identifier: MIT
// Any bytes as a study: refused in one line, or a list of runs that no two of are called alike.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/study_file.h"

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
        if (s.count < 1 || s.count > STUDY_FILE_MAX) abort();
        for (int64_t i = 0; i < s.count && i < 50; i++) {
            arena mem = {0};
            run_config r;
            if (!s.run[i].name[0] || strchr(s.run[i].name, '/') || s.run[i].name[0] == '.') abort();
            if (i && !strcmp(s.run[i].name, s.run[i - 1].name)) abort();
            if (study_file_run_config(&r, &mem, &s, &s.run[i]) && !plumb_last_error()[0]) abort();
            arena_clear(&mem);
        }
        study_file_clear(&s);
    }
    free(text);
    return 0;
}
