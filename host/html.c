/*
 * html.c - see html.h.
 */
#include "host/html.h"

#include <stddef.h>

void html_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            fputc(*text, file);
            break;
        }
    }
}

void svg_begin(FILE *file, double width, double height, const char *label)
{
    fprintf(file, "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\" aria-label=\"", width,
            height, width);
    html_text(file, label);
    fputs("\">\n", file);
}

void svg_end(FILE *file)
{
    fputs("</svg>\n", file);
}

void svg_rect(FILE *file, double x, double y, double width, double height, const char *colour,
              const char *title)
{
    fprintf(file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", x, y,
            width, height, colour);
    if (title == NULL) {
        fputs("/>\n", file);
        return;
    }
    fputs("><title>", file);
    html_text(file, title);
    fputs("</title></rect>\n", file);
}

void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *colour,
              double stroke)
{
    fprintf(file,
            "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" "
            "stroke-width=\"%.1f\"/>\n",
            x1, y1, x2, y2, colour, stroke);
}

void svg_dot(FILE *file, double x, double y, double radius, const char *colour)
{
    fprintf(file, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\" fill=\"%s\"/>\n", x, y, radius,
            colour);
}

void svg_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", x, y, anchor);
    html_text(file, text);
    fputs("</text>\n", file);
}

const char *svg_colour(uint32_t n)
{
    /* Okabe and Ito's palette, told apart by most colour-blind readers; then lighter ones. */
    static const char *const colours[] = {"#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7",
                                          "#56B4E9", "#B8A800", "#777777", "#8C6BB1", "#66C2A4"};
    return colours[n % (sizeof colours / sizeof colours[0])];
}
