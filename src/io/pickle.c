// SPDX-License-Identifier: MIT
// A pickle is a program for a stack machine. This is that machine without its dangerous
// instruction: REDUCE, which calls a function in Python, here recognises five names and builds the
// value they would have returned. Bytes, values, entries and the stack are limited.
//
// A value stays reachable through the memo after it became part of an object. So everything an
// object was checked with is frozen: an instruction that changes it later is rejected.
#include "io/pickle.h"

#include <string.h>

#include "base/status.h"

// The closed list of global names that a pickle may use.
typedef enum global_kind {
    GLOBAL_ORDERED_DICT,
    GLOBAL_REBUILD_TENSOR,
    GLOBAL_STORAGE,
    GLOBAL_RECONSTRUCT,
    GLOBAL_NDARRAY,
    GLOBAL_DTYPE,
    GLOBAL_ENCODE,
} global_kind;

static const struct {
    const char *module, *name;
    global_kind kind;
    plumb_dtype dtype; // GLOBAL_STORAGE: type of the elements
    bool bfloat16;     // GLOBAL_STORAGE
} known_globals[] = {
    {"collections", "OrderedDict", GLOBAL_ORDERED_DICT, 0, false},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_REBUILD_TENSOR, 0, false},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, PLUMB_FLOAT64, false},
    {"torch", "FloatStorage", GLOBAL_STORAGE, PLUMB_FLOAT32, false},
    {"torch", "HalfStorage", GLOBAL_STORAGE, PLUMB_FLOAT16, false},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, PLUMB_UINT16, true},
    {"torch", "LongStorage", GLOBAL_STORAGE, PLUMB_INT64, false},
    {"torch", "IntStorage", GLOBAL_STORAGE, PLUMB_INT32, false},
    {"torch", "ShortStorage", GLOBAL_STORAGE, PLUMB_INT16, false},
    {"torch", "CharStorage", GLOBAL_STORAGE, PLUMB_INT8, false},
    {"torch", "ByteStorage", GLOBAL_STORAGE, PLUMB_UINT8, false},
    {"torch", "BoolStorage", GLOBAL_STORAGE, PLUMB_BOOL, false},
    {"numpy.core.multiarray", "_reconstruct", GLOBAL_RECONSTRUCT, 0, false},
    {"numpy._core.multiarray", "_reconstruct", GLOBAL_RECONSTRUCT, 0, false},
    {"numpy", "ndarray", GLOBAL_NDARRAY, 0, false},
    {"numpy", "dtype", GLOBAL_DTYPE, 0, false},
    {"_codecs", "encode", GLOBAL_ENCODE, 0, false},
};

typedef struct pickle_machine {
    arena *mem;
    const unsigned char *position, *end; // of the program
    const char *what;                    // name in messages
    pickle_value **stack;
    int64_t depth, capacity;
    int64_t *mark; // stack depths set by MARK
    int64_t mark_count, mark_capacity;
    pickle_value **memo; // values that later instructions refer to
    int64_t memo_capacity, memo_count;
    int64_t value_count, entry_count; // limited by PICKLE_MAX_VALUES
    bool out_of_memory;
} pickle_machine;

static plumb_status reject_pickle(const pickle_machine *machine, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: %s", machine->what, why);
}

static plumb_status reject_damaged(const pickle_machine *machine)
{
    return reject_pickle(machine, "the pickle is damaged");
}

static plumb_status reject_frozen(const pickle_machine *machine)
{
    return reject_pickle(machine,
                         "the pickle changes a tuple, a tensor or an array after it is made");
}

// ---- stack, marks and memo ----

// Allocates a value. NULL at the limit, or out of memory.
static pickle_value *new_value(pickle_machine *machine, pickle_kind kind)
{
    if (machine->value_count >= PICKLE_MAX_VALUES) return NULL;
    machine->value_count++;
    pickle_value *value = ARENA_ALLOC(machine->mem, pickle_value, 1);
    if (!value) machine->out_of_memory = true;
    else value->kind = kind;
    return value;
}

