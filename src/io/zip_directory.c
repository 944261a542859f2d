// SPDX-License-Identifier: MIT
// Layout of a zip file: members, each after a local header; then the directory; then, if a number
// needs more than 32 bits, the zip64 end record and its locator; then the end record. All numbers
// are little-endian.
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
    MAX_COMMENT = 65535,
    MAX_DIRECTORY = 1 << 24,
};

// Zip files are little-endian on every machine.
static uint16_t read_u16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t read_u32(const unsigned char *bytes)
{
    return read_u16(bytes) | (uint32_t)read_u16(bytes + 2) << 16;
}

static uint64_t read_u64(const unsigned char *bytes)
{
    return read_u32(bytes) | (uint64_t)read_u32(bytes + 4) << 32;
}

static bool has_signature(const unsigned char *bytes, const char *signature)
{
    return memcmp(bytes, signature, 4) == 0;
}

// ---- the end records ----

typedef struct end_record {
    uint64_t count, size, offset; // of the directory
    uint64_t start;               // position of the first end record, where the directory must end
} end_record;

// Replaces the values of the end record by those of the zip64 end record, if there is one.
static plumb_status read_end64(end_record *end, const input_file *file, uint64_t end_offset)
{
    unsigned char bytes[END64_SIZE];
    if (end_offset < LOCATOR_SIZE + END64_SIZE) return PLUMB_OK;
    plumb_status st = input_file_read(bytes, file, end_offset - LOCATOR_SIZE, LOCATOR_SIZE);
    if (st || !has_signature(bytes, "PK\6\7")) return st;
    // The locator points at the zip64 end record; zip files in several parts are rejected.
    const uint64_t at = read_u64(bytes + 8);
    if (read_u32(bytes + 4) || read_u32(bytes + 16) > 1 ||
        at > end_offset - LOCATOR_SIZE - END64_SIZE)
        return fail(PLUMB_EFORMAT, "%s: the zip64 pointer leads outside the file", file->path);
    st = input_file_read(bytes, file, at, END64_SIZE);
    if (st) return st;
    if (!has_signature(bytes, "PK\6\6") ||
        read_u64(bytes + 4) != end_offset - LOCATOR_SIZE - at - 12 || read_u32(bytes + 16) ||
        read_u32(bytes + 20) || read_u64(bytes + 24) != read_u64(bytes + 32))
        return fail(PLUMB_EFORMAT, "%s: the zip64 end record is damaged", file->path);
    // The end record must have the same values, or all bits set as a reference to zip64.
    if ((end->count != 0xffff && end->count != read_u64(bytes + 32)) ||
        (end->size != 0xffffffff && end->size != read_u64(bytes + 40)) ||
        (end->offset != 0xffffffff && end->offset != read_u64(bytes + 48)))
        return fail(PLUMB_EFORMAT, "%s: the zip64 end record contradicts the end record",
                    file->path);
    *end = (end_record){read_u64(bytes + 32), read_u64(bytes + 40), read_u64(bytes + 48), at};
    return PLUMB_OK;
}

// Finds the end record and checks that the directory fills the space before it.
static plumb_status read_end(end_record *end, arena *mem, const input_file *file)
{
    const uint64_t total = (uint64_t)file->size;
    const size_t have = total < END_SIZE + MAX_COMMENT ? (size_t)total : END_SIZE + MAX_COMMENT;
    unsigned char *tail = arena_alloc(mem, (int64_t)have, 1);
    if (!tail) return PLUMB_EMEMORY;
    plumb_status st = input_file_read(tail, file, total - have, have);
    if (st) return st;
    // Search backwards for the record whose comment ends with the file.
    const unsigned char *bytes = NULL;
    for (size_t comment = 0; !bytes && comment + END_SIZE <= have; comment++) {
        const unsigned char *here = tail + (have - END_SIZE - comment);
        if (has_signature(here, "PK\5\6") && read_u16(here + 20) == comment) bytes = here;
    }
    if (!bytes)
        return fail(PLUMB_EFORMAT, "%s: is not a zip file, or its end is missing", file->path);
    const uint64_t at = total - have + (uint64_t)(bytes - tail);
    if (read_u16(bytes + 4) || read_u16(bytes + 6) || read_u16(bytes + 8) != read_u16(bytes + 10))
        return fail(PLUMB_EFORMAT, "%s: is one part of a zip file in several", file->path);
    *end = (end_record){read_u16(bytes + 10), read_u32(bytes + 12), read_u32(bytes + 16), at};
    st = read_end64(end, file, at);
    if (st) return st;
    if (end->offset > end->start || end->size != end->start - end->offset)
        return fail(PLUMB_EFORMAT,
                    "%s: the directory is said to be %llu bytes from byte %llu, and "
                    "the file has its end at byte %llu",
                    file->path, (unsigned long long)end->size, (unsigned long long)end->offset,
                    (unsigned long long)end->start);
    if (end->count > ZIP_DIRECTORY_MAX_MEMBERS)
        return fail(PLUMB_EFORMAT, "%s: has %llu members, at most %d are read", file->path,
                    (unsigned long long)end->count, ZIP_DIRECTORY_MAX_MEMBERS);
    if (end->count > end->size / ENTRY_SIZE || end->size > MAX_DIRECTORY)
        return fail(PLUMB_EFORMAT, "%s: a directory of %llu bytes cannot be that of %llu members",
                    file->path, (unsigned long long)end->size, (unsigned long long)end->count);
    return PLUMB_OK;
}

