/* See arguments.h. Each option once: of two values one would silently be nobody's. */
#include "cli/arguments.h"

#include <string.h>

#include "cli/cli.h"

static const struct argument *argument_find(const struct argument *options, const char *name, size_t len)
{
        for (; options->name; options++)
                if (strlen(options->name) == len && strncmp(options->name, name, len) == 0)
                        return options;
        return NULL;
}

static int take_option(const struct argument *options, int argc, char **argv, int *at)
{
        const char *arg = argv[*at];
        const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
        const struct argument *o = argument_find(options, arg, equals ? (size_t) (equals - arg) : strlen(arg));

        if (!o)
                return usage_error(argv[0], "unknown option %s", arg);
        if (o->flag && equals)
                return usage_error(argv[0], "%s takes no value", o->name);
        if (o->flag) {
                *o->flag = true;
                return 0;
        }
        if (*o->value)
                return usage_error(argv[0], "%s is given twice", o->name);
        if (equals) {
                *o->value = equals + 1;
                return 0;
        }
        if (*at + 1 >= argc)
                return usage_error(argv[0], "%s wants a value", arg);
        *o->value = argv[++*at];
        return 0;
}

int arguments_read(int argc, char **argv, const struct argument *options, const char **operands, size_t operands_max)
{
        size_t operand_count = 0;
        bool options_over = false;
        int r = 0;

        for (int i = 1; i < argc && r == 0; i++) {
                if (!options_over && strcmp(argv[i], "--") == 0)
                        options_over = true;
                else if (!options_over && argv[i][0] == '-')
                        r = take_option(options, argc, argv, &i);
                else if (operand_count == operands_max)
                        r = usage_error(argv[0], "unexpected argument %s", argv[i]);
                else
                        operands[operand_count++] = argv[i];
        }
        return r;
}
