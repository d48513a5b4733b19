/* SPDX-License-Identifier: BSD-3-Clause */
#include "rdma_raw.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <mpi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The other rank's NIC answers late where processors are emulated; seven would mean without limit on some devices.
enum { kTimeout = 18, kRetries = 6, kInline = 64, kAnyPacket = 0x1234 };

struct raw {
  struct ibv_context* context;
  struct ibv_pd* domain;
  struct ibv_comp_channel* channel;
  struct ibv_cq* completions;
  struct ibv_qp* pair;
  struct ibv_mr* memory;
  char *out, *in;  ///< the two halves of the memory
  size_t message;
  int rank;
  long sent, received;  ///< completions that were seen
};

/// What one side tells the other.
struct words {
  uint32_t number;
  union ibv_gid gid;
};

static void end_if(bool failed, const struct raw* r, const char* what) {
  if (!failed) return;
  fprintf(stderr, "rank %d: RDMA: %s\n", r->rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

static void open_device(struct raw* r, const char* name) {
  int count = 0;
  struct ibv_device** const list = ibv_get_device_list(&count);
  for (int i = 0; list != NULL && i < count && r->context == NULL; i++)
    if (ends_with(ibv_get_device_name(list[i]), name)) r->context = ibv_open_device(list[i]);
  if (list != NULL) ibv_free_device_list(list);
  end_if(r->context == NULL, r, "there is no device of that name");
}

/// The place of the device's IPv4 address in its table.
static int find_gid(const struct raw* r, union ibv_gid* gid) {
  static const uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  for (int i = 0; i < 16; i++)
    if (ibv_query_gid(r->context, 1, i, gid) == 0 && memcmp(gid->raw, kMapped, sizeof kMapped) == 0) return i;
  end_if(true, r, "the device has no IPv4 address");
  return -1;
}

static void connect_pair(struct raw* r, uint32_t depth) {
  struct ibv_port_attr port;
  end_if(ibv_query_port(r->context, 1, &port) != 0, r, "its port cannot be queried");
  struct ibv_qp_init_attr wanted = {.send_cq = r->completions, .recv_cq = r->completions, .qp_type = IBV_QPT_RC,
                                    .cap = {depth, depth, 1, 1, kInline}};
  r->pair = ibv_create_qp(r->domain, &wanted);
  end_if(r->pair == NULL, r, "no queue pair can be made");
  struct words own = {.number = r->pair->qp_num}, other;
  const int index = find_gid(r, &own.gid);
  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  int failed = ibv_modify_qp(r->pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  MPI_Sendrecv(&own, sizeof own, MPI_BYTE, 1 - r->rank, 0, &other, sizeof other, MPI_BYTE, 1 - r->rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = port.active_mtu, .dest_qp_num = other.number,
                           .rq_psn = kAnyPacket, .min_rnr_timer = 1,
                           .ah_attr = {.is_global = 1, .port_num = 1,
                                       .grh = {.dgid = other.gid, .sgid_index = (uint8_t)index, .hop_limit = 64}}};
  failed |= ibv_modify_qp(r->pair, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = kTimeout, .retry_cnt = kRetries, .rnr_retry = 7,
                           .sq_psn = kAnyPacket};
  failed |= ibv_modify_qp(r->pair, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                           IBV_QP_MAX_QP_RD_ATOMIC);
  end_if(failed != 0, r, "the queue pair cannot be made ready");
}

struct raw* raw_open(const char* device, size_t largest, size_t message) {
  struct raw* const r = calloc(1, sizeof *r);
  if (r == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
  const uint32_t depth = (uint32_t)((largest + message - 1) / message) + 1;
  r->message = message;
  open_device(r, device);
  r->domain = ibv_alloc_pd(r->context);
  r->channel = ibv_create_comp_channel(r->context);
  end_if(r->domain == NULL || r->channel == NULL, r, "no domain, or no channel");
  r->completions = ibv_create_cq(r->context, (int)(2 * depth), NULL, r->channel, 0);
  r->out = calloc(2, largest);
  end_if(r->completions == NULL || r->out == NULL, r, "no queue of completions, or no memory");
  r->in = r->out + largest;
  r->memory = ibv_reg_mr(r->domain, r->out, 2 * largest, IBV_ACCESS_LOCAL_WRITE);
  end_if(r->memory == NULL, r, "memory cannot be registered (ulimit -l)");
  memset(r->out, 1 + r->rank, largest);
  connect_pair(r, depth);
  return r;
}

void raw_close(struct raw* r) {
  MPI_Barrier(MPI_COMM_WORLD);
  ibv_destroy_qp(r->pair);
  ibv_destroy_cq(r->completions);
  ibv_destroy_comp_channel(r->channel);
  ibv_dereg_mr(r->memory);
  ibv_dealloc_pd(r->domain);
  ibv_close_device(r->context);
  free(r->out);
  free(r);
}

static void post_receive(struct raw* r, size_t at, size_t bytes) {
  struct ibv_sge place = {(uintptr_t)r->in + at, (uint32_t)bytes, r->memory->lkey};
  struct ibv_recv_wr wanted = {.sg_list = &place, .num_sge = 1}, *bad;
  end_if(ibv_post_recv(r->pair, &wanted, &bad) != 0, r, "a receive cannot be posted");
}

/// Only the last message of several needs a completion: it tells of all before it.
static void post_send(struct raw* r, size_t at, size_t bytes, bool completes) {
  struct ibv_sge place = {(uintptr_t)r->out + at, (uint32_t)bytes, r->memory->lkey};
  struct ibv_send_wr wanted = {.sg_list = &place, .num_sge = 1, .opcode = IBV_WR_SEND,
                               .send_flags = (completes ? IBV_SEND_SIGNALED : 0U) | (bytes <= kInline ? IBV_SEND_INLINE : 0U)};
  struct ibv_send_wr* bad;
  end_if(ibv_post_send(r->pair, &wanted, &bad) != 0, r, "a send cannot be posted");
}

/// Sleeps until so many have completed.
static void await(struct raw* r, long sent, long received) {
  bool armed = false;
  while (r->sent < sent || r->received < received) {
    struct ibv_wc found[16];
    const int count = ibv_poll_cq(r->completions, 16, found);
    end_if(count < 0, r, "completions cannot be polled");
    for (int i = 0; i < count; i++) {
      end_if(found[i].status != IBV_WC_SUCCESS, r, ibv_wc_status_str(found[i].status));
      ++*(found[i].opcode & IBV_WC_RECV ? &r->received : &r->sent);
    }
    if (count > 0) continue;
    if (!armed) {  // what came before the request wakes nobody: one more look
      end_if(ibv_req_notify_cq(r->completions, 0) != 0, r, "completions cannot be waited for");
      armed = true;
      continue;
    }
    struct ibv_cq* queue;
    void* unused;
    end_if(ibv_get_cq_event(r->channel, &queue, &unused) != 0, r, "completions cannot be waited for");
    ibv_ack_cq_events(queue, 1);
    armed = false;
  }
}

/// Nothing is left of an earlier one.
static void begin(struct raw* r) {
  r->sent = r->received = 0;
  MPI_Barrier(MPI_COMM_WORLD);
}

double raw_exchange(struct raw* r, size_t bytes) {
  const long messages = (long)((bytes + r->message - 1) / r->message);
  memset(r->in, 0, bytes);
  for (size_t at = 0; at < bytes; at += r->message) post_receive(r, at, r->message);
  begin(r);
  const double start = MPI_Wtime();
  for (size_t at = 0; at < bytes; at += r->message) {
    const size_t left = bytes - at;
    post_send(r, at, left < r->message ? left : r->message, left <= r->message);
  }
  await(r, 1, messages);
  const double took = MPI_Wtime() - start;
  for (size_t at = 0; at < bytes; at++) end_if(r->in[at] != 2 - r->rank, r, "a byte is not what was sent");
  return took;
}

double raw_ping_pong(struct raw* r, size_t bytes, long count) {
  post_receive(r, 0, bytes);
  begin(r);
  const double start = MPI_Wtime();
  for (long i = 1; i <= count; i++) {
    if (r->rank == 0) post_send(r, 0, bytes, true);
    await(r, 0, i);
    if (i < count) post_receive(r, 0, bytes);
    if (r->rank == 1) post_send(r, 0, bytes, true);
    await(r, i, 0);
  }
  return (MPI_Wtime() - start) / (2.0 * (double)count);
}