// ---- the directory ----

// Extra field 1 has the sizes that did not fit into 32 bits, in this order.
static bool read_zip64_sizes(zip_member *member, const unsigned char *extra, size_t size)
{
    // 0xffffffff says that the value is in the extra field, as 8 bytes.
    uint64_t *const wide[] = {&member->size, &member->packed, &member->offset};
    bool wanted = false;
    for (int i = 0; i < 3; i++) wanted |= *wide[i] == 0xffffffff;
    if (!wanted) return true;
    while (size >= 4) {
        const size_t length = read_u16(extra + 2);
        if (length > size - 4) return false;
        if (read_u16(extra) == 1) {
            size_t used = 0;
            for (int i = 0; i < 3; i++) {
                if (*wide[i] != 0xffffffff) continue;
                if (length - used < 8) return false;
                *wide[i] = read_u64(extra + 4 + used);
                used += 8;
            }
            return true;
        }
        extra += 4 + length;
        size -= 4 + length;
    }
    return false;
}

// Rejects encryption, other methods, and sizes that contradict each other.
static plumb_status check_member(const zip_member *member, unsigned flags, const char *path)
{
    if (flags & (1u | 1u << 6 | 1u << 13))
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is encrypted", path, member->name);
    if (member->method != ZIP_DIRECTORY_STORED && member->method != ZIP_DIRECTORY_DEFLATED)
        return fail(PLUMB_EFORMAT,
                    "%s: member \"%s\" is packed by method %u, wanted stored (0) or "
                    "deflated (8)",
                    path, member->name, member->method);
    if (member->method == ZIP_DIRECTORY_STORED && member->packed != member->size)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is stored in %llu bytes and said to be %llu",
                    path, member->name, (unsigned long long)member->packed,
                    (unsigned long long)member->size);
    // One bit of deflate encodes at most 129 bytes, one byte at most 1032.
    if (member->method == ZIP_DIRECTORY_DEFLATED && member->size / 1032 > member->packed)
        return fail(PLUMB_EFORMAT,
                    "%s: member \"%s\" promises %llu bytes from %llu packed ones, "
                    "more than deflate can do",
                    path, member->name, (unsigned long long)member->size,
                    (unsigned long long)member->packed);
    return PLUMB_OK;
}

// Parses all entries of the directory, which must fill it exactly.
static plumb_status read_directory(zip_directory *out, arena *mem, const input_file *file,
                                   const end_record *end_info, const unsigned char *entry)
{
    const unsigned char *end = entry + end_info->size;
    for (int64_t i = 0; i < out->count; i++) {
        zip_member *member = &out->member[i];
        // An entry has 46 bytes, then name, extra field and comment.
        const size_t left = (size_t)(end - entry);
        if (left < ENTRY_SIZE || !has_signature(entry, "PK\1\2"))
            return fail(PLUMB_EFORMAT, "%s: the directory ends after %lld of %lld members",
                        file->path, (long long)i, (long long)out->count);
        const size_t name = read_u16(entry + 28), extra = read_u16(entry + 30),
                     comment = read_u16(entry + 32);
        if (name + extra + comment > left - ENTRY_SIZE)
            return fail(PLUMB_EFORMAT, "%s: the directory is cut in its member %lld", file->path,
                        (long long)i);
        *member = (zip_member){.crc = read_u32(entry + 16),
                               .method = read_u16(entry + 10),
                               .packed = read_u32(entry + 20),
                               .size = read_u32(entry + 24),
                               .offset = read_u32(entry + 42)};
        char *text = arena_alloc(mem, (int64_t)name + 1, 1);
        if (!text) return PLUMB_EMEMORY;
        memcpy(text, entry + ENTRY_SIZE, name);
        member->name = text;
        if (name == 0 || strlen(text) != name)
            return fail(PLUMB_EFORMAT, "%s: member %lld has no proper name", file->path,
                        (long long)i);
        if (!read_zip64_sizes(member, entry + ENTRY_SIZE + name, extra))
            return fail(PLUMB_EFORMAT, "%s: member \"%s\" lacks its zip64 sizes", file->path, text);
        const plumb_status st = check_member(member, read_u16(entry + 8), file->path);
        if (st) return st;
        entry += ENTRY_SIZE + name + extra + comment;
    }
    if (entry != end)
        return fail(PLUMB_EFORMAT, "%s: the directory goes on after its %lld members", file->path,
                    (long long)out->count);
    return PLUMB_OK;
}

