/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/nezha_output.h"

#include <stdio.h>
#include <unistd.h>

#include "opal/nezha_topology.h"

void nezha_output_line(const char *line)
{
    char text[1024];
    int length = snprintf(text, sizeof text - 1, "[%s:%d] nezha: %s", nezha_topology_node(), (int)getpid(), line);
    if (length < 0) {
        return;
    }
    if (length > (int)sizeof text - 2) {
        length = (int)sizeof text - 2;
    }
    text[length++] = '\n';
    /* What cannot be written to stderr cannot be told to anybody. */
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written;
}
