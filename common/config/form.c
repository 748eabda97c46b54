/* Forms of texts. They are strict where a slip would be noticed only at night: a URL without host, a header
 * with a line break in it, a variable that cannot exist. */
#include "common/config/form.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/ids.h"

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static bool only(const char *text, const char *allowed, size_t longest)
{
        size_t n = strspn(text, allowed);

        return n > 0 && n <= longest && text[n] == '\0';
}

static bool has_prefix(const char *text, const char *prefix)
{
        return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* No space, no control character: what may stand in a request line or a header. */
static bool is_printable(const char *text, bool spaces)
{
        for (; *text; text++)
                if ((unsigned char) *text < (spaces ? 0x20 : 0x21) || *text == 0x7f)
                        return false;
        return true;
}

const char *form_task_name(const char *text)
{
        if (only(text, LETTERS DIGITS "_.:-", TASK_NAME_MAX) && strchr("_.:-", text[0]) == NULL)
                return NULL;
        return "must be 1 to 128 letters, digits or _ . : - and begin with a letter or digit";
}

const char *form_word(const char *text)
{
        return only(text, LETTERS DIGITS "_.-", 64) ? NULL : "must be 1 to 64 letters, digits or _ . -";
}

const char *form_account(const char *text)
{
        return only(text, LETTERS DIGITS "_.-$", 64) ? NULL : "must be the name or number of an account";
}

const char *form_path(const char *text)
{
        return text[0] == '/' ? NULL : "must be an absolute path";
}

const char *form_run_dir(const char *text)
{
        if (strlen(text) > 90)
                return "must be no longer than 90 bytes, since a socket's path is limited";
        return form_path(text);
}

/* "host", "host:port", "[v6]:port": a host there must be, a port may. */
static bool authority_fine(const char *text, size_t len, bool port_needed)
{
        const char *end = text + len, *host_end;

        if (len > 0 && text[0] == '[') {
                host_end = memchr(text, ']', len);
                if (!host_end || host_end - text < 3)
                        return false;
                host_end++;
        } else {
                host_end = memchr(text, ':', len);
                if (!host_end)
                        host_end = end;
                if (host_end == text)
                        return false;
        }
        if (host_end == end)
                return !port_needed;
        size_t digits = strspn(host_end + 1, DIGITS);
        return *host_end == ':' && digits >= 1 && digits <= 5 && host_end + 1 + digits == end &&
               atol(host_end + 1) >= 1 && atol(host_end + 1) <= 65535;
}

const char *form_http_base(const char *text)
{
        size_t scheme = has_prefix(text, "http://") ? 7 : has_prefix(text, "https://") ? 8 : 0;
        const char *authority = text + scheme;
        size_t len = strcspn(authority, "/?#");

        if (scheme == 0)
                return "must begin with http:// or https://";
        if (!is_printable(text, false))
                return "must be without spaces and control characters (write %20 for a space)";
        if (memchr(authority, '@', len))
                return "must be without user and password, which would appear in logs; use an Authorization "
                       "header";
        return authority_fine(authority, len, false) ? NULL
                                                     : "must name a host, and a port of 1 to 65535 if any";
}

const char *form_http_url(const char *text)
{
        if (text[0] != '/')
                return strstr(text, "://")
                               ? form_http_base(text)
                               : "must begin with http:// or https://, or be a path for http_base";
        if (text[1] == '/')
                return "must have one slash at its beginning, or http:// or https://";
        return is_printable(text, false) ? NULL : "must be without spaces and control characters (write %20)";
}

const char *form_method(const char *text)
{
        return only(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 16) ? NULL
                                                            : "must be 1 to 16 capital letters, as POST";
}

const char *form_header(const char *text)
{
        static const char *const taken[] = { "X-Onced-",        "Idempotency-Key:",   "traceparent:",
                                             "Content-Length:", "Transfer-Encoding:", "Connection:" };
        size_t name = strspn(text, LETTERS DIGITS "!#$%&'*+-.^_`|~");

        if (name == 0 || text[name] != ':' || !is_printable(text, true))
                return "must be \"Name: value\" in one line";
        for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
                if (has_prefix(text, taken[i]))
                        return "must be another header: onced sets this one itself";
        return NULL;
}

const char *form_redis_url(const char *text)
{
        size_t scheme = has_prefix(text, "redis://") ? 8 : has_prefix(text, "rediss://") ? 9 : 0;

        if (!is_printable(text, false))
                return "must be without spaces and control characters";
        if (has_prefix(text, "unix://"))
                return text[7] == '/' ? NULL : "must be unix:///path/of/the/socket";
        if (scheme == 0)
                return "must begin with redis://, rediss:// or unix://";
        size_t len = strcspn(text + scheme, "/?#");
        const char *host = memrchr(text + scheme, '@', len), *path = text + scheme + len;
        host = host ? host + 1 : text + scheme;
        if (!authority_fine(host, (size_t) (path - host), false))
                return "must name a host, and a port of 1 to 65535 if any";
        return *path == '\0' || strcmp(path, "/") == 0 || (*path == '/' && only(path + 1, DIGITS, 5))
                       ? NULL
                       : "must end with /NUMBER, the database, or nothing";
}

const char *form_address(const char *text)
{
        return is_printable(text, false) && authority_fine(text, strlen(text), true)
                       ? NULL
                       : "must be host:port, as 127.0.0.1:8080 or [::1]:8080";
}

static size_t variable_name(const char *text)
{
        return text[0] >= '0' && text[0] <= '9' ? 0 : strspn(text, LETTERS DIGITS "_");
}

const char *form_env(const char *text)
{
        size_t n = variable_name(text);

        if (n == 0 || text[n] != '=')
                return "must be NAME=value";
        return strncmp(text, "ONCED_", 6) == 0 ? "must be another name: ONCED_ is what onced sets itself"
                                               : NULL;
}

const char *form_env_name(const char *text)
{
        size_t n = variable_name(text);

        return n > 0 && text[n] == '\0' ? NULL : "must be the name of an environment variable";
}

const char *form_entry_field(const char *text)
{
        static const char *const taken[] = { "occurrence", "trigger", "task", "planned", "fence", "node", "shard", "shards" };
        size_t n = strspn(text, LETTERS DIGITS "_.:-");

        if (n == 0 || text[n] != '=')
                return "must be name=value, its name of letters, digits or _ . : -";
        for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
                if (strlen(taken[i]) == n && strncmp(text, taken[i], n) == 0)
                        return "must be another name: onced gives this field itself";
        return NULL;
}

const char *form_command(const char *text)
{
        return text[0] && (text[0] == '/' || !strchr(text, '/'))
                       ? NULL
                       : "must be an absolute path, or a bare name to be found on the standard PATH";
}

const char *form_exit(const char *text)
{
        long code = only(text, DIGITS, 3) ? atol(text) : 0;

        return code >= 1 && code <= 255 ? NULL : "must be an exit code of 1 to 255";
}

const char *form_call(const char *text)
{
        const char *colon = strrchr(text, ':');

        return colon && colon != text && variable_name(colon + 1) &&
                               colon[1 + variable_name(colon + 1)] == '\0'
                       ? NULL
                       : "must be plugin.so:function";
}

size_t form_shown(const char *item)
{
        static const char *const secrets[] = { "authorization", "cookie", "password", "passwd", "secret",
                                               "token", "apikey", "api_key", "api-key", "private_key" };
        char name[128];
        size_t n = strcspn(item, "=:");

        if (n >= sizeof(name))
                return strlen(item);
        memcpy(name, item, n);
        name[n] = '\0';
        for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
                if (strcasestr(name, secrets[i]))
                        return n + strspn(item + n, "=: ");
        return strlen(item);
}