// Doubles the capacity of an array with entries of `size` bytes and copies the used entries.
static void *grow_array(pickle_machine *machine, void *old, int64_t used, int64_t *capacity,
                        size_t size)
{
    const int64_t more = *capacity ? 2 * *capacity : 16;
    void *out = arena_alloc(machine->mem, more, size);
    if (!out) {
        machine->out_of_memory = true;
        return NULL;
    }
    if (used) memcpy(out, old, (size_t)used * size);
    *capacity = more;
    return out;
}

// Pushes a value; false if it is NULL or the stack is full.
static bool push_value(pickle_machine *machine, pickle_value *value)
{
    if (!value) return false;
    if (machine->depth == machine->capacity) {
        if (machine->depth >= PICKLE_MAX_VALUES) return false;
        void *more = grow_array(machine, machine->stack, machine->depth, &machine->capacity,
                                sizeof *machine->stack);
        if (!more) return false;
        machine->stack = more;
    }
    machine->stack[machine->depth++] = value;
    return true;
}

// Values below the newest mark cannot be popped.
static pickle_value *pop_value(pickle_machine *machine)
{
    const int64_t floor = machine->mark_count ? machine->mark[machine->mark_count - 1] : 0;
    return machine->depth > floor ? machine->stack[--machine->depth] : NULL;
}

static pickle_value *peek_value(const pickle_machine *machine)
{
    const int64_t floor = machine->mark_count ? machine->mark[machine->mark_count - 1] : 0;
    return machine->depth > floor ? machine->stack[machine->depth - 1] : NULL;
}

// MARK: remembers the depth of the stack.
static bool push_mark(pickle_machine *machine)
{
    if (machine->mark_count == machine->mark_capacity) {
        if (machine->mark_count >= PICKLE_MAX_VALUES) return false;
        void *more = grow_array(machine, machine->mark, machine->mark_count,
                                &machine->mark_capacity, sizeof *machine->mark);
        if (!more) return false;
        machine->mark = more;
    }
    machine->mark[machine->mark_count++] = machine->depth;
    return true;
}

// Appends the `count` stack values from index `first` on to a container.
static bool append_items(pickle_machine *machine, pickle_value *container, int64_t first,
                         int64_t count)
{
    if (count > PICKLE_MAX_VALUES - machine->entry_count) return false;
    machine->entry_count += count;
    // Capacities are powers of two from 16 on, so the capacity follows from the count.
    int64_t capacity = container->count ? 16 : 0;
    while (capacity < container->count) capacity *= 2;
    while (capacity < container->count + count) {
        void *more = grow_array(machine, container->item, container->count, &capacity,
                                sizeof *container->item);
        if (!more) return false;
        container->item = more;
    }
    for (int64_t i = 0; i < count; i++)
        container->item[container->count++] = machine->stack[first + i];
    return true;
}

// BINPUT, MEMOIZE: stores the top of the stack in the memo.
static bool store_memo(pickle_machine *machine, int64_t place)
{
    pickle_value *value = peek_value(machine);
    if (!value || place < 0 || place >= PICKLE_MAX_VALUES) return false;
    while (place >= machine->memo_capacity) {
        void *more = grow_array(machine, machine->memo, machine->memo_capacity,
                                &machine->memo_capacity, sizeof *machine->memo);
        if (!more) return false;
        machine->memo = more;
    }
    machine->memo[place] = value;
    if (place >= machine->memo_count) machine->memo_count = place + 1;
    return true;
}

// BINGET: pushes a value of the memo.
static bool push_memo(pickle_machine *machine, int64_t place)
{
    return place >= 0 && place < machine->memo_capacity && machine->memo[place] &&
           push_value(machine, machine->memo[place]);
}

// ---- numbers and strings ----

