// SPDX-License-Identifier: MIT
// A little of YAML: maps, lists and plain values as a tree in which everything knows its line. No
// anchors, no tags, one document, at most 16 deep and 1 MiB long.
#ifndef IO_YAML_H
#define IO_YAML_H

#include "base/arena.h"
#include "base/status.h"

enum { YAML_DEEPEST = 16, YAML_LONGEST = 1 << 20 };

typedef enum yaml_kind { YAML_VALUE, YAML_LIST, YAML_MAP } yaml_kind;

typedef struct yaml yaml;
struct yaml {
    yaml_kind kind;
    int line;         ///< from 1
    const char *key;  ///< of a member of a map, else NULL
    const char *text; ///< of a value; "" where nothing stands
    yaml *child, *next;
    int64_t count; ///< of children
};

/// Reads a text; `what` is its name in messages, which are "what:line: ...". An empty text has no
/// tree: `*out` is NULL. Fails with PLUMB_EFORMAT, or PLUMB_EMISSING where there is no libyaml.
plumb_status yaml_read(yaml **out, arena *mem, const char *text, size_t size, const char *what);

/// Is libyaml there?
plumb_status yaml_load(void);

#endif
