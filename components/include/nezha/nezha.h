/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * The C ABI between the Open MPI component (ompi/, opal/) and the engine (components/).
 *
 * The engine knows nothing of MPI. The host (the component, a test, a tool) gives it a configuration, callbacks and
 * the peers' addresses; the engine moves and reduces vectors. No exception leaves these functions, no pointer that
 * the host passes is kept beyond the call unless the comment says so, and every function may be called from any
 * thread unless it says otherwise. Strings are UTF-8, NUL terminated; sizes are bytes; times are nanoseconds.
 */
#ifndef NEZHA_NEZHA_H
#define NEZHA_NEZHA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parameters ------------------------------------------------------------------------------------------- */

typedef enum nezha_param_type {
    NEZHA_PARAM_BOOL,   /* 0 or 1 */
    NEZHA_PARAM_INT,    /* decimal, within [min, max] */
    NEZHA_PARAM_SIZE,   /* bytes, with an optional k, m or g (powers of 1024), within [min, max] */
    NEZHA_PARAM_CHOICE, /* one of the words in `choices` (separated by '|') */
    NEZHA_PARAM_TEXT    /* parsed by its user; `choices` describes the form */
} nezha_param_type_t;

/** One row of the parameter table. The one table makes the MCA registration, ompi_info's text and the manual. */
typedef struct nezha_param {
    const char *name; /* without the coll_nezha_ prefix */
    nezha_param_type_t type;
    const char *fallback; /* the default, as text */
    long long min, max;   /* INT and SIZE only; a SIZE with min > 0 also takes 0: Nezha chooses */
    const char *choices;
    int level;   /* 1..9 as in MPI_T: 1-3 user, 4-6 tuner, 7-9 developer */
    int decides; /* 1: rank 0's value counts for the whole communicator */
    const char *help;
} nezha_param_t;

/** The table; `*count` rows. Static storage. */
const nezha_param_t *nezha_params(size_t *count);

/** The name in the table that is `name`, or else the one that whoever wrote `name` most likely meant; NULL when none is near.
 *  Static storage. */
const char *nezha_params_nearest(const char *name);

typedef struct nezha_config nezha_config_t;

/** A configuration with every parameter at its default. NULL when memory is refused. */
nezha_config_t *nezha_config_create(void);
void nezha_config_destroy(nezha_config_t *config);

/**
 * Sets one parameter from text. On bad text nothing changes, the default stays in force, and `why` (of `why_size`
 * bytes) receives one sentence that says what is allowed. Returns NEZHA_OK or NEZHA_ERR_PARAM.
 */
int nezha_config_set(nezha_config_t *config, const char *name, const char *value, char *why, size_t why_size);

/**
 * A list of interfaces that the user gave Open MPI's own TCP also counts for the rails: where neither rail_include nor
 * rail_exclude is set, rail_include becomes `include`, or, where that is NULL or empty, rail_exclude `exclude`. If the one
 * that counts cannot be parsed, neither does, and it is told as by nezha_config_set().
 */
int nezha_config_inherit(nezha_config_t *config, const char *include, const char *exclude, char *why, size_t why_size);

/** Which collectives the parameter `collectives` names: bit 1 << nezha_collective_t for each. */
unsigned nezha_config_collectives(const nezha_config_t *config);
/** Of which only large vectors are meant, and only in communicators where that pays. */
unsigned nezha_config_collectives_large(const nezha_config_t *config);

/* ---- results ---------------------------------------------------------------------------------------------- */

enum {
    NEZHA_OK = 0,
    NEZHA_USE_INCUMBENT = 1, /* not an error: this call belongs to the incumbent, on every rank alike */
    NEZHA_PENDING = 2,       /* a request that is not over */
    NEZHA_ERR_PARAM = -1,
    NEZHA_ERR_MEMORY = -2,
    NEZHA_ERR_RAILS = -3,  /* no usable rail */
    NEZHA_ERR_PEER = -4,   /* a peer's address is not understood */
    NEZHA_ERR_FAILED = -5, /* the operation cannot complete; nezha_team_error() has the story */
    NEZHA_ERR_INTERNAL = -6
};

/* ---- the host --------------------------------------------------------------------------------------------- */

