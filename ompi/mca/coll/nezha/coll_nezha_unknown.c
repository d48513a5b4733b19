/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_unknown.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompi_config.h"

#include "ompi/constants.h"
#include "opal/mca/base/mca_base_var.h"

#include "nezha/nezha.h"
#include "opal/nezha_help.h"

extern char **environ;

static const char prefix[] = "coll_nezha_";
enum { NAMES_TOLD = 8 };

/** The lines of the text as they come. */
typedef struct found {
    FILE *out;
    int names;
} found_t;

/** Takes the name at the start of `text`, which was read in `place`, if it has the prefix and is unknown. */
static void judge(found_t *found, const char *text, const char *place)
{
    char name[128];
    if (0 != strncmp(text, prefix, sizeof prefix - 1)) {
        return;
    }
    size_t length = strcspn(text, "= \t\r\n");
    if (length >= sizeof name) {
        length = sizeof name - 1;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    const char *meant = nezha_params_nearest(name + sizeof prefix - 1);
    if ((NULL != meant && 0 == strcmp(meant, name + sizeof prefix - 1)) || ++found->names > NAMES_TOLD) {
        return;
    }
    fprintf(found->out, "%s  %s, set in %s", found->names > 1 ? "\n" : "", name, place);
    if (NULL != meant) {
        fprintf(found->out, "; did you mean %s%s?", prefix, meant);
    }
}

static void judge_environment(found_t *found)
{
    static const char mca[] = "OMPI_MCA_";
    for (char **variable = environ; NULL != variable && NULL != *variable; variable++) {
        if (0 == strncmp(*variable, mca, sizeof mca - 1)) {
            judge(found, *variable + sizeof mca - 1, "the environment or by --mca");
        }
    }
}

/** A line is "name = value", or, in a file of mpirun's --tune, what stands on its command line. */
static void judge_line(found_t *found, const char *line, const char *path)
{
    static const char option[] = "-mca ";
    line += strspn(line, " \t");
    if ('#' == *line) {
        return;
    }
    judge(found, line, path);
    while (NULL != (line = strstr(line, option))) {
        line += sizeof option - 1;
        judge(found, line + strspn(line, " \t"), path);
    }
}

static void judge_file(found_t *found, const char *path)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (NULL == file) {
        return; /* most nodes have one of them only */
    }
    while (getline(&line, &size, file) >= 0) {
        judge_line(found, line, path);
    }
    free(line);
    fclose(file);
}

/** The files that a variable of Open MPI's names. */
static void judge_files(found_t *found, const char *variable)
{
    int index = -1;
    const char *const *value = NULL;
    if (OPAL_SUCCESS != mca_base_var_find_by_name(variable, &index) ||
        OPAL_SUCCESS != mca_base_var_get_value(index, &value, NULL, NULL) || NULL == value || NULL == *value) {
        return;
    }
    char *paths = strdup(*value), *rest = paths;
    for (char *path; NULL != paths && NULL != (path = strsep(&rest, ",:"));) {
        judge_file(found, path);
    }
    free(paths);
}

void coll_nezha_unknown_tell(void)
{
    static const char *const files[] = {"mca_base_param_files", "mca_base_override_param_file",
                                        "mca_base_param_file_prefix",  /* mpirun --am */
                                        "mca_base_envar_file_prefix"}; /* mpirun --tune of 4.1 */
    char *text = NULL;
    size_t length = 0;
    found_t found = {.out = open_memstream(&text, &length)};
    if (NULL == found.out) {
        return;
    }
    judge_environment(&found);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        judge_files(&found, files[i]);
    }
    if (found.names > NAMES_TOLD) {
        fprintf(found.out, "\n  and %d more", found.names - NAMES_TOLD);
    }
    fclose(found.out);
    if (found.names > 0) {
        nezha_help_show("unknown parameter", 1, (const char *[]){text});
    }
    free(text);
}
