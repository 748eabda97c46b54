/* The lowest ready slot leads, and a ready leader stays: moving the role costs a term and gains nothing. */
#include "supervisor/elect.h"

#include "supervisor/slot.h"

int elect(const struct slot *workers, unsigned count, int leader)
{
        if (leader >= 0 && (unsigned) leader < count && workers[leader].state == SLOT_READY)
                return leader;
        for (unsigned i = 0; i < count; i++)
                if (workers[i].state == SLOT_READY)
                        return (int) i;
        return -1;
}
