/* SPDX-License-Identifier: BSD-3-Clause */
/// To be preloaded (LD_PRELOAD) into any MPI program: counts its calls of MPI_Allreduce, from C and Fortran, and the time
/// in them. A process that called it appends a line of JSON, when it exits, to the file that NEZHA_CLOCK_FILE names: of all
/// calls, and of those that began NEZHA_CLOCK_FROM seconds or more after the process did.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

struct sum {
  unsigned long calls;
  unsigned long long bytes;
  double seconds;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sum all, late;
static double start, from;
static pid_t owner;
/// In a call already: a binding may be built on another one.
static __thread int depth;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("NEZHA_CLOCK_FROM");
  start = now();
  from = text != NULL ? strtod(text, NULL) : 0;
  owner = getpid();
}

static void add(struct sum* sum, unsigned long long bytes, double seconds) {
  sum->calls++;
  sum->bytes += bytes;
  sum->seconds += seconds;
}

static void count(double began, int elements, MPI_Datatype type) {
  const double ended = now();
  int width = 0;
  PMPI_Type_size(type, &width);
  const unsigned long long bytes = (unsigned long long)elements * (unsigned long long)width;
  pthread_mutex_lock(&lock);
  add(&all, bytes, ended - began);
  if (began - start >= from) add(&late, bytes, ended - began);
  pthread_mutex_unlock(&lock);
}

EXPORTED int MPI_Allreduce(const void* in, void* out, int elements, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const double began = now();
  depth++;
  const int status = PMPI_Allreduce(in, out, elements, type, op, comm);
  if (--depth == 0 && status == MPI_SUCCESS) count(began, elements, type);
  return status;
}

typedef void fortran_allreduce(void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);

/// A binding of a Fortran library, which only Fortran programs have loaded.
static fortran_allreduce* binding(const char* name) {
  fortran_allreduce* found;
  *(void**)&found = dlsym(RTLD_DEFAULT, name);
  if (found == NULL) {
    fprintf(stderr, "nezha_allreduce_clock: there is no %s, which the program's call needs\n", name);
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  return found;
}

static void timed(fortran_allreduce* real, void* in, void* out, MPI_Fint* elements, MPI_Fint* type, MPI_Fint* op,
                  MPI_Fint* comm, MPI_Fint* error) {
  const double began = now();
  depth++;
  real(in, out, elements, type, op, comm, error);
  if (--depth == 0 && (error == NULL || *error == MPI_SUCCESS)) count(began, *elements, PMPI_Type_f2c(*type));
}

EXPORTED fortran_allreduce mpi_allreduce_, mpi_allreduce_f08_;

void mpi_allreduce_(void* in, void* out, MPI_Fint* elements, MPI_Fint* type, MPI_Fint* op, MPI_Fint* comm, MPI_Fint* error) {
  timed(binding("pmpi_allreduce_"), in, out, elements, type, op, comm, error);
}

/// Of the module mpi_f08; error may be left out.
void mpi_allreduce_f08_(void* in, void* out, MPI_Fint* elements, MPI_Fint* type, MPI_Fint* op, MPI_Fint* comm,
                        MPI_Fint* error) {
  timed(binding("pmpi_allreduce_f08_"), in, out, elements, type, op, comm, error);
}

static int print(char* line, size_t room, const char* rank) {
  return snprintf(line, room,
                  "{\"rank\":%s,\"span\":%.6f,\"all\":{\"calls\":%lu,\"bytes\":%llu,\"seconds\":%.6f},"
                  "\"late\":{\"calls\":%lu,\"bytes\":%llu,\"seconds\":%.6f}}\n",
                  rank, now() - start - from, all.calls, all.bytes, all.seconds, late.calls, late.bytes, late.seconds);
}

/// Not in children that a rank has forked. One write, so that lines of ranks of a node do not mix.
__attribute__((destructor)) static void end(void) {
  const char *path = getenv("NEZHA_CLOCK_FILE"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  char line[512];
  if (path == NULL || rank == NULL || all.calls == 0 || getpid() != owner) return;
  const int length = print(line, sizeof line, rank), file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || write(file, line, (size_t)length) != length)
    fprintf(stderr, "nezha_allreduce_clock: %s cannot be written\n", path);
  if (file >= 0) close(file);
}
