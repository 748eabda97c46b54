/* One write(2) a line, so that lines of several processes into one file never mix. */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"

#define LINE_MAX_BYTES 4096

const char *const log_level_names[] = { "error", "warning", "info", "debug", NULL };
const char *const log_format_names[] = { "text", "json", NULL };

static struct {
        enum log_level level;
        enum log_format format;
        char who[32];
        int fd;
        bool journal;   /* fd 2 is journald's: lines begin with <priority> and have no time of their own */
} logger = { .level = LOG_LEVEL_INFO, .who = "onced", .fd = 2 };

/* journald names the stream it listens on as JOURNAL_STREAM=device:inode (systemd.exec(5)). */
static bool is_journal(int fd)
{
        const char *stream = getenv("JOURNAL_STREAM");
        uintmax_t dev, ino;
        struct stat st;

        return stream && sscanf(stream, "%ju:%ju", &dev, &ino) == 2 && fstat(fd, &st) == 0 &&
               st.st_dev == dev && st.st_ino == ino;
}

void log_setup(enum log_level level, enum log_format format)
{
        logger.level = level;
        logger.format = format;
        logger.journal = is_journal(logger.fd);
}

void log_identity(const char *who)
{
        (void) snprintf(logger.who, sizeof(logger.who), "%s", who);
}

int log_use_fd(int fd)
{
        int before = logger.fd;

        logger.fd = fd;
        logger.journal = is_journal(fd);
        return before;
}

static void line_json(struct buf *b, enum log_level level, const char *time, const char *message)
{
        buf_format(b, "{\"time\":\"%s\",\"level\":\"%s\",\"process\":", time, log_level_names[level]);
        buf_json(b, logger.who, strlen(logger.who));
        buf_format(b, ",\"pid\":%d,\"message\":", (int) getpid());
        buf_json(b, message, strlen(message));
        buf_text(b, "}\n");
}

static void line_text(struct buf *b, enum log_level level, const char *time, const char *message)
{
        static const int priorities[] = { 3, 4, 6, 7 };   /* syslog(3) */

        if (logger.journal)
                buf_format(b, "<%d>%s[%d]: ", priorities[level], logger.who, (int) getpid());
        else
                buf_format(b, "%s %-7s %s[%d]: ", time, log_level_names[level], logger.who, (int) getpid());
        for (const char *p = message; *p; p++)   /* a message must not be able to forge a line */
                buf_char(b, (unsigned char) *p < 0x20 ? ' ' : *p);
        buf_char(b, '\n');
}

static int log_line(enum log_level level, int error, const char *format, va_list ap)
{
        char message[LINE_MAX_BYTES], time[STAMP_TEXT];
        struct buf line = BUF_EMPTY;

        error = error < 0 ? -error : error;
        if (level > logger.level)
                return -error;
        int n = vsnprintf(message, sizeof(message), format, ap);
        if (n >= 0 && (size_t) n < sizeof(message) && error)
                (void) snprintf(message + n, sizeof(message) - (size_t) n, ": %s", strerror(error));
        stamp_text(clock_wall(), time);
        if (logger.format == LOG_FORMAT_JSON)
                line_json(&line, level, time, message);
        else
                line_text(&line, level, time, message);
        if (!line.failed && write(logger.fd, line.data, line.len) < 0) {
                /* Nobody is left to be told that the log itself cannot be written. */
        }
        buf_done(&line);
        return -error;
}

int log_error(int error, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        int r = log_line(LOG_LEVEL_ERROR, error, format, ap);
        va_end(ap);
        return r;
}

int log_warning(int error, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        int r = log_line(LOG_LEVEL_WARNING, error, format, ap);
        va_end(ap);
        return r;
}

void log_info(const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) log_line(LOG_LEVEL_INFO, 0, format, ap);
        va_end(ap);
}

void log_debug(const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) log_line(LOG_LEVEL_DEBUG, 0, format, ap);
        va_end(ap);
}
