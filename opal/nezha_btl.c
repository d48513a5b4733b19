/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/nezha_btl.h"

#include <pthread.h>
#include <string.h>

#include "opal/compat.h"

#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/bml/bml.h"
#include "ompi/proc/proc.h"
#include "opal/mca/btl/btl.h"
#include "opal/nezha_transport.h"

/* Of the numbers for users' messages; nothing in Open MPI uses any of them. */
enum { TAG = MCA_BTL_TAG_USR + 0x1e, MOST_PIECES = 16 };

/* Some layers receive in a thread of their own: whoever closes waits for a message that is being handed over. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static nezha_btl_receive_t receiver;

static void hand_over(const nezha_bytes_t *pieces, size_t count)
{
    pthread_mutex_lock(&guard);
    if (NULL != receiver) {
        receiver(pieces, count);
    }
    pthread_mutex_unlock(&guard);
}

static void receive(NEZHA_BTL_RECEIVE_PARAMS)
{
    nezha_bytes_t pieces[MOST_PIECES];
    size_t count = 0;
    for (; count < message->des_segment_count && count < MOST_PIECES; count++) {
        pieces[count] = (nezha_bytes_t){message->des_segments[count].seg_addr.pval, message->des_segments[count].seg_len};
    }
    hand_over(pieces, count);
}

static void set_receiver(nezha_btl_receive_t to)
{
    pthread_mutex_lock(&guard);
    receiver = to;
    pthread_mutex_unlock(&guard);
}

bool nezha_btl_open(nezha_btl_receive_t to)
{
    /* The table that the layers look into: they may not be there yet, when a peer's message may come before any function
     * of theirs could be called. */
    mca_btl_active_message_callback_t *const entry = &mca_btl_base_active_message_trigger[TAG];
    if (NULL != entry->cbfunc && receive != entry->cbfunc) {
        return false;
    }
    set_receiver(to);
    entry->cbfunc = receive;
    entry->cbdata = NULL;
    return true;
}

/** What comes late finds no receiver. The entry stays. */
void nezha_btl_close(void)
{
    set_receiver(NULL);
}

/** The layers copy what they send; the descriptor is theirs. */
static void sent(struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 struct mca_btl_base_descriptor_t *descriptor, int status)
{
    (void)btl;
    (void)endpoint;
    (void)descriptor;
    (void)status;
}

static mca_bml_base_btl_t *find(unsigned module, uint32_t job_rank)
{
    opal_process_name_t name = ompi_proc_local()->super.proc_name;
    name.vpid = job_rank;
    struct ompi_proc_t *proc = job_rank < (uint32_t)ompi_proc_world_size() ? (struct ompi_proc_t *)ompi_proc_for_name(name) : NULL;
    mca_bml_base_endpoint_t *endpoint = NULL != proc ? mca_bml_base_get_endpoint(proc) : NULL;
    return NULL != endpoint ? mca_bml_base_btl_array_get_index(&endpoint->btl_send, module) : NULL;
}

/** A layer that refuses a descriptor leaves it to its sender. */
static int handed_over(mca_bml_base_btl_t *btl, mca_btl_base_descriptor_t *message, int result)
{
    if (result >= 0) {
        return NEZHA_OK;
    }
    mca_bml_base_free(btl, message);
    return OPAL_ERR_OUT_OF_RESOURCE == result || OPAL_ERR_TEMP_OUT_OF_RESOURCE == result ? NEZHA_PENDING : NEZHA_ERR_RAILS;
}

int nezha_btl_send(unsigned module, uint32_t job_rank, const void *head, size_t head_size, const void *body, size_t body_size)
{
    const size_t size = head_size + body_size;
    mca_bml_base_btl_t *btl = NULL != receiver && nezha_transport_is_btl() ? find(module, job_rank) : NULL;
    if (NULL == btl || size > btl->btl->btl_max_send_size) {
        return NEZHA_ERR_RAILS;
    }
    mca_btl_base_descriptor_t *message = NULL;
    mca_bml_base_alloc(btl, &message, MCA_BTL_NO_ORDER, size, MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (NULL == message) {
        return NEZHA_PENDING;
    }
    char *to = message->des_segments[0].seg_addr.pval;
    memcpy(to, head, head_size);
    if (0 != body_size) {
        memcpy(to + head_size, body, body_size);
    }
    message->des_cbfunc = sent;
    return handed_over(btl, message, mca_bml_base_send(btl, message, TAG));
}
