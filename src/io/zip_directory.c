// SPDX-License-Identifier: MIT
// Layout of a zip file: members, each behind a local header; then the directory; then, if some
// number needs more than 32 bits, the zip64 end record and a pointer to it; then the end record.
#include "io/zip_directory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    COMMENT_LIMIT = 65535,
    DIRECTORY_LIMIT = 1 << 24,
};

static uint16_t get2(const unsigned char *b)
{
    return (uint16_t)(b[0] | b[1] << 8);
}

static uint32_t get4(const unsigned char *b)
{
    return get2(b) | (uint32_t)get2(b + 2) << 16;
}

static uint64_t get8(const unsigned char *b)
{
    return get4(b) | (uint64_t)get4(b + 4) << 32;
}

static bool is(const unsigned char *b, const char *signature)
{
    return memcmp(b, signature, 4) == 0;
}

// ---- the end records ----

typedef struct ending {
    uint64_t count, size, offset; // of the directory
    uint64_t start;               // where the end records begin, so where the directory must end
} ending;

static plumb_status read_end64(ending *e, const input_file *file, uint64_t end)
{
    unsigned char b[END64_SIZE];
    if (end < LOCATOR_SIZE + END64_SIZE) return PLUMB_OK;
    plumb_status st = input_file_read(b, file, end - LOCATOR_SIZE, LOCATOR_SIZE);
    if (st || !is(b, "PK\6\7")) return st;
    const uint64_t at = get8(b + 8);
    if (get4(b + 4) || get4(b + 16) > 1 || at > end - LOCATOR_SIZE - END64_SIZE)
        return fail(PLUMB_EFORMAT, "%s: the zip64 pointer leads outside the file", file->path);
    st = input_file_read(b, file, at, END64_SIZE);
    if (st) return st;
    if (!is(b, "PK\6\6") || get8(b + 4) != end - LOCATOR_SIZE - at - 12 || get4(b + 16) ||
        get4(b + 20) || get8(b + 24) != get8(b + 32))
        return fail(PLUMB_EFORMAT, "%s: the zip64 end record is damaged", file->path);
    // The 32-bit record says the same, or "look there".
    if ((e->count != 0xffff && e->count != get8(b + 32)) ||
        (e->size != 0xffffffff && e->size != get8(b + 40)) ||
        (e->offset != 0xffffffff && e->offset != get8(b + 48)))
        return fail(PLUMB_EFORMAT, "%s: the zip64 end record contradicts the end record",
                    file->path);
    *e = (ending){get8(b + 32), get8(b + 40), get8(b + 48), at};
    return PLUMB_OK;
}

static plumb_status read_end(ending *e, arena *mem, const input_file *file)
{
    const uint64_t total = (uint64_t)file->size;
    const size_t have = total < END_SIZE + COMMENT_LIMIT ? (size_t)total : END_SIZE + COMMENT_LIMIT;
    unsigned char *tail = arena_alloc(mem, (int64_t)have, 1);
    if (!tail) return PLUMB_EMEMORY;
    plumb_status st = input_file_read(tail, file, total - have, have);
    if (st) return st;
    // The last record whose comment ends with the file.
    const unsigned char *b = NULL;
    for (size_t comment = 0; !b && comment + END_SIZE <= have; comment++) {
        const unsigned char *here = tail + (have - END_SIZE - comment);
        if (is(here, "PK\5\6") && get2(here + 20) == comment) b = here;
    }
    if (!b) return fail(PLUMB_EFORMAT, "%s: is not a zip file, or its end is missing", file->path);
    const uint64_t at = total - have + (uint64_t)(b - tail);
    if (get2(b + 4) || get2(b + 6) || get2(b + 8) != get2(b + 10))
        return fail(PLUMB_EFORMAT, "%s: is one part of a zip file in several", file->path);
    *e = (ending){get2(b + 10), get4(b + 12), get4(b + 16), at};
    st = read_end64(e, file, at);
    if (st) return st;
    if (e->offset > e->start || e->size != e->start - e->offset)
        return fail(PLUMB_EFORMAT,
                    "%s: the directory is said to be %llu bytes from byte %llu, and "
                    "the file has its end at byte %llu",
                    file->path, (unsigned long long)e->size, (unsigned long long)e->offset,
                    (unsigned long long)e->start);
    if (e->count > ZIP_DIRECTORY_MAX_MEMBERS)
        return fail(PLUMB_EFORMAT, "%s: has %llu members, at most %d are read", file->path,
                    (unsigned long long)e->count, ZIP_DIRECTORY_MAX_MEMBERS);
    if (e->count > e->size / ENTRY_SIZE || e->size > DIRECTORY_LIMIT)
        return fail(PLUMB_EFORMAT, "%s: a directory of %llu bytes cannot be that of %llu members",
                    file->path, (unsigned long long)e->size, (unsigned long long)e->count);
    return PLUMB_OK;
}

