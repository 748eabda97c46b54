/* The log for people: "time level process: message" to one descriptor, one write a line.
 * Per process; the master opens the file and hands descriptors on. Journald priorities when it listens. */
#ifndef ONCED_LOG_H
#define ONCED_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* Levels by name, in the order of the enum; NULL-terminated. */
extern const char *const log_level_names[];
extern const char *const log_format_names[];

void log_setup(enum log_level level, enum log_format format);

/* Who speaks: "master", "worker 0", "console". Copied; up to 31 bytes. */
void log_identity(const char *who);

/* From now on lines go to `fd` (borrowed); 2 at first. Returns the descriptor used until now. */
int log_use_fd(int fd);

/* Each returns -errno of `error` (sign does not matter), 0 when error is 0, so that a failure can be
 * logged and returned in one line; the text of the error is appended. */
int log_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int log_warning(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
