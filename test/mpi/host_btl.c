/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages by Open MPI's byte transfer layers, of which one is made here: it refuses what it is told to. */
#include "opal/nezha_btl.c"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures;

static void expect(bool right, const char* what) {
  if (!right) {
    fprintf(stderr, "not so: %s\n", what);
    failures++;
  }
}

/* ---- what nezha_btl.c asks Open MPI for */

static struct mca_btl_base_module_t module;
static mca_bml_base_btl_t layer = {.btl = &module};
static mca_bml_base_endpoint_t endpoint;
static ompi_proc_t process;

bool nezha_transport_is_btl(void) { return true; }

int ompi_proc_world_size(void) { return 2; }

opal_proc_t* ompi_proc_for_name(const opal_process_name_t name) {
  (void)name;
  return &process.super;
}

static int allocated, answer;
static bool lacks_memory;

static mca_btl_base_descriptor_t* allocate(struct mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* to,
                                           uint8_t order, size_t size, uint32_t flags) {
  (void)btl, (void)to, (void)order, (void)flags;
  if (lacks_memory) {
    return NULL;
  }
  mca_btl_base_descriptor_t* made = calloc(1, sizeof *made);
  mca_btl_base_segment_t* segment = calloc(1, sizeof *segment);
  segment->seg_addr.pval = malloc(size);
  segment->seg_len = size;
  made->des_segments = segment;
  made->des_segment_count = 1;
  allocated++;
  return made;
}

static int give_back(struct mca_btl_base_module_t* btl, mca_btl_base_descriptor_t* descriptor) {
  (void)btl;
  free(descriptor->des_segments[0].seg_addr.pval);
  free((void*)descriptor->des_segments);
  free(descriptor);
  allocated--;
  return 0;
}

/** One that takes a message gives the descriptor back itself. */
static int send_it(struct mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* to,
                   mca_btl_base_descriptor_t* descriptor, mca_btl_base_tag_t tag) {
  (void)to, (void)tag;
  if (answer >= 0 || OPAL_ERR_RESOURCE_BUSY == answer) {
    give_back(btl, descriptor);
  }
  return answer;
}

static void make_layer(void) {
  module.btl_max_send_size = 1024;
  module.btl_alloc = allocate;
  module.btl_free = give_back;
  module.btl_send = send_it;
  endpoint.btl_send.arr_size = 1;
  endpoint.btl_send.bml_btls = &layer;
  process.proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML] = &endpoint;
  ompi_proc_local_proc = &process;
}

/* ---- the tests */

static void take(const nezha_bytes_t* pieces, size_t count) { (void)pieces, (void)count; }

static int send_some(void) { return nezha_btl_send(0, 1, "head", 4, "body", 4); }

static void what_is_refused_is_given_back(void) {
  static const struct {
    int answer, expected;
  } cases[] = {{0, NEZHA_OK},
               {1, NEZHA_OK},
               {OPAL_ERR_RESOURCE_BUSY, NEZHA_OK},
               {OPAL_ERR_OUT_OF_RESOURCE, NEZHA_PENDING},
               {OPAL_ERR_TEMP_OUT_OF_RESOURCE, NEZHA_PENDING},
               {OPAL_ERR_UNREACH, NEZHA_ERR_RAILS},
               {OPAL_ERROR, NEZHA_ERR_RAILS}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    answer = cases[i].answer;
    expect(cases[i].expected == send_some(), "a refusal for now is told from one for good");
    expect(0 == allocated, "each descriptor is given back once");
  }
}

static void without_memory_it_is_for_later(void) {
  lacks_memory = true;
  expect(NEZHA_PENDING == send_some(), "without memory it is for later");
  lacks_memory = false;
}

static atomic_bool inside, closed;
static bool closed_inside;

/** Long enough for whoever closes to come past, if it does not wait. */
static void take_slowly(const nezha_bytes_t* pieces, size_t count) {
  (void)pieces, (void)count;
  inside = true;
  usleep(100000);
  closed_inside = closed;
}

static void* receive_one(void* unused) {
  const nezha_bytes_t piece = {"message", 7};
  hand_over(&piece, 1);
  return unused;
}

/** Some layers receive in a thread of their own. */
static void closing_waits_for_a_message(void) {
  pthread_t thread;
  expect(nezha_btl_open(take_slowly), "it can be opened again");
  expect(0 == pthread_create(&thread, NULL, receive_one, NULL), "there is a thread");
  while (!inside) {
    usleep(1000);
  }
  nezha_btl_close();
  closed = true;
  pthread_join(thread, NULL);
  expect(!closed_inside, "nobody is being handed a message once it is closed");
}

int main(void) {
  make_layer();
  expect(nezha_btl_open(take), "the messages' number is free");
  what_is_refused_is_given_back();
  without_memory_it_is_for_later();
  nezha_btl_close();
  expect(NEZHA_ERR_RAILS == send_some(), "nothing is sent afterwards");
  closing_waits_for_a_message();
  return 0 != failures;
}
