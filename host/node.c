/*
 * node.c - YAML by libyaml into a tree of nodes with places (see node.h).
 */
#include "host/node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define NODES_MAX 100000u
#define FILE_MAX (16u << 20)

struct host_block {
    struct host_block *next;
    char bytes[];
};

static void *take(struct host_document *document, size_t size)
{
    struct host_block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        fprintf(stderr, "cede: no memory\n");
        exit(1);
    }
    block->next = document->blocks;
    document->blocks = block;
    return block->bytes;
}

static char *take_text(struct host_document *document, const char *text, size_t length)
{
    char *copy = take(document, length + 1);
    memcpy(copy, text, length);
    return copy;
}

void host_document_free(struct host_document *document)
{
    while (document->blocks != NULL) {
        struct host_block *block = document->blocks;
        document->blocks = block->next;
        free(block);
    }
    document->root = NULL;
}

bool host_error_at(const struct host_document *document, const struct host_node *node,
                   char *error, const char *format, ...)
{
    int used = node == NULL || node->line == 0
                   ? snprintf(error, HOST_ERROR_SIZE, "%s: ",
                              node == NULL ? document->path : "--set")
                   : snprintf(error, HOST_ERROR_SIZE, "%s:%u:%u: ", document->path, node->line,
                              node->column);
    if (used > 0 && used < (int)HOST_ERROR_SIZE) {
        va_list list;
        va_start(list, format);
        vsnprintf(error + used, HOST_ERROR_SIZE - (size_t)used, format, list);
        va_end(list);
    }
    return false;
}

static bool event_error(struct host_document *document, const yaml_mark_t *mark, char *error,
                        const char *text)
{
    struct host_node at = {.line = (uint32_t)mark->line + 1, .column = (uint32_t)mark->column + 1};
    return host_error_at(document, &at, error, "%s", text);
}

/* The open collections of the document, outermost first. */
struct open_node {
    struct host_node *node;
    struct host_node **tail;
    const char *key; /* read, its value not yet */
};

#define DEPTH_MAX 16u

struct reader {
    struct host_document *document;
    struct open_node open[DEPTH_MAX];
    uint32_t depth, count;
    char *error;
};

static struct host_node *add_node(struct reader *reader, enum host_node_kind kind,
                                  const yaml_mark_t *mark)
{
    struct host_node *node = take(reader->document, sizeof *node);
    node->kind = kind;
    node->text = "";
    node->line = (uint32_t)mark->line + 1;
    node->column = (uint32_t)mark->column + 1;
    if (reader->depth == 0) {
        reader->document->root = node;
        return node;
    }
    struct open_node *open = &reader->open[reader->depth - 1];
    node->key = open->key;
    open->key = NULL;
    *open->tail = node;
    open->tail = &node->next;
    return node;
}

static bool take_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct open_node *open = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;
    if (memchr(text, '\0', length) != NULL) {
        return event_error(reader->document, &event->start_mark, reader->error,
                           "a zero byte in a value");
    }
    char *copy = take_text(reader->document, text, length);
    if (open != NULL && open->node->kind == HOST_NODE_MAP && open->key == NULL) {
        if (host_node_child(open->node, copy) != NULL) {
            char what[128];
            snprintf(what, sizeof what, "key \"%.64s\" stands here twice", copy);
            return event_error(reader->document, &event->start_mark, reader->error, what);
        }
        open->key = copy;
        return true;
    }
    add_node(reader, HOST_NODE_SCALAR, &event->start_mark)->text = copy;
    return true;
}

static bool open_collection(struct reader *reader, const yaml_event_t *event,
                            enum host_node_kind kind)
{
    struct open_node *open = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;
    if (reader->depth == DEPTH_MAX ||
        (open != NULL && open->node->kind == HOST_NODE_MAP && open->key == NULL)) {
        return event_error(reader->document, &event->start_mark, reader->error,
                           "a map or list where none may be");
    }
    struct host_node *node = add_node(reader, kind, &event->start_mark);
    reader->open[reader->depth++] = (struct open_node){node, &node->first, NULL};
    return true;
}

static bool take_event(struct reader *reader, const yaml_event_t *event)
{
    if (++reader->count > NODES_MAX) {
        return event_error(reader->document, &event->start_mark, reader->error,
                           "the file has too many values");
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_MAPPING_START_EVENT:
        return open_collection(reader, event, HOST_NODE_MAP);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(reader, event, HOST_NODE_LIST);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        reader->depth--;
        return true;
    case YAML_ALIAS_EVENT:
        return event_error(reader->document, &event->start_mark, reader->error,
                           "aliases (*name) aren't supported");
    case YAML_DOCUMENT_START_EVENT:
        if (reader->document->root != NULL) {
            return event_error(reader->document, &event->start_mark, reader->error,
                               "a second document in one file");
        }
        return true;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
}

static bool read_all(struct reader *reader, yaml_parser_t *parser)
{
    for (bool ended = false; !ended;) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0) {
            return event_error(reader->document, &parser->problem_mark, reader->error,
                               parser->problem != NULL ? parser->problem : "not YAML");
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        bool fine = take_event(reader, &event);
        yaml_event_delete(&event);
        if (!fine) {
            return false;
        }
    }
    return true;
}

bool host_document_parse(struct host_document *document, const char *path, const char *bytes,
                         size_t size, char *error)
{
    yaml_parser_t parser;
    struct reader reader = {.document = document, .error = error};
    *document = (struct host_document){.path = path};
    if (yaml_parser_initialize(&parser) == 0) {
        return host_error_at(document, NULL, error, "no memory");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, size);
    bool fine = read_all(&reader, &parser);
    yaml_parser_delete(&parser);
    if (fine && (document->root == NULL || document->root->kind != HOST_NODE_MAP)) {
        fine = host_error_at(document, document->root, error,
                             "expected keys and values (name:, host:, vms:)");
    }
    if (!fine) {
        host_document_free(document);
    }
    return fine;
}

