/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/nezha_modex.h"

#include "opal/compat.h"
#include "opal/constants.h"

bool nezha_modex_available(void)
{
    return nezha_compat_has_pmix();
}

int nezha_modex_publish(const char *key, const void *data, size_t size)
{
    int rc = OPAL_ERROR;
    OPAL_MODEX_SEND_STRING(rc, NEZHA_MODEX_SCOPE, (char *)key, data, size);
    return rc;
}

int nezha_modex_read(const char *key, const opal_process_name_t *name, void **data, size_t *size)
{
    int rc = OPAL_ERROR;
    opal_process_name_t peer = *name;
    uint8_t *bytes = NULL;
    *size = 0;
    OPAL_MODEX_RECV_STRING(rc, (char *)key, &peer, (void **)&bytes, size);
    *data = bytes;
    return rc;
}

bool nezha_modex_complete(void)
{
    return NEZHA_MODEX_LOOK_FINDS_ALL && opal_pmix_collect_all_data && !opal_pmix_base_async_modex;
}

int nezha_modex_look(const char *key, const opal_process_name_t *name, void **data, size_t *size)
{
    return nezha_compat_modex_look(key, name, data, size);
}
