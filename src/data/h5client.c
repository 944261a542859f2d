// SPDX-License-Identifier: MIT
#include "data/h5client.h"

#include "base/status.h"

static plumb_status missing(const char *path)
{
    return fail(PLUMB_EMISSING, "%s: HDF5 is not in this build", path);
}

bool h5client_available(void)
{
    return false;
}

plumb_status h5client_open(void **state, file_names *names, arena *mem, const char *path)
{
    (void)state, (void)names, (void)mem;
    return missing(path);
}

plumb_status h5client_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    (void)out, (void)mem, (void)state, (void)index;
    return missing("");
}

void h5client_close(void *state)
{
    (void)state;
}

plumb_status h5client_save(const char *path, const plumb_named_array *arrays, int64_t count,
                           bool compress)
{
    (void)arrays, (void)count, (void)compress;
    return missing(path);
}
