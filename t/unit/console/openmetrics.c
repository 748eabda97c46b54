/* Checks the grammar line by line, and what lies beyond it: families whole and in one piece, suffixes that fit
 * the type, no series twice, buckets that grow and end in +Inf with the count, # EOF last. */
#include "t/unit/console/openmetrics.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_ 128
#define SERIES_MAX 200000

struct page {
        char family[NAME_MAX_], type[16];
        char (*families)[NAME_MAX_];
        size_t family_count;
        char **series;
        size_t series_count;
        double bucket, bound;        /* of the histogram that is being read; bound < 0: none begun */
        bool eof;
        char *why;
        size_t room;
        size_t line;
};

static bool wrong(struct page *p, const char *what)
{
        (void) snprintf(p->why, p->room, "line %zu: %s", p->line, what);
        return false;
}

static size_t name_length(const char *s, bool metric)
{
        size_t n = 0;

        while (isalpha((unsigned char) s[n]) || s[n] == '_' || (metric && s[n] == ':') ||
               (n > 0 && isdigit((unsigned char) s[n])))
                n++;
        return n;
}

static bool family_begin(struct page *p, const char *name)
{
        for (size_t i = 0; i < p->family_count; i++)
                if (strcmp(p->families[i], name) == 0)
                        return wrong(p, "the family is in two pieces");
        p->families = realloc(p->families, (p->family_count + 1) * sizeof(*p->families));
        (void) snprintf(p->families[p->family_count++], NAME_MAX_, "%s", name);
        (void) snprintf(p->family, NAME_MAX_, "%s", name);
        p->bound = -1;
        return true;
}

static bool type_known(const char *type)
{
        static const char *const types[] = { "counter", "gauge", "histogram", "info", "stateset", "summary",
                                             "unknown", "gaugehistogram", NULL };
        for (size_t i = 0; types[i]; i++)
                if (strcmp(types[i], type) == 0)
                        return true;
        return false;
}

/* "# TYPE name type", "# UNIT name unit", "# HELP name text" */
static bool comment(struct page *p, char *line)
{
        char *kind = line + 2, *name = strchr(kind, ' ');
        char *rest = name ? strchr(name + 1, ' ') : NULL;

        if (strcmp(line, "# EOF") == 0)
                return p->eof = true;
        if (strncmp(line, "# ", 2) != 0 || !rest)
                return wrong(p, "neither metadata nor # EOF");
        *name++ = *rest++ = '\0';
        if (name_length(name, true) != strlen(name) || !*name)
                return wrong(p, "not a metric name");
        if (strcmp(kind, "TYPE") == 0) {
                if (!type_known(rest))
                        return wrong(p, "no such type");
                (void) snprintf(p->type, sizeof(p->type), "%s", rest);
                return family_begin(p, name);
        }
        if (strcmp(name, p->family) != 0)
                return wrong(p, "metadata of another family");
        if (strcmp(kind, "UNIT") == 0) {
                size_t n = strlen(name), u = strlen(rest);
                return (n > u && name[n - u - 1] == '_' && strcmp(name + n - u, rest) == 0) ||
                       wrong(p, "the name does not end with its unit");
        }
        return strcmp(kind, "HELP") == 0 || wrong(p, "no such metadata");
}

/* Returns what follows the labels, NULL when they are wrong; the value of `le` goes to `le`. */
static const char *labels(struct page *p, const char *s, char *le, size_t room)
{
        le[0] = '\0';
        if (*s != '{')
                return s;
        do {
                size_t n = name_length(++s, false), len = 0;
                bool bound = n == 2 && strncmp(s, "le", 2) == 0;
                if (n == 0 || s[n] != '=' || s[n + 1] != '"')
                        return wrong(p, "not a label"), NULL;
                for (s += n + 2; *s && *s != '"'; s++) {
                        if (*s == '\\' && !strchr("\\\"n", *++s))
                                return wrong(p, "no such escape"), NULL;
                        if (bound && len + 1 < room)
                                le[len++] = *s, le[len] = '\0';
                }
                if (*s++ != '"')
                        return wrong(p, "a label without end"), NULL;
        } while (*s == ',');
        return *s == '}' ? s + 1 : (wrong(p, "labels without end"), NULL);
}

