// SPDX-License-Identifier: MIT
// A table in a text file: the first line names the columns. Fields may be quoted.
#ifndef EVALUATE_CSV_TABLE_H
#define EVALUATE_CSV_TABLE_H

#include "base/arena.h"
#include "base/status.h"

typedef struct csv_table {
    const char *path;
    char **name; ///< (columns)
    int columns;
    char **field;  ///< (rows, columns); missing fields are ""
    int64_t *line; ///< (rows) numbers of the lines, from 1
    int64_t rows;
} csv_table;

/// Reads a file; a name that ends in .tsv has tabs between fields, others commas. Empty lines are
/// skipped. Everything lives in `mem`. Fails with PLUMB_EFILE, or PLUMB_EFORMAT if there are no
/// columns or far too many.
plumb_status csv_table_read(csv_table *out, arena *mem, const char *path);

/// The same of a .json file: a list of objects, whose members are the columns, or an object of
/// them, whose names become the column "name". Rows count as lines.
plumb_status csv_table_read_json(csv_table *out, arena *mem, const char *path);

/// The first column that has one of these names, whatever their case; -1 if there is none.
int csv_table_find(const csv_table *table, const char *const *names);

/// A field of a row; "" for column -1.
const char *csv_table_get(const csv_table *table, int64_t row, int column);

#endif