// Reads an unsigned little-endian number of `bytes` bytes. False at the end of the program.
static bool read_number(pickle_machine *machine, uint64_t *out, int bytes)
{
    if (machine->end - machine->position < bytes) return false;
    *out = 0;
    for (int i = 0; i < bytes; i++) *out |= (uint64_t)machine->position[i] << 8 * i;
    machine->position += bytes;
    return true;
}

// Pushes a copy of the next `length` bytes, with a zero at its end.
static bool push_bytes(pickle_machine *machine, pickle_kind kind, uint64_t length)
{
    if (length > (uint64_t)(machine->end - machine->position)) return false;
    pickle_value *value = new_value(machine, kind);
    char *copy = value ? arena_alloc(machine->mem, (int64_t)length + 1, 1) : NULL;
    if (!copy) {
        machine->out_of_memory = machine->out_of_memory || value;
        return false;
    }
    memcpy(copy, machine->position, (size_t)length);
    machine->position += length;
    value->bytes = copy;
    value->count = (int64_t)length;
    return push_value(machine, value);
}

static bool push_integer(pickle_machine *machine, pickle_kind kind, int64_t integer)
{
    pickle_value *value = new_value(machine, kind);
    if (value) value->integer = integer;
    return push_value(machine, value);
}

// LONG1: little-endian two's complement of up to eight bytes. The sign bit is extended.
static bool push_long(pickle_machine *machine)
{
    uint64_t length, value = 0;
    if (!read_number(machine, &length, 1) || length > 8 ||
        !read_number(machine, &value, (int)length))
        return false;
    if (length && length < 8 && value >> (8 * length - 1)) value |= ~UINT64_C(0) << 8 * length;
    return push_integer(machine, PICKLE_INTEGER, (int64_t)value);
}

// BINFLOAT: eight bytes, big-endian.
static bool push_real(pickle_machine *machine)
{
    if (machine->end - machine->position < 8) return false;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | machine->position[i]; // big-endian
    machine->position += 8;
    pickle_value *value = new_value(machine, PICKLE_REAL);
    if (value) memcpy(&value->real, &bits, sizeof bits);
    return push_value(machine, value);
}

// ---- global names ----

// Pushes a name of the closed list. All other names are rejected.
static plumb_status push_global(pickle_machine *machine, const char *module, size_t module_size,
                                const char *name, size_t name_size)
{
    for (size_t i = 0; i < sizeof known_globals / sizeof *known_globals; i++) {
        if (strlen(known_globals[i].module) != module_size ||
            strlen(known_globals[i].name) != name_size ||
            memcmp(known_globals[i].module, module, module_size) != 0 ||
            memcmp(known_globals[i].name, name, name_size) != 0)
            continue;
        pickle_value *value = new_value(machine, PICKLE_NAME);
        if (!push_value(machine, value)) return reject_damaged(machine);
        value->integer = (int64_t)i;
        return PLUMB_OK;
    }
    // The message shows printable characters only, so that a file cannot control the terminal.
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
    return fail(PLUMB_EFORMAT, "%s: names %s.%s, which no dictionary of scores needs",
                machine->what, shown[0], shown[1]);
}

// GLOBAL: module and name as two lines of text.
static plumb_status read_global(pickle_machine *machine)
{
    const char *line[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        const unsigned char *stop =
            memchr(machine->position, '\n', (size_t)(machine->end - machine->position));
        if (!stop) return reject_damaged(machine);
        line[i] = (const char *)machine->position;
        size[i] = (size_t)(stop - machine->position);
        machine->position = stop + 1;
    }
    return push_global(machine, line[0], size[0], line[1], size[1]);
}

