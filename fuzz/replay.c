// SPDX-License-Identifier: MIT
// Runs a fuzz target over every file of a folder, without libFuzzer: the corpus as a plain test.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 0;
    }
    size_t room = 1 << 16, size = 0;
    // On the heap and cut to size, so that AddressSanitizer sees a step beyond the end.
    uint8_t *data = malloc(room);
    for (size_t got; data && (got = fread(data + size, 1, room - size, f)) > 0;) {
        size += got;
        if (size < room) continue;
        room *= 2;
        uint8_t *grown = realloc(data, room);
        if (!grown) free(data);
        data = grown;
    }
    fclose(f);
    if (!data) return 0;
    uint8_t *exact = realloc(data, size ? size : 1);
    if (exact) data = exact;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int count = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *e; (e = readdir(folder));) {
        char path[4096];
        if (e->d_name[0] == '.') continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name) < sizeof path)
            count += replay(path);
    }
    closedir(folder);
    printf("%d inputs\n", count);
    return count == 0;
}
