/* SPDX-License-Identifier: BSD-3-Clause */
/// Two ranks and one reliable-connected queue pair between them: what a plain program gets out of an RDMA device with SEND
/// and a completion channel, to compare a verbs rail with. Receives are posted beforehand for all that is to come, to places
/// of their own: nothing is copied, and nobody waits for credits. Errors end the job.
#ifndef NEZHA_RDMA_RAW_H
#define NEZHA_RDMA_RAW_H

#include <stddef.h>

struct raw;

/// Collective over the two ranks of MPI_COMM_WORLD. `device`: how the name of the device ends ("rxe1" for n0rxe1). Vectors of at
/// most `largest` bytes are sent in messages of `message` bytes.
struct raw* raw_open(const char* device, size_t largest, size_t message);
void raw_close(struct raw* raw);

/// Collective: each rank sends `bytes` to the other at the same time. The seconds until all that this rank sent was
/// acknowledged and all that it was sent has come.
double raw_exchange(struct raw* raw, size_t bytes);
/// Collective: `count` messages of `bytes` to the other rank and back. Half a round trip in seconds, the average.
double raw_ping_pong(struct raw* raw, size_t bytes, long count);

#endif
