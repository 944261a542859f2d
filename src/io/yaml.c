// SPDX-License-Identifier: MIT
// The door to libyaml, which is loaded when a study is first read. Its events are turned into a
// tree at once, so that whoever looks at a study sees no library.
#define _GNU_SOURCE
#include "io/yaml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { MOST_KEYS = 1000 };

static struct {
    void *handle;
    int (*begin)(yaml_parser_t *);
    void (*input)(yaml_parser_t *, const unsigned char *, size_t);
    void (*encoding)(yaml_parser_t *, yaml_encoding_t);
    int (*parse)(yaml_parser_t *, yaml_event_t *);
    void (*drop)(yaml_event_t *);
    void (*end)(yaml_parser_t *);
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    lib.handle = dlopen("libyaml-0.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!lib.handle) return;
    *(void **)&lib.begin = dlsym(lib.handle, "yaml_parser_initialize");
    *(void **)&lib.input = dlsym(lib.handle, "yaml_parser_set_input_string");
    *(void **)&lib.encoding = dlsym(lib.handle, "yaml_parser_set_encoding");
    *(void **)&lib.parse = dlsym(lib.handle, "yaml_parser_parse");
    *(void **)&lib.drop = dlsym(lib.handle, "yaml_event_delete");
    *(void **)&lib.end = dlsym(lib.handle, "yaml_parser_delete");
}

plumb_status yaml_load(void)
{
    pthread_once(&once, load);
    if (lib.begin && lib.input && lib.encoding && lib.parse && lib.drop && lib.end) return PLUMB_OK;
    return fail(PLUMB_EMISSING, "studies need libyaml: install libyaml-0-2");
}

typedef struct reader {
    yaml_parser_t parser;
    arena *mem;
    const char *what;
    int depth;
    yaml *open[YAML_DEEPEST + 1]; // the maps and lists around
    yaml **end[YAML_DEEPEST + 1]; // where the next child goes
    char *key[YAML_DEEPEST + 1];  // of a map, until its value comes
    yaml *root;
} reader;

static int line_of(const yaml_mark_t *mark)
{
    return (int)(mark->line < 1000000000 ? mark->line + 1 : 1000000000);
}

// Values are C strings: a zero inside would hide what stands behind it.
static char *copy(reader *r, const unsigned char *text, size_t length)
{
    char *out = arena_alloc(r->mem, (int64_t)length + 1, 1);
    if (out && length) memcpy(out, text, length);
    return out;
}

static plumb_status refuse(const reader *r, int line, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s:%d: %s", r->what, line, why);
}

static plumb_status add(reader *r, yaml_kind kind, int line, const char *text)
{
    yaml *node = ARENA_ALLOC(r->mem, yaml, 1);
    if (!node || !text) return PLUMB_EMEMORY;
    *node = (yaml){.kind = kind, .line = line, .text = text};
    if (!r->depth) {
        r->root = node;
    } else {
        yaml *parent = r->open[r->depth];
        if (parent->kind == YAML_MAP) {
            node->key = r->key[r->depth];
            r->key[r->depth] = NULL;
        }
        *r->end[r->depth] = node;
        r->end[r->depth] = &node->next;
        parent->count++;
    }
    if (kind == YAML_VALUE) return PLUMB_OK;
    if (r->depth == YAML_DEEPEST) return refuse(r, line, "is more than 16 levels deep");
    r->depth++;
    r->open[r->depth] = node;
    r->end[r->depth] = &node->child;
    r->key[r->depth] = NULL;
    return PLUMB_OK;
}

// The next thing is a key, and not a value?
static bool wants_key(const reader *r)
{
    return r->depth && r->open[r->depth]->kind == YAML_MAP && !r->key[r->depth];
}

static plumb_status take_key(reader *r, int line, char *text)
{
    if (!text) return PLUMB_EMEMORY;
    // Each new key is compared with all before it.
    if (r->open[r->depth]->count >= MOST_KEYS) return refuse(r, line, "is the 1001st key of a map");
    for (const yaml *c = r->open[r->depth]->child; c; c = c->next)
        if (!strcmp(c->key, text))
            return fail(PLUMB_EFORMAT, "%s:%d: \"%.64s\" stands there twice, first in line %d",
                        r->what, line, text, c->line);
    r->key[r->depth] = text;
    return PLUMB_OK;
}

static plumb_status take(reader *r, const yaml_event_t *e)
{
    const int line = line_of(&e->start_mark);
    const bool key = wants_key(r);
    switch (e->type) {
    case YAML_ALIAS_EVENT: return refuse(r, line, "an alias (*name); studies have none");
    case YAML_SCALAR_EVENT: {
        if (e->data.scalar.anchor) return refuse(r, line, "an anchor (&name); studies have none");
        if (e->data.scalar.tag) return refuse(r, line, "a tag (!name); studies have none");
        if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
            return refuse(r, line, "a zero byte inside a text");
        char *text = copy(r, e->data.scalar.value, e->data.scalar.length);
        // "key:" with nothing behind it, and ~, are nothing.
        if (text && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
            (!strcmp(text, "~") || !strcmp(text, "null")))
            text[0] = 0;
        return key ? take_key(r, line, text) : add(r, YAML_VALUE, line, text);
    }
    case YAML_SEQUENCE_START_EVENT:
        if (key) return refuse(r, line, "a list where the name of something should be");
        if (e->data.sequence_start.anchor || e->data.sequence_start.tag)
            return refuse(r, line, "an anchor or a tag; studies have none");
        return add(r, YAML_LIST, line, "");
    case YAML_MAPPING_START_EVENT:
        if (key) return refuse(r, line, "a map where the name of something should be");
        if (e->data.mapping_start.anchor || e->data.mapping_start.tag)
            return refuse(r, line, "an anchor or a tag; studies have none");
        return add(r, YAML_MAP, line, "");
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: r->depth--; return PLUMB_OK;
    case YAML_DOCUMENT_START_EVENT:
        return r->root ? refuse(r, line, "a second document; a study is one") : PLUMB_OK;
    default: return PLUMB_OK;
    }
}

static plumb_status broken(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) return fail(PLUMB_EMEMORY, "%s: no memory", r->what);
    const yaml_mark_t *at = p->error == YAML_READER_ERROR ? &p->mark : &p->problem_mark;
    return fail(PLUMB_EFORMAT, "%s:%d: is not YAML: %s", r->what, line_of(at),
                p->problem ? p->problem : "it cannot be read");
}

plumb_status yaml_read(yaml **out, arena *mem, const char *text, size_t size, const char *what)
{
    *out = NULL;
    plumb_status st = yaml_load();
    if (st) return st;
    if (size > YAML_LONGEST)
        return fail(PLUMB_EFORMAT, "%s: is %zu bytes long, a study at most %d", what, size,
                    YAML_LONGEST);
    reader r = {.mem = mem, .what = what};
    if (!lib.begin(&r.parser)) return fail(PLUMB_EMEMORY, "%s: no memory", what);
    lib.encoding(&r.parser, YAML_UTF8_ENCODING);
    lib.input(&r.parser, (const unsigned char *)text, size);
    for (bool over = false; !st && !over;) {
        yaml_event_t e;
        if (!lib.parse(&r.parser, &e)) {
            st = broken(&r);
            break;
        }
        over = e.type == YAML_STREAM_END_EVENT;
        st = take(&r, &e);
        lib.drop(&e);
    }
    lib.end(&r.parser);
    if (!st) *out = r.root;
    return st;
}