typedef struct nezha_host {
    void *ctx;
    /** Writes one line of log. Any thread, with the engine's lock held: must not call the engine, MPI or OPAL. */
    void (*log)(void *ctx, int level, const char *line);
    /** Shows a help text: a topic of help-coll-nezha.txt and its arguments. Only from a thread inside
     *  nezha_engine_create, nezha_team_decide, nezha_carry or nezha_engine_ending, without the engine's lock. */
    void (*help)(void *ctx, const char *topic, int nargs, const char *const *args);
    /** Lets the host's own communication progress. Same threads as `help`. Returns how many events it had. */
    int (*progress)(void *ctx);
    /** Adds to `count` elements of a call's vector, of which `first` precede them: inout[i] = in[i] op inout[i]. Used
     *  for what the engine has no kernel for; `call_ctx` is that of the call. The engine cuts a vector where it likes:
     *  the result for an element may depend on its place in the vector, not on that of the cuts. Only from a thread
     *  inside nezha_carry, nezha_start or nezha_engine_progress of this engine, with the engine's lock held:
     *  must not call the engine, nor wait for any other thread. */
    void (*reduce)(void *ctx, void *call_ctx, const void *in, void *inout, size_t first, size_t count);
    /** Sends a message, head and body in one, by module `module` of the host's own byte transfer layers to a rank of the job,
     *  where nezha_engine_message() gets it; those of one module arrive in order. Copies it. NEZHA_OK; NEZHA_PENDING: there is
     *  no room now; NEZHA_ERR_RAILS: there is no such module or rank. Only from a thread inside nezha_team_agreement_due,
     *  nezha_team_vote or one of those of `reduce`, with the engine's lock held: must not call the engine. NULL: there are no
     *  such layers. */
    int (*send)(void *ctx, unsigned module, uint32_t job_rank, const void *head, size_t head_size, const void *body,
                size_t body_size);
    /** Tells where the vectors of a call are whose `send` and `recv` are both NULL: copies of them, where the engine can use them.
     *  Once per call, when it is clear that it is not the incumbent's; in the time that the engine takes to compare ways. Only from
     *  a thread inside nezha_carry or nezha_start, without the engine's lock. NEZHA_OK; or an error, with which the call ends: the
     *  team is to be given up then, since other ranks are in the call. NULL: no call is such a one. */
    int (*bring)(void *ctx, void *call_ctx, const void **send, void **recv);
    /** After such a call has succeeded: takes the result to where it was wanted. Only from a thread inside nezha_carry,
     *  without the engine's lock; of a request the host does that itself. */
    int (*deliver)(void *ctx, void *call_ctx);
} nezha_host_t;

/* ---- the engine ------------------------------------------------------------------------------------------- */

typedef struct nezha_engine nezha_engine_t;
typedef struct nezha_peer nezha_peer_t;
typedef struct nezha_team nezha_team_t;

typedef struct nezha_self {
    uint32_t job_rank;     /* this process's rank in its job: the lower one of a pair connects */
    const char *node_name; /* for texts */
    uint32_t local_ranks;  /* of the job on this node, this one included; 0: unknown. Says which cores are spare */
    uint32_t job_ranks;    /* of the job, this one included; 0: unknown. Says how much memory a peer may take */
} nezha_self_t;

/**
 * Finds rails, opens their listeners, starts the service thread (lazily: with the first team). `config` is copied,
 * `host` is copied. An engine is returned even when it has no usable rail: it then votes no in every team that is
 * not within a node, so that all ranks decline alike; `why` tells the reason and the result is NEZHA_ERR_RAILS. Where too few descriptors are left for
 * any team, the engine opens none: the result is NEZHA_OK, there are no rails, and each nezha_team_create() tells and returns
 * NULL. NULL in `*engine` only when memory is refused.
 */
int nezha_engine_create(const nezha_config_t *config, const nezha_host_t *host, const nezha_self_t *self,
                        nezha_engine_t **engine, char *why, size_t why_size);

/** Stops the threads, closes every lane, frees everything. No other call may be under way. */
void nezha_engine_destroy(nezha_engine_t *engine);

/** What peers need to know of this process, secret included: publish it to members of the job only. Valid as long
 *  as the engine. */
const void *nezha_engine_address(nezha_engine_t *engine, size_t *size);

/** Makes a peer known from its published address (untrusted bytes). The same process always yields the same
 *  pointer, owned by the engine. `same_node`: the host says that it runs on this node. NULL when not understood. */
nezha_peer_t *nezha_engine_peer(nezha_engine_t *engine, const void *address, size_t size, int same_node, char *why,
                                size_t why_size);

typedef struct nezha_bytes {
    const void *data;
    size_t size;
} nezha_bytes_t;

