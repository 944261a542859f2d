// SPDX-License-Identifier: MIT
// A pickle is a program for a machine with a stack. This is that machine without its dangerous
// instruction: REDUCE, which calls a function, here only recognises five names, and builds what
// they would have built. Everything is bounded: bytes, values, entries, and the stack.
#include "io/pickle.h"

#include <string.h>

#include "base/status.h"

// The closed list: what a pickle may name, and what that is to us.
typedef enum word {
    WORD_ORDERED_DICT,
    WORD_REBUILD_TENSOR,
    WORD_STORAGE,
    WORD_RECONSTRUCT,
    WORD_NDARRAY,
    WORD_DTYPE,
    WORD_ENCODE,
} word;

static const struct {
    const char *module, *name;
    word word;
    plumb_dtype dtype;
    bool brain; // bfloat16
} words[] = {
    {"collections", "OrderedDict", WORD_ORDERED_DICT, 0, false},
    {"torch._utils", "_rebuild_tensor_v2", WORD_REBUILD_TENSOR, 0, false},
    {"torch", "DoubleStorage", WORD_STORAGE, PLUMB_FLOAT64, false},
    {"torch", "FloatStorage", WORD_STORAGE, PLUMB_FLOAT32, false},
    {"torch", "HalfStorage", WORD_STORAGE, PLUMB_FLOAT16, false},
    {"torch", "BFloat16Storage", WORD_STORAGE, PLUMB_UINT16, true},
    {"torch", "LongStorage", WORD_STORAGE, PLUMB_INT64, false},
    {"torch", "IntStorage", WORD_STORAGE, PLUMB_INT32, false},
    {"torch", "ShortStorage", WORD_STORAGE, PLUMB_INT16, false},
    {"torch", "CharStorage", WORD_STORAGE, PLUMB_INT8, false},
    {"torch", "ByteStorage", WORD_STORAGE, PLUMB_UINT8, false},
    {"torch", "BoolStorage", WORD_STORAGE, PLUMB_BOOL, false},
    {"numpy.core.multiarray", "_reconstruct", WORD_RECONSTRUCT, 0, false},
    {"numpy._core.multiarray", "_reconstruct", WORD_RECONSTRUCT, 0, false},
    {"numpy", "ndarray", WORD_NDARRAY, 0, false},
    {"numpy", "dtype", WORD_DTYPE, 0, false},
    {"_codecs", "encode", WORD_ENCODE, 0, false},
};

typedef struct machine {
    arena *mem;
    const unsigned char *at, *end;
    const char *what;
    pickle_value **stack;
    int64_t depth, room;
    int64_t *mark;
    int64_t marks, mark_room;
    pickle_value **memo;
    int64_t memo_room, memo_count;
    int64_t values, entries;
    bool no_memory;
} machine;

static plumb_status refuse(const machine *m, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: %s", m->what, why);
}

static plumb_status damaged(const machine *m)
{
    return refuse(m, "the pickle is damaged");
}

// ---- memory ----

static pickle_value *fresh(machine *m, pickle_kind kind)
{
    if (m->values >= PICKLE_MOST_VALUES) return NULL;
    m->values++;
    pickle_value *v = ARENA_ALLOC(m->mem, pickle_value, 1);
    if (!v) m->no_memory = true;
    else v->kind = kind;
    return v;
}

// Twice the room for an array of `size` bytes an entry; what was there moves along.
static void *grow(machine *m, void *old, int64_t used, int64_t *room, size_t size)
{
    const int64_t more = *room ? 2 * *room : 16;
    void *out = arena_alloc(m->mem, more, size);
    if (!out) {
        m->no_memory = true;
        return NULL;
    }
    if (used) memcpy(out, old, (size_t)used * size);
    *room = more;
    return out;
}

