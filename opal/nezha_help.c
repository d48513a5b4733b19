/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* dladdr */
#include "opal/nezha_help.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ompi_config.h"

#include "opal/util/show_help.h"

static const char help_file[] = "help-coll-nezha.txt";

static void add_own_directory(void)
{
    Dl_info self;
    if (0 == dladdr((const void *)&nezha_help_init, &self) || NULL == self.dli_fname) {
        return;
    }
    char *path = strdup(self.dli_fname);
    if (NULL != path) {
        opal_show_help_add_dir(dirname(path));
        free(path);
    }
}

void nezha_help_init(void)
{
    opal_show_help_add_dir(NEZHA_HELP_DIR);
    add_own_directory();
}

void nezha_help_show(const char *topic, int nargs, const char *const *args)
{
    const char *text[NEZHA_HELP_ARGS];
    for (int i = 0; i < NEZHA_HELP_ARGS; i++) {
        text[i] = i < nargs && NULL != args[i] ? args[i] : "";
    }
    /* A topic takes as many of these as it has places for; the others do no harm. */
    opal_show_help(help_file, topic, true, text[0], text[1], text[2], text[3], text[4], text[5], text[6], text[7]);
}
