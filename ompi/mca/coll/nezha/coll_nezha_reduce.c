/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_reduce.h"

#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bytes that are whole vectors of any processor. In the last group of a call's vector, which may be shorter, Open MPI's
 * functions go on with ever smaller vectors and at last with single elements. */
enum { GROUP = 64 };

static ptrdiff_t extent_of(const coll_nezha_reduction_t *reduction)
{
    ptrdiff_t lower_bound = 0, extent = 0;
    ompi_datatype_get_extent(reduction->type, &lower_bound, &extent);
    return extent;
}

/** The order of operands, inout = in op inout, is that of MPI_Reduce_local; which itself needs an MPI_COMM_SELF, and
 * programs that only use sessions have none. */
static void reduce(const coll_nezha_reduction_t *reduction, const void *in, void *inout, size_t count)
{
    const mca_coll_base_comm_coll_t *functions = reduction->comm->c_coll;
    functions->coll_reduce_local(in, inout, (int)count, reduction->type, reduction->op,
                                 functions->coll_reduce_local_module);
}

/** Elements [at, at + count) of a group of `all`: what is missing is filled up with zeros. */
static void reduce_part(const coll_nezha_reduction_t *reduction, const char *in, char *inout, size_t at, size_t count,
                        size_t all)
{
    _Alignas(GROUP) char left[GROUP] = {0}, right[GROUP] = {0};
    const size_t extent = (size_t)extent_of(reduction);
    memcpy(left + at * extent, in, count * extent);
    memcpy(right + at * extent, inout, count * extent);
    reduce(reduction, left, right, all);
    memcpy(inout, right + at * extent, count * extent);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void coll_nezha_reduce(void *ctx, void *call_ctx, const void *in, void *inout, size_t first, size_t count)
{
    (void)ctx;
    const coll_nezha_reduction_t *reduction = call_ctx;
    const size_t extent = (size_t)extent_of(reduction), group = extent < GROUP ? GROUP / extent : 1;
    const char *from = in;
    char *to = inout;
    while (count > 0) {
        const size_t at = first % group, all = smaller(group, reduction->count - (first - at));
        size_t part = smaller(all - at, count);
        if (part < all) {
            reduce_part(reduction, from, to, at, part, all);
        } else {
            const bool last = first + count == reduction->count;
            part = smaller(last ? count : count - count % group, INT_MAX - INT_MAX % group);
            reduce(reduction, from, to, part);
        }
        from += part * extent;
        to += part * extent;
        first += part;
        count -= part;
    }
}

/* ---- do the engine's kernels agree? ---------------------------------------------------------------------------- */

/* Each extreme value meets each. */
enum { VALUES = 11, PAIRS = VALUES * VALUES, ROOM = (PAIRS + 1) * sizeof(uint64_t) };

static size_t number_size(nezha_type_t type)
{
    switch (type) {
        case NEZHA_INT8:
        case NEZHA_UINT8:
            return sizeof(uint8_t);
        case NEZHA_INT16:
        case NEZHA_UINT16:
            return sizeof(uint16_t);
        case NEZHA_INT32:
        case NEZHA_UINT32:
            return sizeof(uint32_t);
        case NEZHA_FLOAT:
        case NEZHA_COMPLEX_FLOAT:
            return sizeof(float);
        default:
            return sizeof(uint64_t);
    }
}

static void put_integer(char *at, size_t size, int which)
{
    const uint64_t least = UINT64_C(1) << (8 * size - 1); /* of the signed ones */
    const uint64_t values[VALUES] = {
        0, 1, 2, 3, 7, UINT64_C(0x5aa55aa55aa55aa5), least - 1, least + 1, least, UINT64_MAX, UINT64_MAX - 1};
    const uint64_t value = values[which];
    for (size_t byte = 0; byte < size; byte++) {
#ifdef WORDS_BIGENDIAN
        at[size - 1 - byte] = (char)(value >> 8 * byte);
#else
        at[byte] = (char)(value >> 8 * byte);
#endif
    }
}

static void put(nezha_type_t type, char *at, int which)
{
    static const float floats[VALUES] = {0.0F,    -0.0F,          1.0F,     -1.0F,     FLT_MAX, -FLT_MAX,
                                         FLT_MIN, FLT_MIN / 1024, INFINITY, -INFINITY, NAN};
    static const double doubles[VALUES] = {0.0,     -0.0,           1.0,      -1.0,      DBL_MAX, -DBL_MAX,
                                           DBL_MIN, DBL_MIN / 1024, INFINITY, -INFINITY, NAN};
    if (NEZHA_FLOAT == type || NEZHA_COMPLEX_FLOAT == type) {
        memcpy(at, &floats[which], sizeof floats[which]);
    } else if (NEZHA_DOUBLE == type || NEZHA_COMPLEX_DOUBLE == type) {
        memcpy(at, &doubles[which], sizeof doubles[which]);
    } else {
        put_integer(at, number_size(type), which);
    }
}

/** Whether `count` elements come out alike when `width` of them at a time are reduced. */
static bool agrees_by(const coll_nezha_reduction_t *reduction, nezha_type_t type, nezha_op_t op, const char *in,
                      const char *inout, size_t count, size_t width)
{
    _Alignas(GROUP) char ours[ROOM], theirs[ROOM];
    const size_t extent = (size_t)extent_of(reduction);
    memcpy(ours, inout, count * extent);
    memcpy(theirs, inout, count * extent);
    for (size_t first = 0; first < count; first += width) {
        const size_t at = first * extent, part = smaller(width, count - first);
        if (NEZHA_OK != nezha_reduce(type, op, in + at, ours + at, part)) {
            return false;
        }
        reduce(reduction, in + at, theirs + at, part);
    }
    return 0 == memcmp(ours, theirs, count * extent);
}

/** Whole vectors of 64 bytes and their rest, 32, 16 and single elements; at two alignments. */
static bool agrees(const coll_nezha_reduction_t *reduction, nezha_type_t type, nezha_op_t op)
{
    _Alignas(GROUP) char left[ROOM], right[ROOM];
    const size_t number = number_size(type), extent = (size_t)extent_of(reduction);
    const size_t count = PAIRS * number / extent, widths[] = {count, 32 / extent, 16 / extent, 1};
    for (size_t shift = 0; shift <= number; shift += number) {
        for (int pair = 0; pair < PAIRS; pair++) {
            put(type, left + shift + (size_t)pair * number, pair / VALUES);
            put(type, right + shift + (size_t)pair * number, pair % VALUES);
        }
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            if (!agrees_by(reduction, type, op, left + shift, right + shift, count, widths[i])) {
                return false;
            }
        }
    }
    return true;
}

bool coll_nezha_reduce_agrees(const coll_nezha_reduction_t *reduction, nezha_type_t type, nezha_op_t op)
{
    /* The extreme values raise floating point exceptions, which the program may have asked to be killed for. */
    fenv_t environment;
    feholdexcept(&environment);
    const bool all = agrees(reduction, type, op);
    fesetenv(&environment);
    return all;
}
