/* SPDX-License-Identifier: BSD-3-Clause */
/* bits BYTES [whole [CALLS]]: allreduces of floats, again and again: so many, or until somebody ends it. Their sums depend on
   their order; "whole": they are whole numbers, whose sums do not. Rank 0 prints a hash of each result with the number of its
   input, of which there are few. A rank whose result differs from rank 0's ends the job. */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 3 };

static uint64_t hash(const float *vector, int count)
{
    uint64_t value = 14695981039346656037u;
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &vector[i], sizeof bits);
        value = (value ^ bits) * 1099511628211u;
    }
    return value;
}

static void fill(float *vector, int count, unsigned input, int rank, int whole)
{
    uint32_t state = 2654435761u * (input * 1000u + (unsigned)rank + 1);
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        vector[i] = whole ? (float)(state >> 12) : 1.0f / (float)(1 + (state >> 12));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, count = argc > 1 ? atoi(argv[1]) / (int)sizeof(float) : 1;
    const int whole = argc > 2 && strcmp(argv[2], "whole") == 0;
    const unsigned calls = argc > 3 ? (unsigned)atoi(argv[3]) : UINT_MAX;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const size_t bytes = (size_t)count * sizeof(float);
    float *in = malloc(INPUTS * bytes), *out = malloc(bytes);
    for (unsigned input = 0; input < INPUTS; input++)
        fill(in + (size_t)input * (size_t)count, count, input, rank, whole);
    for (unsigned call = 0; call < calls; call++) {
        const unsigned input = call % INPUTS;
        const float *from = in + (size_t)input * (size_t)count;
        const int in_place = call % 2 == 1;
        if (in_place)
            memcpy(out, from, bytes);
        else
            memset(out, 0xff, bytes);
        MPI_Allreduce(in_place ? MPI_IN_PLACE : from, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        const uint64_t own = hash(out, count);
        uint64_t first = own;
        MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        if (own != first) {
            fprintf(stderr, "bits: rank %d has another result in call %u\n", rank, call);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (rank == 0) {
            printf("%u %016llx\n", input, (unsigned long long)own);
            fflush(stdout);
        }
    }
    free(in);
    free(out);
    return MPI_Finalize();
}