bool host_document_load(struct host_document *document, const char *path, char *error)
{
    *document = (struct host_document){.path = path};
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL) {
        return host_error_at(document, NULL, error, "can't be opened: %s", strerror(errno));
    }
    char *bytes = malloc(FILE_MAX + 1);
    size_t size = bytes == NULL ? 0 : fread(bytes, 1, FILE_MAX + 1, file);
    bool bad = bytes == NULL || ferror(file) != 0;
    if (file != stdin) {
        fclose(file);
    }
    bool fine = !bad && size <= FILE_MAX;
    fine = fine ? host_document_parse(document, path, bytes, size, error)
                : host_error_at(document, NULL, error, "can't be read, or is larger than 16 MB");
    free(bytes);
    return fine;
}

const struct host_node *host_node_child(const struct host_node *map, const char *key)
{
    if (map == NULL || map->kind != HOST_NODE_MAP) {
        return NULL;
    }
    for (const struct host_node *child = map->first; child != NULL; child = child->next) {
        if (child->key != NULL && strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

static struct host_node *make_child(struct host_document *document, struct host_node *map,
                                    const char *key)
{
    for (struct host_node *child = map->first; child != NULL; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    struct host_node *child = take(document, sizeof *child);
    child->key = take_text(document, key, strlen(key));
    child->text = "";
    struct host_node **tail = &map->first;
    while (*tail != NULL) {
        tail = &(*tail)->next;
    }
    *tail = child;
    return child;
}

/* A scalar that becomes a map: `policy: cede` with policy.yield set is {preset: cede, ...}. */
static void become_map(struct host_document *document, struct host_node *node)
{
    if (node->kind == HOST_NODE_SCALAR) {
        const char *text = node->text;
        bool policy = node->key != NULL && strcmp(node->key, "policy") == 0;
        node->kind = HOST_NODE_MAP;
        node->first = NULL;
        if (text[0] != '\0') {
            make_child(document, node, policy ? "preset" : "name")->text = text;
        }
    }
}

#define PARTS_MAX 12u

struct setting {
    struct host_document *document;
    char *part[PARTS_MAX];
    uint32_t count;
    const char *value;
};

static bool is_named(const struct host_node *element, const char *name)
{
    const struct host_node *child = host_node_child(element, "name");
    return child != NULL && strcmp(child->text, name) == 0;
}

/* Goes down maps, making what is missing, until the parts end or a list comes. */
static struct host_node *descend(struct setting *setting, struct host_node *node, uint32_t *at)
{
    while (*at < setting->count && node->kind != HOST_NODE_LIST) {
        become_map(setting->document, node);
        node = make_child(setting->document, node, setting->part[(*at)++]);
    }
    return node;
}

static bool assign(struct setting *setting, struct host_node *node, uint32_t at)
{
    node = descend(setting, node, &at);
    if (at < setting->count) {
        return false; /* a list within a list's element: there is none in a scenario */
    }
    node->kind = HOST_NODE_SCALAR;
    node->first = NULL;
    node->line = 0;
    node->text = setting->value;
    return true;
}

static bool assign_in_list(struct setting *setting, struct host_node *list, uint32_t at)
{
    bool any = false, fine = true;
    for (struct host_node *element = list->first; element != NULL; element = element->next) {
        any = any || is_named(element, setting->part[at]);
    }
    for (struct host_node *element = list->first; element != NULL; element = element->next) {
        if (!any) {
            fine = assign(setting, element, at) && fine;
        } else if (is_named(element, setting->part[at])) {
            fine = assign(setting, element, at + 1) && fine;
        }
    }
    return fine;
}

bool host_document_set(struct host_document *document, const char *assignment, char *error)
{
    const char *equals = strchr(assignment, '=');
    struct setting setting = {.document = document};
    if (equals == NULL || equals == assignment) {
        snprintf(error, HOST_ERROR_SIZE,
                 "--set %.100s: expected path=value, as in vms.web.policy.yield=off", assignment);
        return false;
    }
    char *path = take_text(document, assignment, (size_t)(equals - assignment));
    setting.value = take_text(document, equals + 1, strlen(equals + 1));
    for (char *part = path; part != NULL && setting.count < PARTS_MAX;) {
        char *dot = strchr(part, '.');
        if (dot != NULL) {
            *dot++ = '\0';
        }
        setting.part[setting.count++] = part;
        part = dot;
    }
    uint32_t at = 0;
    struct host_node *node = descend(&setting, document->root, &at);
    bool fine = at < setting.count ? assign_in_list(&setting, node, at)
                                   : assign(&setting, node, at);
    if (!fine) {
        snprintf(error, HOST_ERROR_SIZE, "--set %.100s: there's no such place", assignment);
    }
    return fine;
}

/* Edit distance (Levenshtein), up to 31 characters of each. */
static size_t distance(const char *a, const char *b)
{
    size_t row[32];
    size_t width = strnlen(b, 31);
    for (size_t k = 0; k <= width; k++) {
        row[k] = k;
    }
    for (size_t i = 0; a[i] != '\0' && i < 31; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 1; k <= width; k++) {
            size_t change = corner + (a[i] == b[k - 1] ? 0 : 1);
            size_t least = row[k] < row[k - 1] ? row[k] + 1 : row[k - 1] + 1;
            corner = row[k];
            row[k] = change < least ? change : least;
        }
    }
    return row[width];
}

const char *host_nearest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t least = strlen(word) / 2 + 2; /* further than that is no typo */
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}
