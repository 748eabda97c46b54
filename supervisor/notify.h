/* What is said to those who started us: systemd over NOTIFY_SOCKET, s6 by a newline on a descriptor. */
#ifndef ONCED_NOTIFY_H
#define ONCED_NOTIFY_H

#include <stdint.h>

/* "READY=1\nSTATUS=…". Without NOTIFY_SOCKET nothing happens; failures are nobody's business. */
void notify_manager(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Half of WATCHDOG_USEC in ms when it is meant for this process, 0: no watchdog. */
int64_t notify_watchdog_ms(void);

/* The newline of readiness; closes `fd`. -1: nothing. */
void notify_fd_ready(int fd);

#endif
