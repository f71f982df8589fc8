/*
 * report.c - see report.h. What it reads is untrusted JSON: whatever is missing is left out.
 */
#include "host/report.h"

#include <math.h>
#include <string.h>

#include "host/html.h"
#include "host/node.h"

#define WIDTH 860.0
#define LABEL 190.0
#define BAR 18.0
#define GAP 8.0

void host_report_begin(FILE *file, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>", file);
    html_text(file, title);
    fputs("</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
          "body{font:15px/1.45 system-ui,sans-serif;max-width:920px;margin:2em auto;padding:0 1em;"
          "color:#222;background:#fff}\n"
          "h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}h3{font-size:1em}\n"
          "table{border-collapse:collapse;font-size:13px}td,th{padding:.2em .7em;text-align:right;"
          "border-bottom:1px solid #ddd}td:first-child,th:first-child,td.l,th.l{text-align:left}\n"
          "svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}\n"
          ".key span{display:inline-block;margin-right:1em}.key i{display:inline-block;width:.9em;"
          "height:.9em;margin-right:.3em;vertical-align:-.1em}.note{color:#555;font-size:13px}\n"
          "</style></head><body>\n<h1>", file);
    html_text(file, title);
    fputs("</h1>\n", file);
}

void host_report_end(FILE *file)
{
    fputs("<p class=\"note\">Made by <code>cede report</code>. Drawings are SVG; point at a bar for "
          "its figure.</p>\n</body></html>\n", file);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void cell(FILE *file, const char *format, double value)
{
    fputs("<td>", file);
    fprintf(file, format, value);
    fputs("</td>", file);
}

static void interval_cell(FILE *file, const json_t *interval)
{
    const json_t *lo = json_object_get(interval, "lo");
    if (interval == NULL) {
        fputs("<td></td>", file);
    } else if (json_is_real(lo)) {
        fprintf(file, "<td>%.4g [%.4g, %.4g]</td>", number_of(interval, "value"),
                number_of(interval, "lo"), number_of(interval, "hi"));
    } else {
        fprintf(file, "<td>%.4g</td>", number_of(interval, "value"));
    }
}

/* ---- stacked bars: where time went ---- */

#define CLASSES_MAX 24u

struct classes {
    const char *name[CLASSES_MAX];
    uint32_t count;
};

static uint32_t class_of(struct classes *classes, const char *name)
{
    for (uint32_t i = 0; i < classes->count; i++) {
        if (strcmp(classes->name[i], name) == 0) {
            return i;
        }
    }
    if (classes->count < CLASSES_MAX) {
        classes->name[classes->count++] = name;
    }
    return classes->count - 1;
}

/* The exact account if there is one, else the core's. */
static const json_t *account_of(const json_t *row)
{
    const json_t *lost = json_object_get(row, "lost_ns");
    return lost != NULL ? lost : json_object_get(row, "time_ns");
}

static bool is_absent(const char *name)
{
    return strcmp(name, "offline") == 0 || strcmp(name, "paused") == 0;
}

static double account_sum(const json_t *account)
{
    const char *name;
    json_t *value;
    double sum = 0;
    json_object_foreach((json_t *)(uintptr_t)account, name, value) {
        sum += is_absent(name) ? 0 : json_number_value(value);
    }
    return sum;
}

static void bar(FILE *file, double y, const json_t *account, struct classes *classes)
{
    const char *name;
    json_t *value;
    double sum = account_sum(account), x = LABEL;
    json_object_foreach((json_t *)(uintptr_t)account, name, value) {
        double share = sum > 0 && !is_absent(name) ? json_number_value(value) / sum : 0;
        if (share < 0.001) {
            continue;
        }
        char title[96];
        double width = share * (WIDTH - LABEL);
        snprintf(title, sizeof title, "%.60s: %.1f %%", name, 100 * share);
        svg_rect(file, x, y, width, BAR, svg_colour(class_of(classes, name)), title);
        x += width;
    }
}

static void key(FILE *file, const struct classes *classes)
{
    fputs("<p class=\"key\">", file);
    for (uint32_t i = 0; i < classes->count; i++) {
        fprintf(file, "<span><i style=\"background:%s\"></i>", svg_colour(i));
        html_text(file, classes->name[i]);
        fputs("</span>", file);
    }
    fputs("</p>\n", file);
}

static void row_label(const json_t *row, char *text, size_t size)
{
    const char *policy = string_of(row, "policy"), *vm = string_of(row, "vm");
    snprintf(text, size, "%.20s%s%.20s%s%.12s", policy, policy[0] != '\0' ? " " : "",
             vm[0] != '\0' ? vm : string_of(row, "name"),
             string_of(row, "setting")[0] != '\0' ? " " : "", string_of(row, "setting"));
}

static void accounts(FILE *file, const json_t *rows)
{
    struct classes classes = {.count = 0};
    size_t i;
    json_t *row;
    char label[64];
    fputs("<h3>Where the vCPUs' time went</h3>\n", file);
    svg_begin(file, WIDTH, (double)json_array_size(rows) * (BAR + GAP) + GAP,
              "time of each VM by class");
    json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
        double y = GAP + (double)i * (BAR + GAP);
        row_label(row, label, sizeof label);
        svg_text(file, LABEL - 8, y + BAR - 5, "end", label);
        bar(file, y, account_of(row), &classes);
    }
    svg_end(file);
    key(file, &classes);
}

