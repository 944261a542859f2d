// SPDX-License-Identifier: MIT
// Any bytes as a table: refused, or arrays that are all there.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // The reader wants a zero after the text, and must not look further.
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    arena mem = {0};
    csv_table table;
    if (!csv_parse(&table, &mem, text, size, "input")) {
        int64_t columns = 0;
        for (int64_t i = 0; i < table.names.count; i++) {
            const plumb_array *array = &table.array[i];
            if (array->shape[0] != table.rows || !strlen(table.names.name[i])) abort();
            columns += array->ndim == 2 ? array->shape[1] : 1;
            fuzz_read_array(array);
        }
        // Columns of text are no arrays.
        if (columns < 1 || columns > table.columns || table.rows < 1) abort();
    }
    arena_clear(&mem);
    free(text);
    return 0;
}
