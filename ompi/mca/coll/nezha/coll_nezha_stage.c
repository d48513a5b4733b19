/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_stage.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"

#include "opal/compat.h"

/** Elements of vectors lie one behind the other, where the host can read them. */
static bool usable(const coll_nezha_part_t *part)
{
    return !nezha_compat_is_device(part->buffer) && ompi_datatype_is_contiguous_memory_layout(part->type, 2);
}

static char *first_byte(const coll_nezha_part_t *part)
{
    return (char *)part->buffer + part->type->super.true_lb;
}

/** Where elements from that one on lie. */
static char *at(const coll_nezha_part_t *part, ptrdiff_t element)
{
    return (char *)part->buffer + element * (part->type->super.ub - part->type->super.lb);
}

static bool pack(char *to, size_t bytes, const void *from, int count, struct ompi_datatype_t *type)
{
    return 0 == bytes || OMPI_SUCCESS == ompi_datatype_sndrcv(from, count, type, to, (int)bytes, MPI_PACKED);
}

static bool unpack(void *to, int count, struct ompi_datatype_t *type, const char *from, size_t bytes)
{
    return 0 == bytes || OMPI_SUCCESS == ompi_datatype_sndrcv(from, (int)bytes, MPI_PACKED, to, count, type);
}

static ptrdiff_t displacement(const coll_nezha_call_t *call, int rank)
{
    return NULL != call->displacements ? call->displacements[rank] : (ptrdiff_t)rank * call->count;
}

static bool blocks_in_a_row(const coll_nezha_call_t *call)
{
    ptrdiff_t before = 0;
    for (int rank = 0; rank < ompi_comm_size(call->reduction.comm); before += coll_nezha_call_count_of(call, rank++)) {
        if (0 != coll_nezha_call_count_of(call, rank) && displacement(call, rank) != before) {
            return false;
        }
    }
    return true;
}

/** The sizes of the blocks in the engine's elements; `unit` of them make up one of MPI's. */
static bool set_sizes(coll_nezha_call_t *call, size_t unit)
{
    const int size = ompi_comm_size(call->reduction.comm);
    call->sizes = malloc((size_t)size * sizeof *call->sizes);
    call->words.counts = call->sizes;
    for (int rank = 0; NULL != call->sizes && rank < size; rank++) {
        call->sizes[rank] = (size_t)coll_nezha_call_count_of(call, rank) * unit;
    }
    return NULL != call->sizes;
}

/** The beginning of the own block in bytes. */
static size_t own_begin(const coll_nezha_call_t *call)
{
    size_t begin = 0;
    for (int rank = 0; rank < ompi_comm_rank(call->reduction.comm); rank++) {
        begin += call->sizes[rank] * call->words.element;
    }
    return begin;
}

static bool is_root(const coll_nezha_call_t *call)
{
    return ompi_comm_rank(call->reduction.comm) == call->words.root;
}

/* ---- allgather ---- */

static bool sends_in_place(const coll_nezha_call_t *call)
{
    return MPI_IN_PLACE == call->source.buffer;
}

static bool whole_vector_usable(const coll_nezha_call_t *call)
{
    return usable(&call->sink) && blocks_in_a_row(call);
}

static void set_allgather(coll_nezha_call_t *call, char *vector)
{
    call->words.recv = vector;
    call->words.send = vector + own_begin(call);
    if (!sends_in_place(call) && usable(&call->source)) {
        call->words.send = first_byte(&call->source);
    }
}

static bool prepare_allgather(coll_nezha_call_t *call)
{
    if (!set_sizes(call, call->sink.type->super.size)) {
        return false;
    }
    if (whole_vector_usable(call) && (sends_in_place(call) || usable(&call->source))) {
        set_allgather(call, first_byte(&call->sink));
    }
    return true;
}

static bool stage_allgather(coll_nezha_call_t *call)
{
    const int own = ompi_comm_rank(call->reduction.comm);
    char *vector = first_byte(&call->sink);
    if (!whole_vector_usable(call)) {
        vector = call->host = malloc(call->words.count);
        if (NULL == vector) {
            return false;
        }
    }
    set_allgather(call, vector);
    char *block = vector + own_begin(call);
    if (!sends_in_place(call)) {
        return usable(&call->source) ||
               pack(block, call->sizes[own], call->source.buffer, call->source.count, call->source.type);
    }
    return pack(block, call->sizes[own], at(&call->sink, displacement(call, own)), coll_nezha_call_count_of(call, own),
                call->sink.type);
}

