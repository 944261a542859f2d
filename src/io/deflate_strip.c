// SPDX-License-Identifier: MIT
// An encoder of deflate [RFC 1951]. Repeats are looked for at a few given distances and where the
// same four bytes were last; the first that is long is taken. Blocks have their own Huffman codes.
#include "io/deflate_strip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io/deflate.h"

enum {
    WINDOW = 32768,       // the largest distance
    LONGEST = 258,        // the longest repeat
    SHORTEST = 4,         // shorter ones are written as literals
    GOOD = 32,            // a repeat that is long enough to look no further
    BLOCK_TOKENS = 16384, // tokens of a block
    HASH_BITS = 13,
    LITERALS = 286, // codes of literals and lengths; 256 ends a block
    DISTANCES = 30,
    END_OF_BLOCK = 256,
    LENGTH_CODES = 19, // codes in which the lengths of the codes above are written
};

// A literal, or a repeat: MATCH | length - 3 | distance - 1.
typedef uint32_t token;
enum { MATCH = 1 << 23, LENGTH_SHIFT = 15 };

static const uint16_t length_base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[30] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                           6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

// ---- bits ----

// Bits are written from the low end of each byte on.
typedef struct bit_writer {
    uint64_t bits; // not yet written
    int count;
    unsigned char *at;
} bit_writer;

// At most 48 bits; leaves fewer than eight unwritten. There must be room for eight bytes.
static inline void put_bits(bit_writer *w, uint64_t bits, int count)
{
    w->bits |= bits << w->count;
    w->count += count;
    for (; w->count >= 8; w->count -= 8, w->bits >>= 8) *w->at++ = (unsigned char)w->bits;
}

// ---- Huffman codes ----

typedef struct huffman_code {
    uint16_t bits; // first bit lowest
    uint8_t length;
} huffman_code;

typedef struct huffman_leaf {
    uint32_t weight;
    int symbol;
} huffman_leaf;

// Depth of every used symbol in the tree of the least total; returns the largest.
static int find_depths(uint8_t *depth, const huffman_leaf *leaf, int leaves)
{
    // Nodes are made in the order of their weights, so both queues are sorted [van Leeuwen].
    uint32_t weight[LITERALS];
    int parent[2 * LITERALS], level[2 * LITERALS];
    int next_leaf = 0, next_node = 0, largest = 0;
    for (int made = 0; made < leaves - 1; made++) {
        weight[made] = 0;
        for (int k = 0; k < 2; k++) {
            const bool take_leaf =
                next_leaf < leaves &&
                (next_node == made || leaf[next_leaf].weight <= weight[next_node]);
            weight[made] += take_leaf ? leaf[next_leaf].weight : weight[next_node];
            parent[take_leaf ? next_leaf++ : leaves + next_node++] = leaves + made;
        }
    }
    level[2 * leaves - 2] = 0;
    for (int i = 2 * leaves - 3; i >= 0; i--) {
        level[i] = level[parent[i]] + 1;
        if (i < leaves) depth[leaf[i].symbol] = (uint8_t)level[i];
        if (level[i] > largest) largest = level[i];
    }
    return largest;
}

static void sort_leaves(huffman_leaf *leaf, int leaves)
{
    for (int i = 1; i < leaves; i++) {
        const huffman_leaf moved = leaf[i];
        int k = i;
        for (; k > 0 && leaf[k - 1].weight > moved.weight; k--) leaf[k] = leaf[k - 1];
        leaf[k] = moved;
    }
}

// Lengths of at most `limit` bits. Where the tree is deeper, weights are made more equal.
static void find_lengths(huffman_code *code, const uint32_t *count, int symbols, int limit)
{
    huffman_leaf leaf[LITERALS];
    uint8_t depth[LITERALS] = {0};
    int leaves = 0;
    for (int s = 0; s < symbols; s++)
        if (count[s]) leaf[leaves++] = (huffman_leaf){count[s], s};
    sort_leaves(leaf, leaves);
    if (leaves == 1) depth[leaf[0].symbol] = 1;
    if (leaves == 0) depth[0] = 1; // readers want one code at least
    while (leaves > 1 && find_depths(depth, leaf, leaves) > limit)
        for (int i = 0; i < leaves; i++) leaf[i].weight = leaf[i].weight / 2 + 1;
    for (int s = 0; s < symbols; s++) code[s].length = depth[s];
}

// Codes of one length are consecutive numbers, in the order of their symbols.
static void assign_codes(huffman_code *code, int symbols)
{
    uint32_t of_length[16] = {0}, next[16] = {0};
    for (int s = 0; s < symbols; s++) of_length[code[s].length]++;
    of_length[0] = 0;
    for (int l = 1; l < 16; l++) next[l] = (next[l - 1] + of_length[l - 1]) << 1;
    for (int s = 0; s < symbols; s++) {
        uint32_t number = next[code[s].length]++, reversed = 0;
        for (int i = 0; i < code[s].length; i++)
            reversed |= (number >> i & 1) << (code[s].length - 1 - i);
        code[s].bits = (uint16_t)reversed;
    }
}

