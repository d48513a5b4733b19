/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/nezha_progress.h"

#include "opal/compat.h"

int nezha_progress(void)
{
    return nezha_compat_progress();
}
