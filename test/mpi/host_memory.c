/* SPDX-License-Identifier: BSD-3-Clause */
/* What Open MPI hears of memory that is given back, each way in which a process does so but for the heap's end (brk(2)). */
#define _GNU_SOURCE
#include "opal/nezha_memory.c"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t kSize = 40 << 20;  ///< more than malloc ever takes from its heap unless it is told to
static int failures;

static uintptr_t wanted;
static int heard;

/// A range that has the wanted address in it.
static void gone(const void* from, size_t size) {
  const uintptr_t begin = (uintptr_t)from;
  heard += begin <= wanted && wanted < begin + size;
}

static void expect(int times, const char* what) {
  if (heard != times) {
    fprintf(stderr, "%s: heard %d times\n", what, heard);
    failures++;
  }
  heard = 0;
}

static void* map_some(void) {
  char* const memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory[5] = 1;
  wanted = (uintptr_t)memory + kSize / 2;
  return memory;
}

static void give_back(int times) {
  munmap(map_some(), kSize);
  expect(times, "munmap");
  char* const allocated = malloc(kSize);
  allocated[kSize / 2] = 1;
  wanted = (uintptr_t)allocated + kSize / 2;
  free(allocated);
  expect(times, "free");
  void* const memory = map_some();
  mmap(memory, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  expect(times, "mmap in its place");
  void* const moved = mremap(memory, kSize, 4 * kSize, MREMAP_MAYMOVE);
  if (moved != memory) expect(times, "mremap");
  heard = 0;
  wanted = (uintptr_t)moved + kSize / 2;
  madvise(moved, 4 * kSize, MADV_DONTNEED);
  expect(times, "madvise");
  munmap(moved, 4 * kSize);
  heard = 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  give_back(0);
  if (!nezha_memory_watch(gone)) {
    fprintf(stderr, "Open MPI does not hear of it\n");
    failures++;
  }
  give_back(1);
  nezha_memory_unwatch();
  give_back(0);
  MPI_Finalize();
  if (failures == 0) printf("passed\n");
  return failures != 0;
}