// ---- the directory ----

// Numbers that did not fit into 32 bits stand in the extra field 1, in this order.
static bool widen(zip_member *m, const unsigned char *extra, size_t size)
{
    uint64_t *const wide[] = {&m->size, &m->packed, &m->offset};
    bool wanted = false;
    for (int i = 0; i < 3; i++) wanted |= *wide[i] == 0xffffffff;
    if (!wanted) return true;
    while (size >= 4) {
        const size_t length = get2(extra + 2);
        if (length > size - 4) return false;
        if (get2(extra) == 1) {
            size_t used = 0;
            for (int i = 0; i < 3; i++) {
                if (*wide[i] != 0xffffffff) continue;
                if (length - used < 8) return false;
                *wide[i] = get8(extra + 4 + used);
                used += 8;
            }
            return true;
        }
        extra += 4 + length;
        size -= 4 + length;
    }
    return false;
}

static plumb_status check_member(const zip_member *m, unsigned flags, const char *path)
{
    if (flags & (1u | 1u << 6 | 1u << 13))
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is encrypted", path, m->name);
    if (m->method != ZIP_DIRECTORY_STORED && m->method != ZIP_DIRECTORY_DEFLATED)
        return fail(PLUMB_EFORMAT,
                    "%s: member \"%s\" is packed by method %u, wanted stored (0) or "
                    "deflated (8)",
                    path, m->name, m->method);
    if (m->method == ZIP_DIRECTORY_STORED && m->packed != m->size)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is stored in %llu bytes and said to be %llu",
                    path, m->name, (unsigned long long)m->packed, (unsigned long long)m->size);
    // One bit of deflate can stand for no more than 129 bytes.
    if (m->method == ZIP_DIRECTORY_DEFLATED && m->size / 1032 > m->packed)
        return fail(PLUMB_EFORMAT,
                    "%s: member \"%s\" promises %llu bytes from %llu packed ones, "
                    "more than deflate can do",
                    path, m->name, (unsigned long long)m->size, (unsigned long long)m->packed);
    return PLUMB_OK;
}

static plumb_status read_directory(zip_directory *out, arena *mem, const input_file *file,
                                   const ending *e, const unsigned char *b)
{
    const unsigned char *end = b + e->size;
    for (int64_t i = 0; i < out->count; i++) {
        zip_member *m = &out->member[i];
        const size_t left = (size_t)(end - b);
        if (left < ENTRY_SIZE || !is(b, "PK\1\2"))
            return fail(PLUMB_EFORMAT, "%s: the directory ends after %lld of %lld members",
                        file->path, (long long)i, (long long)out->count);
        const size_t name = get2(b + 28), extra = get2(b + 30), comment = get2(b + 32);
        if (name + extra + comment > left - ENTRY_SIZE)
            return fail(PLUMB_EFORMAT, "%s: the directory is cut in its member %lld", file->path,
                        (long long)i);
        *m = (zip_member){.crc = get4(b + 16),
                          .method = get2(b + 10),
                          .packed = get4(b + 20),
                          .size = get4(b + 24),
                          .offset = get4(b + 42)};
        char *text = arena_alloc(mem, (int64_t)name + 1, 1);
        if (!text) return PLUMB_EMEMORY;
        memcpy(text, b + ENTRY_SIZE, name);
        m->name = text;
        if (name == 0 || strlen(text) != name)
            return fail(PLUMB_EFORMAT, "%s: member %lld has no proper name", file->path,
                        (long long)i);
        if (!widen(m, b + ENTRY_SIZE + name, extra))
            return fail(PLUMB_EFORMAT, "%s: member \"%s\" lacks its zip64 sizes", file->path, text);
        const plumb_status st = check_member(m, get2(b + 8), file->path);
        if (st) return st;
        b += ENTRY_SIZE + name + extra + comment;
    }
    if (b != end)
        return fail(PLUMB_EFORMAT, "%s: the directory goes on after its %lld members", file->path,
                    (long long)out->count);
    return PLUMB_OK;
}

