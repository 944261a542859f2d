// SPDX-License-Identifier: MIT
// The safetensors format: eight bytes of length, a JSON header, then the data, little-endian and
// without gaps. plumb stores weights in it; PyTorch and JAX read and write it.
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "base/arena.h"
#include "base/input_file.h"
#include "io/array_file.h"

enum { SAFETENSORS_MAX_HEADER = 16 << 20 };

/// One key and value of __metadata__.
typedef struct safetensors_metadata_entry {
    const char *key, *value;
} safetensors_metadata_entry;

typedef struct safetensors_entry safetensors_entry;

/// An open file whose header is checked: the bytes of every tensor are inside the file, none
/// overlap and none are left over. It lives in the arena it was opened with.
typedef struct safetensors {
    input_file file;
    int64_t count;            ///< Number of tensors.
    safetensors_entry *entry; ///< Tensors in the order of their bytes.
    int64_t metadata_count;
    safetensors_metadata_entry *metadata;
    uint64_t data; ///< Position of the first data byte in the file.
} safetensors;

/// Opens a file and checks its header. `path` must outlive it. Fails with PLUMB_EFILE or
/// PLUMB_EFORMAT.
plumb_status safetensors_begin(safetensors *out, arena *mem, const char *path);
void safetensors_end(safetensors *file);

/// Returns the index of a tensor, or -1.
int64_t safetensors_find(const safetensors *file, const char *name);
const char *safetensors_name(const safetensors *file, int64_t index);
/// Returns type and shape; `data` is NULL. BF16 is returned as float32.
plumb_array safetensors_shape(const safetensors *file, int64_t index);
/// Reads the values into memory of the caller, in the type and number of safetensors_shape().
plumb_status safetensors_load(void *out, const safetensors *file, int64_t index);
/// Returns the value of a key of __metadata__, or NULL.
const char *safetensors_metadata(const safetensors *file, const char *key);

/// Writes a file atomically. Names must differ. May be NULL: metadata, if metadata_count is 0.
plumb_status safetensors_write(const char *path, const plumb_named_array *arrays, int64_t count,
                               const safetensors_metadata_entry *metadata, int64_t metadata_count);

// ---- the format for plumb_file ----

plumb_status safetensors_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status safetensors_read(plumb_array *out, arena *mem, void *state, int64_t index);
void safetensors_close(void *state);
plumb_status safetensors_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress);

#endif
