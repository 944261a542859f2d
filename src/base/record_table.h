// SPDX-License-Identifier: MIT
// A record as a table of Markdown, LaTeX or CSV.
#ifndef BASE_RECORD_TABLE_H
#define BASE_RECORD_TABLE_H

#include "base/buffer.h"
#include "plumb/record.h"

/// Writes the table of a record, given as JSON, to the end of `out`, with a zero byte after it.
/// Fails with PLUMB_EMEMORY.
plumb_status record_table_write(buffer *out, const char *text, plumb_table_format format);

#endif