// ---- a block ----

typedef struct strip_encoder {
    const uint8_t *data;
    size_t size;
    const int64_t *distance;
    buffer *out;
    bit_writer bits;
    token tokens[BLOCK_TOKENS];
    int count;
    uint32_t literal_count[LITERALS], distance_count[DISTANCES];
    uint8_t length_code[LONGEST - 2]; // by length - 3
    uint8_t distance_code[512];       // by distance - 1 below 256; then by (distance - 1) / 128
    uint32_t last_at[1 << HASH_BITS]; // 1 + where four bytes were last, by their hash
} strip_encoder;

static void fill_tables(strip_encoder *e)
{
    for (int code = 0; code < 29; code++)
        for (int l = length_base[code]; l <= LONGEST && (code == 28 || l < length_base[code + 1]);
             l++)
            e->length_code[l - 3] = (uint8_t)code;
    for (int code = 0; code < DISTANCES; code++) {
        const int end = code + 1 < DISTANCES ? distance_base[code + 1] : WINDOW + 1;
        for (int d = distance_base[code]; d < end; d++) {
            if (d - 1 < 256) e->distance_code[d - 1] = (uint8_t)code;
            else e->distance_code[256 + ((d - 1) >> 7)] = (uint8_t)code;
        }
    }
}

static inline int distance_code_of(const strip_encoder *e, uint32_t before)
{
    return e->distance_code[before < 256 ? before : 256 + (before >> 7)];
}

// The lengths of all codes, one after the other, as symbols 0 .. 15, and 17 and 18 for runs of
// zeros.
static int list_lengths(uint8_t *symbol, uint8_t *extra, const uint8_t *length, int lengths)
{
    int used = 0;
    for (int i = 0, run; i < lengths; i += run) {
        run = 1;
        if (length[i] == 0)
            while (run < 138 && i + run < lengths && length[i + run] == 0) run++;
        if (run < 3) run = 1;
        symbol[used] = run == 1 ? length[i] : run <= 10 ? 17 : 18;
        extra[used++] = (uint8_t)(run == 1 ? 0 : run <= 10 ? run - 3 : run - 11);
    }
    return used;
}

static void put_code_lengths(bit_writer *w, const huffman_code *literal,
                             const huffman_code *distance)
{
    static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length[LITERALS + DISTANCES], symbol[LITERALS + DISTANCES], extra[LITERALS + DISTANCES];
    uint32_t count[LENGTH_CODES] = {0};
    huffman_code code[LENGTH_CODES];
    for (int s = 0; s < LITERALS; s++) length[s] = literal[s].length;
    for (int s = 0; s < DISTANCES; s++) length[LITERALS + s] = distance[s].length;
    const int used = list_lengths(symbol, extra, length, LITERALS + DISTANCES);
    for (int i = 0; i < used; i++) count[symbol[i]]++;
    find_lengths(code, count, LENGTH_CODES, 7);
    assign_codes(code, LENGTH_CODES);
    put_bits(w, LITERALS - 257, 5);
    put_bits(w, DISTANCES - 1, 5);
    put_bits(w, LENGTH_CODES - 4, 4);
    for (int i = 0; i < LENGTH_CODES; i++) put_bits(w, code[order[i]].length, 3);
    for (int i = 0; i < used; i++) {
        put_bits(w, code[symbol[i]].bits, code[symbol[i]].length);
        if (symbol[i] > 15) put_bits(w, extra[i], symbol[i] == 17 ? 3 : 7);
    }
}

// A repeat: code of its length, code of its distance, each with what the code leaves open.
static inline void put_match(bit_writer *w, const strip_encoder *e, token t,
                             const huffman_code *literal, const huffman_code *distance)
{
    const uint32_t length = (t >> LENGTH_SHIFT & 255) + 3, before = t & (WINDOW - 1);
    const int l = e->length_code[length - 3], d = distance_code_of(e, before);
    const huffman_code *a = &literal[257 + l], *b = &distance[d];
    uint64_t bits = a->bits | (uint64_t)(length - length_base[l]) << a->length;
    int count = a->length + length_extra[l];
    bits |= (b->bits | (uint64_t)(before + 1 - distance_base[d]) << b->length) << count;
    put_bits(w, bits, count + b->length + distance_extra[d]);
}

