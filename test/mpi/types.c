/* SPDX-License-Identifier: BSD-3-Clause */
#include "types.h"

#include <stdint.h>
#include <string.h>

#define PLAIN(name, group, kind) \
  { #name, name, group, kind, kind, 0, 0, 0, KIND_SIGNED }
#define PAIR_C(name, type, kind)                      \
  {                                                   \
#name, name, PAIR, KIND_PAIR, kind, sizeof(type), \
        offsetof(                                     \
            struct {                                  \
              type value;                             \
              int index;                              \
            },                                        \
            index),                                   \
        sizeof(int), KIND_SIGNED                      \
  }
#define PAIR_FORTRAN(name, part, kind) \
  { #name, name, PAIR, KIND_PAIR, kind, part, part, part, kind }

static struct type table[] = {
    PLAIN(MPI_SIGNED_CHAR, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_SHORT, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INT, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_LONG, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_LONG_LONG, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INT8_T, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INT16_T, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INT32_T, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INT64_T, C_INTEGER, KIND_SIGNED),
    PLAIN(MPI_UNSIGNED_CHAR, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UNSIGNED_SHORT, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UNSIGNED, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UNSIGNED_LONG, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UNSIGNED_LONG_LONG, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UINT8_T, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UINT16_T, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UINT32_T, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_UINT64_T, C_INTEGER, KIND_UNSIGNED),
    PLAIN(MPI_INTEGER, FORTRAN_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INTEGER1, FORTRAN_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INTEGER2, FORTRAN_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INTEGER4, FORTRAN_INTEGER, KIND_SIGNED),
    PLAIN(MPI_INTEGER8, FORTRAN_INTEGER, KIND_SIGNED),
    PLAIN(MPI_AINT, MULTI_LANGUAGE, KIND_SIGNED),
    PLAIN(MPI_OFFSET, MULTI_LANGUAGE, KIND_SIGNED),
    PLAIN(MPI_COUNT, MULTI_LANGUAGE, KIND_SIGNED),
    PLAIN(MPI_FLOAT, FLOATING, KIND_REAL),
    PLAIN(MPI_DOUBLE, FLOATING, KIND_REAL),
    PLAIN(MPI_LONG_DOUBLE, FLOATING, KIND_REAL),
    PLAIN(MPI_REAL, FLOATING, KIND_REAL),
    PLAIN(MPI_DOUBLE_PRECISION, FLOATING, KIND_REAL),
    PLAIN(MPI_REAL4, FLOATING, KIND_REAL),
    PLAIN(MPI_REAL8, FLOATING, KIND_REAL),
    PLAIN(MPI_C_BOOL, LOGICAL, KIND_LOGICAL),
    PLAIN(MPI_CXX_BOOL, LOGICAL, KIND_LOGICAL),
    PLAIN(MPI_LOGICAL, LOGICAL, KIND_LOGICAL),
    PLAIN(MPI_C_FLOAT_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_C_DOUBLE_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_CXX_FLOAT_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_CXX_DOUBLE_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_DOUBLE_COMPLEX, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_COMPLEX8, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_COMPLEX16, COMPLEX, KIND_COMPLEX),
    PLAIN(MPI_BYTE, BYTE, KIND_BYTE),
    PAIR_C(MPI_FLOAT_INT, float, KIND_REAL),
    PAIR_C(MPI_DOUBLE_INT, double, KIND_REAL),
    PAIR_C(MPI_LONG_INT, long, KIND_SIGNED),
    PAIR_C(MPI_2INT, int, KIND_SIGNED),
    PAIR_C(MPI_SHORT_INT, short, KIND_SIGNED),
    PAIR_C(MPI_LONG_DOUBLE_INT, long double, KIND_REAL),
    PAIR_FORTRAN(MPI_2REAL, 4, KIND_REAL),
    PAIR_FORTRAN(MPI_2DOUBLE_PRECISION, 8, KIND_REAL),
    PAIR_FORTRAN(MPI_2INTEGER, 4, KIND_SIGNED),
};

/// Types without Fortran or C++ counterpart in this build have size 0.
static size_t drop_missing(size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    int size = 0;
    if (MPI_DATATYPE_NULL == table[i].handle || MPI_SUCCESS != MPI_Type_size(table[i].handle, &size) || 0 == size) {
      continue;
    }
    if (KIND_PAIR != table[i].kind) {
      table[i].part_size = KIND_COMPLEX == table[i].kind ? (size_t)size / 2 : (size_t)size;
    }
    table[kept++] = table[i];
  }
  return kept;
}

const struct type* test_types(size_t* count) {
  static size_t kept;
  if (0 == kept) {
    kept = drop_missing(sizeof table / sizeof table[0]);
  }
  *count = kept;
  return table;
}

size_t test_type_extent(const struct type* type) {
  MPI_Aint lower_bound = 0, extent = 0;
  MPI_Type_get_extent(type->handle, &lower_bound, &extent);
  return (size_t)extent;
}

static void put_real(void* at, size_t size, int value) {
  float single = (float)value;
  double twice = value;
  long double wide = value;
  const void* from = sizeof single == size ? (void*)&single : sizeof twice == size ? (void*)&twice : (void*)&wide;
  memcpy(at, from, size);
}

static void put_integer(void* at, size_t size, int value) {
  int64_t wide = value; /* the machine is little endian, as Open MPI's C_BOOL and LOGICAL are then */
  memcpy(at, &wide, size);
}

static void put_part(enum kind kind, void* at, size_t size, int value) {
  if (KIND_REAL == kind) {
    put_real(at, size, value);
  } else {
    put_integer(at, size, KIND_LOGICAL == kind ? 0 != value : value);
  }
}

void test_type_put(const struct type* type, void* element, int value, int index) {
  memset(element, 0, test_type_extent(type));
  char* at = element;
  if (KIND_COMPLEX == type->kind) {
    put_real(at, type->part_size, value);
    put_real(at + type->part_size, type->part_size, index % 3 - 1);
  } else if (KIND_PAIR == type->kind) {
    put_part(type->part, at, type->part_size, value);
    put_part(type->index, at + type->index_at, type->index_size, index);
  } else {
    put_part(type->kind, at, type->part_size, value);
  }
}

/// Numbers, not bits: the zero of one correct sum may be the negative zero of another.
static bool same_part(enum kind kind, size_t size, const char* a, const char* b) {
  if (KIND_REAL != kind) {
    return 0 == memcmp(a, b, size);
  }
  switch (size) {
    case sizeof(float):
      return *(const float*)a == *(const float*)b;
    case sizeof(double):
      return *(const double*)a == *(const double*)b;
    default:
      return *(const long double*)a == *(const long double*)b;
  }
}

bool test_type_equal(const struct type* type, const void* a, const void* b) {
  const char *x = a, *y = b;
  if (KIND_COMPLEX == type->kind) {
    return same_part(KIND_REAL, type->part_size, x, y) &&
           same_part(KIND_REAL, type->part_size, x + type->part_size, y + type->part_size);
  }
  if (KIND_PAIR == type->kind) {
    return same_part(type->part, type->part_size, x, y) &&
           same_part(type->index, type->index_size, x + type->index_at, y + type->index_at);
  }
  return same_part(type->kind, type->part_size, x, y);
}
