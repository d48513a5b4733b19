/* SPDX-License-Identifier: BSD-3-Clause */
#include "nezha_transport.h"

#include <string.h>

#include "ompi_config.h"

#include "ompi/mca/pml/base/base.h"
#include "opal/mca/btl/base/base.h"

/** Of the BTLs all but these may be another network. */
static bool stays_or_is_tcp(const char *btl)
{
    static const char *const known[] = {"self", "sm", "vader", "tcp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (0 == strcmp(known[i], btl)) {
            return true;
        }
    }
    return false;
}

bool nezha_transport_is_btl(void)
{
    return 0 == strcmp("ob1", mca_pml_base_selected_component.pmlm_version.mca_component_name);
}

bool nezha_transport_is_tcp(void)
{
    if (!nezha_transport_is_btl()) {
        return false;
    }
    mca_btl_base_selected_module_t *selected;
    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t) {
        if (!stays_or_is_tcp(selected->btl_component->btl_version.mca_component_name)) {
            return false;
        }
    }
    return true;
}
