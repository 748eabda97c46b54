/* What a configuration asks for and this version does not do yet. */
#ifndef ONCED_CONFIG_LATER_H
#define ONCED_CONFIG_LATER_H

#include <stdbool.h>

#include "common/complaint.h"

struct config;

/* One complaint a feature, naming the first task that uses it; true when there was any. */
bool later_find(const struct config *c, enum severity severity, struct complaints *complaints);

#endif