static bool unstage_allgather(const coll_nezha_call_t *call)
{
    const char *from = call->host;
    bool good = true;
    for (int rank = 0; good && rank < ompi_comm_size(call->reduction.comm); from += call->sizes[rank++]) {
        good = unpack(at(&call->sink, displacement(call, rank)), coll_nezha_call_count_of(call, rank), call->sink.type,
                      from, call->sizes[rank]);
    }
    return good;
}

/* ---- broadcast ---- */

static bool prepare_bcast(coll_nezha_call_t *call)
{
    if (usable(&call->sink)) {
        call->words.send = call->words.recv = first_byte(&call->sink);
    }
    return true;
}

static bool stage_bcast(coll_nezha_call_t *call)
{
    call->words.send = call->words.recv = call->host = malloc(call->words.count);
    return NULL != call->host && (!is_root(call) || pack(call->host, call->words.count, call->sink.buffer, call->sink.count,
                                                         call->sink.type));
}

static bool unstage_bcast(const coll_nezha_call_t *call)
{
    return is_root(call) || unpack(call->sink.buffer, call->sink.count, call->sink.type, call->host, call->words.count);
}

/* ---- reductions: only the device's memory needs a copy, since predefined types have no gaps in it; it is then in place ---- */

static bool copy(void *to, const void *from, size_t bytes)
{
    if (nezha_compat_is_device(to) || nezha_compat_is_device(from)) {
        return nezha_compat_copy_device(to, from, bytes);
    }
    memcpy(to, from, bytes);
    return true;
}

static bool prepare_reduction(coll_nezha_call_t *call)
{
    if (NEZHA_REDUCE_SCATTER == call->words.collective && !set_sizes(call, 1)) {
        return false;
    }
    void *result = call->words.recv;
    if (nezha_compat_is_device(call->words.send) || (NULL != result && nezha_compat_is_device(result))) {
        call->source.buffer = (void *)call->words.send;
        call->sink.buffer = result;
        call->words.send = call->words.recv = NULL;
    }
    return true;
}

static bool stage_reduction(coll_nezha_call_t *call)
{
    const size_t bytes = call->words.count * call->words.element;
    call->words.send = call->words.recv = call->host = malloc(bytes);
    return NULL != call->host && copy(call->host, call->source.buffer, bytes);
}

static bool unstage_reduction(const coll_nezha_call_t *call)
{
    size_t elements = NEZHA_ALLREDUCE == call->words.collective || is_root(call) ? call->words.count : 0;
    if (NEZHA_REDUCE_SCATTER == call->words.collective) {
        elements = call->sizes[ompi_comm_rank(call->reduction.comm)];
    }
    return 0 == elements || copy(call->sink.buffer, call->host, elements * call->words.element);
}

/* ---- any ---- */

bool coll_nezha_stage_prepare(coll_nezha_call_t *call)
{
    switch (call->words.collective) {
        case NEZHA_ALLGATHER:
            return prepare_allgather(call);
        case NEZHA_BROADCAST:
            return prepare_bcast(call);
        case NEZHA_BARRIER:
            return true;
        default:
            return prepare_reduction(call);
    }
}

bool coll_nezha_stage_in(coll_nezha_call_t *call)
{
    switch (call->words.collective) {
        case NEZHA_ALLGATHER:
            return stage_allgather(call);
        case NEZHA_BROADCAST:
            return stage_bcast(call);
        default:
            return stage_reduction(call);
    }
}

bool coll_nezha_stage_out(const coll_nezha_call_t *call)
{
    if (NULL == call->host) {
        return true;
    }
    switch (call->words.collective) {
        case NEZHA_ALLGATHER:
            return unstage_allgather(call);
        case NEZHA_BROADCAST:
            return unstage_bcast(call);
        default:
            return unstage_reduction(call);
    }
}
