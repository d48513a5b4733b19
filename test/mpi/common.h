/* SPDX-License-Identifier: BSD-3-Clause */
/** What the MPI test programs share: the component's counters, complaints, and the start and end of a program. */
#ifndef NEZHA_TEST_MPI_COMMON_H
#define NEZHA_TEST_MPI_COMMON_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/// Starts MPI with thread level `level` and finds the counters.
void test_begin(int* argc, char*** argv, int level);

/// Ends MPI. Rank 0 prints "passed", or "failed" with the number of complaints of all ranks. Returns main()'s value.
int test_end(void);

/// Unless `good`, prints the text with this rank's number and counts a complaint. Returns `good`. Any thread.
bool test_that(bool good, const char* text, ...) __attribute__((format(printf, 2, 3)));

/// For programs that start and end MPI by themselves: finds the counters, and lets go of them before MPI ends.
void test_watch_counters(void);
void test_forget_counters(void);

extern int test_rank, test_size;  ///< in MPI_COMM_WORLD

/// What rails have carried for this process so far, over all communicators. -1 without the component.
struct test_carried {
  long long calls, bytes;
};
struct test_carried test_carried(void);

/// Complains unless at least `calls` allreduces of `bytes` bytes in all went over rails since `before`.
void test_carried_since(struct test_carried before, long long calls, long long bytes);

/// Calls allreduce on `comm` until rails carry it on all of its ranks: lanes come up in the background. Complains after
/// 20 s.
void test_settle(MPI_Comm comm);

/// The same with another patience, and false instead of a complaint.
bool test_settles(MPI_Comm comm, double seconds);

/// test_settle(), after which this rank says that "calls go over rails": for whoever breaks rails from then on.
void test_settle_and_say(MPI_Comm comm);

/// Calls allreduce on `count` ints of `data` until a call fails, and complains if none does within a minute. Returns what
/// that call returned; `*took` are its seconds.
int test_until_error(MPI_Comm comm, int* data, int count, double* took);

/// For errors of MPI_COMM_WORLD and of MPI_COMM_SELF, which has those of requests without a communicator.
void test_set_errhandlers(MPI_Errhandler errors);

/// Whether the program was asked for the longer form of its test.
bool test_is_long(void);

/// A repeatable number from 0 to 2^32 - 1 for a place: the same on every rank that asks for it.
unsigned test_number(unsigned seed, unsigned rank, size_t index);

#endif
