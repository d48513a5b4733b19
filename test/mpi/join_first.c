/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded before a program that knows nothing of it: a new communicator's first calls are allreduces until the component
 * carries them, since a communicator without blocking calls is left to Open MPI. At the end rank 0 says on standard error how
 * many further calls the component carried, at the least. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { MOST_CALLS = 200, REST_US = 2000 };

/// A call is counted by what it went through, which may be both.
struct calls {
  long long by[2];
};

static struct calls of_its_own;  ///< calls that were carried before a communicator was ready, and that one

/// Those that the component has carried in this process; -1 of both: there is none.
static struct calls carried(void) {
  static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  static MPI_T_pvar_handle handles[2];
  static bool found[2];
  if (MPI_T_PVAR_SESSION_NULL == session) {
    static const char* const names[] = {"coll_nezha_calls", "coll_nezha_memory_calls"};
    int provided = 0, index = 0, count = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    for (size_t i = 0; i < 2; i++) {
      found[i] = MPI_SUCCESS == MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_SIZE, &index) &&
                 MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count);
    }
  }
  struct calls now;
  for (size_t i = 0; i < 2; i++) {
    unsigned long long value = 0;
    if (found[i]) {
      MPI_T_pvar_read(session, handles[i], &value);
    }
    now.by[i] = found[i] ? (long long)value : -1;
  }
  return now;
}

static bool more(struct calls now, struct calls last) { return now.by[0] > last.by[0] || now.by[1] > last.by[1]; }

/// All ranks stop after the same call: they agree by functions of Open MPI's own, or carried ones, which is the same to them.
static void join(MPI_Comm comm) {
  int between = 0, size = 0;
  if (MPI_COMM_NULL == comm) {
    return;
  }
  PMPI_Comm_test_inter(comm, &between);
  PMPI_Comm_size(comm, &size);
  const struct calls before = carried();
  for (int call = 0, joined = between || 1 == size || before.by[0] < 0; !joined && call < MOST_CALLS; call++) {
    const struct calls last = carried();
    int one = 1, sum = 0;
    PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    const int mine = more(carried(), last);
    PMPI_Reduce(&mine, &joined, 1, MPI_INT, MPI_MIN, 0, comm);
    PMPI_Bcast(&joined, 1, MPI_INT, 0, comm);
    usleep(joined ? 0 : REST_US);
  }
  const struct calls after = carried();
  for (size_t i = 0; i < 2; i++) {
    of_its_own.by[i] += after.by[i] - before.by[i];
  }
}

static int joined(int rc, const MPI_Comm* comm) {
  if (MPI_SUCCESS == rc) {
    join(*comm);
  }
  return rc;
}

static int begun(int rc) {
  if (MPI_SUCCESS == rc) {
    join(MPI_COMM_WORLD);
  }
  return rc;
}

EXPORTED int MPI_Init(int* argc, char*** argv) { return begun(PMPI_Init(argc, argv)); }

EXPORTED int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return begun(PMPI_Init_thread(argc, argv, required, provided));
}

EXPORTED int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* to) { return joined(PMPI_Comm_dup(comm, to), to); }

EXPORTED int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* to) {
  return joined(PMPI_Comm_split(comm, color, key, to), to);
}

EXPORTED int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* to) {
  return joined(PMPI_Comm_create(comm, group, to), to);
}

EXPORTED int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* to) {
  return joined(PMPI_Intercomm_merge(comm, high, to), to);
}

EXPORTED int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periodic[], int reorder,
                             MPI_Comm* to) {
  return joined(PMPI_Cart_create(comm, dimensions, sizes, periodic, reorder, to), to);
}

EXPORTED int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (0 == rank) {
    const struct calls now = carried();
    const long long rails = now.by[0] - of_its_own.by[0], memory = now.by[1] - of_its_own.by[1];
    fprintf(stderr, "the component carried %lld calls\n", rails > memory ? rails : memory);
  }
  return PMPI_Finalize();
}
