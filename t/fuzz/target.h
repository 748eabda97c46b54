/* What all fuzz targets share: libFuzzer's entry, claims that end the run when they do not hold, and a folder
 * of the process's own. */
#ifndef ONCED_FUZZ_TARGET_H
#define ONCED_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Not assert: what it says belongs into the report of a failure. */
#define CLAIM(condition)                                               \
        do {                                                           \
                if (!(condition))                                      \
                        claim_fails(__FILE__, __LINE__, #condition);   \
        } while (0)

_Noreturn void claim_fails(const char *file, int line, const char *claim);

/* In memory, made at first use, gone with the process. */
const char *fuzz_folder(void);

/* Writes `name` into it and gives back its path, valid until the next call. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Printable text that ends within its room: what anything read from outside must look like. */
void claim_text(const char *text, size_t room);

#endif
