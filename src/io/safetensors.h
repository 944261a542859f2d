// SPDX-License-Identifier: MIT
// safetensors: eight bytes of length, a header in JSON, then the numbers, little-endian and without
// a gap. What plumb keeps its weights in, and what PyTorch and JAX read and write.
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "base/arena.h"
#include "base/input_file.h"
#include "io/array_file.h"

enum { SAFETENSORS_HEADER_LIMIT = 16 << 20 };

/// A line of __metadata__.
typedef struct safetensors_metadata_entry {
    const char *key, *value;
} safetensors_metadata_entry;

typedef struct safetensors_entry safetensors_entry;

/// An open file, its whole header checked: every tensor's bytes are inside the file, none overlap
/// and none are left over. Lives in the arena it was opened with.
typedef struct safetensors {
    input_file file;
    int64_t count;
    safetensors_entry *entry;
    int64_t notes;
    safetensors_metadata_entry *note;
    uint64_t data; ///< where the numbers begin
} safetensors;

/// Fails with PLUMB_EFILE or PLUMB_EFORMAT. `path` must outlive it.
plumb_status safetensors_begin(safetensors *out, arena *mem, const char *path);
void safetensors_end(safetensors *s);

/// The tensor of this name; -1 if there is none.
int64_t safetensors_find(const safetensors *s, const char *name);
const char *safetensors_name(const safetensors *s, int64_t index);
/// Type and shape; `data` is NULL. BF16 is given as F4.
plumb_array safetensors_shape(const safetensors *s, int64_t index);
/// The numbers into memory of the caller's, as many and of the type that the shape says.
plumb_status safetensors_load(void *out, const safetensors *s, int64_t index);
/// The value of a line of __metadata__, or NULL.
const char *safetensors_metadata(const safetensors *s, const char *key);

/// Writes a file, whole or not at all. Names must differ.
plumb_status safetensors_write(const char *path, const plumb_named_array *arrays, int64_t count,
                               const safetensors_metadata_entry *notes, int64_t note_count);

/// As a file of arrays.
plumb_status safetensors_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status safetensors_read(plumb_array *out, arena *mem, void *state, int64_t index);
void safetensors_close(void *state);
plumb_status safetensors_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress);

#endif
