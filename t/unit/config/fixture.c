/* Every load is of a real file: the path is part of what is tested. */
#include "t/unit/config/fixture.h"

#include "t/unit/cases.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config.h"
#include "common/file.h"

int fixture_setup(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->folder, "/tmp/onced-config.XXXXXX");
        assert_non_null(mkdtemp(f->folder));
        snprintf(f->path, sizeof(f->path), "%s/onced.yaml", f->folder);
        *state = f;
        return 0;
}

static void forget(struct fixture *f)
{
        f->config = config_free(f->config);
        complaints_done(&f->complaints);
}

int fixture_teardown(void **state)
{
        struct fixture *f = *state;
        DIR *d = opendir(f->folder);

        forget(f);
        for (struct dirent *e; d && (e = readdir(d));)
                (void) unlinkat(dirfd(d), e->d_name, 0);
        if (d)
                closedir(d);
        assert_int_equal(rmdir(f->folder), 0);
        free(f);
        return 0;
}

void fixture_write(struct fixture *f, const char *name, const char *bytes, size_t len)
{
        char path[192];

        snprintf(path, sizeof(path), "%s/%s", f->folder, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, bytes, len), 0);
        close(fd);
}

void fixture_load_bytes(struct fixture *f, const char *bytes, size_t len)
{
        forget(f);
        fixture_write(f, "onced.yaml", bytes, len);
        f->result = config_load(f->path, &f->config, &f->complaints);
        assert_true((f->result == 0) == (f->config != NULL));
        assert_true((f->result == 0) == (f->complaints.errors == 0));
}

void fixture_load(struct fixture *f, const char *text)
{
        fixture_load_bytes(f, text, strlen(text));
}

static bool matches(const struct complaint *c, enum severity severity, const char *fragment)
{
        return c->severity == severity && strstr(c->text, fragment) != NULL;
}

bool complained(const struct fixture *f, enum severity severity, unsigned line, unsigned column,
                const char *fragment)
{
        for (size_t i = 0; i < f->complaints.count; i++) {
                const struct complaint *c = &f->complaints.list[i];
                if (matches(c, severity, fragment) &&
                    (!line || (c->place.line == line && c->place.column == column)))
                        return true;
        }
        return false;
}

bool complained_in(const struct fixture *f, const char *file, enum severity severity, const char *fragment)
{
        for (size_t i = 0; i < f->complaints.count; i++) {
                const struct complaint *c = &f->complaints.list[i];
                size_t len = strlen(c->place.file), end = strlen(file);
                if (matches(c, severity, fragment) && len >= end &&
                    strcmp(c->place.file + len - end, file) == 0)
                        return true;
        }
        return false;
}

void print_complaints(const struct fixture *f)
{
        complaints_print(&f->complaints, stderr);
}
