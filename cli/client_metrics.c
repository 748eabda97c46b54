/* `onced metrics`: what a scraper would get, OpenMetrics text or JSON, as it comes. */
#include "cli/cli.h"
#include "cli/client.h"

int command_metrics(int argc, char **argv)
{
        struct client c;
        int r = client_begin(&c, argc, argv, NULL, NULL, 0);

        if (r == 0)
                r = client_get(&c, "/metrics", c.json ? "application/json" : "application/openmetrics-text", NULL);
        if (r == 0)
                r = client_print_body(&c);
        client_done(&c);
        return r;
}
