/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "opal/mca/base/mca_base_var.h"

#include "opal/nezha_help.h"

/* All variables are strings to Open MPI: one parser, the engine's, then judges them, and a value that it refuses never
 * stops a job. The text of a variable tells its type. Storage of Open MPI's, which sets it to NULL when it forgets the
 * variable. */
static char **values;

static void describe_type(const nezha_param_t *row, char *text, size_t size)
{
    switch (row->type) {
        case NEZHA_PARAM_BOOL:
            snprintf(text, size, "0 or 1");
            break;
        case NEZHA_PARAM_INT:
            snprintf(text, size, "integer, %lld to %lld", row->min, row->max);
            break;
        case NEZHA_PARAM_SIZE:
            snprintf(text, size, "%sbytes, %lld to %lld, also with k, m or g", row->min > 0 ? "0 or " : "", row->min,
                     row->max);
            break;
        case NEZHA_PARAM_CHOICE:
            snprintf(text, size, "one of %s", row->choices);
            break;
        case NEZHA_PARAM_TEXT:
            snprintf(text, size, "text%s%s", row->choices && *row->choices ? ": " : "",
                     row->choices ? row->choices : "");
            break;
    }
}

static void describe(const nezha_param_t *row, char *text, size_t size)
{
    char type[256];
    describe_type(row, type, sizeof type);
    snprintf(text, size, "%s (%s; default: %s%s)", row->help, type, *row->fallback ? row->fallback : "empty",
             row->decides ? "; the value of a communicator's rank 0 counts" : "");
}

int coll_nezha_params_register(const mca_base_component_t *component)
{
    size_t count = 0;
    const nezha_param_t *rows = nezha_params(&count);
    if (NULL == values && NULL == (values = calloc(count, sizeof *values))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        describe(&rows[i], text, sizeof text);
        values[i] = (char *)rows[i].fallback;
        mca_base_var_info_lvl_t level = OPAL_INFO_LVL_1 + (rows[i].level - 1);
        int index = mca_base_component_var_register(component, rows[i].name, text, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
                                                    level, MCA_BASE_VAR_SCOPE_READONLY, &values[i]);
        if (index < 0) {
            return index;
        }
    }
    return OMPI_SUCCESS;
}

/** The text of a row's variable, never NULL. */
static const char *value_of(const nezha_param_t *rows, size_t i)
{
    return NULL != values && NULL != values[i] ? values[i] : rows[i].fallback;
}

/** The user's btl_tcp_if_include or _exclude: NULL when he did not set it. */
static const char *inherited(const char *name)
{
    int index = mca_base_var_find("opal", "btl", "tcp", name);
    const char *const *text = NULL;
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    if (index < 0 || OPAL_SUCCESS != mca_base_var_get_value(index, &text, &source, NULL)) {
        return NULL;
    }
    if (MCA_BASE_VAR_SOURCE_DEFAULT == source || NULL == text || NULL == *text || '\0' == **text) {
        return NULL;
    }
    return *text;
}

static void inherit(nezha_config_t *config)
{
    const char *include = inherited("if_include");
    const char *exclude = inherited("if_exclude");
    char why[256] = "";
    if (NEZHA_OK != nezha_config_inherit(config, include, exclude, why, sizeof why)) {
        const bool included = NULL != include;
        nezha_help_show("bad interfaces", 3, (const char *[]){included ? "btl_tcp_if_include" : "btl_tcp_if_exclude",
                                                              included ? include : exclude, why});
    }
}

nezha_config_t *coll_nezha_params_config(void)
{
    size_t count = 0;
    const nezha_param_t *rows = nezha_params(&count);
    nezha_config_t *config = nezha_config_create();
    for (size_t i = 0; NULL != config && i < count; i++) {
        const char *value = value_of(rows, i);
        char why[256] = "";
        char name[128];
        if (NEZHA_OK != nezha_config_set(config, rows[i].name, value, why, sizeof why)) {
            snprintf(name, sizeof name, "coll_nezha_%s", rows[i].name);
            nezha_help_show("bad parameter", 4,
                            (const char *[]){name, value, why, *rows[i].fallback ? rows[i].fallback : "(empty)"});
        }
    }
    if (NULL != config) {
        inherit(config);
    }
    return config;
}

/** The text in force of parameter `name`: that of its variable if the table takes it, else the default. */
static const char *in_force(const char *name)
{
    size_t count = 0;
    const nezha_param_t *rows = nezha_params(&count);
    for (size_t i = 0; i < count; i++) {
        if (0 == strcmp(rows[i].name, name)) {
            char why[256];
            const char *value = value_of(rows, i);
            nezha_config_t *trial = nezha_config_create();
            bool good = NULL != trial && NEZHA_OK == nezha_config_set(trial, name, value, why, sizeof why);
            nezha_config_destroy(trial);
            return good ? value : rows[i].fallback;
        }
    }
    return "";
}

/** Whether `text` is `word` once it is trimmed, as the table does it. */
static bool is_word(const char *text, const char *word)
{
    static const char blanks[] = " \t\r\n\v\f";
    text += strspn(text, blanks);
    const size_t length = strcspn(text, blanks);
    return length == strlen(word) && 0 == strncmp(text, word, length);
}

int coll_nezha_params_int(const char *name)
{
    return (int)strtol(in_force(name), NULL, 10);
}

bool coll_nezha_params_bool(const char *name)
{
    static const char *const no[] = {"0", "false", "no", "off"}; /* the table took it, so anything else is a yes */
    const char *text = in_force(name);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        if (is_word(text, no[i])) {
            return false;
        }
    }
    return true;
}

bool coll_nezha_params_given(const char *name)
{
    return !is_word(in_force(name), "");
}

static unsigned collectives_by(unsigned (*of)(const nezha_config_t *), unsigned otherwise)
{
    nezha_config_t *config = nezha_config_create();
    if (NULL == config) {
        return otherwise;
    }
    nezha_config_set(config, "collectives", in_force("collectives"), NULL, 0);
    const unsigned collectives = of(config);
    nezha_config_destroy(config);
    return collectives;
}

unsigned coll_nezha_params_collectives(void)
{
    return collectives_by(nezha_config_collectives, 1u << NEZHA_ALLREDUCE);
}

/* An algorithm that somebody names is meant for allreduces. Of the others it would leave the incumbent no size. */
unsigned coll_nezha_params_collectives_large(void)
{
    return is_word(in_force("algorithm"), "auto") ? collectives_by(nezha_config_collectives_large, 0) : 0;
}
