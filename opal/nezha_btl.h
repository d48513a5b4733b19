/* SPDX-License-Identifier: BSD-3-Clause */
/** Messages by the byte transfer layers (BTLs) that Open MPI's own point-to-point calls go by, where it uses them: by the pml ob1. */
#ifndef NEZHA_OPAL_BTL_H
#define NEZHA_OPAL_BTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nezha/nezha.h"

/** Gets a message in pieces, which are gone when it returns. Called while Open MPI progresses, in any
 * thread that does so, or in one of a layer's own; one at a time. */
typedef void (*nezha_btl_receive_t)(const nezha_bytes_t *pieces, size_t count);

/** From here on messages are received: before peers may send. False: the messages' number is somebody else's. */
bool nezha_btl_open(nezha_btl_receive_t receive);
/** From here on none is, not even in another thread, and none is sent. Not from within `receive`. */
void nezha_btl_close(void);

/** Of nezha_host_t. Only in threads that may call MPI. */
int nezha_btl_send(unsigned module, uint32_t job_rank, const void *head, size_t head_size, const void *body, size_t body_size);

#endif
