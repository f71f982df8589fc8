/*
 * node.h - a YAML document as a tree whose every node knows its line and column.
 *
 * Also the place for `--set path=value`: the tree is changed before anybody reads it, so an
 * override is checked like the file, with the option as its place. Owns nodes and their text in
 * one arena, freed at once. Not thread-safe; one document, one owner.
 */
#ifndef HOST_NODE_H
#define HOST_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum host_node_kind { HOST_NODE_SCALAR, HOST_NODE_MAP, HOST_NODE_LIST };

struct host_node {
    enum host_node_kind kind;
    uint32_t line, column; /* from 1; 0: from a --set */
    const char *key;       /* in a map; else NULL */
    const char *text;      /* of a scalar; "" for an empty one */
    struct host_node *first, *next; /* children in order; the next sibling */
};

struct host_document {
    const char *path;
    struct host_node *root;
    struct host_block *blocks;
};

/* An error: "file:line:column: text". */
#define HOST_ERROR_SIZE 512u

/* Reads a file ("-": standard input). False: *error says what and where. */
bool host_document_load(struct host_document *document, const char *path, char *error);

/* The same from memory; `path` is for messages. */
bool host_document_parse(struct host_document *document, const char *path, const char *bytes,
                         size_t size, char *error);

void host_document_free(struct host_document *document);

/*
 * Applies "vms.web.policy.yield=off". A part that names no key of a list names an element by its
 * `name`, or, if no element has it, all of them (vms.count=2).
 */
bool host_document_set(struct host_document *document, const char *assignment, char *error);

const struct host_node *host_node_child(const struct host_node *map, const char *key);

/* Writes "path:line:column: " and the formatted text to `error`; returns false. */
bool host_error_at(const struct host_document *document, const struct host_node *node,
                   char *error, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The most alike of `count` names by edit distance, NULL if none is near. */
const char *host_nearest(const char *word, const char *const *names, size_t count);

#endif
