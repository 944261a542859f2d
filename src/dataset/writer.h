// SPDX-License-Identifier: MIT
// Datasets written item by item: a file that appears whole or not at all, in memory that does not
// grow with it.
#ifndef DATASET_WRITER_H
#define DATASET_WRITER_H

#include "base/arena.h"
#include "base/buffer.h"
#include "plumb/dataset.h"

/// One array of every item, or one for all of them.
typedef struct writer_field {
    const char *name;
    plumb_array array; ///< type and shape of one item; of a shared one also the data
    bool shared;
} writer_field;

typedef struct writer writer;

/// A kind of file. `state` is the format's own.
typedef struct writer_format {
    const char *suffix;
    plumb_status (*open)(void **state, writer *w);
    /// What can be made ready of an item apart, by any thread; NULL if there is nothing.
    plumb_status (*pack)(buffer *out, const writer *w, const void *const *data);
    plumb_status (*put)(writer *w, const void *const *data, const buffer *packed);
    /// Ends the file, which then is there.
    plumb_status (*commit)(writer *w);
    /// Gives everything back; of a file that was not committed nothing is left.
    void (*close)(writer *w);
} writer_format;

struct writer {
    const writer_format *format;
    void *state;
    arena mem;
    const char *path;
    writer_field *field;
    int64_t fields;
    int64_t items, done;
    plumb_dataset_write_options opt;
};

extern const writer_format writer_npz, writer_h5, writer_hdf5, writer_tfrecord, writer_physical;

/// Begins a file of `items` items. The data of shared fields need not outlive the call.
plumb_status writer_open(writer **out, const char *path, const writer_field *fields, int64_t count,
                         int64_t items, const plumb_dataset_write_options *opt);

/// `data` has one pointer a field, NULL where the field is shared.
plumb_status writer_pack(buffer *out, const writer *w, const void *const *data);
/// The next item; `packed` is what writer_pack made of it.
plumb_status writer_append(writer *w, const void *const *data, const buffer *packed);
/// After as many items as were promised. The writer is gone, whatever the result.
plumb_status writer_commit(writer *w);
/// Gives up; nothing is left. NULL is allowed.
void writer_discard(writer *w);

/// Bytes of one item of a field, or of all of a shared one.
size_t writer_bytes(const writer_field *field);
/// The array as it stands in a file of arrays: with the items axis if it is not shared.
plumb_array writer_full_array(const writer *w, const writer_field *field);

/// A file without a name beside `path`, gone when it is closed.
plumb_status writer_temp_file(int *fd, const char *path);
/// All of it at this place; fails with PLUMB_EFILE.
plumb_status writer_write_at(int fd, uint64_t at, const void *data, size_t bytes, const char *path);

#endif