static bool push(machine *m, pickle_value *v)
{
    if (!v) return false;
    if (m->depth == m->room) {
        if (m->depth >= PICKLE_MOST_VALUES) return false;
        void *more = grow(m, m->stack, m->depth, &m->room, sizeof *m->stack);
        if (!more) return false;
        m->stack = more;
    }
    m->stack[m->depth++] = v;
    return true;
}

// Nothing below the newest mark may be taken.
static pickle_value *pop(machine *m)
{
    const int64_t floor = m->marks ? m->mark[m->marks - 1] : 0;
    return m->depth > floor ? m->stack[--m->depth] : NULL;
}

static pickle_value *top(const machine *m)
{
    const int64_t floor = m->marks ? m->mark[m->marks - 1] : 0;
    return m->depth > floor ? m->stack[m->depth - 1] : NULL;
}

static bool push_mark(machine *m)
{
    if (m->marks == m->mark_room) {
        if (m->marks >= PICKLE_MOST_VALUES) return false;
        void *more = grow(m, m->mark, m->marks, &m->mark_room, sizeof *m->mark);
        if (!more) return false;
        m->mark = more;
    }
    m->mark[m->marks++] = m->depth;
    return true;
}

// Appends the `count` values on top of the stack, from `first` on, to a container.
static bool append(machine *m, pickle_value *to, int64_t first, int64_t count)
{
    if (count > PICKLE_MOST_VALUES - m->entries) return false;
    m->entries += count;
    // Rooms are powers of two, so that the count tells how much there is.
    int64_t room = to->count ? 16 : 0;
    while (room < to->count) room *= 2;
    while (room < to->count + count) {
        void *more = grow(m, to->item, to->count, &room, sizeof *to->item);
        if (!more) return false;
        to->item = more;
    }
    for (int64_t i = 0; i < count; i++) to->item[to->count++] = m->stack[first + i];
    return true;
}

static bool remember(machine *m, int64_t place)
{
    pickle_value *v = top(m);
    if (!v || place < 0 || place >= PICKLE_MOST_VALUES) return false;
    while (place >= m->memo_room) {
        void *more = grow(m, m->memo, m->memo_room, &m->memo_room, sizeof *m->memo);
        if (!more) return false;
        m->memo = more;
    }
    m->memo[place] = v;
    if (place >= m->memo_count) m->memo_count = place + 1;
    return true;
}

static bool recall(machine *m, int64_t place)
{
    return place >= 0 && place < m->memo_room && m->memo[place] && push(m, m->memo[place]);
}

// ---- bytes ----

// An unsigned number of `bytes` bytes; false at the end.
static bool take_number(machine *m, uint64_t *out, int bytes)
{
    if (m->end - m->at < bytes) return false;
    *out = 0;
    for (int i = 0; i < bytes; i++) *out |= (uint64_t)m->at[i] << 8 * i;
    m->at += bytes;
    return true;
}

static bool push_bytes(machine *m, pickle_kind kind, uint64_t length)
{
    if (length > (uint64_t)(m->end - m->at)) return false;
    pickle_value *v = fresh(m, kind);
    char *copy = v ? arena_alloc(m->mem, (int64_t)length + 1, 1) : NULL;
    if (!copy) {
        m->no_memory = m->no_memory || v;
        return false;
    }
    memcpy(copy, m->at, (size_t)length);
    m->at += length;
    v->bytes = copy;
    v->count = (int64_t)length;
    return push(m, v);
}

static bool push_integer(machine *m, pickle_kind kind, int64_t value)
{
    pickle_value *v = fresh(m, kind);
    if (v) v->integer = value;
    return push(m, v);
}

// LONG1: little-endian two's complement of up to eight bytes.
static bool push_long(machine *m)
{
    uint64_t length, value = 0;
    if (!take_number(m, &length, 1) || length > 8 || !take_number(m, &value, (int)length))
        return false;
    if (length && length < 8 && value >> (8 * length - 1)) value |= ~UINT64_C(0) << 8 * length;
    return push_integer(m, PICKLE_INTEGER, (int64_t)value);
}

