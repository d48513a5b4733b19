/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange BYTES: one allreduce of that many bytes, checked on every rank. Exit status 1 on a wrong sum. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int count = atoi(argv[1]) / (int)sizeof(int);
    int *mine = malloc((size_t)count * sizeof(int)), *sum = malloc((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        mine[i] = rank + i;
    MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        wrong += sum[i] != size * (size - 1) / 2 + size * i;
    free(mine);
    free(sum);
    MPI_Finalize();
    return wrong != 0;
}