/** One message (untrusted bytes) that a peer sent by its host's `send`, in pieces. Does not wait for the engine's lock, which the
 *  calling thread may hold. */
void nezha_engine_message(nezha_engine_t *engine, const nezha_bytes_t *pieces, size_t count);

/** Whether rails need the host's threads: nezha_engine_progress() is then to be called whenever the host progresses. */
int nezha_engine_host_carries(nezha_engine_t *engine);

/** Whether NICs are to read memory of the host's from where it lies (parameter zero_copy, and a rail that can). They do while
 *  nezha_memory_watched() says so. */
int nezha_engine_lends(nezha_engine_t *engine);
/** From here on nezha_memory_unmapped() is called (1) or not any more (0), for all engines of the process, when memory of its goes. */
void nezha_memory_watched(int on);
/** The pages of these bytes are unmapped, or become others; nobody has got them anew yet. Any thread; takes no lock and no memory. */
void nezha_memory_unmapped(const void *from, size_t size);

/** After fork(), in the child: the engine must not be touched again there. Nothing else is allowed in the child. */
void nezha_engine_abandon(nezha_engine_t *engine);

/* ---- teams ------------------------------------------------------------------------------------------------ */

enum { NEZHA_VOTE_WORDS = 24 };

typedef enum nezha_team_state {
    NEZHA_TEAM_WIRING,  /* calls go to the incumbent; vote again later */
    NEZHA_TEAM_READY,   /* nezha_carry may be called */
    NEZHA_TEAM_DECLINED /* for good: calls go to the incumbent */
} nezha_team_state_t;

typedef struct nezha_team_spec {
    const char *name; /* of the communicator, for texts */
    int size;
    int rank;
    nezha_peer_t *const *peers; /* `size` entries; the one at `rank` is NULL */
    int incumbent_on_rails;     /* the incumbent has no other network between nodes than what the rails are on */
    int within_node;            /* all ranks are on one node: they use the memory that they share, or nothing; no rails. Alike */
} nezha_team_spec_t;

/** The engine's image of a communicator. Collective in effect: each rank creates it at the same call. Copies the
 *  spec, starts wiring in the background and returns at once. NULL when memory is refused, or when descriptors do not
 *  suffice for the lanes, of which a help text tells: the rank then votes no. */
nezha_team_t *nezha_team_create(nezha_engine_t *engine, const nezha_team_spec_t *spec);
/** Frees the team. What peers may still need of it stays with the trunks. Requests that are pending are over, with an error. */
void nezha_team_destroy(nezha_team_t *team);

/**
 * To be asked once at the start of each allreduce of `bytes` bytes while the team is WIRING: 1 when this call should
 * hold an agreement. Depends only on the number of times it was asked and on `bytes`, so all ranks get one answer.
 */
int nezha_team_agreement_due(nezha_team_t *team, size_t bytes);

/**
 * The agreement: every rank fills `words` by nezha_team_vote (a NULL engine or team of a rank that failed votes by
 * nezha_vote_no), the host combines them over all ranks by bitwise OR, every rank hands the result to
 * nezha_team_decide and gets the same answer.
 */
void nezha_team_vote(nezha_team_t *team, uint64_t words[NEZHA_VOTE_WORDS]);
void nezha_vote_no(uint64_t words[NEZHA_VOTE_WORDS]);
nezha_team_state_t nezha_team_decide(nezha_team_t *team, const uint64_t words[NEZHA_VOTE_WORDS]);

/**
 * To be asked after a decision that left the team WIRING: 1 when another agreement is to follow at once, within the same
 * call, because rank 0's parameters want no call on the incumbent. Its votes wait for the lanes. Alike on all ranks.
 */
int nezha_team_vote_again(nezha_team_t *team);

/** Of a ready team: 1 when its calls go through the memory that ranks of a node share. Alike on all ranks. */
int nezha_team_shares_memory(const nezha_team_t *team);

/** Copies the last failure of this team, in one text, into `text` of `size` bytes; empty when there was none. */
void nezha_team_error(nezha_team_t *team, char *text, size_t size);

/** For a host that cannot take part in the next call of a READY team: that call and all later ones return an error on every
 *  member, with the reason `why`, and so do those that are under way. May be called from within host->progress. */
void nezha_team_give_up(nezha_team_t *team, const char *why);

/* ---- collectives ------------------------------------------------------------------------------------------ */

