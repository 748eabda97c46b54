/* The keeper's arguments, as one text with a newline between them. The program is compiled into this one, since
 * what reads them is no part of any library: a keeper links libc alone. */
int keeper_main(int argc, char **argv);
#define main keeper_main
#include "keeper/keeper.c"
#undef main

#include "t/fuzz/target.h"

#define ARGUMENTS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct keeper k = { .control = -1, .signals = -1 };
        char *argv[ARGUMENTS_MAX + 2] = { (char[]) { "onced-keeper" } }, *text = strndup((const char *) data, size);
        int argc = 1;

        CLAIM(text != NULL);
        for (char *rest = text; rest && argc <= ARGUMENTS_MAX;)
                argv[argc++] = strsep(&rest, "\n");
        if (arguments_read(&k, argc, argv) == 0) {
                CLAIM(k.command.argv[0] != NULL && k.command.cwd != NULL);
                CLAIM(k.kill_after_ms >= 0 && k.kill_after_ms <= INT_MAX);
                CLAIM((k.command.umask & ~0777U) == 0);
                CLAIM(k.command.nice >= -40 && k.command.nice <= 40);
                CLAIM(k.command.group_count <= KEEPER_GROUPS_MAX);
                CLAIM(!k.command.changes_identity || (k.command.uid != (uid_t) -1 && k.command.gid != (gid_t) -1));
        }
        free(text);
        return 0;
}
