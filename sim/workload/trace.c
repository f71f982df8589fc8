/*
 * trace.c - the workload "trace": programs from a text file, one operation a line.
 *
 *   # comment
 *   task 0 3            a task on each of the CPUs 0 to 3, bound there; "task any" isn't bound
 *   top:                a label
 *     user 20us         operation names are those of sim/guest/ops.def
 *     lock 0            numbers name locks, semaphores; they come into being when named
 *     kernel 500ns 20%  a time may be varied by that much
 *     unlock 0
 *     loop 100 top
 *     end
 *
 * Owns nothing after it returns. All tasks of a trace share one address space.
 */
#include "sim/workload/workload.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS 64u
#define MARKS 256u

static const struct {
    const char *name;
    const char *arguments;
} op_words[] = {
#define X(NAME, name, arguments, doc) {#name, arguments},
#include "sim/guest/ops.def"
#undef X
};

struct label {
    char name[32];
    uint32_t at;
};

struct reader {
    struct workload_build *b;
    const char *path;
    uint32_t line;
    struct label label[LABELS], mark[MARKS]; /* marks: where a label is used */
    uint32_t label_count, mark_count;
    uint32_t first, last; /* the CPUs of the task being read */
    bool open, any;
};

static void fail(struct reader *r, const char *what, const char *word)
{
    workload_fail(&r->b->words, "%s:%u: %s \"%s\"", r->path, r->line, what, word);
}

static bool add_label(struct reader *r, struct label *labels, uint32_t *count, uint32_t max,
                      const char *name)
{
    if (*count == max || strlen(name) >= sizeof labels->name) {
        fail(r, "too many labels, or too long a one:", name);
        return false;
    }
    snprintf(labels[*count].name, sizeof labels->name, "%s", name);
    labels[(*count)++].at = r->b->program.count;
    return true;
}

static uint64_t read_number(struct reader *r, const char *word)
{
    char *end;
    uint64_t value = word != NULL ? strtoull(word, &end, 10) : 0;
    if (word == NULL || !isdigit((unsigned char)*word) || *end != '\0' || value > 65535) {
        fail(r, "expected a number up to 65535, found", word != NULL ? word : "end of line");
        return 0;
    }
    return value;
}

static uint64_t read_time(struct reader *r, const char *word)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char *end = NULL;
    uint64_t value = word != NULL ? strtoull(word, &end, 10) : 0;
    for (size_t i = 0; word != NULL && isdigit((unsigned char)*word) && i < 4; i++) {
        if (strcmp(end, units[i].name) == 0 && value <= UINT64_C(1000000000)) {
            return value * units[i].ns;
        }
    }
    fail(r, "expected a time such as 20us, found", word != NULL ? word : "end of line");
    return 0;
}

/* What a lock's or semaphore's number names exists from now on. */
static void make_named(struct reader *r, enum guest_op_kind kind, uint32_t number)
{
    struct guest *g = r->b->g;
    while (kind >= GUEST_OP_LOCK && kind <= GUEST_OP_IRQ_UNLOCK && g->spinlock_count <= number) {
        guest_add_spinlock(g);
    }
    while (kind >= GUEST_OP_WRITE && kind <= GUEST_OP_UNREAD && g->sleeplock_count <= number) {
        guest_add_sleeplock(g);
    }
    while ((kind == GUEST_OP_POST || kind == GUEST_OP_WAIT || kind == GUEST_OP_TAKE) &&
           g->sem_count <= number) {
        guest_add_sem(g, 0);
    }
}

