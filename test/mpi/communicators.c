/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: duplicated, split, overlapping, many of them one after the other and at the same time. */
#include <stdlib.h>

#include "common.h"

/// One allreduce whose result every member can compute from the members' world ranks.
static void check_sum(MPI_Comm comm, int count, unsigned seed) {
  MPI_Group world, group;
  int size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(comm, &group);
  int *ranks = malloc((size_t)size * sizeof *ranks), *members = malloc((size_t)size * sizeof *members);
  unsigned* data = malloc((size_t)count * sizeof *data);
  for (int i = 0; i < size; i++) {
    ranks[i] = i;
  }
  MPI_Group_translate_ranks(group, size, ranks, world, members);
  for (int i = 0; i < count; i++) {
    data[i] = test_number(seed, (unsigned)test_rank, (size_t)i);
  }
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_UNSIGNED, MPI_SUM, comm);
  for (int i = 0; i < count; i++) {
    unsigned wanted = 0;
    for (int m = 0; m < size; m++) {
      wanted += test_number(seed, (unsigned)members[m], (size_t)i);
    }
    if (!test_that(data[i] == wanted, "element %d of %d is wrong among %d ranks", i, count, size)) {
      break;
    }
  }
  free(ranks);
  free(members);
  free(data);
  MPI_Group_free(&world);
  MPI_Group_free(&group);
}

static void carried_on(MPI_Comm comm, unsigned seed) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  if (size < 2) {
    check_sum(comm, 100, seed);
    return;
  }
  test_settle(comm);
  struct test_carried before = test_carried();
  check_sum(comm, 1, seed);
  check_sum(comm, 1000, seed + 1);
  check_sum(comm, 100003, seed + 2);
  test_carried_since(before, 3, 4 * (1 + 1000 + 100003));
}

static void duplicated_and_split(void) {
  MPI_Comm twin, half, turned;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  carried_on(twin, 10);
  MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &half);
  carried_on(half, 20);
  MPI_Comm_split(twin, 0, -test_rank, &turned);
  carried_on(turned, 30);
  carried_on(MPI_COMM_WORLD, 40);
  MPI_Comm_free(&half);
  MPI_Comm_free(&turned);
  MPI_Comm_free(&twin);
  check_sum(MPI_COMM_SELF, 1000, 50);
}

/// Rank i and its neighbour share communicator i: each rank is in two, and calls alternate between them.
static void overlapping(void) {
  enum { ROUNDS = 20 };
  MPI_Comm* pairs = malloc((size_t)test_size * sizeof *pairs);
  for (int i = 0; i < test_size; i++) {
    bool member = test_rank == i || test_rank == (i + 1) % test_size;
    MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, test_rank, &pairs[i]);
  }
  for (int i = 0; i < test_size; i++) {
    if (MPI_COMM_NULL != pairs[i]) {
      test_settle(pairs[i]);
    }
  }
  struct test_carried before = test_carried();
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < test_size; i++) {
      if (MPI_COMM_NULL != pairs[i]) {
        check_sum(pairs[i], 1 + (int)(round * 997) % 30000, 100 + round);
      }
    }
    check_sum(MPI_COMM_WORLD, 501, 200 + round);
  }
  test_carried_since(before, 3 * ROUNDS, 3 * ROUNDS * 4);
  for (int i = 0; i < test_size; i++) {
    if (MPI_COMM_NULL != pairs[i]) {
      MPI_Comm_free(&pairs[i]);
    }
  }
  free(pairs);
}

static void many(void) {
  int rounds = test_is_long() ? 1000 : 100;
  struct test_carried before = test_carried();
  for (int i = 0; i < rounds; i++) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < 5; call++) {
      check_sum(comm, 1 + 37 * call, (unsigned)i);
    }
    if (0 == i % 10) {
      test_settle(comm);
    }
    MPI_Comm_free(&comm);
  }
  test_carried_since(before, rounds / 10, rounds / 10 * 4);
}

static void unused(void) {
  MPI_Comm comms[50];
  for (int i = 0; i < 50; i++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  }
  test_settle(comms[49]);
  for (int i = 0; i < 50; i++) {
    MPI_Comm_free(&comms[i]);
  }
}

/// Two groups of an inter-communicator get each other's sum, by Open MPI's own allreduce.
static void between_groups(void) {
  MPI_Comm half, both;
  int color = test_rank % 2, value = test_rank + 1, sum = 0, wanted = 0;
  MPI_Comm_split(MPI_COMM_WORLD, color, test_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 5, &both);
  struct test_carried before = test_carried();
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
  for (int rank = 1 - color; rank < test_size; rank += 2) {
    wanted += rank + 1;
  }
  test_that(sum == wanted, "the other group's sum is %d, not %d", sum, wanted);
  test_that(test_carried().calls == before.calls, "an inter-communicator's call went over rails");
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  duplicated_and_split();
  overlapping();
  many();
  unused();
  between_groups();
  return test_end();
}
