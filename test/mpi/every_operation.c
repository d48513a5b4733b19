/* SPDX-License-Identifier: BSD-3-Clause */
/* Every predefined operation on every predefined type it is defined for, against a reference that each rank computes
 * from all ranks' data with MPI_Reduce_local. Several counts, in place and not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "types.h"

struct op {
  const char* name;
  MPI_Op handle;
  unsigned groups;  ///< bits 1 << group
};

#define G(group) (1u << (group))
static const unsigned arithmetic = G(C_INTEGER) | G(FORTRAN_INTEGER) | G(FLOATING) | G(MULTI_LANGUAGE);
static const size_t counts[] = {0, 1, 7, 1021, 20011};
enum { COUNTS = sizeof counts / sizeof counts[0], MOST = 20011 };

static long long carried_calls, carried_bytes;

/// No sum or product leaves the range of the smallest type: what happens then depends on Open MPI's kernels, some
/// saturate.
static int number_for(const struct op* op, const struct type* type, int rank, size_t i) {
  unsigned number = test_number(7, (unsigned)rank, i);
  bool negative = KIND_UNSIGNED != type->kind && number % 2;
  if (MPI_PROD == op->handle) {
    int factor = rank < 6 && 0 == (number >> 1) % 3 ? 2 : 1;
    return negative ? -factor : factor;
  }
  if (MPI_BAND == op->handle || MPI_BOR == op->handle || MPI_BXOR == op->handle) {
    return (int)number;
  }
  if (LOGICAL == type->group || MPI_LAND == op->handle || MPI_LOR == op->handle || MPI_LXOR == op->handle) {
    return (int)(number >> 3) % 3 != 0;
  }
  int size = (int)(number >> 1) % 16;
  return negative ? -size : size;
}

static void fill(const struct op* op, const struct type* type, int rank, size_t count, char* data) {
  size_t extent = test_type_extent(type);
  for (size_t i = 0; i < count; i++) {
    test_type_put(type, data + i * extent, number_for(op, type, rank, i),
                  (int)(test_number(8, (unsigned)rank, i) % 1000));
  }
}

/// False when this Open MPI does not offer the combination.
static bool make_reference(const struct op* op, const struct type* type, char* reference, char* scratch) {
  fill(op, type, 0, MOST, reference);
  for (int rank = 1; rank < test_size; rank++) {
    fill(op, type, rank, MOST, scratch);
    if (MPI_SUCCESS != MPI_Reduce_local(scratch, reference, MOST, type->handle, op->handle)) {
      return false;
    }
  }
  return true;
}

static void compare(const struct op* op, const struct type* type, const char* how, size_t count, const char* result,
                    const char* reference) {
  size_t extent = test_type_extent(type);
  for (size_t i = 0; i < count; i++) {
    if (!test_that(test_type_equal(type, result + i * extent, reference + i * extent),
                   "%s of %zu %s, %s: element %zu is wrong", op->name, count, type->name, how, i)) {
      return;
    }
  }
}

static void check_counts(const struct op* op, const struct type* type, const char* mine, const char* reference,
                         char* result) {
  size_t extent = test_type_extent(type);
  int size = 0;
  MPI_Type_size(type->handle, &size);
  for (int c = 0; c < COUNTS; c++) {
    size_t bytes = counts[c] * extent;
    memset(result, 0x5a, bytes + extent);
    int rc = MPI_Allreduce(mine, result, (int)counts[c], type->handle, op->handle, MPI_COMM_WORLD);
    test_that(MPI_SUCCESS == rc, "%s of %s returned %d", op->name, type->name, rc);
    compare(op, type, "two buffers", counts[c], result, reference);
    test_that(0x5a == result[bytes] && 0x5a == result[bytes + extent - 1], "%s of %zu %s wrote beyond its end",
              op->name, counts[c], type->name);
    memcpy(result, mine, bytes);
    MPI_Allreduce(MPI_IN_PLACE, result, (int)counts[c], type->handle, op->handle, MPI_COMM_WORLD);
    compare(op, type, "in place", counts[c], result, reference);
    carried_calls += counts[c] > 0 ? 2 : 0;
    carried_bytes += 2 * (long long)counts[c] * size;
  }
}

static void check(const struct op* op, const struct type* type) {
  size_t room = (MOST + 1) * test_type_extent(type);
  char *mine = malloc(room), *reference = malloc(room), *scratch = malloc(room);
  if (make_reference(op, type, reference, scratch)) {
    fill(op, type, test_rank, MOST, mine);
    check_counts(op, type, mine, reference, scratch);
    if (0 == test_rank) {
      printf("combination %s %s\n", op->name, type->name);
    }
  } else if (0 == test_rank) {
    printf("not in this Open MPI: %s %s\n", op->name, type->name);
  }
  free(mine);
  free(reference);
  free(scratch);
}

int main(int argc, char** argv) {
  const struct op ops[] = {
      {"MPI_SUM", MPI_SUM, arithmetic | G(COMPLEX)},
      {"MPI_PROD", MPI_PROD, arithmetic | G(COMPLEX)},
      {"MPI_MIN", MPI_MIN, arithmetic},
      {"MPI_MAX", MPI_MAX, arithmetic},
      {"MPI_BAND", MPI_BAND, G(C_INTEGER) | G(FORTRAN_INTEGER) | G(BYTE) | G(MULTI_LANGUAGE)},
      {"MPI_BOR", MPI_BOR, G(C_INTEGER) | G(FORTRAN_INTEGER) | G(BYTE) | G(MULTI_LANGUAGE)},
      {"MPI_BXOR", MPI_BXOR, G(C_INTEGER) | G(FORTRAN_INTEGER) | G(BYTE) | G(MULTI_LANGUAGE)},
      {"MPI_LAND", MPI_LAND, G(C_INTEGER) | G(LOGICAL)},
      {"MPI_LOR", MPI_LOR, G(C_INTEGER) | G(LOGICAL)},
      {"MPI_LXOR", MPI_LXOR, G(C_INTEGER) | G(LOGICAL)},
      {"MPI_MINLOC", MPI_MINLOC, G(PAIR)},
      {"MPI_MAXLOC", MPI_MAXLOC, G(PAIR)},
  };
  size_t types = 0;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // which is how a missing combination shows
  const struct type* table = test_types(&types);
  test_settle(MPI_COMM_WORLD);
  struct test_carried before = test_carried();
  for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
    for (size_t t = 0; t < types; t++) {
      if (ops[o].groups & G(table[t].group)) {
        check(&ops[o], &table[t]);
      }
    }
  }
  test_carried_since(before, carried_calls, carried_bytes);
  return test_end();
}