static void read_arguments(struct reader *r, enum guest_op_kind kind, char **rest)
{
    struct guest_op op = {.kind = (uint8_t)kind};
    bool first = true;
    for (const char *a = op_words[kind].arguments; *a != '\0'; a++) {
        const char *word = *a == ' ' ? NULL : strtok_r(NULL, " \t\n", rest);
        if (*a == 'n') {
            op.a = (uint32_t)read_number(r, word);
            make_named(r, kind, op.a);
            first = false;
        } else if (*a == 't') {
            op.ns = read_time(r, word);
            const char *spread = strtok_r(NULL, " \t\n", rest);
            op.spread = (uint16_t)(spread != NULL ? strtoull(spread, NULL, 10) * 1024 / 100 : 0);
            op.spread = op.spread > 1024 ? 1024 : op.spread;
        } else if (*a == 'l') {
            op.level = first ? 0 : 1; /* which member the position goes to */
            add_label(r, r->mark, &r->mark_count, MARKS, word != NULL ? word : "");
        }
    }
    uint32_t at = workload_op(&r->b->program, kind, op.a, op.b, op.ns, op.spread);
    if (at < WORKLOAD_OPS && kind == GUEST_OP_LOOP) {
        r->b->program.op[at].level = 0;
    }
    if ((kind == GUEST_OP_TALLY || kind == GUEST_OP_DOORBELL) &&
        op.a >= (kind == GUEST_OP_TALLY ? GUEST_COUNTS : 1)) {
        fail(r, "the number is too large for", op_words[kind].name);
    }
}

/* Labels become positions. */
static void resolve(struct reader *r)
{
    struct workload_program *p = &r->b->program;
    for (uint32_t m = 0; m < r->mark_count; m++) {
        uint32_t i = 0;
        while (i < r->label_count && strcmp(r->label[i].name, r->mark[m].name) != 0) {
            i++;
        }
        if (i == r->label_count) {
            fail(r, "no such label in this task:", r->mark[m].name);
            return;
        }
        struct guest_op *op = &p->op[r->mark[m].at];
        bool second = strchr(op_words[op->kind].arguments, 'n') != NULL;
        *(second ? &op->b : &op->a) = r->label[i].at;
    }
}

static void end_task(struct reader *r)
{
    if (!r->open || r->b->program.count > WORKLOAD_OPS - 1) {
        return;
    }
    workload_do(&r->b->program, GUEST_OP_END, 0);
    resolve(r);
    r->b->pinned = !r->any;
    for (uint32_t cpu = r->first; cpu <= r->last; cpu++) {
        workload_task(r->b, r->b->mm, cpu);
    }
    r->b->program.count = r->label_count = r->mark_count = 0;
}

static void begin_task(struct reader *r, char **rest)
{
    end_task(r);
    const char *from = strtok_r(NULL, " \t\n", rest);
    const char *to = strtok_r(NULL, " \t\n", rest);
    r->any = from != NULL && strcmp(from, "any") == 0;
    r->first = r->any ? 0 : (uint32_t)read_number(r, from);
    r->last = to != NULL ? (uint32_t)read_number(r, to) : r->first;
    r->open = true;
    if (r->last >= r->b->g->config.vcpu_count || r->last < r->first) {
        fail(r, "no such CPU in this VM:", to != NULL ? to : from != NULL ? from : "");
        r->last = r->first = 0;
    }
}

static void read_line(struct reader *r, char *line)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    char *word = strtok_r(line, " \t\n", &rest);
    if (word == NULL) {
        return;
    }
    if (strcmp(word, "task") == 0) {
        begin_task(r, &rest);
        return;
    }
    if (!r->open) {
        fail(r, "expected \"task\" first, found", word);
        return;
    }
    size_t length = strlen(word);
    if (word[length - 1] == ':') {
        word[length - 1] = '\0';
        add_label(r, r->label, &r->label_count, LABELS, word);
        return;
    }
    for (uint32_t kind = 0; kind < GUEST_OP_COUNT; kind++) {
        if (strcmp(op_words[kind].name, word) == 0) {
            read_arguments(r, (enum guest_op_kind)kind, &rest);
            return;
        }
    }
    fail(r, "no operation", word);
}

static void trace(struct workload_build *b)
{
    static const struct reader none;
    struct reader *r = malloc(sizeof *r);
    const char *path = workload_text(&b->words, "file", "");
    FILE *file = r != NULL && path[0] != '\0' ? fopen(path, "r") : NULL;
    char line[256];
    b->state->metric = "tally";
    if (file == NULL) {
        workload_fail(&b->words, "parameter file=%s: can't be read", path);
        free(r);
        return;
    }
    *r = none;
    r->b = b;
    r->path = path;
    while (b->words.error[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        r->line++;
        read_line(r, line);
    }
    if (b->words.error[0] == '\0') {
        end_task(r);
    }
    fclose(file);
    free(r);
}

const struct workload workload_traces[] = {
    {"trace", "programs from a text file", trace, 0},
    {.name = NULL},
};
