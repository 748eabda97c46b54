/* Exit codes of every onced process and command, after sysexits.h; README and `onced help` list them. */
#ifndef ONCED_EXITS_H
#define ONCED_EXITS_H

enum exit_code {
        EXIT_FINE = 0,
        EXIT_KILLED = 1,       /* stopped, but tasks had to be killed; prove: duplicate */
        EXIT_USAGE = 64,       /* command line */
        EXIT_FAILED = 70,      /* a run failed (once, work), or an internal error */
        EXIT_OS = 71,          /* fork, memory, descriptors */
        EXIT_CANTCREAT = 73,   /* a file, folder or socket cannot be created */
        EXIT_HELD = 75,        /* another instance holds the state folder */
        EXIT_CONFIGURATION = 78,
        EXIT_CRASH_LOOP = 79,  /* all workers in crash loop and give_up is set */
};

#endif