// STACK_GLOBAL: module and name from the stack.
static plumb_status pop_global(pickle_machine *machine)
{
    const pickle_value *name = pop_value(machine), *module = pop_value(machine);
    if (!name || !module || name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        return reject_damaged(machine);
    return push_global(machine, module->bytes, (size_t)module->count, name->bytes,
                       (size_t)name->count);
}

static bool is_global(const pickle_value *value, global_kind kind)
{
    return value && value->kind == PICKLE_NAME && known_globals[value->integer].kind == kind;
}

// ---- objects ----

static bool is_list(const pickle_value *value, int64_t min_count)
{
    return value && value->kind == PICKLE_LIST && value->count >= min_count;
}

// BINPERSID with ('storage', class, key, device, count): the data of a tensor, in another member.
static plumb_status build_storage(pickle_machine *machine)
{
    const pickle_value *id = pop_value(machine);
    if (!is_list(id, 5) || id->item[0]->kind != PICKLE_TEXT ||
        strcmp(id->item[0]->bytes, "storage") != 0 || !is_global(id->item[1], GLOBAL_STORAGE) ||
        id->item[2]->kind != PICKLE_TEXT || id->item[4]->kind != PICKLE_INTEGER ||
        id->item[4]->integer < 0)
        return reject_pickle(machine, "a persistent object is not a tensor's storage");
    pickle_value *value = new_value(machine, PICKLE_STORAGE);
    if (!push_value(machine, value)) return reject_damaged(machine);
    const int64_t which = id->item[1]->integer;
    value->dtype = known_globals[which].dtype;
    value->bfloat16 = known_globals[which].bfloat16;
    value->bytes = id->item[2]->bytes;
    value->count = id->item[2]->count;
    value->integer = id->item[4]->integer;
    return PLUMB_OK;
}

// True for a list of integers that are not negative: sizes or strides. Freezes it, so that it stays
// what was checked.
static bool freeze_counts(pickle_value *value)
{
    if (!is_list(value, 0)) return false;
    for (int64_t i = 0; i < value->count; i++)
        if (value->item[i]->kind != PICKLE_INTEGER || value->item[i]->integer < 0) return false;
    value->frozen = true;
    return true;
}

// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)
static plumb_status build_tensor(pickle_machine *machine, pickle_value *arguments)
{
    if (arguments->count < 4 || arguments->item[0]->kind != PICKLE_STORAGE ||
        arguments->item[1]->kind != PICKLE_INTEGER || arguments->item[1]->integer < 0 ||
        !freeze_counts(arguments->item[2]) || !freeze_counts(arguments->item[3]) ||
        arguments->item[2]->count != arguments->item[3]->count)
        return reject_pickle(machine, "a tensor is not described as PyTorch does");
    pickle_value *value = new_value(machine, PICKLE_TENSOR);
    if (!push_value(machine, value)) return reject_damaged(machine);
    arguments->frozen = true;
    value->item = arguments->item;
    value->count = 4;
    return PLUMB_OK;
}

// dtype('f8', ...). BUILD sets the byte order later.
static plumb_status build_dtype(pickle_machine *machine, const pickle_value *arguments)
{
    static const struct {
        char kind, bytes;
    } known[] = {
#define KNOWN(name, text, bytes, kind) {kind, '0' + bytes},
        PLUMB_DTYPE_LIST(KNOWN)
#undef KNOWN
    };
    const pickle_value *name = arguments->count ? arguments->item[0] : NULL;
    if (!name || name->kind != PICKLE_TEXT || name->count < 2 || name->count > 12)
        return reject_pickle(machine, "an array's dtype is not described as NumPy does");
    pickle_value *value = new_value(machine, PICKLE_DTYPE);
    if (!push_value(machine, value)) return reject_damaged(machine);
    const char *code = name->bytes;
    if (code[0] == 'U' || code[0] == 'S') {
        int64_t length = 0;
        for (const char *digit = code + 1; *digit; digit++) {
            if (*digit < '0' || *digit > '9' || length > 100000)
                return reject_pickle(machine, "a dtype is damaged");
            length = 10 * length + (*digit - '0');
        }
        value->text = true;
        value->dtype = code[0] == 'U' ? PLUMB_UINT32 : PLUMB_UINT8;
        value->count = length;
        return PLUMB_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (code[0] == known[i].kind && code[1] == known[i].bytes && !code[2]) {
            value->dtype = (plumb_dtype)i;
            return PLUMB_OK;
        }
    return reject_pickle(machine, "an array has a dtype that is neither numbers nor text");
}

// encode(text, 'latin1'): protocol 2 writes bytes as code points below 256 in UTF-8.
static plumb_status build_bytes(pickle_machine *machine, const pickle_value *arguments)
{
    if (!arguments->count || arguments->item[0]->kind != PICKLE_TEXT)
        return reject_damaged(machine);
    const pickle_value *text = arguments->item[0];
    pickle_value *value = new_value(machine, PICKLE_BYTES);
    if (!push_value(machine, value)) return reject_damaged(machine);
    char *out = arena_alloc(machine->mem, text->count + 1, 1);
    if (!out) return PLUMB_EMEMORY;
    const unsigned char *utf8 = (const unsigned char *)text->bytes;
    for (int64_t i = 0; i < text->count; i++) {
        if (utf8[i] < 0x80) {
            out[value->count++] = (char)utf8[i];
        } else if ((utf8[i] == 0xc2 || utf8[i] == 0xc3) && i + 1 < text->count &&
                   utf8[i + 1] >> 6 == 2) {
            out[value->count++] = (char)((utf8[i] & 3) << 6 | (utf8[i + 1] & 63));
            i++;
        } else {
            return reject_pickle(machine, "bytes are not written in Latin-1");
        }
    }
    value->bytes = out;
    return PLUMB_OK;
}

// REDUCE: builds what the named function would have returned. Calls nothing.
static plumb_status reduce_call(pickle_machine *machine)
{
    pickle_value *arguments = pop_value(machine);
    const pickle_value *function = pop_value(machine);
    if (!is_list(arguments, 0) || !function || function->kind != PICKLE_NAME)
        return reject_damaged(machine);
    switch (known_globals[function->integer].kind) {
    case GLOBAL_ORDERED_DICT:
        if (arguments->count)
            return reject_pickle(machine, "an OrderedDict is made from something");
        return push_value(machine, new_value(machine, PICKLE_DICT)) ? PLUMB_OK
                                                                    : reject_damaged(machine);
    case GLOBAL_REBUILD_TENSOR: return build_tensor(machine, arguments);
    case GLOBAL_RECONSTRUCT:
        if (!arguments->count || !is_global(arguments->item[0], GLOBAL_NDARRAY))
            return reject_pickle(machine, "something else than a NumPy array is reconstructed");
        return push_value(machine, new_value(machine, PICKLE_NDARRAY)) ? PLUMB_OK
                                                                       : reject_damaged(machine);
    case GLOBAL_DTYPE: return build_dtype(machine, arguments);
    case GLOBAL_ENCODE: return build_bytes(machine, arguments);
    default: return reject_pickle(machine, "what is called is no function");
    }
}

// BUILD: sets shape, dtype, order and bytes of an array, or the byte order of a dtype.
static plumb_status build_object(pickle_machine *machine)
{
    pickle_value *state = pop_value(machine), *value = peek_value(machine);
    // A state dict carries "_metadata", the versions of its modules, as an attribute.
    if (value && state && value->kind == PICKLE_DICT && state->kind == PICKLE_DICT) return PLUMB_OK;
    if (!value || !is_list(state, 2)) return reject_damaged(machine);
    if (value->frozen) return reject_frozen(machine);
    if (value->kind == PICKLE_DTYPE) {
        const pickle_value *order = state->item[1];
        if (order->kind != PICKLE_TEXT || order->count != 1 || !strchr("<>|=", order->bytes[0]))
            return reject_pickle(machine, "a dtype has no byte order");
        const uint16_t one = 1;
        const bool little = *(const unsigned char *)&one;
        value->swapped =
            order->bytes[0] == (little ? '>' : '<') && plumb_dtype_size(value->dtype) > 1;
        return PLUMB_OK;
    }
    if (value->kind != PICKLE_NDARRAY || state->count != 5 || !freeze_counts(state->item[1]) ||
        state->item[2]->kind != PICKLE_DTYPE || state->item[3]->kind != PICKLE_BOOL ||
        state->item[4]->kind != PICKLE_BYTES)
        return reject_pickle(machine,
                             "an object is filled that is no NumPy array of numbers or text");
    value->fortran = state->item[3]->integer;
    value->frozen = state->frozen = state->item[2]->frozen = true;
    value->item = state->item;
    value->count = state->count;
    return PLUMB_OK;
}

// ---- containers ----

// Replaces the stack values from index `first` on by a tuple of them.
static bool push_tuple(pickle_machine *machine, int64_t first)
{
    pickle_value *value = new_value(machine, PICKLE_LIST);
    if (!value || !append_items(machine, value, first, machine->depth - first)) return false;
    machine->depth = first;
    value->frozen = true;
    return push_value(machine, value);
}

// TUPLE1 to TUPLE3: a tuple of the top `count` values.
static bool push_small_tuple(pickle_machine *machine, int64_t count)
{
    const int64_t floor = machine->mark_count ? machine->mark[machine->mark_count - 1] : 0;
    return machine->depth - floor >= count && push_tuple(machine, machine->depth - count);
}

// TUPLE: a tuple of the values above the newest mark.
static bool push_marked_tuple(pickle_machine *machine)
{
    return machine->mark_count && push_tuple(machine, machine->mark[--machine->mark_count]);
}

// Moves the values above the newest mark, or the top `count` values, into the container below them.
static plumb_status fill_container(pickle_machine *machine, pickle_kind kind, int64_t count)
{
    const int64_t first = count                 ? machine->depth - count
                          : machine->mark_count ? machine->mark[--machine->mark_count]
                                                : -1;
    const int64_t floor = machine->mark_count ? machine->mark[machine->mark_count - 1] : 0;
    if (first < floor + 1) return reject_damaged(machine);
    pickle_value *container = machine->stack[first - 1];
    const int64_t count_given = machine->depth - first;
    if (container->kind != kind || (kind == PICKLE_DICT && count_given % 2))
        return reject_damaged(machine);
    if (container->frozen) return reject_frozen(machine);
    if (!append_items(machine, container, first, count_given)) return reject_damaged(machine);
    machine->depth = first;
    return PLUMB_OK;
}

// ---- instructions ----

// clang-format off
static plumb_status run_instruction(pickle_machine *machine, unsigned char code, bool *done)
{
    uint64_t number = 0;
    bool valid = true;
    switch (code) {
    case 0x80: valid = read_number(machine, &number, 1) && number <= 5; break;    // PROTO
    case 0x95: valid = read_number(machine, &number, 8); break;              // FRAME
    case '.': *done = true; break;                               // STOP
    case '(': valid = push_mark(machine); break;                        // MARK
    case '0': valid = pop_value(machine); break;                              // POP
    case '}': valid = push_value(machine, new_value(machine, PICKLE_DICT)); break;      // EMPTY_DICT
    case ']': valid = push_value(machine, new_value(machine, PICKLE_LIST)); break;      // EMPTY_LIST
    case ')': valid = push_tuple(machine, machine->depth); break;        // EMPTY_TUPLE
    case 'a': return fill_container(machine, PICKLE_LIST, 1);             // APPEND
    case 'e': return fill_container(machine, PICKLE_LIST, 0);             // APPENDS
    case 's': return fill_container(machine, PICKLE_DICT, 2);             // SETITEM
    case 'u': return fill_container(machine, PICKLE_DICT, 0);             // SETITEMS
    case 't': valid = push_marked_tuple(machine); break;                     // TUPLE
    case 0x85: case 0x86: case 0x87: valid = push_small_tuple(machine, code - 0x84); break; // TUPLE1 .. 3
    case 'N': valid = push_value(machine, new_value(machine, PICKLE_NONE)); break;      // NONE
    case 0x88: valid = push_integer(machine, PICKLE_BOOL, 1); break;    // NEWTRUE
    case 0x89: valid = push_integer(machine, PICKLE_BOOL, 0); break;    // NEWFALSE
    case 'K': valid = read_number(machine, &number, 1) && push_integer(machine, PICKLE_INTEGER, (int64_t)number); break;
    case 'M': valid = read_number(machine, &number, 2) && push_integer(machine, PICKLE_INTEGER, (int64_t)number); break;
    case 'J':                                                    // BININT
        valid = read_number(machine, &number, 4) &&
               push_integer(machine, PICKLE_INTEGER, number >> 31 ? (int64_t)number - (INT64_C(1) << 32) : (int64_t)number);
        break;
    case 0x8a: valid = push_long(machine); break;                       // LONG1
    case 'G': valid = push_real(machine); break;                        // BINFLOAT
    case 'X': valid = read_number(machine, &number, 4) && push_bytes(machine, PICKLE_TEXT, number); break;
    case 0x8c: valid = read_number(machine, &number, 1) && push_bytes(machine, PICKLE_TEXT, number); break;
    case 'C': valid = read_number(machine, &number, 1) && push_bytes(machine, PICKLE_BYTES, number); break;
    case 'B': valid = read_number(machine, &number, 4) && push_bytes(machine, PICKLE_BYTES, number); break;
    case 'q': valid = read_number(machine, &number, 1) && store_memo(machine, (int64_t)number); break; // BINPUT
    case 'r': valid = read_number(machine, &number, 4) && store_memo(machine, (int64_t)number); break; // LONG_BINPUT
    case 0x94: valid = store_memo(machine, machine->memo_count); break;         // MEMOIZE
    case 'h': valid = read_number(machine, &number, 1) && push_memo(machine, (int64_t)number); break; // BINGET
    case 'j': valid = read_number(machine, &number, 4) && push_memo(machine, (int64_t)number); break; // LONG_BINGET
    case 'c': return read_global(machine);                             // GLOBAL
    case 0x93: return pop_global(machine);                           // STACK_GLOBAL
    case 'R': return reduce_call(machine);                                  // REDUCE
    case 'b': return build_object(machine);                                   // BUILD
    case 'Q': return build_storage(machine);                           // BINPERSID
    default:
        return fail(PLUMB_EFORMAT, "%s: the pickle has instruction 0x%02x, which no dictionary of "
                                   "scores needs", machine->what, code);
    }
    return valid ? PLUMB_OK : reject_damaged(machine);
}
// clang-format on

plumb_status pickle_parse(pickle_value **out, arena *mem, const unsigned char *bytes, size_t size,
                          const char *what)
{
    pickle_machine machine = {.mem = mem, .position = bytes, .end = bytes + size, .what = what};
    if (size > PICKLE_MAX_BYTES)
        return reject_pickle(&machine, "the pickle is too large for scores");
    bool done = false;
    while (!done) {
        if (machine.position == machine.end) return reject_damaged(&machine);
        const plumb_status st = run_instruction(&machine, *machine.position++, &done);
        if (machine.out_of_memory) return PLUMB_EMEMORY;
        if (!st) continue;
        if (machine.value_count >= PICKLE_MAX_VALUES || machine.entry_count >= PICKLE_MAX_VALUES)
            return reject_pickle(&machine, "the pickle has too many values for scores");
        return st;
    }
    if (machine.depth != 1 || machine.mark_count) return reject_damaged(&machine);
    *out = machine.stack[0];
    return PLUMB_OK;
}
