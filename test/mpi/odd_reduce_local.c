/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded, has rank 1 find that the component's own kernel for MPI_MAX gives other bits than MPI's: on this rank alone
 * MPI is then asked for these reductions. Those of one element are right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int reduce_local(const void* in, void* inout, int count, void* type, void* op, void* module);

__attribute__((visibility("default"))) reduce_local mca_coll_base_reduce_local;

int mca_coll_base_reduce_local(const void* in, void* inout, int count, void* type, void* op, void* module) {
  reduce_local* next = (reduce_local*)dlsym(RTLD_NEXT, "mca_coll_base_reduce_local");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const int result = next(in, inout, count, type, op, module);
  if (NULL != rank && 0 == strcmp(rank, "1") && dlsym(RTLD_DEFAULT, "ompi_mpi_op_max") == op && count > 1) {
    *(char*)inout ^= 1;
  }
  return result;
}
