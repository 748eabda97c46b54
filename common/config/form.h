/* What a text must look like. Each returns NULL when `text` is fine, else what it must be. */
#ifndef ONCED_CONFIG_FORM_H
#define ONCED_CONFIG_FORM_H

#include <stddef.h>

const char *form_task_name(const char *text);
const char *form_word(const char *text);         /* app, group: letters, digits, _ . - */
const char *form_account(const char *text);      /* user or group of the system */
const char *form_path(const char *text);         /* absolute */
const char *form_run_dir(const char *text);      /* absolute, short enough for a socket in it */
const char *form_http_base(const char *text);    /* http:// or https:// */
const char *form_http_url(const char *text);     /* the same, or a path for http_base */
const char *form_method(const char *text);
const char *form_header(const char *text);       /* "Name: value", not one that onced sets itself */
const char *form_redis_url(const char *text);    /* redis://, rediss:// or unix:// */
const char *form_address(const char *text);      /* host:port */
const char *form_env(const char *text);          /* NAME=value */
const char *form_env_name(const char *text);
const char *form_entry_field(const char *text);  /* name=value, not one that onced gives an entry itself */
const char *form_command(const char *text);      /* argv[0]: absolute, or a bare name */
const char *form_exit(const char *text);         /* 1..255 */
const char *form_call(const char *text);         /* plugin.so:function */

/* How many bytes of "NAME=value" or "Name: value" may be shown: all, or up to the value when the name says
 * that it is a secret. */
size_t form_shown(const char *item);

#endif