static bool push_real(machine *m)
{
    if (m->end - m->at < 8) return false;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | m->at[i]; // big-endian
    m->at += 8;
    pickle_value *v = fresh(m, PICKLE_REAL);
    if (v) memcpy(&v->real, &bits, sizeof bits);
    return push(m, v);
}

// ---- names ----

static plumb_status push_name(machine *m, const char *module, size_t module_size, const char *name,
                              size_t name_size)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].module) != module_size || strlen(words[i].name) != name_size ||
            memcmp(words[i].module, module, module_size) != 0 ||
            memcmp(words[i].name, name, name_size) != 0)
            continue;
        pickle_value *v = fresh(m, PICKLE_NAME);
        if (!push(m, v)) return damaged(m);
        v->integer = (int64_t)i;
        return PLUMB_OK;
    }
    // Only letters that cannot disturb a terminal are repeated.
    char shown[2][48];
    const char *given[2] = {module, name};
    const size_t size[2] = {module_size, name_size};
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        for (; n < size[k] && n < sizeof shown[k] - 1; n++) {
            const char c = given[k][n];
            shown[k][n] = c > ' ' && c < 127 ? c : '?';
        }
        shown[k][n] = 0;
    }
    return fail(PLUMB_EFORMAT, "%s: names %s.%s, which no dictionary of scores needs", m->what,
                shown[0], shown[1]);
}

// GLOBAL: two lines of text.
static plumb_status take_global(machine *m)
{
    const char *line[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        const unsigned char *stop = memchr(m->at, '\n', (size_t)(m->end - m->at));
        if (!stop) return damaged(m);
        line[i] = (const char *)m->at;
        size[i] = (size_t)(stop - m->at);
        m->at = stop + 1;
    }
    return push_name(m, line[0], size[0], line[1], size[1]);
}

