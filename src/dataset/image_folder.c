// SPDX-License-Identifier: MIT
// Names are listed when the folder is opened; frames are read one video at a time.
#define _GNU_SOURCE
#include "dataset/image_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/input_file.h"
#include "base/text.h"

enum { MAX_NAMES = 1 << 20, MAX_PATH = 4096 };

// ---- names ----

static bool is_png(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && name[0] != '.' && !strcasecmp(name + length - 4, ".png");
}

// Natural order: digits compare as numbers.
static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

typedef struct name_list {
    char **name;
    int64_t count, room;
} name_list;

static plumb_status add_name(name_list *list, arena *mem, const char *name, const char *path)
{
    if (list->count == MAX_NAMES)
        return fail(PLUMB_EFORMAT, "%s: more than %d files", path, (int)MAX_NAMES);
    if (list->count == list->room) {
        const int64_t room = list->room ? 2 * list->room : 64;
        char **more = ARENA_ALLOC(mem, char *, room);
        if (!more) return PLUMB_EMEMORY;
        if (list->count) memcpy(more, list->name, (size_t)list->count * sizeof *more);
        list->name = more;
        list->room = room;
    }
    list->name[list->count] = arena_strdup(mem, name);
    return list->name[list->count++] ? PLUMB_OK : PLUMB_EMEMORY;
}

static bool is_folder(const char *path, const char *name)
{
    char text[MAX_PATH];
    struct stat about;
    return name[0] != '.' &&
           text_format(text, sizeof text, "%s/%s", path, name) < (int)sizeof text &&
           !stat(text, &about) && S_ISDIR(about.st_mode);
}

// Lists PNGs and folders inside a folder, each in natural order. May be NULL: folders.
static plumb_status list_folder(name_list *images, name_list *folders, arena *mem, const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) return fail(PLUMB_EFILE, "%s: the folder cannot be read", path);
    plumb_status st = PLUMB_OK;
    for (struct dirent *entry; !st && (entry = input_file_next_entry(&st, directory, path));) {
        if (is_png(entry->d_name)) st = add_name(images, mem, entry->d_name, path);
        else if (folders && is_folder(path, entry->d_name))
            st = add_name(folders, mem, entry->d_name, path);
    }
    closedir(directory);
    if (!st && images->count)
        qsort(images->name, (size_t)images->count, sizeof *images->name, compare_names);
    if (!st && folders && folders->count)
        qsort(folders->name, (size_t)folders->count, sizeof *folders->name, compare_names);
    return st;
}

bool image_folder_is(const char *path)
{
    arena mem = {0};
    name_list images = {0}, folders = {0}, inside = {0};
    char text[MAX_PATH];
    bool found = !list_folder(&images, &folders, &mem, path) && images.count;
    for (int64_t i = 0; i < folders.count && !found; i++)
        found = text_format(text, sizeof text, "%s/%s", path, folders.name[i]) < (int)sizeof text &&
                !list_folder(&inside, NULL, &mem, text) && inside.count;
    arena_clear(&mem);
    return found;
}

// ---- videos ----

static plumb_status add_video(image_folder *out, arena *mem, const char *folder)
{
    name_list images = {0};
    const plumb_status st = list_folder(&images, NULL, mem, folder);
    if (st || !images.count) return st;
    const char *copy = arena_strdup(mem, folder);
    if (!copy) return PLUMB_EMEMORY;
    out->video[out->videos++] = (image_video){copy, images.name, images.count};
    if (out->videos == 1 || images.count < out->steps) out->steps = images.count;
    return PLUMB_OK;
}

// Reads one file. `text` is its name for messages.
static plumb_status read_file(char **data, size_t *size, char text[MAX_PATH], arena *mem,
                              const image_video *video, int64_t frame)
{
    if (text_format(text, MAX_PATH, "%s/%s", video->folder, video->name[frame]) >= MAX_PATH)
        return fail(PLUMB_EFILE, "%s: the path is too long", video->folder);
    return input_file_read_all(data, size, mem, text, INT64_C(1) << 28);
}

plumb_status image_folder_open(image_folder *out, arena *mem, const char *path)
{
    name_list images = {0}, folders = {0};
    char text[MAX_PATH], *data;
    size_t size;
    *out = (image_folder){0};
    plumb_status st = list_folder(&images, &folders, mem, path);
    if (st) return st;
    out->video = ARENA_ALLOC(mem, image_video, folders.count + 1);
    if (!out->video) return PLUMB_EMEMORY;
    if (images.count) st = add_video(out, mem, path);
    for (int64_t i = 0; !images.count && !st && i < folders.count; i++) {
        if (text_format(text, sizeof text, "%s/%s", path, folders.name[i]) >= (int)sizeof text)
            return fail(PLUMB_EFILE, "%s: the path is too long", path);
        st = add_video(out, mem, text);
    }
    if (st) return st;
    if (!out->videos) return fail(PLUMB_EFILE, "%s: no folder in it holds a PNG", path);
    st = read_file(&data, &size, text, mem, &out->video[0], 0);
    return st ? st : png_find_shape(&out->shape, data, size, text);
}

plumb_status image_folder_read(uint8_t *out, const image_folder *folder, int64_t video)
{
    const size_t frame =
        (size_t)(folder->shape.width * folder->shape.height * folder->shape.channels);
    plumb_status st = PLUMB_OK;
    for (int64_t t = 0; t < folder->steps && !st; t++) {
        arena mem = {0};
        char text[MAX_PATH], *data;
        size_t size;
        st = read_file(&data, &size, text, &mem, &folder->video[video], t);
        if (!st) st = png_read_any(out + (size_t)t * frame, folder->shape, data, size, text);
        arena_clear(&mem);
    }
    return st;
}