/* ---- latencies, logarithmic ---- */

static double latency_x(double ns)
{
    double decades = ns > 100 ? log10(ns / 100) : 0; /* 100 ns .. 1 s */
    return LABEL + decades / 7 * (WIDTH - LABEL - 10);
}

static void latency_axis(FILE *file, double height)
{
    static const char *const names[] = {"100 ns", "1 us", "10 us", "100 us",
                                        "1 ms",   "10 ms", "100 ms", "1 s"};
    double ns = 100;
    for (size_t i = 0; i < 8; i++, ns *= 10) {
        svg_line(file, latency_x(ns), 16, latency_x(ns), height, "#ddd", 1);
        svg_text(file, latency_x(ns), 12, i == 7 ? "end" : "middle", names[i]);
    }
}

static void latencies(FILE *file, const json_t *rows)
{
    static const char *const quantiles[] = {"p50", "p99", "p999"};
    double height = (double)json_array_size(rows) * (BAR + GAP) + GAP + 16;
    size_t i;
    json_t *row;
    char label[64];
    fputs("<h3>From wake-up to running: p50, p99, p99.9</h3>\n", file);
    svg_begin(file, WIDTH, height, "wake latencies");
    latency_axis(file, height);
    json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
        const json_t *wake = json_object_get(row, "wake_latency_ns");
        double y = GAP + 16 + (double)i * (BAR + GAP) + BAR / 2;
        row_label(row, label, sizeof label);
        svg_text(file, LABEL - 8, y + 4, "end", label);
        svg_line(file, latency_x(number_of(wake, "p50")), y, latency_x(number_of(wake, "p999")), y,
                 "#999", 2);
        for (uint32_t k = 0; k < 3; k++) {
            svg_dot(file, latency_x(number_of(wake, quantiles[k])), y, 5, svg_colour(k));
        }
    }
    svg_end(file);
    fprintf(file, "<p class=\"key\"><span><i style=\"background:%s\"></i>p50</span><span><i "
                  "style=\"background:%s\"></i>p99</span><span><i style=\"background:%s\"></i>p99.9"
                  "</span></p>\n", svg_colour(0), svg_colour(1), svg_colour(2));
}

/* ---- comparisons ---- */

