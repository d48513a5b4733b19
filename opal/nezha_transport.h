/* SPDX-License-Identifier: BSD-3-Clause */
/** What Open MPI itself sends by. */
#ifndef NEZHA_OPAL_TRANSPORT_H
#define NEZHA_OPAL_TRANSPORT_H

#include <stdbool.h>

/** Whether messages go by byte transfer layers, which are otherwise not looked after. Known as soon as the other. */
bool nezha_transport_is_btl(void);

/** Whether messages between nodes can go over TCP only. Known from the first communicator on; false where it is not. */
bool nezha_transport_is_tcp(void);

#endif