typedef enum nezha_type {
    NEZHA_TYPE_OTHER, /* reduced by the host */
    NEZHA_INT8, NEZHA_INT16, NEZHA_INT32, NEZHA_INT64,
    NEZHA_UINT8, NEZHA_UINT16, NEZHA_UINT32, NEZHA_UINT64,
    NEZHA_FLOAT, NEZHA_DOUBLE,
    NEZHA_COMPLEX_FLOAT, NEZHA_COMPLEX_DOUBLE,
    NEZHA_TYPE_COUNT
} nezha_type_t;

typedef enum nezha_op {
    NEZHA_OP_OTHER, /* reduced by the host */
    NEZHA_SUM, NEZHA_PROD, NEZHA_MIN, NEZHA_MAX,
    NEZHA_BAND, NEZHA_BOR, NEZHA_BXOR,
    NEZHA_LAND, NEZHA_LOR, NEZHA_LXOR,
    NEZHA_OP_COUNT
} nezha_op_t;

typedef enum nezha_collective {
    NEZHA_ALLREDUCE,
    NEZHA_REDUCE_SCATTER,
    NEZHA_ALLGATHER,
    NEZHA_BROADCAST,
    NEZHA_REDUCE,
    NEZHA_BARRIER
} nezha_collective_t;

/**
 * One call of any collective. Its vector consists of one block for each rank, in the order of ranks; the memory is:
 *
 *                           send                          recv
 *   NEZHA_ALLREDUCE         the vector                    the vector; equal to send: in place
 *   NEZHA_REDUCE_SCATTER    the vector                    the own block; equal to send: in place, at its beginning
 *   NEZHA_ALLGATHER         the own block                 the vector; in place: send is its block in recv
 *   NEZHA_BROADCAST         equal to recv                 the vector
 *   NEZHA_REDUCE            the vector                    the vector, at the root only; equal to send: in place
 *   NEZHA_BARRIER           -                             -; count and element are 1
 *
 * Alike on all ranks: collective, count, element, type, op, counts and root.
 */
typedef struct nezha_call {
    nezha_collective_t collective;
    const void *send; /* NULL, and recv too: host->bring is to tell */
    void *recv;
    size_t count;   /* elements of the vector; of 0 there is nothing to do */
    size_t element; /* bytes of one element, > 0 */
    nezha_type_t type;
    nezha_op_t op;
    void *call_ctx;       /* for host->reduce when type and op have no kernel, host->bring and host->deliver */
    const size_t *counts; /* reduce_scatter, allgather: elements of each rank's block, as long as the call lasts */
    int root;             /* broadcast, reduce: a rank of the team */
    int persistent;       /* nezha_start: not 0: members may start such calls in another order than one another */
} nezha_call_t;

/**
 * The engine's own reduction, inout[i] = in[i] op inout[i], for a host that compares it with its own. NEZHA_ERR_PARAM,
 * and nothing is done, where the engine has no kernel and would ask the host. All processors give equal bits.
 */
int nezha_reduce(nezha_type_t type, nezha_op_t op, const void *in, void *inout, size_t count);

/**
 * One call of a READY team. Blocks until the result is in `recv` and `send` and `recv` are the caller's again.
 * NEZHA_USE_INCUMBENT (before anything of the call is read or sent) when the agreed table leaves it to the incumbent:
 * the host then calls nezha_incumbent_done() as soon as that has carried it, or nothing when it failed.
 * One call at a time per team, but the incumbent may make calls of other collectives before it is done; calls on different
 * teams may run in different threads.
 */
int nezha_carry(nezha_team_t *team, const nezha_call_t *call);
void nezha_incumbent_done(nezha_team_t *team, nezha_collective_t collective);

typedef struct nezha_request nezha_request_t;

/**
 * The same, but it returns at once: with NEZHA_OK and `*request`, whose vectors, and what call_ctx points to, are the
 * engine's until it is over; with NEZHA_USE_INCUMBENT, of which nezha_incumbent_done() need not be told; or with an error.
 * The order of all calls on a team, blocking or not, is the same on all members; persistent ones are left to the incumbent unless rank
 * 0's strict_persistent_order says the same of them. Any number may be under way.
 */
int nezha_start(nezha_team_t *team, const nezha_call_t *call, nezha_request_t **request);

/**
 * Goes on with what was begun, without waiting for anything, be it another thread: to be called by threads of the host
 * that wait for requests, and as often as it likes. Between such calls a thread of the engine goes on with operations that
 * never call host->reduce. May be called from within host->progress. Returns 1 when anything happened.
 */