static plumb_status stack_global(machine *m)
{
    const pickle_value *name = pop(m), *module = pop(m);
    if (!name || !module || name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        return damaged(m);
    return push_name(m, module->bytes, (size_t)module->count, name->bytes, (size_t)name->count);
}

static bool is_word(const pickle_value *v, word w)
{
    return v && v->kind == PICKLE_NAME && words[v->integer].word == w;
}

// ---- what functions would have built ----

static bool is_list(const pickle_value *v, int64_t least)
{
    return v && v->kind == PICKLE_LIST && v->count >= least;
}

// ('storage', class, key, place, count)
static plumb_status build_storage(machine *m)
{
    const pickle_value *id = pop(m);
    if (!is_list(id, 5) || id->item[0]->kind != PICKLE_TEXT ||
        strcmp(id->item[0]->bytes, "storage") != 0 || !is_word(id->item[1], WORD_STORAGE) ||
        id->item[2]->kind != PICKLE_TEXT || id->item[4]->kind != PICKLE_INTEGER ||
        id->item[4]->integer < 0)
        return refuse(m, "a persistent object is not a tensor's storage");
    pickle_value *v = fresh(m, PICKLE_STORAGE);
    if (!push(m, v)) return damaged(m);
    const int64_t which = id->item[1]->integer;
    v->dtype = words[which].dtype;
    v->text = words[which].brain;
    v->bytes = id->item[2]->bytes;
    v->count = id->item[2]->count;
    v->integer = id->item[4]->integer;
    return PLUMB_OK;
}

static bool is_counts(const pickle_value *v)
{
    if (!is_list(v, 0)) return false;
    for (int64_t i = 0; i < v->count; i++)
        if (v->item[i]->kind != PICKLE_INTEGER || v->item[i]->integer < 0) return false;
    return true;
}

// (storage, offset, sizes, strides, requires_grad, hooks)
static plumb_status build_tensor(machine *m, const pickle_value *given)
{
    if (given->count < 4 || given->item[0]->kind != PICKLE_STORAGE ||
        given->item[1]->kind != PICKLE_INTEGER || given->item[1]->integer < 0 ||
        !is_counts(given->item[2]) || !is_counts(given->item[3]) ||
        given->item[2]->count != given->item[3]->count)
        return refuse(m, "a tensor is not described as PyTorch does");
    pickle_value *v = fresh(m, PICKLE_TENSOR);
    if (!push(m, v)) return damaged(m);
    v->item = given->item;
    v->count = 4;
    return PLUMB_OK;
}

// dtype('f8', ...): the byte order comes later, by BUILD.
static plumb_status build_dtype(machine *m, const pickle_value *given)
{
    static const struct {
        char kind, bytes;
    } known[] = {
#define KNOWN(name, text, bytes, kind) {kind, '0' + bytes},
        PLUMB_DTYPE_LIST(KNOWN)
#undef KNOWN
    };
    const pickle_value *name = given->count ? given->item[0] : NULL;
    if (!name || name->kind != PICKLE_TEXT || name->count < 2 || name->count > 12)
        return refuse(m, "an array's dtype is not described as NumPy does");
    pickle_value *v = fresh(m, PICKLE_DTYPE);
    if (!push(m, v)) return damaged(m);
    const char *s = name->bytes;
    if (s[0] == 'U' || s[0] == 'S') {
        int64_t length = 0;
        for (const char *c = s + 1; *c; c++) {
            if (*c < '0' || *c > '9' || length > 100000) return refuse(m, "a dtype is damaged");
            length = 10 * length + (*c - '0');
        }
        v->text = true;
        v->dtype = s[0] == 'U' ? PLUMB_UINT32 : PLUMB_UINT8;
        v->count = length;
        return PLUMB_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (s[0] == known[i].kind && s[1] == known[i].bytes && !s[2]) {
            v->dtype = (plumb_dtype)i;
            return PLUMB_OK;
        }
    return refuse(m, "an array has a dtype that is neither numbers nor text");
}

// encode(text, 'latin1') is how protocol 2 writes bytes: code points below 256, as UTF-8.
static plumb_status build_bytes(machine *m, const pickle_value *given)
{
    if (!given->count || given->item[0]->kind != PICKLE_TEXT) return damaged(m);
    const pickle_value *text = given->item[0];
    pickle_value *v = fresh(m, PICKLE_BYTES);
    if (!push(m, v)) return damaged(m);
    char *out = arena_alloc(m->mem, text->count + 1, 1);
    if (!out) return PLUMB_EMEMORY;
    const unsigned char *s = (const unsigned char *)text->bytes;
    for (int64_t i = 0; i < text->count; i++) {
        if (s[i] < 0x80) {
            out[v->count++] = (char)s[i];
        } else if ((s[i] == 0xc2 || s[i] == 0xc3) && i + 1 < text->count && s[i + 1] >> 6 == 2) {
            out[v->count++] = (char)((s[i] & 3) << 6 | (s[i + 1] & 63));
            i++;
        } else {
            return refuse(m, "bytes are not written in Latin-1");
        }
    }
    v->bytes = out;
    return PLUMB_OK;
}

static plumb_status reduce(machine *m)
{
    const pickle_value *given = pop(m), *function = pop(m);
    if (!is_list(given, 0) || !function || function->kind != PICKLE_NAME) return damaged(m);
    switch (words[function->integer].word) {
    case WORD_ORDERED_DICT:
        if (given->count) return refuse(m, "an OrderedDict is made from something");
        return push(m, fresh(m, PICKLE_DICT)) ? PLUMB_OK : damaged(m);
    case WORD_REBUILD_TENSOR: return build_tensor(m, given);
    case WORD_RECONSTRUCT:
        if (!given->count || !is_word(given->item[0], WORD_NDARRAY))
            return refuse(m, "something else than a NumPy array is reconstructed");
        return push(m, fresh(m, PICKLE_NDARRAY)) ? PLUMB_OK : damaged(m);
    case WORD_DTYPE: return build_dtype(m, given);
    case WORD_ENCODE: return build_bytes(m, given);
    default: return refuse(m, "what is called is no function");
    }
}

// BUILD gives an array its shape, dtype, order and bytes, and a dtype its byte order.
static plumb_status build(machine *m)
{
    const pickle_value *state = pop(m);
    pickle_value *v = top(m);
    if (!v || !is_list(state, 2)) return damaged(m);
    if (v->kind == PICKLE_DTYPE) {
        const pickle_value *order = state->item[1];
        if (order->kind != PICKLE_TEXT || order->count != 1 || !strchr("<>|=", order->bytes[0]))
            return refuse(m, "a dtype has no byte order");
        const uint16_t one = 1;
        const bool little = *(const unsigned char *)&one;
        v->swapped = order->bytes[0] == (little ? '>' : '<') && plumb_dtype_size(v->dtype) > 1;
        return PLUMB_OK;
    }
    if (v->kind != PICKLE_NDARRAY || v->item || state->count != 5 || !is_counts(state->item[1]) ||
        state->item[2]->kind != PICKLE_DTYPE || state->item[3]->kind != PICKLE_BOOL ||
        state->item[4]->kind != PICKLE_BYTES)
        return refuse(m, "an object is filled that is no NumPy array of numbers or text");
    v->fortran = state->item[3]->integer;
    v->item = state->item;
    v->count = state->count;
    return PLUMB_OK;
}

// ---- containers ----

static bool make_tuple(machine *m, int64_t first)
{
    pickle_value *v = fresh(m, PICKLE_LIST);
    if (!v || !append(m, v, first, m->depth - first)) return false;
    m->depth = first;
    return push(m, v);
}

static bool small_tuple(machine *m, int64_t count)
{
    const int64_t floor = m->marks ? m->mark[m->marks - 1] : 0;
    return m->depth - floor >= count && make_tuple(m, m->depth - count);
}

static bool marked_tuple(machine *m)
{
    return m->marks && make_tuple(m, m->mark[--m->marks]);
}

// The values above the newest mark, or `count` of them, into the container below.
static bool fill(machine *m, pickle_kind kind, int64_t count)
{
    const int64_t first = count ? m->depth - count : m->marks ? m->mark[--m->marks] : -1;
    const int64_t floor = m->marks ? m->mark[m->marks - 1] : 0;
    if (first < floor + 1) return false;
    pickle_value *to = m->stack[first - 1];
    const int64_t given = m->depth - first;
    if (to->kind != kind || (kind == PICKLE_DICT && given % 2)) return false;
    if (!append(m, to, first, given)) return false;
    m->depth = first;
    return true;
}

// ---- instructions ----

// clang-format off
static plumb_status obey(machine *m, unsigned char code, bool *done)
{
    uint64_t n = 0;
    bool good = true;
    switch (code) {
    case 0x80: good = take_number(m, &n, 1) && n <= 5; break;    // PROTO
    case 0x95: good = take_number(m, &n, 8); break;              // FRAME
    case '.': *done = true; break;                               // STOP
    case '(': good = push_mark(m); break;                        // MARK
    case '0': good = pop(m); break;                              // POP
    case '}': good = push(m, fresh(m, PICKLE_DICT)); break;      // EMPTY_DICT
    case ']': good = push(m, fresh(m, PICKLE_LIST)); break;      // EMPTY_LIST
    case ')': good = push(m, fresh(m, PICKLE_LIST)); break;      // EMPTY_TUPLE
    case 'a': good = fill(m, PICKLE_LIST, 1); break;             // APPEND
    case 'e': good = fill(m, PICKLE_LIST, 0); break;             // APPENDS
    case 's': good = fill(m, PICKLE_DICT, 2); break;             // SETITEM
    case 'u': good = fill(m, PICKLE_DICT, 0); break;             // SETITEMS
    case 't': good = marked_tuple(m); break;                     // TUPLE
    case 0x85: case 0x86: case 0x87: good = small_tuple(m, code - 0x84); break; // TUPLE1 .. 3
    case 'N': good = push(m, fresh(m, PICKLE_NONE)); break;      // NONE
    case 0x88: good = push_integer(m, PICKLE_BOOL, 1); break;    // NEWTRUE
    case 0x89: good = push_integer(m, PICKLE_BOOL, 0); break;    // NEWFALSE
    case 'K': good = take_number(m, &n, 1) && push_integer(m, PICKLE_INTEGER, (int64_t)n); break;
    case 'M': good = take_number(m, &n, 2) && push_integer(m, PICKLE_INTEGER, (int64_t)n); break;
    case 'J':                                                    // BININT
        good = take_number(m, &n, 4) &&
               push_integer(m, PICKLE_INTEGER, n >> 31 ? (int64_t)n - (INT64_C(1) << 32) : (int64_t)n);
        break;
    case 0x8a: good = push_long(m); break;                       // LONG1
    case 'G': good = push_real(m); break;                        // BINFLOAT
    case 'X': good = take_number(m, &n, 4) && push_bytes(m, PICKLE_TEXT, n); break;
    case 0x8c: good = take_number(m, &n, 1) && push_bytes(m, PICKLE_TEXT, n); break;
    case 'C': good = take_number(m, &n, 1) && push_bytes(m, PICKLE_BYTES, n); break;
    case 'B': good = take_number(m, &n, 4) && push_bytes(m, PICKLE_BYTES, n); break;
    case 'q': good = take_number(m, &n, 1) && remember(m, (int64_t)n); break; // BINPUT
    case 'r': good = take_number(m, &n, 4) && remember(m, (int64_t)n); break; // LONG_BINPUT
    case 0x94: good = remember(m, m->memo_count); break;         // MEMOIZE
    case 'h': good = take_number(m, &n, 1) && recall(m, (int64_t)n); break; // BINGET
    case 'j': good = take_number(m, &n, 4) && recall(m, (int64_t)n); break; // LONG_BINGET
    case 'c': return take_global(m);                             // GLOBAL
    case 0x93: return stack_global(m);                           // STACK_GLOBAL
    case 'R': return reduce(m);                                  // REDUCE
    case 'b': return build(m);                                   // BUILD
    case 'Q': return build_storage(m);                           // BINPERSID
    default:
        return fail(PLUMB_EFORMAT, "%s: the pickle has instruction 0x%02x, which no dictionary of "
                                   "scores needs", m->what, code);
    }
    return good ? PLUMB_OK : damaged(m);
}
// clang-format on

plumb_status pickle_parse(pickle_value **out, arena *mem, const unsigned char *bytes, size_t size,
                          const char *what)
{
    machine m = {.mem = mem, .at = bytes, .end = bytes + size, .what = what};
    if (size > PICKLE_MOST_BYTES) return refuse(&m, "the pickle is too large for scores");
    bool done = false;
    while (!done) {
        if (m.at == m.end) return damaged(&m);
        const plumb_status st = obey(&m, *m.at++, &done);
        if (m.no_memory) return PLUMB_EMEMORY;
        if (!st) continue;
        if (m.values >= PICKLE_MOST_VALUES || m.entries >= PICKLE_MOST_VALUES)
            return refuse(&m, "the pickle has too many values for scores");
        return st;
    }
    if (m.depth != 1 || m.marks) return damaged(&m);
    *out = m.stack[0];
    return PLUMB_OK;
}

const pickle_value *pickle_find(const pickle_value *dict, const char *key)
{
    if (!dict || dict->kind != PICKLE_DICT) return NULL;
    // The last of equal keys counts, as in Python.
    for (int64_t i = dict->count - 2; i >= 0; i -= 2)
        if (dict->item[i]->kind == PICKLE_TEXT && strcmp(dict->item[i]->bytes, key) == 0 &&
            (int64_t)strlen(key) == dict->item[i]->count)
            return dict->item[i + 1];
    return NULL;
}
