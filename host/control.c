/*
 * control.c - see control.h.
 */
#include "host/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/node.h"

static bool address_of(struct sockaddr_un *address, const char *path, char *error)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        snprintf(error, HOST_ERROR_SIZE, "%.100s: a socket's path has at most %zu characters", path,
                 sizeof address->sun_path - 1);
        return false;
    }
    memcpy(address->sun_path, path, strlen(path));
    return true;
}

bool host_control_open(struct host_control *control, const char *path, char *error)
{
    struct sockaddr_un address;
    *control = (struct host_control){.path = path, .listener = -1, .client = -1};
    if (!address_of(&address, path, error)) {
        return false;
    }
    control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (control->listener < 0 ||
        bind(control->listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(control->listener, 4) != 0) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", path, strerror(errno));
        if (control->listener >= 0) {
            close(control->listener);
        }
        control->listener = -1;
        return false;
    }
    return true;
}

static void drop_client(struct host_control *control)
{
    if (control->client >= 0) {
        close(control->client);
    }
    control->client = -1;
    control->length = 0;
}

void host_control_close(struct host_control *control)
{
    if (control->listener >= 0) {
        drop_client(control);
        close(control->listener);
        unlink(control->path);
        control->listener = -1;
    }
}

int host_control_fd(const struct host_control *control)
{
    return control->client >= 0 ? control->client : control->listener;
}

bool host_control_read(struct host_control *control)
{
    if (control->client < 0) {
        control->client = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC);
        return false;
    }
    char *room = control->line + control->length;
    ssize_t got = read(control->client, room, sizeof control->line - 1 - control->length);
    if (got <= 0) {
        drop_client(control);
        return false;
    }
    control->length += (size_t)got;
    control->line[control->length] = '\0';
    char *end = strchr(control->line, '\n');
    if (end != NULL) {
        *end = '\0';
        control->length = 0;
        return true;
    }
    if (control->length == sizeof control->line - 1) {
        drop_client(control); /* no line is that long */
    }
    return false;
}

void host_control_answer(struct host_control *control, bool refused, const char *text)
{
    char line[320];
    if (control->client < 0) {
        return;
    }
    int length = snprintf(line, sizeof line, "%s: %.280s\n", refused ? "refused" : "done", text);
    if (length > 0 && send(control->client, line, (size_t)length, MSG_NOSIGNAL) != length) {
        drop_client(control);
    }
}

bool host_control_ask(const char *path, const char *line, char *answer, size_t size, char *error)
{
    struct sockaddr_un address;
    size_t used = 0;
    if (!address_of(&address, path, error)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool fine = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line) &&
                send(fd, "\n", 1, MSG_NOSIGNAL) == 1;
    if (!fine) {
        snprintf(error, HOST_ERROR_SIZE, "%s: %s", path, strerror(errno));
    }
    answer[0] = '\0';
    while (fine && used + 1 < size && strchr(answer, '\n') == NULL) {
        ssize_t got = read(fd, answer + used, size - 1 - used);
        if (got <= 0) {
            snprintf(error, HOST_ERROR_SIZE, "%s: the hypervisor ended before it answered", path);
            fine = false;
        }
        used += got > 0 ? (size_t)got : 0;
        answer[used] = '\0';
    }
    if (fd >= 0) {
        close(fd);
    }
    return fine;
}