int nezha_engine_progress(nezha_engine_t *engine);

/** NEZHA_PENDING; NEZHA_OK: the result is there; or the error. Takes no lock. */
int nezha_request_state(const nezha_request_t *request);
/** Gives a request back that is not pending. To be done before its team is destroyed. */
void nezha_request_free(nezha_request_t *request);

/* ---- what it did ------------------------------------------------------------------------------------------ */

typedef struct nezha_rail_stats {
    char name[48]; /* "tcp/eth0" */
    char address[64];
    uint64_t bytes_sent, bytes_received; /* payload of pieces */
    uint64_t frames_sent, frames_received;
    uint64_t retransmissions; /* pieces handed to a lane again */
    uint64_t busy_ns;         /* time with bytes handed over and not yet acknowledged */
    uint32_t share;           /* of the bytes sent over all rails, in 1/65536ths */
    uint32_t lanes_up, lanes_failed;
    uint64_t suspicions;    /* lanes that did not answer for longer than expected, while another to that peer did */
    uint64_t failovers;     /* times that unacknowledged pieces of a lane were given to others */
    uint64_t reconnections; /* lanes that came back after they were lost */
} nezha_rail_stats_t;

/** What is known of the NIC behind a rail. Rails of one PCIe device share its capacity. */
typedef struct nezha_rail_nic {
    char pci_device[32]; /* "0000:3b:00", "" if nobody names one */
    uint32_t speed_mbps; /* what the link says of itself; 0 = unknown */
} nezha_rail_nic_t;

typedef struct nezha_class_stats {
    uint64_t calls, bytes, time_ns; /* of calls in [2^k, 2^(k+1)) bytes that the rails carried */
    uint64_t aggregated;            /* of these bytes, what went through aggregators */
} nezha_class_stats_t;

/** Of allreduces that went through the memory which ranks of this node share, whether or not rails carried sums between nodes.
 *  Stages of vectors from some KiB on, in this process's time: they overlap with what is under way between nodes, and what is
 *  left of the time was waiting, for the most part. */
typedef struct nezha_memory_stats {
    uint64_t calls, bytes, time_ns;
    uint64_t copied_in_ns; /* the own vector, into the memory */
    uint64_t reduced_ns;   /* the own slice of each chunk */
    uint64_t gathered_ns;  /* slices of the sum, before they go to other nodes */
    uint64_t between_ns;   /* something of the call was under way between nodes */
    uint64_t shared_ns;    /* the result, into the memory and out of it */
} nezha_memory_stats_t;

enum { NEZHA_SIZE_CLASSES = 48 };

/** The job is about to end, here and soon everywhere: from now on a lane that is lost is no news, since others may be gone a
 *  moment sooner. Writes what teams have learned, also those that are gone, to the file that the configuration names, in the
 *  process of job rank 0; elsewhere and without a file nothing is written. Texts go to host->help. To be called once.
 *  `fence`: the host waits for all processes before the engine is destroyed. Otherwise nezha_engine_destroy() waits, for 2 s at
 *  most, until peers have what they lack of calls that are over here. */
void nezha_engine_ending(nezha_engine_t *engine, int fence);
/** After nezha_engine_ending(), once all processes have called it and are out of all calls: lanes by way of host->send are closed at
 *  both ends, so that nothing that was sent is left to somebody who reads no more. Calls host->progress until that is done, for
 *  500 ms at most; afterwards nothing but closings is sent by host->send. To be called once, in a thread of the host's. */
void nezha_engine_part(nezha_engine_t *engine);

size_t nezha_engine_rails(nezha_engine_t *engine);
/** 0 and `*stats` filled, or NEZHA_ERR_PARAM when there is no rail `index`, or NEZHA_ERR_MEMORY. */
int nezha_engine_rail_stats(nezha_engine_t *engine, size_t index, nezha_rail_stats_t *stats);
/** The same of `*nic`. Reads links of /sys. */
int nezha_engine_rail_nic(nezha_engine_t *engine, size_t index, nezha_rail_nic_t *nic);
void nezha_engine_class_stats(nezha_engine_t *engine, nezha_class_stats_t stats[NEZHA_SIZE_CLASSES]);
void nezha_engine_memory_stats(nezha_engine_t *engine, nezha_memory_stats_t *stats);
/** Calls and bytes (of vectors) that rails carried, over all teams. */
void nezha_engine_totals(nezha_engine_t *engine, uint64_t *calls, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
