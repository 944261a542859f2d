// SPDX-License-Identifier: MIT
// Writes datasets item by item: files are written atomically, and memory does not grow with them.
#ifndef DATASET_WRITER_H
#define DATASET_WRITER_H

#include "base/arena.h"
#include "base/buffer.h"
#include "plumb/dataset.h"

/// One array of every item, or one array for the whole file.
typedef struct writer_field {
    const char *name;
    plumb_array array; ///< Type and shape in one item; of a shared field also the data.
    bool shared;       ///< One array for the whole file.
} writer_field;

typedef struct dataset_writer dataset_writer;

/// A file format. `state` belongs to the format.
typedef struct writer_format {
    const char *suffix; ///< With the dot, compared without regard to case.
    plumb_status (*open)(void **state, dataset_writer *writer);
    /// Does the part of the work on an item that any thread can do. NULL if there is none.
    plumb_status (*pack)(buffer *out, const dataset_writer *writer, const void *const *data);
    /// Writes the next item.
    plumb_status (*append)(dataset_writer *writer, const void *const *data, const buffer *packed);
    /// Ends the file and makes it visible.
    plumb_status (*commit)(dataset_writer *writer);
    /// Frees everything. A file that was not committed is removed.
    void (*close)(dataset_writer *writer);
} writer_format;

struct dataset_writer {
    const writer_format *format;
    void *state;
    arena mem;
    const char *path;
    writer_field *field;
    int64_t field_count;
    int64_t items;    ///< Items that the file will have.
    int64_t appended; ///< Items written so far.
    plumb_dataset_write_options options;
};

extern const writer_format writer_npz, writer_h5, writer_hdf5, writer_tfrecord, writer_physical;

/// Starts a file of `items` items. The data of shared fields is copied. May be NULL: options.
plumb_status writer_open(dataset_writer **out, const char *path, const writer_field *fields,
                         int64_t count, int64_t items, const plumb_dataset_write_options *options);

/// `data` has one pointer per field, NULL if the field is shared. Any thread may call it.
plumb_status writer_pack(buffer *out, const dataset_writer *writer, const void *const *data);
/// Writes the next item; `packed` is the output of writer_pack() for it.
plumb_status writer_append(dataset_writer *writer, const void *const *data, const buffer *packed);
/// Ends the file after `items` items. Frees the writer, also on failure.
plumb_status writer_commit(dataset_writer *writer);
/// Removes the file and frees the writer. May be NULL: writer.
void writer_discard(dataset_writer *writer);

/// Bytes of a field in one item, or of a shared field.
size_t writer_bytes(const writer_field *field);
/// Type and shape of the array in a file of arrays: with the items axis unless it is shared.
plumb_array writer_full_array(const dataset_writer *writer, const writer_field *field);

/// Creates a temporary file without a name in the folder of `path`. It is gone when it is closed.
plumb_status writer_temp_file(int *fd, const char *path);
/// Writes all bytes at a position. Fails with PLUMB_EFILE.
plumb_status writer_write_at(int fd, uint64_t at, const void *data, size_t bytes, const char *path);

#endif