// ---- positions of the members ----

// Bytes [from, to) of a member, its local header included.
typedef struct member_range {
    uint64_t from, to;
    const char *name;
} member_range;

static int compare_offsets(const void *left, const void *right)
{
    const member_range *first = left, *second = right;
    return (first->from > second->from) - (first->from < second->from);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const member_range *)left)->name, ((const member_range *)right)->name);
}

// Computes the bytes that a member occupies. Its local header must repeat name and method.
static plumb_status find_range(member_range *out, const zip_member *member, const input_file *file,
                               uint64_t directory)
{
    unsigned char bytes[LOCAL_SIZE];
    const size_t name = strlen(member->name);
    if (directory < LOCAL_SIZE || member->offset > directory - LOCAL_SIZE)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is said to lie at byte %llu, outside",
                    file->path, member->name, (unsigned long long)member->offset);
    const plumb_status st = input_file_read(bytes, file, member->offset, LOCAL_SIZE);
    if (st) return st;
    if (!has_signature(bytes, "PK\3\4") || read_u16(bytes + 8) != member->method ||
        read_u16(bytes + 26) != name)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is not where the directory says", file->path,
                    member->name);
    const uint64_t data = member->offset + LOCAL_SIZE + name + read_u16(bytes + 28);
    if (data > directory || member->packed > directory - data)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" reaches into the directory", file->path,
                    member->name);
    *out = (member_range){member->offset, data + member->packed, member->name};
    return PLUMB_OK;
}

// Sorts by position to find overlaps, then by name to find duplicates.
static plumb_status check_ranges(const zip_directory *entries, arena *mem, const input_file *file,
                                 uint64_t directory)
{
    member_range *ranges = ARENA_ALLOC(mem, member_range, entries->count);
    if (!ranges) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < entries->count; i++) {
        const plumb_status st = find_range(&ranges[i], &entries->member[i], file, directory);
        if (st) return st;
    }
    // Overlapping members would let a small file unpack to an enormous one.
    qsort(ranges, (size_t)entries->count, sizeof *ranges, compare_offsets);
    for (int64_t i = 1; i < entries->count; i++)
        if (ranges[i].from < ranges[i - 1].to)
            return fail(PLUMB_EFORMAT, "%s: members \"%s\" and \"%s\" overlap", file->path,
                        ranges[i - 1].name, ranges[i].name);
    qsort(ranges, (size_t)entries->count, sizeof *ranges, compare_names);
    for (int64_t i = 1; i < entries->count; i++)
        if (strcmp(ranges[i].name, ranges[i - 1].name) == 0)
            return fail(PLUMB_EFORMAT, "%s: has two members called \"%s\"", file->path,
                        ranges[i].name);
    return PLUMB_OK;
}

plumb_status zip_directory_read(zip_directory *out, arena *mem, const input_file *file)
{
    end_record end = {0};
    arena scratch = {0};
    plumb_status st = read_end(&end, &scratch, file);
    if (st) goto done;
    out->count = (int64_t)end.count;
    out->member = ARENA_ALLOC(mem, zip_member, out->count);
    unsigned char *bytes = arena_alloc(&scratch, (int64_t)end.size, 1);
    st = out->member && bytes ? input_file_read(bytes, file, end.offset, (size_t)end.size)
                              : PLUMB_EMEMORY;
    if (!st) st = read_directory(out, mem, file, &end, bytes);
    if (!st) st = check_ranges(out, &scratch, file, end.offset);
done:
    arena_clear(&scratch);
    return st;
}
