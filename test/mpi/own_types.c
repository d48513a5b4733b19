/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the program's own, on types of any layout: they go to Open MPI's own allreduce, on all ranks alike, and
 * all of it is right. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

/* An element of all derived types here is a number of 64-bit words, of which the type's layout uses some. */
static int words_per_element = 1;  ///< contiguous words that the operation works on
static int words_per_extent = 1;

/// Addition modulo 2^64 of each word, which commutes.
static void add_words(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const uint64_t* from = in;
  uint64_t* to = inout;
  for (int i = 0; i < *count; i++) {
    for (int w = 0; w < words_per_element; w++) {
      to[(long)i * words_per_extent + w] += from[(long)i * words_per_extent + w];
    }
  }
}

/// x -> a x + b modulo 2^64, composed: an element is the words a, b. Does not commute.
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const uint64_t* first = in;
  uint64_t* second = inout;
  for (int i = 0; i < *count; i++, first += 2, second += 2) {
    uint64_t a = first[0] * second[0], b = first[1] * second[0] + second[1];
    second[0] = a;
    second[1] = b;
  }
}

static uint64_t word(int rank, size_t i) {
  return ((uint64_t)test_number(1, (unsigned)rank, i) << 32) | test_number(2, (unsigned)rank, i);
}

/// Numbers of the words that are used, alike whatever gaps there are.
static size_t number_of(size_t i) {
  size_t extent = (size_t)words_per_extent;
  return i / extent * (size_t)words_per_element + i % extent;
}

/// One call with a commutative operation on `count` elements; checks the used words and that the gaps are as they were.
static void check_sum(const char* what, MPI_Datatype type, MPI_Op op, int count, bool in_place) {
  size_t words = (size_t)count * (size_t)words_per_extent;
  uint64_t *mine = calloc(words + 1, sizeof *mine), *result = calloc(words + 1, sizeof *result);
  for (size_t i = 0; i < words; i++) {
    mine[i] = word(test_rank, number_of(i));
    result[i] = in_place ? mine[i] : 42;
  }
  int rc = MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, result, count, type, op, MPI_COMM_WORLD);
  test_that(MPI_SUCCESS == rc, "%s returned %d", what, rc);
  for (size_t i = 0; i < words; i++) {
    uint64_t wanted = in_place ? mine[i] : 42;
    if ((int)(i % (size_t)words_per_extent) < words_per_element) {
      wanted = 0;
      for (int rank = 0; rank < test_size; rank++) {
        wanted += word(rank, number_of(i));
      }
    }
    if (!test_that(result[i] == wanted, "%s, %d elements: word %zu is wrong", what, count, i)) {
      break;
    }
  }
  free(mine);
  free(result);
}

static void both_ways(const char* what, MPI_Datatype type, int used, int extent, int count) {
  MPI_Op op;
  MPI_Op_create(add_words, 1, &op);
  words_per_element = used;
  words_per_extent = extent;
  check_sum(what, type, op, count, false);
  check_sum(what, type, op, count, true);
  MPI_Op_free(&op);
}

/// Complains if anything went over rails since.
static void left_alone(struct test_carried before, const char* what) {
  struct test_carried now = test_carried();
  test_that(now.calls == before.calls && now.bytes == before.bytes, "%s went over rails", what);
}

static void contiguous(int words, int count) {
  MPI_Datatype type;
  MPI_Type_contiguous(words, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  struct test_carried before = test_carried();
  both_ways("a contiguous type", type, words, words, count);
  left_alone(before, "a contiguous type");
  MPI_Type_free(&type);
}

static void own_operation_on_predefined_type(void) {
  struct test_carried before = test_carried();
  both_ways("a commutative operation on MPI_UINT64_T", MPI_UINT64_T, 1, 1, 30011);
  left_alone(before, "an operation of the program's own");
}

static void with_gaps(void) {
  MPI_Datatype pair, gapped;
  MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
  MPI_Type_create_resized(pair, 0, 3 * sizeof(uint64_t), &gapped);
  MPI_Type_commit(&gapped);
  struct test_carried before = test_carried();
  both_ways("a type with gaps", gapped, 2, 3, 1009);
  left_alone(before, "a type with gaps");
  MPI_Type_free(&gapped);
  MPI_Type_free(&pair);
}

/// Equal signatures are all that MPI asks for: every other rank has a gap after each element, and one buffer of each
/// kind of layout goes with one of the other.
static void other_layouts(int count) {
  MPI_Datatype gapped, dup;
  bool odd = 1 == test_rank % 2;
  MPI_Type_create_resized(MPI_UINT64_T, 0, 3 * sizeof(uint64_t), &gapped);
  MPI_Type_commit(&gapped);
  MPI_Type_dup(MPI_UINT64_T, &dup);
  struct test_carried before = test_carried();
  both_ways("a gap on odd ranks", odd ? gapped : MPI_UINT64_T, 1, odd ? 3 : 1, count);
  both_ways("a gap on even ranks, a duplicate on odd ones", odd ? dup : gapped, 1, odd ? 1 : 3, count);
  left_alone(before, "a type of several layouts");
  MPI_Type_free(&gapped);
  MPI_Type_free(&dup);
}

/// Not legal MPI, and for Open MPI to tell: nobody may wait for anybody.
static void predefined_operation_on_own_type(void) {
  MPI_Datatype gapped;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  int data[8] = {0}, class = MPI_SUCCESS;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gapped);
  MPI_Type_commit(&gapped);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rc = MPI_Allreduce(MPI_IN_PLACE, data, 4, gapped, MPI_SUM, MPI_COMM_WORLD);
  MPI_Error_class(rc, &class);
  test_that(MPI_ERR_OP == class, "MPI_SUM on a derived type returned %d", rc);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  MPI_Type_free(&gapped);
}

static void without_commutativity(int count) {
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose, 0, &op);
  uint64_t *mine = malloc((size_t)count * 16), *result = malloc((size_t)count * 16);
  for (int i = 0; i < 2 * count; i++) {
    mine[i] = word(test_rank, (size_t)i);
  }
  struct test_carried before = test_carried();
  MPI_Allreduce(mine, result, count, pair, op, MPI_COMM_WORLD);
  left_alone(before, "an operation that does not commute");
  for (int i = 0; i < count; i++) {
    uint64_t wanted[2] = {word(0, 2 * (size_t)i), word(0, 2 * (size_t)i + 1)};
    for (int rank = 1; rank < test_size; rank++) {
      uint64_t next[2] = {word(rank, 2 * (size_t)i), word(rank, 2 * (size_t)i + 1)};
      int one = 1;
      compose(wanted, next, &one, &pair);
      memcpy(wanted, next, sizeof wanted);
    }
    if (!test_that(0 == memcmp(wanted, result + 2 * (long)i, sizeof wanted), "composed element %d of %d is wrong", i,
                   count)) {
      break;
    }
  }
  free(mine);
  free(result);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  test_settle(MPI_COMM_WORLD);
  contiguous(1, 20011);
  contiguous(3, 1);
  contiguous(3, 7001);
  contiguous(100000, 3);
  own_operation_on_predefined_type();
  with_gaps();
  other_layouts(1);
  other_layouts(5003);
  predefined_operation_on_own_type();
  without_commutativity(1);
  without_commutativity(4099);
  return test_end();
}
