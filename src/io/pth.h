// SPDX-License-Identifier: MIT
// Files of torch.save: a zip file with a pickle and, in other members, the tensor data. Read only.
// Entries of the dictionary that are tensors, NumPy arrays, numbers, lists of numbers or text
// become arrays of that name. Text becomes character codes, u1 or u4: (length) or (strings,
// length).
#ifndef IO_PTH_H
#define IO_PTH_H

#include "io/array_file.h"

plumb_status pth_open(void **state, array_file_names *names, arena *mem, const char *path);
plumb_status pth_read(plumb_array *out, arena *mem, void *state, int64_t index);
void pth_close(void *state);
/// Always fails: plumb does not write pickles.
plumb_status pth_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress);

#endif
