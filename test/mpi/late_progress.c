/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded, has MPI_Finalize of Open MPI 4.1 progress once more after communicators are gone, as it does with UCX. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("default"))) int mca_pml_base_finalize(void);

int mca_pml_base_finalize(void) {
  int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "mca_pml_base_finalize");
  void (*progress)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "opal_progress");
  if (NULL != progress) {
    progress();
  }
  return NULL != next ? next() : 0;
}
