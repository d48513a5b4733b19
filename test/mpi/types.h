/* SPDX-License-Identifier: BSD-3-Clause */
/** All predefined types that a reduction is defined for, and small numbers in their form. */
#ifndef NEZHA_TEST_MPI_TYPES_H
#define NEZHA_TEST_MPI_TYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum kind { KIND_SIGNED, KIND_UNSIGNED, KIND_REAL, KIND_COMPLEX, KIND_LOGICAL, KIND_BYTE, KIND_PAIR };

/// The groups of the MPI standard that say which operations are defined for which types.
enum group { C_INTEGER, FORTRAN_INTEGER, FLOATING, LOGICAL, COMPLEX, BYTE, MULTI_LANGUAGE, PAIR };

struct type {
  const char* name;
  MPI_Datatype handle;
  enum group group;
  enum kind kind;
  enum kind part;     ///< PAIR: the kind of both parts, FLOATING pairs have a real value and, in C, an int index
  size_t part_size;   ///< COMPLEX: of one part; PAIR: of the value; else of the whole
  size_t index_at;    ///< PAIR: where the index lies
  size_t index_size;  ///< PAIR
  enum kind index;    ///< PAIR
};

/// The table, without types that this build of Open MPI lacks.
const struct type* test_types(size_t* count);

/// Bytes from one element to the next.
size_t test_type_extent(const struct type* type);

/// Writes the number `value` (and `index`, for pairs) as one element; logical types take value != 0.
void test_type_put(const struct type* type, void* element, int value, int index);

/// Whether two elements are the same number; padding does not count.
bool test_type_equal(const struct type* type, const void* a, const void* b);

#endif
