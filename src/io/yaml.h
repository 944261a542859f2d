// SPDX-License-Identifier: MIT
// A subset of YAML: maps, lists and scalars as a tree whose nodes know their line. No anchors, no
// tags, one document, at most 16 levels and 1 MiB.
#ifndef IO_YAML_H
#define IO_YAML_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

enum { YAML_MAX_DEPTH = 16, YAML_MAX_BYTES = 1 << 20 };

typedef enum yaml_kind { YAML_VALUE, YAML_LIST, YAML_MAP } yaml_kind;

/// A node of the tree.
typedef struct yaml yaml;
struct yaml {
    yaml_kind kind;
    int line;           ///< Line in the text, from 1.
    const char *key;    ///< Key of a member of a map, else NULL.
    const char *text;   ///< Text of a value; "" if it is empty or null.
    yaml *child, *next; ///< First child; next sibling.
    int64_t count;      ///< Number of children.
};

/// Parses a text. `what` is its name in messages, which read "what:line: ...". For an empty text
/// `*out` is NULL. Fails with PLUMB_EFORMAT, or PLUMB_EMISSING if libyaml is not installed.
plumb_status yaml_read(yaml **out, arena *mem, const char *text, size_t size, const char *what);

/// Loads libyaml. Fails with PLUMB_EMISSING if it is not installed.
plumb_status yaml_library_load(void);

/// A map, or nothing: "key:", ~ and null are maps without members.
static inline bool yaml_is_map(const yaml *node)
{
    return node->kind == YAML_MAP || (node->kind == YAML_VALUE && !node->text[0]);
}

#endif