static void put_block(strip_encoder *e, bool last)
{
    huffman_code literal[LITERALS], distance[DISTANCES];
    e->literal_count[END_OF_BLOCK] = 1;
    find_lengths(literal, e->literal_count, LITERALS, 15);
    find_lengths(distance, e->distance_count, DISTANCES, 15);
    assign_codes(literal, LITERALS);
    assign_codes(distance, DISTANCES);
    // At most six bytes a token, and the lengths of all codes.
    const size_t most = (size_t)e->count * 6 + 1024, before = e->out->size;
    e->bits.at = buffer_grow(e->out, most);
    if (!e->bits.at) return;
    bit_writer w = e->bits;
    put_bits(&w, last, 1);
    put_bits(&w, 2, 2); // codes of its own
    put_code_lengths(&w, literal, distance);
    for (int i = 0; i < e->count; i++) {
        const token t = e->tokens[i];
        if (t & MATCH) put_match(&w, e, t, literal, distance);
        else put_bits(&w, literal[t].bits, literal[t].length);
    }
    put_bits(&w, literal[END_OF_BLOCK].bits, literal[END_OF_BLOCK].length);
    if (last && w.count) put_bits(&w, 0, 8 - w.count);
    e->out->size = before + (size_t)(w.at - (e->out->data + before));
    e->bits = w;
    e->count = 0;
    memset(e->literal_count, 0, sizeof e->literal_count);
    memset(e->distance_count, 0, sizeof e->distance_count);
}

// ---- repeats ----

static inline uint32_t load_four(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static inline uint32_t hash_four(const uint8_t *p)
{
    return load_four(p) * 2654435761u >> (32 - HASH_BITS);
}

// How many bytes from `at` on are equal to those `before` earlier, up to `most`.
static inline size_t match_length(const uint8_t *at, size_t before, size_t most)
{
    const uint8_t *earlier = at - before;
    size_t n = 0;
    for (; n + 8 <= most; n += 8) {
        uint64_t a, b;
        memcpy(&a, at + n, 8);
        memcpy(&b, earlier + n, 8);
        if (a != b) {
            while (at[n] == earlier[n]) n++;
            return n;
        }
    }
    while (n < most && at[n] == earlier[n]) n++;
    return n;
}

// The longest repeat at position i, or one that is long enough. Returns its length, at least
// SHORTEST, or 0. The position of these four bytes is remembered.
static inline size_t find_match(size_t *before, strip_encoder *e, size_t i)
{
    const uint8_t *at = e->data + i;
    const size_t left = e->size - i, most = left < LONGEST ? left : LONGEST;
    size_t best = SHORTEST - 1;
    if (most < SHORTEST) return 0;
    const uint32_t first = load_four(at), h = hash_four(at);
    const size_t seen = e->last_at[h];
    e->last_at[h] = (uint32_t)(i + 1);
    for (int k = 0; k <= DEFLATE_STRIP_DISTANCES && best < GOOD; k++) {
        const bool given = k < DEFLATE_STRIP_DISTANCES;
        const size_t d = given ? (size_t)e->distance[k] : seen ? i + 1 - seen : 0;
        if (!d || d > i || d > WINDOW || load_four(at - d) != first) continue;
        const size_t n = match_length(at, d, most);
        if (n > best) best = n, *before = d;
    }
    return best >= SHORTEST ? best : 0;
}

static void encode_tokens(strip_encoder *e)
{
    for (size_t i = 0; i < e->size && !e->out->failed;) {
        size_t before = 0, length = find_match(&before, e, i);
        if (length) {
            e->tokens[e->count++] =
                MATCH | (token)(length - 3) << LENGTH_SHIFT | (token)(before - 1);
            e->literal_count[257 + e->length_code[length - 3]]++;
            e->distance_count[distance_code_of(e, (uint32_t)before - 1)]++;
        } else {
            length = 1;
            e->tokens[e->count++] = e->data[i];
            e->literal_count[e->data[i]]++;
        }
        i += length;
        if (e->count == BLOCK_TOKENS && i < e->size) put_block(e, false);
    }
    if (!e->out->failed) put_block(e, true);
}

void deflate_strip(buffer *out, const uint8_t *data, size_t size,
                   const int64_t distance[DEFLATE_STRIP_DISTANCES])
{
    static const unsigned char head[] = {0x78, 0x01}; // deflate, window of 32 KiB, fastest
    // Positions are remembered in 32 bits; a longer picture is no use case, and fails.
    strip_encoder *e = size < UINT32_MAX ? calloc(1, sizeof *e) : NULL;
    if (!e) {
        out->failed = true;
        return;
    }
    buffer_put(out, head, sizeof head);
    e->data = data, e->size = size, e->distance = distance, e->out = out;
    fill_tables(e);
    encode_tokens(e);
    free(e);
    const uint32_t sum = deflate_adler(data, size);
    const unsigned char tail[] = {(unsigned char)(sum >> 24), (unsigned char)(sum >> 16),
                                  (unsigned char)(sum >> 8), (unsigned char)sum};
    buffer_put(out, tail, sizeof tail);
}
