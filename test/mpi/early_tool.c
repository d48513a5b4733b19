/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds handles to the counters of the rails before MPI_Init, as tools do, and others when rails carry calls. Whatever it reads by
 * either must fit the room that the handle was bound with, and tell of the rails. */
#include <string.h>

#include "common.h"

enum { MOST = 256 };

static MPI_T_pvar_session session;

struct bound {
  MPI_T_pvar_handle handle;
  int count;
};

static struct bound bind_sent(void) {
  struct bound bound = {.count = -1};
  int index = 0;
  if (MPI_SUCCESS == MPI_T_pvar_get_index("coll_nezha_rail_bytes_sent", MPI_T_PVAR_CLASS_SIZE, &index)) {
    MPI_T_pvar_handle_alloc(session, index, NULL, &bound.handle, &bound.count);
  }
  return bound;
}

static void read_sent(struct bound bound, const char* when) {
  unsigned long long values[MOST], sum = 0;
  int written = 0;
  if (!test_that(bound.count > 0 && bound.count <= MOST, "bound %s: %d values", when, bound.count)) {
    return;
  }
  memset(values, 0xff, sizeof values);
  MPI_T_pvar_read(session, bound.handle, values);
  for (int i = 0; i < MOST; i++) {
    written += ~0ull != values[i];
    sum += i < bound.count ? values[i] : 0;
  }
  test_that(written == bound.count, "bound %s: %d values read, room for %d", when, written, bound.count);
  test_that(sum > 0, "bound %s: no bytes sent", when);
}

int main(int argc, char** argv) {
  int got = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &got);
  MPI_T_pvar_session_create(&session);
  const struct bound early = bind_sent();
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  test_settle(MPI_COMM_WORLD);
  const struct bound late = bind_sent();
  read_sent(early, "before MPI_Init");
  read_sent(late, "later");
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return test_end();
}
