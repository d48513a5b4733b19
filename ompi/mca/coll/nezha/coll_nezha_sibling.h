/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * The collectives beside allreduce in the engine's words. What rails carry depends on what all ranks see alike: the
 * operation's kind, and the bytes of the signature. How a type is laid out, where memory lies and what displacements are
 * is this rank's affair: where the engine cannot use the memory as it is, a copy of the call's own stands in.
 */
#ifndef MCA_COLL_NEZHA_SIBLING_H
#define MCA_COLL_NEZHA_SIBLING_H

#include "coll_nezha.h"

#include "coll_nezha_call.h"

/** All: whether rails may carry it; then `call` says what. Nothing is allocated, no data read. Counts and displacements
 * stay until coll_nezha_call_stage_in(), or, of displacements, coll_nezha_call_stage_out(). */
bool coll_nezha_sibling_allgather(coll_nezha_call_t *call, const void *send, int send_count,
                                  struct ompi_datatype_t *send_type, void *recv, int recv_count, const int *recv_counts,
                                  const int *displacements, struct ompi_datatype_t *recv_type,
                                  struct ompi_communicator_t *comm);
bool coll_nezha_sibling_bcast(coll_nezha_call_t *call, void *buffer, int count, struct ompi_datatype_t *type, int root,
                              struct ompi_communicator_t *comm);
bool coll_nezha_sibling_reduce(coll_nezha_call_t *call, const void *send, void *recv, int count,
                               struct ompi_datatype_t *type, struct ompi_op_t *op, int root,
                               struct ompi_communicator_t *comm);
/** counts: NULL where all are `count`. */
bool coll_nezha_sibling_reduce_scatter(coll_nezha_call_t *call, const void *send, void *recv, int count,
                                       const int *counts, struct ompi_datatype_t *type, struct ompi_op_t *op,
                                       struct ompi_communicator_t *comm);
bool coll_nezha_sibling_barrier(coll_nezha_call_t *call, struct ompi_communicator_t *comm);

#endif
