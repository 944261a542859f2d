// SPDX-License-Identifier: MIT
// Tables of numbers as text: a line of names, then one line per row. Commas, semicolons or tabs
// separate; an empty place is NaN. Columns "z[0]", "z[1]" ... or "z_0", "z_1" ... are one array
// (rows, k), others are arrays (rows,). Columns of text (names of clips) are passed over: those
// that have text in the first row.
#ifndef IO_CSV_H
#define IO_CSV_H

#include "io/array_file.h"

enum { CSV_MAX_COLUMNS = 16384 };

typedef struct csv_table {
    int64_t rows, columns;
    array_file_names names;
    plumb_array *array; ///< (names.count)
} csv_table;

/// Reads `text`, of `size` bytes and a zero after them. The table is in `mem`. `what` names the
/// file in messages. Fails with PLUMB_EFORMAT, naming line and column, or PLUMB_EMEMORY.
plumb_status csv_parse(csv_table *out, arena *mem, const char *text, size_t size, const char *what);

// ---- the format for plumb_file ----

plumb_status csv_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status csv_read(plumb_array *out, arena *mem, void *state, int64_t index);
void csv_close(void *state);
plumb_status csv_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress);

#endif
