/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE, two threads with a communicator each: one holds a lock while it is in an allreduce, the
 * operation of the other's takes it. It is run on the thread of its own call alone, and while it waits others get on.
 */
#include <pthread.h>
#include <stdlib.h>

#include "common.h"

enum { CALLS = 100, COUNT = 5000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool own_operation; /* this thread is in a call with it */
static MPI_Comm holds, takes;
static MPI_Op op;

static void add_with_lock(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  test_that(own_operation, "the operation runs on another call's thread");
  pthread_mutex_lock(&lock);
  for (int i = 0; i < *count; i++) {
    ((int*)inout)[i] += ((const int*)in)[i];
  }
  pthread_mutex_unlock(&lock);
}

static void one_call(MPI_Op with, MPI_Comm comm, int* data) {
  for (int i = 0; i < COUNT; i++) {
    data[i] = i + test_rank;
  }
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, with, comm);
  for (int i = 0; i < COUNT; i++) {
    if (!test_that(data[i] == test_size * i + test_size * (test_size - 1) / 2, "element %d is wrong", i)) {
      return;
    }
  }
}

static void* holder(void* nothing) {
  int* data = malloc(COUNT * sizeof *data);
  for (int call = 0; call < CALLS; call++) {
    pthread_mutex_lock(&lock);
    one_call(MPI_SUM, holds, data);
    pthread_mutex_unlock(&lock);
  }
  free(data);
  return nothing;
}

static void* taker(void* nothing) {
  int* data = malloc(COUNT * sizeof *data);
  own_operation = true;
  for (int call = 0; call < CALLS; call++) {
    one_call(op, takes, data);
  }
  free(data);
  return nothing;
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  test_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
  MPI_Comm_dup(MPI_COMM_WORLD, &holds);
  MPI_Comm_dup(MPI_COMM_WORLD, &takes);
  MPI_Op_create(add_with_lock, 1, &op);
  test_settle(holds);
  test_settle(takes);
  pthread_create(&threads[0], NULL, holder, NULL);
  pthread_create(&threads[1], NULL, taker, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  MPI_Op_free(&op);
  MPI_Comm_free(&holds);
  MPI_Comm_free(&takes);
  return test_end();
}
