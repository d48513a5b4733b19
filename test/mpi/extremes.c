/* SPDX-License-Identifier: BSD-3-Clause */
/* Extreme values: sums that overflow, the ends of each type's range, infinities. Every operation on every type, on two
 * ranks, in turn on a communicator that rails carry and on one that they never do, as rank 0's parameters say (see
 * test_extremes.py): the same bits. And wherever rails cut a vector, each element has the bits of one MPI_Reduce_local
 * of the whole vector. With the argument "ordered" NaNs and zeros of both signs too, in what does not depend on an
 * order. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "types.h"

enum { VALUES = 11, MOST = 16384 };

static MPI_Comm rails, incumbent;
static bool ordered;
static long long carried_calls;

static void put_integer(char* at, size_t size, size_t which) {
  const uint64_t least = UINT64_C(1) << (8 * size - 1);
  const uint64_t values[VALUES] = {5, 0, 1, 2, least - 1, least + 1, least, UINT64_MAX, UINT64_MAX - 1, 0x5a, 100};
  memcpy(at, &values[which % VALUES], size); /* little endian, as types.c has it */
}

/// The last ones are zeros of both signs and NaN, of which a maximum takes what its operands' order says.
static void put_real(char* at, size_t size, size_t which) {
  const double values[VALUES] = {1, -1, 0.1, -3e300, DBL_MAX, -DBL_MAX, INFINITY, -INFINITY, 0.0, -0.0, NAN};
  double value = values[which % (ordered ? VALUES : VALUES - 3)];
  float single = isfinite(value) && fabs(value) > FLT_MAX ? (value > 0 ? FLT_MAX : -FLT_MAX) : (float)value;
  long double wide = value;
  memcpy(at, size == sizeof single ? (void*)&single : size == sizeof value ? (void*)&value : (void*)&wide, size);
}

static void put_part(enum kind kind, char* at, size_t size, size_t which) {
  if (KIND_REAL == kind) {
    put_real(at, size, which);
  } else if (KIND_LOGICAL == kind) {
    *at = (char)(which % 2);
  } else {
    put_integer(at, size, which);
  }
}

/// Element i of a rank of the communicator: over the places each value meets each.
static void put(const struct type* type, int rank, size_t i, char* at) {
  size_t which = 0 == rank ? i : i / VALUES + (i / VALUES / VALUES) * 3;
  memset(at, 0, test_type_extent(type));
  if (KIND_COMPLEX == type->kind) {
    put_real(at, type->part_size, which);
    put_real(at + type->part_size, type->part_size, which + 1);
  } else if (KIND_PAIR == type->kind) {
    put_part(type->part, at, type->part_size, which);
    put_part(type->index, at + type->index_at, type->index_size, which + (size_t)rank);
  } else {
    put_part(type->kind, at, type->part_size, which);
  }
}

static void fill(const struct type* type, int rank, size_t from, size_t count, char* data) {
  for (size_t i = 0; i < count; i++) {
    put(type, rank, from + i, data + i * test_type_extent(type));
  }
}

/// Of x86's long double 10 bytes count; nothing says what is in the others, nor in the gap of a pair.
static bool same_part(enum kind kind, size_t size, const char* a, const char* b) {
  bool padded = KIND_REAL == kind && sizeof(long double) == size && 64 == LDBL_MANT_DIG;
  return 0 == memcmp(a, b, padded ? 10 : size);
}

static bool same_element(const struct type* type, const char* a, const char* b) {
  size_t size = type->part_size, second = type->index_at;
  if (KIND_COMPLEX == type->kind) {
    return same_part(KIND_REAL, size, a, b) && same_part(KIND_REAL, size, a + size, b + size);
  }
  return same_part(type->part, size, a, b) &&
         (KIND_PAIR != type->kind || same_part(type->index, type->index_size, a + second, b + second));
}

static void same(const char* what, const struct type* type, size_t count, const char* a, const char* b) {
  size_t extent = test_type_extent(type);
  for (size_t i = 0; i < count; i++) {
    if (!test_that(same_element(type, a + i * extent, b + i * extent), "%s of %zu %s: element %zu differs", what, count,
                   type->name, i)) {
      return;
    }
  }
}

struct op {
  const char* name;
  MPI_Op handle;
};

/// One call on each in turn. `whole`: Open MPI's own result too does not depend on where it cuts such a vector.
static void check(const struct op* op, const struct type* type, size_t from, size_t count, bool whole) {
  size_t room = count * test_type_extent(type);
  char *mine = malloc(room), *reference = malloc(room), *on = malloc(room), *off = malloc(room), text[64];
  int rank = 0;
  fill(type, 0, from, count, mine);
  fill(type, 1, from, count, reference);
  if (MPI_SUCCESS == MPI_Reduce_local(mine, reference, (int)count, type->handle, op->handle)) {
    for (int turn = 0; turn < 3; turn++) {
      MPI_Comm comm = 1 == turn ? incumbent : rails;
      char* result = 1 == turn ? off : on;
      MPI_Comm_rank(comm, &rank);
      fill(type, rank, from, count, mine);
      memset(result, 0, room);
      MPI_Allreduce(mine, result, (int)count, type->handle, op->handle, comm);
      snprintf(text, sizeof text, "%s in turn %d", op->name, turn);
      if (1 != turn) {
        same(text, type, count, on, reference);
        carried_calls++;
      } else if (whole) {
        same(text, type, count, off, on);
      }
    }
  }
  free(mine);
  free(reference);
  free(on);
  free(off);
}

static void check_counts(const struct op* op, const struct type* type) {
  if (ordered) {
    for (size_t i = 0; i < VALUES * VALUES; i++) {
      check(op, type, i, 1, true);
    }
    return;
  }
  static const size_t counts[] = {1, 2, 7, 128, 1021, 4099, MOST};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    check(op, type, 0, counts[c], 1 == counts[c] || 0 == counts[c] % 128);
  }
}

int main(int argc, char** argv) {
  static const struct op ops[] = {{"MPI_SUM", MPI_SUM},   {"MPI_PROD", MPI_PROD},     {"MPI_MIN", MPI_MIN},
                                  {"MPI_MAX", MPI_MAX},   {"MPI_BAND", MPI_BAND},     {"MPI_BOR", MPI_BOR},
                                  {"MPI_BXOR", MPI_BXOR}, {"MPI_LAND", MPI_LAND},     {"MPI_LOR", MPI_LOR},
                                  {"MPI_LXOR", MPI_LXOR}, {"MPI_MINLOC", MPI_MINLOC}, {"MPI_MAXLOC", MPI_MAXLOC}};
  size_t types = 0;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  ordered = argc > 1 && 0 == strcmp(argv[1], "ordered");
  const struct type* table = test_types(&types);
  MPI_Comm_dup(MPI_COMM_WORLD, &rails);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &incumbent);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);  // where MPI_Reduce_local says that there is no such thing
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  test_settle(rails);
  struct test_carried before = test_carried();
  for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
    for (size_t t = 0; t < types; t++) {
      check_counts(&ops[o], &table[t]);
    }
  }
  test_that(test_carried().calls - before.calls == carried_calls, "rails carried %lld calls of %lld",
            test_carried().calls - before.calls, carried_calls);
  MPI_Comm_free(&rails);
  MPI_Comm_free(&incumbent);
  return test_end();
}