static bool suffix_fits(const struct page *p, const char *suffix)
{
        if (strcmp(p->type, "counter") == 0)
                return strcmp(suffix, "_total") == 0 || strcmp(suffix, "_created") == 0;
        if (strcmp(p->type, "info") == 0)
                return strcmp(suffix, "_info") == 0;
        if (strcmp(p->type, "histogram") == 0)
                return !strcmp(suffix, "_bucket") || !strcmp(suffix, "_sum") || !strcmp(suffix, "_count");
        return *suffix == '\0';
}

static bool histogram_sample(struct page *p, const char *suffix, const char *le, double value)
{
        char *end;

        if (strcmp(suffix, "_bucket") == 0) {
                double bound = strcmp(le, "+Inf") == 0 ? 1e300 : strtod(le, &end);
                if (!*le || (bound < 1e300 && (*end || !strchr(le, '.'))))
                        return wrong(p, "a bucket without a proper bound");
                if (bound <= p->bound || value < p->bucket)
                        return wrong(p, "buckets do not grow");
                p->bound = bound;
                p->bucket = value;
                return true;
        }
        if (p->bound < 1e300)
                return wrong(p, "a histogram without +Inf");
        if (strcmp(suffix, "_count") == 0) {
                if (value < p->bucket || value > p->bucket)
                        return wrong(p, "the count is not that of +Inf");
                p->bound = -1;
                p->bucket = 0;
        }
        return true;
}

static bool sample(struct page *p, const char *line)
{
        char suffix[32], le[32], *end;
        size_t n = name_length(line, true), family = strlen(p->family);

        if (n == 0 || n < family || strncmp(line, p->family, family) != 0 || n - family >= sizeof(suffix))
                return wrong(p, "a sample outside its family");
        (void) snprintf(suffix, sizeof(suffix), "%.*s", (int) (n - family), line + family);
        if (!suffix_fits(p, suffix))
                return wrong(p, "a suffix that does not fit the type");
        const char *after = labels(p, line + n, le, sizeof(le));
        if (!after)
                return false;
        if (*after != ' ' || !after[1])
                return wrong(p, "no value");
        double value = strtod(after + 1, &end);
        if (*end || isspace((unsigned char) after[1]))
                return wrong(p, "not a number");
        if (value < 0 && strcmp(p->type, "gauge") != 0)
                return wrong(p, "below zero");
        if (p->series_count == SERIES_MAX)
                return wrong(p, "too many series");
        p->series[p->series_count++] = strndup(line, (size_t) (after - line));
        return strcmp(p->type, "histogram") != 0 || histogram_sample(p, suffix, le, value);
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static bool all_different(struct page *p)
{
        qsort(p->series, p->series_count, sizeof(*p->series), by_text);
        for (size_t i = 1; i < p->series_count; i++)
                if (strcmp(p->series[i - 1], p->series[i]) == 0) {
                        (void) snprintf(p->why, p->room, "twice: %s", p->series[i]);
                        return false;
                }
        return true;
}

static bool lines_check(struct page *p, char *text)
{
        for (char *line = text, *end; *line; line = end + 1) {
                p->line++;
                end = strchr(line, '\n');
                if (!end)
                        return wrong(p, "no newline at the end");
                *end = '\0';
                if (p->eof)
                        return wrong(p, "something after # EOF");
                if (!(*line == '#' ? comment(p, line) : sample(p, line)))
                        return false;
        }
        return p->eof || wrong(p, "no # EOF");
}

bool openmetrics_check(const char *page, char *why, size_t room)
{
        struct page p = { .why = why, .room = room, .bound = -1 };
        char *text = strdup(page);

        p.series = calloc(SERIES_MAX, sizeof(*p.series));
        bool good = lines_check(&p, text) && all_different(&p);
        for (size_t i = 0; i < p.series_count; i++)
                free(p.series[i]);
        free(p.series);
        free(p.families);
        free(text);
        return good;
}

bool openmetrics_value(const char *page, const char *name, char *ret, size_t room)
{
        size_t len = strlen(name);

        for (const char *line = page; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, name, len) == 0 && line[len] == ' ') {
                        (void) snprintf(ret, room, "%.*s", (int) strcspn(line + len + 1, "\n"), line + len + 1);
                        return true;
                }
        }
        return false;
}
