// SPDX-License-Identifier: MIT
// Every file of the folder stays open, through the public interface, until the folder is closed.
#include "io/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "base/text.h"

enum { MAX_FILES = 4096, MAX_ARRAYS = 65536 };

typedef struct folder_array {
    plumb_file *file;
    const char *name; // in its file
} folder_array;

typedef struct folder_files {
    plumb_file **file; // (MAX_FILES)
    int64_t files;
    folder_array *array; // (MAX_ARRAYS)
} folder_files;

bool folder_is(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

void folder_close(void *state)
{
    folder_files *folder = state;
    for (int64_t i = 0; i < folder->files; i++) plumb_file_close(folder->file[i]);
    free(folder->file);
    free(folder->array);
}

// True if the name ends in .npy or .npz.
static bool is_wanted(const char *name)
{
    const size_t length = strlen(name);
    const char *end = name + length - 4;
    return length > 4 && name[0] != '.' && (!strcmp(end, ".npy") || !strcmp(end, ".npz"));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names of the files, sorted.
static plumb_status list_files(char **name, int64_t *count, arena *mem, const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) return fail(PLUMB_EFILE, "%s: the folder cannot be read", path);
    plumb_status st = PLUMB_OK;
    for (struct dirent *entry; (entry = input_file_next_entry(&st, directory, path));) {
        if (!is_wanted(entry->d_name)) continue;
        if (*count == MAX_FILES)
            st = fail(PLUMB_EFORMAT, "%s: more than %d files", path, (int)MAX_FILES);
        if (!st && !(name[*count] = arena_strdup(mem, entry->d_name))) st = PLUMB_EMEMORY;
        if (st) break;
        ++*count;
    }
    closedir(directory);
    if (!st) qsort(name, (size_t)*count, sizeof *name, compare_names);
    if (!st && !*count) return fail(PLUMB_EFILE, "%s: a folder without .npy and .npz files", path);
    return st;
}

// Opens one file and adds its arrays.
static plumb_status add_file(folder_files *folder, array_file_names *names, arena *mem,
                             const char *path, const char *name)
{
    char text[5000];
    if (text_format(text, sizeof text, "%s/%s", path, name) >= (int)sizeof text)
        return fail(PLUMB_EFILE, "%s/%s: the path is too long", path, name);
    plumb_file *file;
    const plumb_status st = plumb_file_open(&file, text);
    if (st) return st;
    folder->file[folder->files++] = file;
    const int64_t arrays = plumb_file_array_count(file);
    const int stem = (int)strlen(name) - 4;
    for (int64_t i = 0; i < arrays; i++) {
        const char *inner = plumb_file_array_name(file, i);
        if (names->count == MAX_ARRAYS)
            return fail(PLUMB_EFORMAT, "%s: more than %d arrays", path, (int)MAX_ARRAYS);
        if (arrays == 1) text_format(text, sizeof text, "%.*s", stem, name);
        else text_format(text, sizeof text, "%.*s/%s", stem, name, inner);
        folder->array[names->count] = (folder_array){file, inner};
        names->name[names->count] = arena_strdup(mem, text);
        if (!names->name[names->count++]) return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

plumb_status folder_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    folder_files *folder = ARENA_ALLOC(mem, folder_files, 1);
    char **name = ARENA_ALLOC(mem, char *, MAX_FILES);
    names->name = ARENA_ALLOC(mem, const char *, MAX_ARRAYS);
    if (!folder || !name || !names->name) return PLUMB_EMEMORY;
    folder->file = calloc(MAX_FILES, sizeof(plumb_file *));
    folder->array = calloc(MAX_ARRAYS, sizeof(folder_array));
    int64_t count = 0;
    plumb_status st = folder->file && folder->array
                          ? list_files(name, &count, mem, path)
                          : fail(PLUMB_EMEMORY, "%s: no memory to open it", path);
    for (int64_t i = 0; !st && i < count; i++) st = add_file(folder, names, mem, path, name[i]);
    // x.npy and x.npz would both be x.
    for (int64_t i = 1; !st && i < count; i++)
        if (strlen(name[i]) == strlen(name[i - 1]) &&
            !strncmp(name[i], name[i - 1], strlen(name[i]) - 4))
            st = fail(PLUMB_EFORMAT, "%s: %s and %s have one name", path, name[i - 1], name[i]);
    if (st) folder_close(folder);
    else *state = folder;
    return st;
}

plumb_status folder_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    (void)mem; // it belongs to its own file
    const folder_files *folder = state;
    return plumb_file_read_array(out, folder->array[index].file, folder->array[index].name);
}

plumb_status folder_save(const char *path, const plumb_named_array *arrays, int64_t count,
                         bool compress)
{
    (void)arrays, (void)count, (void)compress;
    return fail(PLUMB_EVALUE, "%s: it is a folder", path);
}
