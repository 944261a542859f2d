// SPDX-License-Identifier: MIT
// roundtrip [-z] IN OUT: reads every array of IN and writes them to OUT, -z compressed.
// roundtrip IN: reads and lists them. roundtrip -l IN: lists their names.
// What the tests against NumPy and h5py run. With PLUMB_ROUNDTRIP_MEMORY in the environment it says
// last how many KiB it took, plumb-h5 included.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "plumb/file.h"

static int print_error(void)
{
    fprintf(stderr, "%s\n", plumb_last_error());
    return 1;
}

// Not ru_maxrss of this process, which remembers whoever started it.
static void say_memory(void)
{
    char line[256];
    long resident = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0) resident = strtol(line + 6, NULL, 10);
    if (f) fclose(f);
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    printf("memory %ld\n", resident + children.ru_maxrss);
}

int main(int argc, char **argv)
{
    const bool list = argc > 1 && strcmp(argv[1], "-l") == 0;
    const bool compress = argc > 1 && strcmp(argv[1], "-z") == 0;
    argv += list || compress;
    const char *in = argv[1], *out = in ? argv[2] : NULL;
    if (!in) return 2;
    plumb_file *file;
    if (getenv("PLUMB_ROUNDTRIP_MEMORY")) atexit(say_memory);
    if (plumb_file_open(&file, in)) return print_error();
    const int64_t count = plumb_file_array_count(file);
    for (int64_t i = 0; i < count && list; i++) puts(plumb_file_array_name(file, i));
    plumb_named_array *arrays = calloc((size_t)count + 1, sizeof *arrays);
    int code = arrays ? 0 : 1;
    for (int64_t i = 0; i < count && !code && !list; i++) {
        arrays[i].name = plumb_file_array_name(file, i);
        if (plumb_file_read_array(&arrays[i].array, file, arrays[i].name)) code = print_error();
        // A .npy has no name to give, and an .npz key no slash in front.
        if (!arrays[i].name[0]) arrays[i].name = "array";
        if (out && strstr(out, ".npz") && arrays[i].name[0] == '/') arrays[i].name++;
        char shape[256];
        if (!code && !out)
            printf("%s %s %s\n", arrays[i].name, plumb_dtype_name(arrays[i].array.dtype),
                   plumb_array_shape_string(shape, sizeof shape, &arrays[i].array));
    }
    if (!code && out && plumb_file_write(out, arrays, count, compress)) code = print_error();
    free(arrays);
    plumb_file_close(file);
    return code;
}
