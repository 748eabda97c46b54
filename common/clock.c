/* Reading the clocks, and instants as text. By civil.h, so that neither TZ nor libc's zone state matters. */
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/civil.h"
#include "common/cleanup.h"

static int64_t read_clock(clockid_t id)
{
        struct timespec ts;

        (void) clock_gettime(id, &ts);
        return (int64_t) ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

struct stamp clock_wall(void)
{
        return (struct stamp) { read_clock(CLOCK_REALTIME) };
}

struct mono clock_mono(void)
{
        return (struct mono) { read_clock(CLOCK_BOOTTIME) };
}

struct instant stamp_instant(struct stamp s)
{
        return (struct instant) { floor_div(s.ns, NS_PER_MS) };
}

struct stamp instant_stamp(struct instant i)
{
        return (struct stamp) { i.ms * NS_PER_MS };
}

/* `count` decimal digits and what follows them; twice a trigger line, so not by printf. */
static char *digits_put(char *at, unsigned value, int count, char then)
{
        for (int i = count - 1; i >= 0; i--, value /= 10)
                at[i] = (char) ('0' + value % 10);
        at[count] = then;
        return at + count + 1;
}

static void text_of(int64_t seconds, int64_t fraction, int digits, char ret[STAMP_TEXT])
{
        int64_t days = floor_div(seconds, 86400);
        unsigned rest = (unsigned) (seconds - days * 86400);
        struct civil c = civil_from_days(days);

        ret = digits_put(ret, (unsigned) c.year, 4, '-');
        ret = digits_put(ret, c.month, 2, '-');
        ret = digits_put(ret, c.day, 2, 'T');
        ret = digits_put(ret, rest / 3600, 2, ':');
        ret = digits_put(ret, rest / 60 % 60, 2, ':');
        ret = digits_put(ret, rest % 60, 2, '.');
        *digits_put(ret, (unsigned) fraction, digits, 'Z') = '\0';
}

void stamp_text(struct stamp s, char ret[STAMP_TEXT])
{
        int64_t rest = floor_rest(s.ns, NS_PER_S);

        text_of(floor_div(s.ns, NS_PER_S), rest / NS_PER_US, 6, ret);
}

void instant_text(struct instant i, char ret[STAMP_TEXT])
{
        text_of(floor_div(i.ms, MS_PER_S), floor_rest(i.ms, MS_PER_S), 3, ret);
}

static bool digits_read(const char **p, unsigned count, unsigned *ret)
{
        unsigned v = 0;

        for (unsigned i = 0; i < count; i++, (*p)++) {
                if (**p < '0' || **p > '9')
                        return false;
                v = v * 10 + (unsigned) (**p - '0');
        }
        *ret = v;
        return true;
}

static bool char_read(const char **p, const char *set)
{
        if (**p == '\0' || !strchr(set, **p))
                return false;
        (*p)++;
        return true;
}

static unsigned days_in_month(unsigned y, unsigned m)
{
        static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

        return days[m - 1] + (m == 2 && leap);
}

/* "Z" or "+hh:mm"; minutes east of UTC. */
static bool offset_read(const char **p, int *ret_minutes)
{
        unsigned h, m;

        if (char_read(p, "Zz")) {
                *ret_minutes = 0;
                return true;
        }
        int sign = **p == '-' ? -1 : 1;
        if (!char_read(p, "+-") || !digits_read(p, 2, &h) || !char_read(p, ":") ||
            !digits_read(p, 2, &m) || h > 23 || m > 59)
                return false;
        *ret_minutes = sign * (int) (h * 60 + m);
        return true;
}

int instant_parse(const char *text, struct instant *ret)
{
        const char *p = text;
        unsigned y, mo, d, h, mi, s, ms = 0;
        int offset;

        if (!digits_read(&p, 4, &y) || !char_read(&p, "-") || !digits_read(&p, 2, &mo) ||
            !char_read(&p, "-") || !digits_read(&p, 2, &d) || !char_read(&p, "Tt ") ||
            !digits_read(&p, 2, &h) || !char_read(&p, ":") || !digits_read(&p, 2, &mi) ||
            !char_read(&p, ":") || !digits_read(&p, 2, &s))
                return -EINVAL;
        if (char_read(&p, ".")) {
                unsigned digit, seen = 0;
                for (; digits_read(&p, 1, &digit); seen++)
                        if (seen < 3)
                                ms = ms * 10 + digit;
                if (seen == 0)
                        return -EINVAL;
                for (; seen < 3; seen++)
                        ms *= 10;
        }
        if (!offset_read(&p, &offset) || *p != '\0')
                return -EINVAL;
        if (mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo) || h > 23 || mi > 59 || s > 59)
                return -EINVAL;
        int64_t seconds = days_from_civil(y, mo, d) * 86400 + (int64_t) h * 3600 + mi * 60 + s;
        ret->ms = (seconds - (int64_t) offset * 60) * MS_PER_S + ms;
        return 0;
}

int clock_boot_id(char ret[BOOT_ID_TEXT])
{
        char text[64];
        _cleanup_(closep) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        ssize_t n = read(fd, text, sizeof(text));
        if (n < 0)
                return -errno;
        size_t out = 0;
        for (ssize_t i = 0; i < n && out < BOOT_ID_TEXT - 1; i++)
                if (text[i] != '-' && text[i] != '\n')
                        ret[out++] = text[i];
        ret[out] = '\0';
        return out == BOOT_ID_TEXT - 1 ? 0 : -EIO;
}
