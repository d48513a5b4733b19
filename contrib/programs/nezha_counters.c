/* SPDX-License-Identifier: BSD-3-Clause */
#include "nezha_counters.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct counter {
  MPI_T_pvar_handle handle;
  unsigned long* values;  ///< as many as the variable has
  int count;
};

static MPI_T_pvar_session session;
static bool opened;
static struct counter calls, bytes, aggregated, memory_calls;

static bool bind(const char* name, struct counter* counter) {
  int index;
  if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index) != MPI_SUCCESS ||
      MPI_T_pvar_handle_alloc(session, index, NULL, &counter->handle, &counter->count) != MPI_SUCCESS)
    return false;
  (void)MPI_T_pvar_start(session, counter->handle);  // continuous variables refuse, and need none
  counter->values = calloc((size_t)counter->count, sizeof *counter->values);
  return counter->values != NULL;
}

bool nezha_counters_open(void) {
  int provided;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return false;
  if (MPI_T_pvar_session_create(&session) == MPI_SUCCESS)
    opened = bind("coll_nezha_calls", &calls) && bind("coll_nezha_bytes", &bytes) &&
             bind("coll_nezha_memory_calls", &memory_calls);
  if (opened) (void)bind("coll_nezha_aggregated_bytes", &aggregated);  // older components have none
  return opened;
}

void nezha_counters_close(void) {
  if (session != MPI_T_PVAR_SESSION_NULL) MPI_T_pvar_session_free(&session);
  free(calls.values);
  free(bytes.values);
  free(aggregated.values);
  free(memory_calls.values);
  MPI_T_finalize();
}

static unsigned long total(const struct counter* counter) {
  unsigned long sum = 0;
  if (MPI_T_pvar_read(session, counter->handle, counter->values) != MPI_SUCCESS) return 0;
  for (int i = 0; i < counter->count; i++) sum += counter->values[i];
  return sum;
}

struct nezha_counts nezha_counters_read(void) {
  struct nezha_counts counts = {0, 0, 0, 0};
  if (opened) {
    counts.calls = total(&calls);
    counts.bytes = total(&bytes);
    counts.aggregated = aggregated.values == NULL ? 0 : total(&aggregated);
    counts.memory_calls = total(&memory_calls);
  }
  return counts;
}

long nezha_parameter(const char* name, long otherwise) {
  char full[128];
  int index, count;
  MPI_T_cvar_handle handle;
  snprintf(full, sizeof full, "coll_nezha_%s", name);
  if (MPI_T_cvar_get_index(full, &index) != MPI_SUCCESS ||
      MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
    return otherwise;

  // Large enough for any one scalar; the type says which part of it was written.
  union {
    int i;
    unsigned u;
    unsigned long l;
    unsigned long long ll;
    char pad[64];
  } value = {0};
  char text[8];
  int text_length = sizeof text, scope, verbosity, bind_kind, description_length = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum list;
  long result = otherwise;
  MPI_T_cvar_get_info(index, text, &text_length, &verbosity, &type, &list, NULL, &description_length, &bind_kind,
                      &scope);
  if (count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS) {
    if (type == MPI_INT) result = value.i;
    if (type == MPI_UNSIGNED) result = (long)value.u;
    if (type == MPI_UNSIGNED_LONG) result = (long)value.l;
    if (type == MPI_UNSIGNED_LONG_LONG) result = (long)value.ll;
  }
  MPI_T_cvar_handle_free(&handle);
  return result;
}
