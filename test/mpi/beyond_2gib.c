/* SPDX-License-Identifier: BSD-3-Clause */
/* One vector of more than 2 GiB: nothing may count bytes in 32 bits. */
#include <stdint.h>
#include <stdlib.h>

#include "common.h"

enum { COUNT = 600000000 };

/// Cheap, and different for neighbours, for elements 4 GiB apart and for ranks.
static uint32_t value(int rank, uint32_t i) { return i * 2654435761u + (uint32_t)(rank + 1) * 40503u; }

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  uint32_t* data = malloc((size_t)COUNT * sizeof *data);
  if (NULL == data) {
    MPI_Abort(MPI_COMM_WORLD, 77);
  }
  for (uint32_t i = 0; i < COUNT; i++) {
    data[i] = value(test_rank, i);
  }
  test_settle(MPI_COMM_WORLD);
  struct test_carried before = test_carried();
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
  test_carried_since(before, 1, 4LL * COUNT);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t wanted = 0;
    for (int rank = 0; rank < test_size; rank++) {
      wanted += value(rank, i);
    }
    if (!test_that(data[i] == wanted, "element %u is wrong", i)) {
      break;
    }
  }
  free(data);
  return test_end();
}
