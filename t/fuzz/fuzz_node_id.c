/* state_dir/node_id: what is understood is written back and read again as the same. */
#include "t/fuzz/target.h"

#include <string.h>

#include "common/node_id.h"

static void claim_same(const struct node_id *a, const struct node_id *b)
{
        CLAIM(strcmp(a->node, b->node) == 0);
        CLAIM(strcmp(a->incarnation, b->incarnation) == 0);
        CLAIM(strcmp(a->boot, b->boot) == 0);
        CLAIM(strcmp(a->ledger, b->ledger) == 0);
        CLAIM(a->life == b->life);
        CLAIM(a->clean == b->clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct node_id n, again;

        (void) fuzz_file("node_id", data, size);
        if (node_id_read(fuzz_folder(), &n) < 0)
                return 0;
        claim_text(n.node, sizeof(n.node));
        claim_text(n.incarnation, sizeof(n.incarnation));
        claim_text(n.boot, sizeof(n.boot));
        claim_text(n.ledger, sizeof(n.ledger));
        CLAIM(node_id_write(fuzz_folder(), &n) == 0);
        CLAIM(node_id_read(fuzz_folder(), &again) == 0);
        claim_same(&n, &again);
        return 0;
}