static void compare_table(FILE *file, const json_t *rows)
{
    size_t i;
    json_t *row;
    fputs("<table><tr><th>policy</th><th class=\"l\">VM</th><th class=\"l\">setting</th><th "
          "class=\"l\">metric</th><th>mean [95 %]</th><th>fraction of fair share</th><th>wake p50, "
          "us</th><th>p99</th><th>p99.9</th><th>polled</th></tr>\n", file);
    json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
        static const char *const words[] = {"policy", "vm", "setting", "metric"};
        const json_t *wake = json_object_get(row, "wake_latency_ns");
        fputs("<tr>", file);
        for (size_t k = 0; k < 4; k++) {
            fputs("<td class=\"l\">", file);
            html_text(file, string_of(row, words[k]));
            fputs("</td>", file);
        }
        interval_cell(file, json_object_get(row, "mean"));
        interval_cell(file, json_object_get(row, "fair_share"));
        cell(file, "%.1f", number_of(wake, "p50") / 1000);
        cell(file, "%.1f", number_of(wake, "p99") / 1000);
        cell(file, "%.1f", number_of(wake, "p999") / 1000);
        cell(file, "%.2f %%", 100 * number_of(row, "polled_share"));
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static double ratio_x(double ratio, double most)
{
    double at = ratio < most ? ratio : most;
    return LABEL + at / most * (WIDTH - LABEL - 60);
}

static void one_difference(FILE *file, const json_t *row, double y, double most)
{
    const json_t *ratio = json_object_get(row, "ratio");
    double lo = number_of(ratio, "lo"), hi = number_of(ratio, "hi");
    double value = number_of(ratio, "value");
    bool shown = json_is_true(json_object_get(row, "shown"));
    const char *colour = shown ? svg_colour(value > 1 ? 2 : 3) : "#777";
    char text[64];
    row_label(row, text, sizeof text);
    svg_text(file, LABEL - 8, y + 4, "end", text);
    if (hi > 0) {
        svg_line(file, ratio_x(lo, most), y, ratio_x(hi, most), y, colour, 3);
    }
    svg_dot(file, ratio_x(value, most), y, 5, colour);
    snprintf(text, sizeof text, shown ? "%.3g" : "%.3g, no difference shown", value);
    svg_text(file, ratio_x(hi > value ? hi : value, most) + 10, y + 4,
             "start", text);
}

static void differences(FILE *file, const json_t *list)
{
    size_t i;
    json_t *row;
    double most = 1.5;
    double height = (double)json_array_size(list) * (BAR + GAP) + GAP;
    if (json_array_size(list) == 0) {
        return;
    }
    json_array_foreach((json_t *)(uintptr_t)list, i, row) {
        double hi = number_of(json_object_get(row, "ratio"), "hi");
        double value = number_of(json_object_get(row, "ratio"), "value");
        most = fmax(most, 1.2 * fmax(hi, value));
    }
    fprintf(file, "<h3>Against <code>");
    html_text(file, string_of(json_array_get(list, 0), "base"));
    fprintf(file, "</code>, with 95 %% intervals</h3>\n");
    svg_begin(file, WIDTH, height, "ratios of policies");
    svg_line(file, ratio_x(1, most), 0, ratio_x(1, most), height, "#222", 1);
    json_array_foreach((json_t *)(uintptr_t)list, i, row) {
        one_difference(file, row, GAP + (double)i * (BAR + GAP) + BAR / 2, most);
    }
    svg_end(file);
    fputs("<p class=\"note\">The line is 1: the same as the first policy.</p>\n", file);
}

static void heading(FILE *file, const char *name, const char *rest)
{
    fputs("<h2>", file);
    html_text(file, name);
    fputs(rest, file);
    fputs("</h2>\n", file);
}

static void compared(FILE *file, const char *name, const json_t *json)
{
    const json_t *rows = json_object_get(json, "rows");
    bool hv = strcmp(string_of(json, "on"), "hv") == 0;
    heading(file, name, hv ? ": compared on the hypervisor" : ": compared in the simulator");
    fputs("<p>Scenario <code>", file);
    html_text(file, string_of(json, "scenario"));
    fprintf(file, "</code>, %d interleaved runs of each.</p>\n", (int)number_of(json, "runs"));
    compare_table(file, rows);
    differences(file, json_object_get(json, "differences"));
    accounts(file, rows);
    latencies(file, rows);
}

/* ---- single runs ---- */

static void run_table(FILE *file, const json_t *vms)
{
    size_t i, k;
    json_t *vm, *result;
    fputs("<table><tr><th>VM</th><th>vCPUs</th><th class=\"l\">result</th><th>value</th><th>yields "
          "that succeeded</th></tr>\n", file);
    json_array_foreach((json_t *)(uintptr_t)vms, i, vm) {
        json_array_foreach(json_object_get(vm, "results"), k, result) {
            fputs("<tr><td>", file);
            html_text(file, string_of(vm, "name"));
            fputs("</td>", file);
            cell(file, "%.0f", number_of(vm, "vcpus"));
            fputs("<td class=\"l\">", file);
            html_text(file, string_of(result, "workload"));
            fputc(' ', file);
            html_text(file, string_of(result, "metric"));
            fputs("</td>", file);
            cell(file, "%.4g", number_of(result, "value"));
            cell(file, "%.0f", number_of(json_object_get(vm, "yields"), "succeeded"));
            fputs("</tr>\n", file);
        }
    }
    fputs("</table>\n", file);
}

static void single(FILE *file, const char *name, const json_t *json)
{
    bool hv = strcmp(string_of(json, "world"), "hv") == 0;
    heading(file, name, hv ? ": a run on the hypervisor" : ": a run in the simulator");
    fprintf(file, "<p>%d pCPUs, %.1f s", (int)number_of(json, "pcpus"),
            number_of(json, "seconds"));
    if (string_of(json, "policy")[0] != '\0') {
        fputs(", policy <code>", file);
        html_text(file, string_of(json, "policy"));
        fputs("</code>", file);
    }
    fputs(".</p>\n", file);
    run_table(file, json_object_get(json, "vms"));
    accounts(file, json_object_get(json, "vms"));
    latencies(file, json_object_get(json, "vms"));
}

bool host_report_results(FILE *file, const char *name, const json_t *json, char *error)
{
    if (strcmp(string_of(json, "kind"), "compare") == 0 &&
        json_is_array(json_object_get(json, "rows"))) {
        compared(file, name, json);
        return true;
    }
    if (json_is_array(json_object_get(json, "vms"))) {
        single(file, name, json);
        return true;
    }
    snprintf(error, HOST_ERROR_SIZE, "%s: expected JSON of cede run, cede sim or cede compare", name);
    return false;
}
