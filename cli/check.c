/* onced check: would `run` take this file, what does it come to, which keys are there? Complaints go to stderr,
 * so that what is asked for (--dump, --keys) can be piped. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/complaint.h"
#include "common/config/config.h"
#include "common/exits.h"

struct check {
        bool dump, strict, keys;
        const char *file;
};

DEFINE_CLEANUP(struct config *, config_freep, (void) config_free)

static int parse(int argc, char **argv, struct check *ret)
{
        bool options = true;

        for (int i = 1; i < argc; i++) {
                if (options && strcmp(argv[i], "--") == 0)
                        options = false;
                else if (options && strcmp(argv[i], "--dump") == 0)
                        ret->dump = true;
                else if (options && strcmp(argv[i], "--strict") == 0)
                        ret->strict = true;
                else if (options && strcmp(argv[i], "--keys") == 0)
                        ret->keys = true;
                else if (options && argv[i][0] == '-')
                        return usage_error("check", "unknown option %s", argv[i]);
                else if (ret->file)
                        return usage_error("check", "more than one FILE");
                else
                        ret->file = argv[i];
        }
        if (ret->keys && (ret->file || ret->dump || ret->strict))
                return usage_error("check", "--keys stands alone: it lists the keys there are, and reads no FILE");
        if (!ret->file && !ret->keys)
                return usage_error("check", "FILE is missing");
        return 0;
}

static int print(struct buf *text)
{
        const char *string = buf_string(text);

        if (!string)
                return EXIT_OS;
        return fwrite(string, 1, text->len, stdout) == text->len ? EXIT_FINE : EXIT_CANTCREAT;
}

static int print_keys(void)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        config_keys(&text);
        return print(&text);
}

static int print_dump(const struct config *c)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        config_dump(c, &text);
        return print(&text);
}

static const char *plural(size_t n)
{
        return n == 1 ? "" : "s";
}

/* The summary of a dump goes to stderr: stdout is the dump alone. */
static void print_summary(const struct check *o, const struct config *c, const struct complaints *complaints)
{
        FILE *out = o->dump ? stderr : stdout;

        fprintf(out, "%s: ", o->file);
        if (c)
                fprintf(out, "%zu task%s, ", c->task_count, plural(c->task_count));
        fprintf(out, "%zu error%s, %zu warning%s\n", complaints->errors, plural(complaints->errors),
                complaints->warnings, plural(complaints->warnings));
}

static int check_file(const struct check *o, struct complaints *complaints)
{
        _cleanup_(config_freep) struct config *c = NULL;

        int r = config_load(o->file, &c, complaints);
        if (r == 0 && config_has_later(c, complaints))
                r = -ENOTSUP;
        complaints_print(complaints, stderr);
        if (r == -ENOMEM) {
                fprintf(stderr, "%s: out of memory\n", o->file);
                return EXIT_OS;
        }
        print_summary(o, c, complaints);
        int code = c && o->dump ? print_dump(c) : EXIT_FINE;
        if (code != EXIT_FINE)
                return code;
        return r < 0 || (o->strict && complaints->warnings > 0) ? EXIT_CONFIGURATION : EXIT_FINE;
}

int command_check(int argc, char **argv)
{
        struct check o = { 0 };
        struct complaints complaints = COMPLAINTS_NONE;

        int r = parse(argc, argv, &o);
        if (r != 0)
                return r;
        if (o.keys)
                return print_keys();
        r = check_file(&o, &complaints);
        complaints_done(&complaints);
        return r;
}
