// SPDX-License-Identifier: MIT
// Wrapper of libyaml, which is loaded when the first study is read. Its events are converted into a
// tree, so that callers do not need the library.
#define _GNU_SOURCE
#include "io/yaml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { MAX_KEYS = 1000 };

static struct {
    void *handle;
    int (*init_parser)(yaml_parser_t *);
    void (*set_input)(yaml_parser_t *, const unsigned char *, size_t);
    void (*set_encoding)(yaml_parser_t *, yaml_encoding_t);
    int (*parse)(yaml_parser_t *, yaml_event_t *);
    void (*delete_event)(yaml_event_t *);
    void (*delete_parser)(yaml_parser_t *);
} library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

// Loads libyaml and finds its six functions.
static void load_library(void)
{
    library.handle = dlopen("libyaml-0.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library.handle) return;
    *(void **)&library.init_parser = dlsym(library.handle, "yaml_parser_initialize");
    *(void **)&library.set_input = dlsym(library.handle, "yaml_parser_set_input_string");
    *(void **)&library.set_encoding = dlsym(library.handle, "yaml_parser_set_encoding");
    *(void **)&library.parse = dlsym(library.handle, "yaml_parser_parse");
    *(void **)&library.delete_event = dlsym(library.handle, "yaml_event_delete");
    *(void **)&library.delete_parser = dlsym(library.handle, "yaml_parser_delete");
}

plumb_status yaml_library_load(void)
{
    pthread_once(&library_once, load_library);
    if (library.init_parser && library.set_input && library.set_encoding && library.parse &&
        library.delete_event && library.delete_parser)
        return PLUMB_OK;
    return fail(PLUMB_EMISSING, "studies need libyaml: install libyaml-0-2");
}

// Builds the tree. Index 1 of the arrays is the outermost map or list, `depth` the innermost.
typedef struct tree_reader {
    yaml_parser_t parser;
    arena *mem;
    const char *what; // name in messages
    int depth;
    yaml *open[YAML_MAX_DEPTH + 1];  // the map or list of each level
    yaml **tail[YAML_MAX_DEPTH + 1]; // where its next child goes
    char *key[YAML_MAX_DEPTH + 1];   // key of a map whose value follows
    yaml *root;
} tree_reader;

static int get_line(const yaml_mark_t *mark)
{
    return (int)(mark->line < 1000000000 ? mark->line + 1 : 1000000000);
}

// Copies a scalar as a C string.
static char *copy_text(tree_reader *reader, const unsigned char *text, size_t length)
{
    char *out = arena_alloc(reader->mem, (int64_t)length + 1, 1);
    if (out && length) memcpy(out, text, length);
    return out;
}

static plumb_status reject_line(const tree_reader *reader, int line, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s:%d: %s", reader->what, line, why);
}

// Adds a node to the innermost map or list. A map or list becomes the innermost one.
static plumb_status add_node(tree_reader *reader, yaml_kind kind, int line, const char *text)
{
    yaml *node = ARENA_ALLOC(reader->mem, yaml, 1);
    if (!node || !text) return PLUMB_EMEMORY;
    *node = (yaml){.kind = kind, .line = line, .text = text};
    if (!reader->depth) {
        reader->root = node;
    } else {
        yaml *parent = reader->open[reader->depth];
        if (parent->kind == YAML_MAP) {
            node->key = reader->key[reader->depth];
            reader->key[reader->depth] = NULL;
        }
        *reader->tail[reader->depth] = node;
        reader->tail[reader->depth] = &node->next;
        parent->count++;
    }
    if (kind == YAML_VALUE) return PLUMB_OK;
    if (reader->depth == YAML_MAX_DEPTH)
        return reject_line(reader, line, "is more than 16 levels deep");
    reader->depth++;
    reader->open[reader->depth] = node;
    reader->tail[reader->depth] = &node->child;
    reader->key[reader->depth] = NULL;
    return PLUMB_OK;
}

// True if the next scalar is a key.
static bool wants_key(const tree_reader *reader)
{
    return reader->depth && reader->open[reader->depth]->kind == YAML_MAP &&
           !reader->key[reader->depth];
}

// Stores the key of the next value. Duplicate keys are errors.
static plumb_status set_key(tree_reader *reader, int line, char *text)
{
    if (!text) return PLUMB_EMEMORY;
    // Each new key is compared with all previous ones, so their number is limited.
    if (reader->open[reader->depth]->count >= MAX_KEYS)
        return reject_line(reader, line, "is the 1001st key of a map");
    for (const yaml *sibling = reader->open[reader->depth]->child; sibling; sibling = sibling->next)
        if (!strcmp(sibling->key, text))
            return fail(PLUMB_EFORMAT, "%s:%d: \"%.64s\" stands there twice, first in line %d",
                        reader->what, line, text, sibling->line);
    reader->key[reader->depth] = text;
    return PLUMB_OK;
}

// Adds one event of the parser to the tree.
static plumb_status handle_event(tree_reader *reader, const yaml_event_t *event)
{
    const int line = get_line(&event->start_mark);
    const bool key = wants_key(reader);
    switch (event->type) {
    case YAML_ALIAS_EVENT: return reject_line(reader, line, "an alias (*name); studies have none");
    case YAML_SCALAR_EVENT: {
        if (event->data.scalar.anchor)
            return reject_line(reader, line, "an anchor (&name); studies have none");
        if (event->data.scalar.tag)
            return reject_line(reader, line, "a tag (!name); studies have none");
        if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
            return reject_line(reader, line, "a zero byte inside a text");
        char *text = copy_text(reader, event->data.scalar.value, event->data.scalar.length);
        // "key:" without a value, ~ and null are the empty text.
        if (text && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
            (!strcmp(text, "~") || !strcmp(text, "null")))
            text[0] = 0;
        return key ? set_key(reader, line, text) : add_node(reader, YAML_VALUE, line, text);
    }
    case YAML_SEQUENCE_START_EVENT:
        if (key) return reject_line(reader, line, "a list where the name of something should be");
        if (event->data.sequence_start.anchor || event->data.sequence_start.tag)
            return reject_line(reader, line, "an anchor or a tag; studies have none");
        return add_node(reader, YAML_LIST, line, "");
    case YAML_MAPPING_START_EVENT:
        if (key) return reject_line(reader, line, "a map where the name of something should be");
        if (event->data.mapping_start.anchor || event->data.mapping_start.tag)
            return reject_line(reader, line, "an anchor or a tag; studies have none");
        return add_node(reader, YAML_MAP, line, "");
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: reader->depth--; return PLUMB_OK;
    case YAML_DOCUMENT_START_EVENT:
        return reader->root ? reject_line(reader, line, "a second document; a study is one")
                            : PLUMB_OK;
    default: return PLUMB_OK;
    }
}

// Turns a syntax error of libyaml into a message with its line.
static plumb_status reject_syntax(const tree_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return fail(PLUMB_EMEMORY, "%s: no memory", reader->what);
    const yaml_mark_t *mark =
        parser->error == YAML_READER_ERROR ? &parser->mark : &parser->problem_mark;
    return fail(PLUMB_EFORMAT, "%s:%d: is not YAML: %s", reader->what, get_line(mark),
                parser->problem ? parser->problem : "it cannot be read");
}

plumb_status yaml_read(yaml **out, arena *mem, const char *text, size_t size, const char *what)
{
    *out = NULL;
    plumb_status st = yaml_library_load();
    if (st) return st;
    if (size > YAML_MAX_BYTES)
        return fail(PLUMB_EFORMAT, "%s: is %zu bytes long, a study at most %d", what, size,
                    YAML_MAX_BYTES);
    tree_reader reader = {.mem = mem, .what = what};
    if (!library.init_parser(&reader.parser)) return fail(PLUMB_EMEMORY, "%s: no memory", what);
    library.set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    library.set_input(&reader.parser, (const unsigned char *)text, size);
    for (bool ended = false; !st && !ended;) {
        yaml_event_t event;
        if (!library.parse(&reader.parser, &event)) {
            st = reject_syntax(&reader);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        st = handle_event(&reader, &event);
        library.delete_event(&event);
    }
    library.delete_parser(&reader.parser);
    if (!st) *out = reader.root;
    return st;
}
