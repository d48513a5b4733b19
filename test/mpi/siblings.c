/* SPDX-License-Identifier: BSD-3-Clause */
/* siblings [SECONDS | roots | blocks | carried CALLS [COUNT]]: the collectives beside allreduce, in the forms that block and those that
 * do not, on several communicators, with any root, in place and not, with blocks of any sizes, and types whose layout differs
 * from rank to rank. All must be right, and rails must carry them. With SECONDS they go on for so long while somebody outside
 * breaks rails; each rank says when it begins. "roots": broadcasts and reductions alone, of every root. "blocks":
 * reduce_scatters and allgathers of blocks of one size alone. "carried": of ten
 * broadcasts, ten reductions and ten allgathers of COUNT longs, 1000 if it is not said, rails or memory carry CALLS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { MOST_RANKS = 16 };

static MPI_Comm comm;
static int rank, size;
static const char* form = "";
/// Open MPI may carry calls: allgatherv of 4.1 hangs if the types that ranks send have different sizes.
static bool plain;
static long long expected_calls;

/// Element `at` of the vector that a rank hands in.
static long value(int of, size_t at) { return (long)(of + 1) * 1000003 + (long)at * 7; }
static long sum(size_t at) {
  long all = 0;
  for (int of = 0; of < size; of++) {
    all += value(of, at);
  }
  return all;
}

static long* vector(size_t count, size_t first) {
  long* elements = malloc((count + 1) * sizeof(long));
  for (size_t i = 0; i < count; i++) {
    elements[i] = value(rank, first + i);
  }
  return elements;
}

static void is(const char* what, const long* got, size_t count, size_t first, int of) {
  for (size_t i = 0; i < count; i++) {
    long wanted = of < 0 ? sum(first + i) : value(of, first + i);
    if (!test_that(wanted == got[i], "%s%s of %zu: element %zu is %ld instead of %ld", form, what, count, i, got[i], wanted)) {
      return;
    }
  }
}

static void wait_for(MPI_Request request) {
  if (MPI_REQUEST_NULL != request) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// A call, or the one that does not block and what waits for it.
#define CALL(blocking, nonblocking, ...)                         \
  do {                                                           \
    MPI_Request request = MPI_REQUEST_NULL;                      \
    if (waits) {                                                 \
      MPI_##nonblocking(__VA_ARGS__, &request);                  \
      wait_for(request);                                         \
    } else {                                                     \
      MPI_##blocking(__VA_ARGS__);                               \
    }                                                            \
    expected_calls++;                                            \
  } while (0)

static void bcast(size_t count, int root, bool waits) {
  long* data = vector(count, 0);
  CALL(Bcast, Ibcast, data, (int)count, MPI_LONG, root, comm);
  is("bcast", data, count, 0, root);
  free(data);
}

/// Every rank has another type of the same signature: every second long, or all.
static void bcast_with_gaps(size_t count, int root, bool waits) {
  const int step = 1 + rank % 3;
  MPI_Datatype type;
  MPI_Type_vector((int)count, 1, step, MPI_LONG, &type);
  MPI_Type_commit(&type);
  long* data = calloc(count * (size_t)step, sizeof(long));
  for (size_t i = 0; rank == root && i < count; i++) {
    data[i * (size_t)step] = value(root, i);
  }
  CALL(Bcast, Ibcast, data, 1, type, root, comm);
  for (size_t i = 0; i < count; i++) {
    long got = data[i * (size_t)step];
    test_that(value(root, i) == got, "%sbcast with gaps: element %zu is %ld", form, i, got);
    test_that(1 == step || 0 == data[i * (size_t)step + 1], "%sbcast writes into gaps", form);
  }
  free(data);
  MPI_Type_free(&type);
}

static void reduce(size_t count, int root, bool in_place, bool waits) {
  long *mine = vector(count, 0), *result = calloc(count + 1, sizeof(long));
  if (rank == root && in_place) {
    CALL(Reduce, Ireduce, MPI_IN_PLACE, mine, (int)count, MPI_LONG, MPI_SUM, root, comm);
  } else {
    CALL(Reduce, Ireduce, mine, rank == root ? result : NULL, (int)count, MPI_LONG, MPI_SUM, root, comm);
  }
  if (rank == root) {
    is("reduce", in_place ? mine : result, count, 0, -1);
  }
  if (rank != root || !in_place) {
    is("source of reduce", mine, count, 0, rank);
  }
  free(mine);
  free(result);
}

/// Blocks of these sizes; returns how many elements there are.
static size_t draw(int* counts, int* displacements, size_t each, unsigned seed) {
  size_t all = 0;
  for (int of = 0; of < size; of++) {
    counts[of] = (int)(0 == test_number(seed, 0, (size_t)of) % 4 ? 0 : test_number(seed, 1, (size_t)of) % (2 * each + 1));
    displacements[of] = (int)all;
    all += (size_t)counts[of];
  }
  return all;
}

static void reduce_scatter(size_t each, unsigned seed, bool in_place, bool waits) {
  int counts[MOST_RANKS], begin[MOST_RANKS];
  const size_t all = draw(counts, begin, each, seed);
  long *mine = vector(all, 0), *result = calloc((size_t)counts[rank] + 1, sizeof(long));
  if (in_place) {
    CALL(Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE, mine, counts, MPI_LONG, MPI_SUM, comm);
  } else {
    CALL(Reduce_scatter, Ireduce_scatter, mine, result, counts, MPI_LONG, MPI_SUM, comm);
    is("source of reduce_scatter", mine, all, 0, rank);
  }
  expected_calls -= 0 == all;
  is("reduce_scatter", in_place ? mine : result, (size_t)counts[rank], (size_t)begin[rank], -1);
  free(mine);
  free(result);
}

static void reduce_scatter_block(size_t each, bool in_place, bool waits) {
  long *mine = vector(each * (size_t)size, 0), *result = calloc(each + 1, sizeof(long));
  if (in_place) {
    CALL(Reduce_scatter_block, Ireduce_scatter_block, MPI_IN_PLACE, mine, (int)each, MPI_LONG, MPI_SUM, comm);
  } else {
    CALL(Reduce_scatter_block, Ireduce_scatter_block, mine, result, (int)each, MPI_LONG, MPI_SUM, comm);
  }
  is("reduce_scatter_block", in_place ? mine : result, each, each * (size_t)rank, -1);
  free(mine);
  free(result);
}

static void allgather(size_t each, bool in_place, bool waits) {
  long *all = calloc(each * (size_t)size + 1, sizeof(long)), *mine = vector(each, each * (size_t)rank);
  if (in_place) {
    memcpy(all + each * (size_t)rank, mine, each * sizeof(long));
    CALL(Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)each, MPI_LONG, comm);
  } else {
    CALL(Allgather, Iallgather, mine, (int)each, MPI_LONG, all, (int)each, MPI_LONG, comm);
  }
  for (int of = 0; of < size; of++) {
    is("allgather", all + each * (size_t)of, each, each * (size_t)of, of);
  }
  free(all);
  free(mine);
}

/// Blocks lie apart, on each rank in another order and distance; what is sent has gaps on some.
static void allgatherv(size_t each, unsigned seed, bool in_place, bool waits) {
  int counts[MOST_RANKS], begin[MOST_RANKS], places[MOST_RANKS];
  const size_t all = draw(counts, begin, each, seed);
  const size_t apart = 2 * each + 1 + (size_t)rank;
  for (int of = 0; of < size; of++) {
    places[of] = 0 == seed % 3 ? begin[of] : (int)apart * ((of + rank) % size);
  }
  const int own = counts[rank], step = plain ? 1 : 1 + rank % 2;
  long* recv = calloc(apart * (size_t)size + all + 1, sizeof(long));
  long* send = calloc((size_t)(own * step + 1), sizeof(long));
  MPI_Datatype type;
  MPI_Type_vector(own, 1, step, MPI_LONG, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < own; i++) {
    send[i * step] = recv[places[rank] + i] = value(rank, (size_t)(begin[rank] + i));
  }
  if (in_place) {
    CALL(Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, counts, places, MPI_LONG, comm);
  } else if (plain) {
    CALL(Allgatherv, Iallgatherv, send, own, MPI_LONG, recv, counts, places, MPI_LONG, comm);
  } else {
    CALL(Allgatherv, Iallgatherv, send, 1, type, recv, counts, places, MPI_LONG, comm);
  }
  expected_calls -= 0 == all;
  for (int of = 0; of < size; of++) {
    is("allgatherv", recv + places[of], (size_t)counts[of], (size_t)begin[of], of);
  }
  MPI_Type_free(&type);
  free(recv);
  free(send);
}

static void barrier(bool waits) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (waits) {
    MPI_Ibarrier(comm, &request);
    wait_for(request);
  } else {
    MPI_Barrier(comm);
  }
  expected_calls++;
}

/// Several at once, waited for together, beside an allreduce.
static void many_at_once(size_t count) {
  enum { MANY = 24 };
  MPI_Request requests[2 * MANY];
  long *data[MANY], *sums[MANY];
  for (int i = 0; i < MANY; i++) {
    data[i] = vector(count, 0);
    sums[i] = vector(count, 0);
    MPI_Ibcast(data[i], (int)count, MPI_LONG, i % size, comm, &requests[2 * i]);
    MPI_Iallreduce(MPI_IN_PLACE, sums[i], (int)count, MPI_LONG, MPI_SUM, comm, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; i++) {
    is("bcast beside others", data[i], count, 0, i % size);
    is("allreduce beside broadcasts", sums[i], count, 0, -1);
    free(data[i]);
    free(sums[i]);
  }
  expected_calls += 2 * MANY;
}

static void all_of_size(size_t count, unsigned seed, bool waits) {
  const int root = (int)(seed % (unsigned)size);
  const bool in_place = seed % 2;
  const size_t each = 1 + count / (size_t)size;
  form = waits ? "i" : "";
  bcast(count, root, waits);
  bcast_with_gaps(count, root, waits);
  reduce(count, root, in_place, waits);
  reduce_scatter(each, seed, in_place, waits);
  reduce_scatter_block(each, in_place, waits);
  allgather(each, in_place, waits);
  allgatherv(each, seed, in_place, waits);
  barrier(waits);
  form = "";
}

static void on(MPI_Comm which) {
  comm = which;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
}

static void everything(MPI_Comm which) {
  static const size_t kCounts[] = {1, 2, 5, 100, 1000, 5000, 60000, 400000};
  on(which);
  test_settle(comm);
  struct test_carried before = test_carried();
  expected_calls = 0;
  for (unsigned i = 0; i < sizeof kCounts / sizeof kCounts[0]; i++) {
    for (unsigned seed = i; seed < i + 3; seed++) {
      all_of_size(kCounts[i], seed, false);
      all_of_size(kCounts[i], seed, true);
    }
  }
  many_at_once(3000);
  test_carried_since(before, expected_calls, 0);
}

static void roots(MPI_Comm which) {
  static const size_t kCounts[] = {1, 100, 3000, 20000, 300000};
  on(which);
  test_settle(comm);
  struct test_carried before = test_carried();
  expected_calls = 0;
  for (unsigned i = 0; i < sizeof kCounts / sizeof kCounts[0]; i++) {
    for (int root = 0; root < size; root++) {
      for (int waits = 0; waits < 2; waits++) {
        bcast(kCounts[i], root, waits);
        reduce(kCounts[i], root, root % 2, waits);
        bcast_with_gaps(kCounts[i], (root + 1) % size, waits);
        reduce(kCounts[i], size - 1 - root, root % 2, waits);
      }
    }
  }
  bcast(0, size - 1, false);
  reduce(0, size - 1, false, false);
  expected_calls -= 2;
  many_at_once(3000);
  test_carried_since(before, expected_calls, 0);
}

static void blocks(MPI_Comm which) {
  static const size_t kEach[] = {1, 30, 1000, 5000, 20000, 100000};
  on(which);
  test_settle(comm);
  struct test_carried before = test_carried();
  expected_calls = 0;
  for (unsigned i = 0; i < sizeof kEach / sizeof kEach[0]; i++) {
    for (int way = 0; way < 4; way++) {
      form = 0 != way / 2 ? "i" : "";
      reduce_scatter_block(kEach[i], way % 2, way / 2);
      allgather(kEach[i], way % 2, way / 2);
    }
  }
  form = "";
  test_carried_since(before, expected_calls, 0);
}

static void go_on_for(double seconds) {
  plain = true;
  on(MPI_COMM_WORLD);
  test_settle_and_say(comm);
  if (0 == rank) {
    printf("rails carry\n");
    fflush(stdout);
  }
  const double end = MPI_Wtime() + seconds;
  long more = 1;
  for (unsigned seed = 0; more; seed++) {
    all_of_size(30000 + 5000 * (size_t)(seed % 7), seed, 1 == seed % 3);
    more = MPI_Wtime() < end;
    MPI_Bcast(&more, 1, MPI_LONG, 0, comm);
  }
}

static void carried(long long wanted, size_t count) {
  on(MPI_COMM_WORLD);
  test_settle(comm);
  const long long before = test_carried().calls;
  for (int i = 0; i < 10; i++) {
    bcast(count, i % size, i % 2);
    reduce(count, i % size, false, i % 2);
    allgather(count, false, i % 2);
  }
  const long long now = test_carried().calls;
  test_that(now - before == wanted, "rails carried %lld calls", now - before);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  if (argc > 2) {
    carried(atoll(argv[2]), argc > 3 ? (size_t)atoll(argv[3]) : 1000);
    return test_end();
  }
  const bool only_roots = argc > 1 && 0 == strcmp(argv[1], "roots"), only_blocks = argc > 1 && 0 == strcmp(argv[1], "blocks");
  if (argc > 1 && !only_roots && !only_blocks) {
    go_on_for(atof(argv[1]));
    return test_end();
  }
  void (*const tries)(MPI_Comm) = only_roots ? roots : only_blocks ? blocks : everything;
  MPI_Comm backwards, half, copy;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, test_rank < 2, test_rank, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  tries(MPI_COMM_WORLD);
  tries(backwards);
  MPI_Comm_free(&backwards);
  int members = 0;
  MPI_Comm_size(half, &members);
  if (members > 1) {
    tries(half);
  }
  tries(copy);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  return test_end();
}
