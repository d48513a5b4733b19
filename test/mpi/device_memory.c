/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors in the memory of a device on some ranks and not on others: rails carry the call on all of them. Open MPI 5.0
 * is made to believe that of a part of the main memory, whose bytes its accelerator "null" then copies. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { MOST = 100000 };

static int device[2][MOST]; /* send and receive */

static int check_address(const void* address, int* number, uint64_t* flags) {
  *number = 0;
  *flags = 0;
  return (uintptr_t)address >= (uintptr_t)device && (uintptr_t)address < (uintptr_t)(device + 2);
}

/// False where this Open MPI knows no accelerators. The function that is asked is the first of its table.
static bool pretend(void) {
  void* table = dlsym(RTLD_DEFAULT, "opal_accelerator");
  int (*function)(const void*, int*, uint64_t*) = check_address;
  if (NULL != table) {
    memcpy(table, &function, sizeof function);
  }
  return NULL != table;
}

static void check(int count, bool send_there, bool recv_there) {
  int* host[2] = {malloc(MOST * sizeof(int)), malloc(MOST * sizeof(int))};
  int *send = send_there ? device[0] : host[0], *recv = recv_there ? device[1] : host[1];
  for (int i = 0; i < count; i++) {
    send[i] = recv[i] = i * (test_rank + 1);
  }
  MPI_Allreduce(send_there == recv_there ? MPI_IN_PLACE : send, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) {
    bool right = recv[i] == i * (test_size * (test_size + 1) / 2) && (send == recv || send[i] == i * (test_rank + 1));
    if (!test_that(right, "element %d of %d is wrong", i, count)) {
      break;
    }
  }
  free(host[0]);
  free(host[1]);
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 1000, MOST};
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  test_settle(MPI_COMM_WORLD);
  if (pretend()) {
    struct test_carried before = test_carried();
    for (int i = 0; i < 3; i++) {
      bool odd = 1 == test_rank % 2;
      check(counts[i], odd, odd);
      check(counts[i], odd, !odd);
      check(counts[i], true, true);
    }
    test_carried_since(before, 9, 0);
  } else if (0 == test_rank) {
    printf("no accelerators in this Open MPI\n");
  }
  return test_end();
}
