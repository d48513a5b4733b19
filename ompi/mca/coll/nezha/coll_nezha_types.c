/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_types.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum kind { KIND_NONE, KIND_SIGNED, KIND_UNSIGNED, KIND_REAL, KIND_COMPLEX } kind_t;

/* A predefined type's engine type by its Fortran handle, which every predefined type has one of its own of. */
enum { TABLE_SIZE = 128 };
static uint8_t table[TABLE_SIZE];

static nezha_type_t engine_type(kind_t kind, size_t size)
{
    switch (kind) {
        case KIND_SIGNED:
            return 1 == size   ? NEZHA_INT8
                   : 2 == size ? NEZHA_INT16
                   : 4 == size ? NEZHA_INT32
                   : 8 == size ? NEZHA_INT64
                               : NEZHA_TYPE_OTHER;
        case KIND_UNSIGNED:
            return 1 == size   ? NEZHA_UINT8
                   : 2 == size ? NEZHA_UINT16
                   : 4 == size ? NEZHA_UINT32
                   : 8 == size ? NEZHA_UINT64
                               : NEZHA_TYPE_OTHER;
        case KIND_REAL:
            return sizeof(float) == size ? NEZHA_FLOAT : sizeof(double) == size ? NEZHA_DOUBLE : NEZHA_TYPE_OTHER;
        case KIND_COMPLEX:
            return 2 * sizeof(float) == size    ? NEZHA_COMPLEX_FLOAT
                   : 2 * sizeof(double) == size ? NEZHA_COMPLEX_DOUBLE
                                                : NEZHA_TYPE_OTHER;
        default:
            return NEZHA_TYPE_OTHER;
    }
}

static void learn(kind_t kind, const MPI_Datatype *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ompi_datatype_t *type = types[i];
        int handle = type->d_f_to_c_index;
        if (handle >= 0 && handle < TABLE_SIZE) {
            table[handle] = (uint8_t)engine_type(kind, type->super.size);
        }
    }
}

#define LEARN(kind, ...)                                    \
    do {                                                    \
        const MPI_Datatype types[] = {__VA_ARGS__};         \
        learn(kind, types, sizeof types / sizeof types[0]); \
    } while (0)

/* Left to MPI's own functions: logical and boolean types (what true looks like is the compiler's affair), pairs, long
 * double and other sizes without a kernel. A type that this build of Open MPI lacks has size 0. */
void coll_nezha_types_init(void)
{
    LEARN(KIND_SIGNED, MPI_SIGNED_CHAR, MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
          MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2,
          MPI_INTEGER4, MPI_INTEGER8);
    LEARN(KIND_UNSIGNED, MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
          MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_BYTE);
    LEARN(KIND_REAL, MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8);
    LEARN(KIND_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
          MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16);
}

static nezha_op_t engine_op(MPI_Op op)
{
    static const struct {
        MPI_Op theirs;
        nezha_op_t ours;
    } ops[] = {{MPI_SUM, NEZHA_SUM},   {MPI_MAX, NEZHA_MAX},  {MPI_MIN, NEZHA_MIN},   {MPI_PROD, NEZHA_PROD},
               {MPI_LAND, NEZHA_LAND}, {MPI_LOR, NEZHA_LOR},  {MPI_BAND, NEZHA_BAND}, {MPI_BOR, NEZHA_BOR},
               {MPI_LXOR, NEZHA_LXOR}, {MPI_BXOR, NEZHA_BXOR}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (ops[i].theirs == op) {
            return ops[i].ours;
        }
    }
    return NEZHA_OP_OTHER;
}

bool coll_nezha_types_carries(MPI_Op op)
{
    return NEZHA_OP_OTHER != engine_op(op) || MPI_MINLOC == op || MPI_MAXLOC == op;
}

/** The engine's type for a predefined one. Open MPI's results must not change when the engine's kernels take over, so
 * each kernel is tried once for each of Open MPI's types. */
static nezha_type_t reduced_as(const coll_nezha_reduction_t *reduction, nezha_op_t op)
{
    enum { UNKNOWN, OURS, THEIRS };
    static atomic_uchar verdicts[TABLE_SIZE][NEZHA_OP_COUNT]; /* threads that come at once find the same */
    int handle = reduction->type->d_f_to_c_index;
    nezha_type_t type = handle >= 0 && handle < TABLE_SIZE ? (nezha_type_t)table[handle] : NEZHA_TYPE_OTHER;
    if (NEZHA_TYPE_OTHER == type) {
        return type;
    }
    atomic_uchar *verdict = &verdicts[handle][op];
    if (UNKNOWN == atomic_load_explicit(verdict, memory_order_relaxed)) {
        atomic_store_explicit(verdict, coll_nezha_reduce_agrees(reduction, type, op) ? OURS : THEIRS,
                              memory_order_relaxed);
    }
    return OURS == atomic_load_explicit(verdict, memory_order_relaxed) ? type : NEZHA_TYPE_OTHER;
}

bool coll_nezha_types_translate(const coll_nezha_reduction_t *reduction, nezha_call_t *call)
{
    const ompi_datatype_t *type = reduction->type;
    if (!ompi_datatype_is_predefined(type)) {
        return false;
    }
    call->op = engine_op(reduction->op);
    call->type = NEZHA_OP_OTHER != call->op ? reduced_as(reduction, call->op) : NEZHA_TYPE_OTHER;
    /* Of a pair the C structure's padding travels along. */
    call->element = (size_t)(type->super.ub - type->super.lb);
    return call->element > 0;
}
