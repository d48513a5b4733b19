/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * The component coll/nezha: what its files share. It translates between MPI and the engine (nezha/nezha.h) and decides
 * nothing about rails, sizes or algorithms.
 *
 * Life: register (parameters) -> open (engine, address published) -> query per communicator -> enable (the incumbent
 * is saved) -> first allreduce (team) -> ... -> module's destructor (team freed) -> close (engine freed).
 */
#ifndef MCA_COLL_NEZHA_H
#define MCA_COLL_NEZHA_H

#include "ompi_config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/request/request.h"

#include "nezha/nezha.h"

/** The component. The only symbol that the shared object exports. */
extern __attribute__((visibility("default"))) mca_coll_base_component_t mca_coll_nezha_component;

/** How far a communicator's team is. */
typedef enum coll_nezha_state {
    COLL_NEZHA_NEW,      /* no allreduce yet */
    COLL_NEZHA_WIRING,   /* calls go to the incumbent; some of them hold an agreement first */
    COLL_NEZHA_READY,    /* calls go to the engine */
    COLL_NEZHA_DECLINED, /* calls go to the incumbent, for good */
} coll_nezha_state_t;

/** Calls that are replaced where the parameter `collectives` says so: each with the engine's word for it, and our
 * function. */
#define COLL_NEZHA_SIBLINGS(EACH)                                                                  \
    EACH(reduce_scatter_block, NEZHA_REDUCE_SCATTER, coll_nezha_reduce_scatter_block)              \
    EACH(reduce_scatter, NEZHA_REDUCE_SCATTER, coll_nezha_reduce_scatter)                          \
    EACH(allgather, NEZHA_ALLGATHER, coll_nezha_allgather)                                         \
    EACH(allgatherv, NEZHA_ALLGATHER, coll_nezha_allgatherv)                                       \
    EACH(bcast, NEZHA_BROADCAST, coll_nezha_bcast)                                                 \
    EACH(reduce, NEZHA_REDUCE, coll_nezha_reduce_to_root)                                          \
    EACH(ireduce_scatter_block, NEZHA_REDUCE_SCATTER, coll_nezha_ireduce_scatter_block)            \
    EACH(ireduce_scatter, NEZHA_REDUCE_SCATTER, coll_nezha_ireduce_scatter)                        \
    EACH(iallgather, NEZHA_ALLGATHER, coll_nezha_iallgather)                                       \
    EACH(iallgatherv, NEZHA_ALLGATHER, coll_nezha_iallgatherv)                                     \
    EACH(ibcast, NEZHA_BROADCAST, coll_nezha_ibcast)                                               \
    EACH(ireduce, NEZHA_REDUCE, coll_nezha_ireduce_to_root)                                        \
    EACH(ibarrier, NEZHA_BARRIER, coll_nezha_ibarrier)

#define COLL_NEZHA_INCUMBENT_OF(call, collective, ours) \
    mca_coll_base_module_##call##_fn_t call;            \
    mca_coll_base_module_t *call##_module;

/** What a communicator's calls would have used. Each module is retained; a call whose function is NULL is not replaced. */
typedef struct coll_nezha_incumbent {
    mca_coll_base_module_allreduce_fn_t allreduce;
    mca_coll_base_module_t *allreduce_module;
    mca_coll_base_module_iallreduce_fn_t iallreduce;
    mca_coll_base_module_t *iallreduce_module;
    mca_coll_base_module_allreduce_init_fn_t allreduce_init;
    mca_coll_base_module_t *allreduce_init_module;
    mca_coll_base_module_barrier_fn_t barrier;
    mca_coll_base_module_t *barrier_module;
    COLL_NEZHA_SIBLINGS(COLL_NEZHA_INCUMBENT_OF)
} coll_nezha_incumbent_t;

/** Bytes from which on siblings are carried that nobody has named: below, rails and memory have nothing to gain. */
enum { COLL_NEZHA_LARGE = 16 * 1024 };

/** So many of these alone do not make a team: a communicator that lives for a call or two would not be worth it. */
enum { COLL_NEZHA_FEW = 4 };

/** One communicator's part of the component. Used by one thread at a time, as MPI demands of collective calls. */
typedef struct coll_nezha_module {
    mca_coll_base_module_t super;
    coll_nezha_incumbent_t incumbent; /* empty until enabled */
    coll_nezha_state_t state;
    unsigned collectives; /* that are named to be carried: bit 1 << nezha_collective_t for each */
    unsigned large;       /* the same of others, carried from COLL_NEZHA_LARGE bytes on */
    bool world;           /* it is MPI_COMM_WORLD's */
    bool large_by_memory; /* these are so only if the team's nodes share memory */
    int large_calls;      /* such that the communicator has had before there was a team */
    bool agreeing;        /* the incumbent of an agreement may call others of this communicator */
    bool within_node;     /* all ranks are on this node, and use the memory that they share, or the incumbent */
    bool wants_team; /* there was a call that a team would carry and that cannot wait for one */
    nezha_team_t *team; /* NULL: none yet, or this rank has to vote no */
    atomic_long failed_at; /* seconds; when coll_nezha_team_awaits_reason() was first asked; 0: it was not */
    opal_list_item_t live;
} coll_nezha_module_t;
OBJ_CLASS_DECLARATION(coll_nezha_module_t);

/* coll_nezha_query.c */
mca_coll_base_module_t *coll_nezha_comm_query(struct ompi_communicator_t *comm, int *priority);

/* coll_nezha_module.c */
int coll_nezha_module_enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm);
/** Frees the teams of all modules there are, so that the engine can go: somebody may hold a module beyond the
 *  component's close. */
void coll_nezha_module_release_teams(void);

/* coll_nezha_team.c */
/** To be called at the start of every blocking call that rails may carry, of `bytes` bytes: as long as it is open whether there
 * is a team, makes it at the first, and holds an agreement over the incumbent when one is due. Returns an OMPI code. */
int coll_nezha_team_settle(coll_nezha_module_t *module, struct ompi_communicator_t *comm, size_t bytes);
/** Whether a call that has failed waits, in Open MPI's progress, until Open MPI tells why: another rank may have given up
 * because Open MPI told it of a dead process or a revoked communicator, and the engine may bring that rank's word first.
 * The program waits for Open MPI's code. One to two seconds, once for a communicator, and not at all where a dead process
 * ends the job. */
bool coll_nezha_team_awaits_reason(coll_nezha_module_t *module, struct ompi_communicator_t *comm);
/** Shows why the engine could not finish a call, and returns the OMPI code that the communicator's error handler gets.
 */
int coll_nezha_team_failed(coll_nezha_module_t *module, struct ompi_communicator_t *comm, int status);

/* coll_nezha_allreduce.c */
int coll_nezha_allreduce(const void *send, void *recv, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* coll_nezha_siblings.c */
int coll_nezha_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
#define COLL_NEZHA_DECLARED(call, collective, ours) extern __typeof__(*(mca_coll_base_module_##call##_fn_t)NULL) ours;
COLL_NEZHA_SIBLINGS(COLL_NEZHA_DECLARED)

/* coll_nezha_iallreduce.c */
int coll_nezha_iallreduce(const void *send, void *recv, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                          struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int coll_nezha_allreduce_init(const void *send, void *recv, int count, struct ompi_datatype_t *type,
                              struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);

#endif
