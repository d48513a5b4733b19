/* SPDX-License-Identifier: BSD-3-Clause */
/// Part of nezha_mpich_bench: functions in front of those that MPICH and UCX call, so that MPICH is compared at its best on
/// emulated nodes, as Open MPI is (mpi_yield_when_idle).
///   - MPICH polls and never gives up the processor. With more ranks than processors a call would take as many time slices
///     of the kernel's scheduler as it has steps, 10 ms for 8 bytes.
///   - UCX connects the first interface of one process to the first of the other, in the order of /sys/class/net, which
///     differs between network namespaces. Where it does both connections go over one rail.
///   - In MPI_Finalize a process waits for its peers to answer that it disconnects, and those may wait in a barrier of the launcher
///     already, in which they answer nothing: some jobs in ten never end. Later MPICHs have no such barrier (pmodels/mpich#6596).
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define IN_FRONT __attribute__((visibility("default")))

static const char kInterfaces[] = "/sys/class/net";

/// The list of interfaces that is being read; a process reads one at a time.
static struct {
  DIR* dir;
  struct dirent** entries;  ///< by name
  int count, next;
} interfaces;

/// The function of that name behind ours, kept in `*kept`. The union: C has no conversion between pointers to data and to functions.
typedef void (*function)(void);

static function behind(const char* name, function* kept) {
  union {
    void* data;
    function code;
  } found;
  if (*kept == NULL) {
    found.data = dlsym(RTLD_NEXT, name);
    if (found.data == NULL) abort();
    *kept = found.code;
  }
  return *kept;
}

IN_FRONT unsigned ucp_worker_progress(void* worker) {
  static function kept;
  const unsigned done = ((unsigned (*)(void*))behind("ucp_worker_progress", &kept))(worker);
  if (done == 0) sched_yield();
  return done;
}

/// Done at once: the connection goes with its process. Nothing is under way, since the bench ends with a barrier.
IN_FRONT void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return NULL;
}

IN_FRONT DIR* opendir(const char* name) {
  static function kept;
  DIR* const dir = ((DIR * (*)(const char*)) behind("opendir", &kept))(name);
  if (dir != NULL && interfaces.dir == NULL && strcmp(name, kInterfaces) == 0) {
    interfaces.count = scandir(name, &interfaces.entries, NULL, alphasort);
    interfaces.next = 0;
    if (interfaces.count >= 0) interfaces.dir = dir;
  }
  return dir;
}

IN_FRONT struct dirent* readdir(DIR* dir) {
  static function kept;
  if (dir != interfaces.dir) return ((struct dirent * (*)(DIR*)) behind("readdir", &kept))(dir);
  return interfaces.next < interfaces.count ? interfaces.entries[interfaces.next++] : NULL;
}

IN_FRONT int closedir(DIR* dir) {
  static function kept;
  if (dir == interfaces.dir) {
    for (int i = 0; i < interfaces.count; i++) free(interfaces.entries[i]);
    free(interfaces.entries);
    interfaces.dir = NULL;
  }
  return ((int (*)(DIR*))behind("closedir", &kept))(dir);
}
