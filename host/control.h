/*
 * control.h - a Unix socket through which others command a running hypervisor: one line in, one line
 * out, one client at a time.
 *
 * Owns the socket's file. No locks.
 */
#ifndef HOST_CONTROL_H
#define HOST_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

struct host_control {
    const char *path;
    int listener, client; /* -1: none */
    char line[256];
    size_t length;
};

/* False: error (HOST_ERROR_SIZE). */
bool host_control_open(struct host_control *control, const char *path, char *error);
void host_control_close(struct host_control *control);

/* What to wait for: the client, or the listener. */
int host_control_fd(const struct host_control *control);

/* It is readable: accepts, or reads. A whole line is in control->line if this returns true. */
bool host_control_read(struct host_control *control);

/* Answers the client: "done: text" or "refused: text". */
void host_control_answer(struct host_control *control, bool refused, const char *text);

/* The other end: sends one line to the socket at `path`, gets the answer. False: error. */
bool host_control_ask(const char *path, const char *line, char *answer, size_t size, char *error);

#endif