// ---- where members lie ----

typedef struct range {
    uint64_t from, to;
    const char *name;
} range;

static int by_offset(const void *a, const void *b)
{
    const range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const range *)a)->name, ((const range *)b)->name);
}

// The local header repeats name and method, and says how far away its data starts.
static plumb_status find_range(range *out, const zip_member *m, const input_file *file,
                               uint64_t directory)
{
    unsigned char b[LOCAL_SIZE];
    const size_t name = strlen(m->name);
    if (directory < LOCAL_SIZE || m->offset > directory - LOCAL_SIZE)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is said to lie at byte %llu, outside",
                    file->path, m->name, (unsigned long long)m->offset);
    const plumb_status st = input_file_read(b, file, m->offset, LOCAL_SIZE);
    if (st) return st;
    if (!is(b, "PK\3\4") || get2(b + 8) != m->method || get2(b + 26) != name)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is not where the directory says", file->path,
                    m->name);
    const uint64_t data = m->offset + LOCAL_SIZE + name + get2(b + 28);
    if (data > directory || m->packed > directory - data)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" reaches into the directory", file->path,
                    m->name);
    *out = (range){m->offset, data + m->packed, m->name};
    return PLUMB_OK;
}

static plumb_status check_ranges(const zip_directory *dir, arena *mem, const input_file *file,
                                 uint64_t directory)
{
    range *ranges = ARENA_ALLOC(mem, range, dir->count);
    if (!ranges) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < dir->count; i++) {
        const plumb_status st = find_range(&ranges[i], &dir->member[i], file, directory);
        if (st) return st;
    }
    qsort(ranges, (size_t)dir->count, sizeof *ranges, by_offset);
    for (int64_t i = 1; i < dir->count; i++)
        if (ranges[i].from < ranges[i - 1].to)
            return fail(PLUMB_EFORMAT, "%s: members \"%s\" and \"%s\" overlap", file->path,
                        ranges[i - 1].name, ranges[i].name);
    qsort(ranges, (size_t)dir->count, sizeof *ranges, by_name);
    for (int64_t i = 1; i < dir->count; i++)
        if (strcmp(ranges[i].name, ranges[i - 1].name) == 0)
            return fail(PLUMB_EFORMAT, "%s: has two members called \"%s\"", file->path,
                        ranges[i].name);
    return PLUMB_OK;
}

plumb_status zip_directory_read(zip_directory *out, arena *mem, const input_file *file)
{
    ending e = {0};
    arena scratch = {0};
    plumb_status st = read_end(&e, &scratch, file);
    if (st) goto done;
    out->count = (int64_t)e.count;
    out->member = ARENA_ALLOC(mem, zip_member, out->count);
    unsigned char *bytes = arena_alloc(&scratch, (int64_t)e.size, 1);
    st = out->member && bytes ? input_file_read(bytes, file, e.offset, (size_t)e.size)
                              : PLUMB_EMEMORY;
    if (!st) st = read_directory(out, mem, file, &e, bytes);
    if (!st) st = check_ranges(out, &scratch, file, e.offset);
done:
    arena_clear(&scratch);
    return st;
}
