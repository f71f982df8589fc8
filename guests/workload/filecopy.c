/*
 * filecopy.c - parallel copiers of small blocks on one file system.
 *
 * Each write takes the file's lock, a sleeping lock whose waiters first spin as long as its owner
 * runs ("optimistic spinning"): a waiter that can't see that the owner's vCPU lost its pCPU spins
 * for nothing. With files=1 all threads write to one file; more files spread them.
 * Every block of a copy must be either untouched or equal to the source's at the end.
 * Parameters: block_b, file_kb, files, dir. Metric: blocks a second.
 */
#include "guests/workload/common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 64

static size_t block_bytes;
static size_t block_count;
static unsigned file_count;
static int source = -1;
static int copies[FILES_MAX];
static unsigned char *source_bytes;

/* A file without a name: it goes when the program ends, however it ends. */
static int open_unnamed(struct run *run, const char *directory)
{
    char path[256];
    snprintf(path, sizeof path, "%s/filecopy.XXXXXX", directory);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        workload_fail(run, "%s: %s", path, strerror(errno));
        return -1;
    }
    unlink(path);
    if (ftruncate(fd, (off_t)(block_bytes * block_count)) != 0) {
        workload_fail(run, "%s: %s", path, strerror(errno));
        return -1;
    }
    return fd;
}

static bool fill_source(struct run *run)
{
    size_t bytes = block_bytes * block_count;
    source_bytes = malloc(bytes);
    if (source_bytes == NULL) {
        workload_fail(run, "no memory for %zu bytes", bytes);
        return false;
    }
    uint64_t random = run->seed | 1;
    for (size_t i = 0; i < bytes; i++) {
        source_bytes[i] = (unsigned char)(workload_random(&random) >> 56);
    }
    if (pwrite(source, source_bytes, bytes, 0) != (ssize_t)bytes) {
        workload_fail(run, "cannot write the source: %s", strerror(errno));
        return false;
    }
    return true;
}

static bool prepare(struct run *run)
{
    block_bytes = (size_t)workload_param("block_b", 256, 1, 1 << 20);
    block_count = (size_t)workload_param("file_kb", 1024, 1, 1 << 20) * 1024 / block_bytes;
    file_count = (unsigned)workload_param("files", 1, 1, FILES_MAX);
    const char *directory = workload_text("dir", "/tmp");
    if (block_count == 0) {
        workload_fail(run, "file_kb holds no block of block_b bytes");
        return false;
    }
    for (unsigned i = 0; i < file_count; i++) {
        copies[i] = open_unnamed(run, directory);
        if (copies[i] < 0) {
            return false;
        }
    }
    source = open_unnamed(run, directory);
    return source >= 0 && fill_source(run);
}

static bool copy_block(struct worker *worker, unsigned char *buffer, int copy)
{
    off_t offset = (off_t)(workload_random(&worker->random_state) % block_count * block_bytes);
    if (pread(source, buffer, block_bytes, offset) != (ssize_t)block_bytes ||
        pwrite(copy, buffer, block_bytes, offset) != (ssize_t)block_bytes) {
        workload_fail(worker->run, "copying a block: %s", strerror(errno));
        return false;
    }
    return true;
}

static void work(struct worker *worker)
{
    int copy = copies[worker->index % file_count];
    unsigned char *buffer = malloc(block_bytes);
    if (buffer == NULL) {
        workload_fail(worker->run, "no memory for a block");
        return;
    }
    while (!workload_stopping(worker) && copy_block(worker, buffer, copy)) {
        workload_count(worker, 1);
    }
    free(buffer);
}

static bool block_is_right(const unsigned char *block, const unsigned char *expected)
{
    if (memcmp(block, expected, block_bytes) == 0) {
        return true;
    }
    for (size_t i = 0; i < block_bytes; i++) {
        if (block[i] != 0) {
            return false;
        }
    }
    return true;
}

static bool copy_is_right(struct run *run, int copy, unsigned char *block)
{
    for (size_t i = 0; i < block_count; i++) {
        off_t offset = (off_t)(i * block_bytes);
        if (pread(copy, block, block_bytes, offset) != (ssize_t)block_bytes ||
            !block_is_right(block, source_bytes + i * block_bytes)) {
            workload_fail(run, "block %zu of a copy is wrong", i);
            return false;
        }
    }
    return true;
}

static bool finish(struct run *run)
{
    unsigned char *block = malloc(block_bytes);
    bool right = block != NULL;
    for (unsigned i = 0; i < file_count && right; i++) {
        right = copy_is_right(run, copies[i], block);
    }
    free(block);
    free(source_bytes);
    return right;
}

int main(int argc, char **argv)
{
    static const struct workload filecopy = {.name = "filecopy",
                                             .metric = "blocks_s",
                                             .prepare = prepare,
                                             .work = work,
                                             .finish = finish};
    return workload_main(&filecopy, argc, argv);
}
