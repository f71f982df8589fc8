/*
 * html.h - writing HTML and SVG: escaped text, rectangles, lines, colours. Owns nothing.
 */
#ifndef HOST_HTML_H
#define HOST_HTML_H

#include <stdint.h>
#include <stdio.h>

/* Text with <, >, & and " escaped. */
void html_text(FILE *file, const char *text);

void svg_begin(FILE *file, double width, double height, const char *label);
void svg_end(FILE *file);
/* `title` is shown when pointed at; may be NULL. */
void svg_rect(FILE *file, double x, double y, double width, double height, const char *colour,
              const char *title);
void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *colour,
              double stroke);
void svg_dot(FILE *file, double x, double y, double radius, const char *colour);
/* anchor: "start", "middle", "end". */
void svg_text(FILE *file, double x, double y, const char *anchor, const char *text);

/* A colour for the n-th of things that stand side by side. */
const char *svg_colour(uint32_t n);

#endif
