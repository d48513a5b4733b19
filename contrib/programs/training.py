#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training with the tensors of a real network: each rank computes gradients from data of its own, all add them
up by MPI_Allreduce, tensor by tensor in the order of backpropagation, and take the same step.

  mpirun -np 4 --hostfile hosts training.py --model alexnet --seconds 75
  contrib/bench --program '/usr/bin/python3 contrib/programs/training.py --model vgg11 --seconds 150' --from 60

The gradients are those of a problem whose solution is known (weights near to all ranks' targets), which costs a processor
little: what is left is the network's time. At the end all ranks' weights must be the same bits, and those that this many
steps lead to."""

import argparse
import pathlib
import sys
import time
import zlib

try:
    import numpy
    from mpi4py import MPI
except ModuleNotFoundError as error:
    sys.exit(f"training.py: Python's module {error.name} is missing: python3-mpi4py and python3-numpy of the distribution, "
             f"for /usr/bin/python3 (this is {sys.executable})")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from nezha_bench.arguments import more_than_0, positive  # noqa: E402

# (what a convolution takes, gives, and its square's side), (what a full layer takes and gives); each also has a bias.
MODELS = {
    "alexnet": ((3, 64, 11), (64, 192, 5), (192, 384, 3), (384, 256, 3), (256, 256, 3),
                (9216, 4096), (4096, 4096), (4096, 1000)),
    "vgg11": ((3, 64, 3), (64, 128, 3), (128, 256, 3), (256, 256, 3), (256, 512, 3), (512, 512, 3), (512, 512, 3),
              (512, 512, 3), (25088, 4096), (4096, 4096), (4096, 1000)),
}
STEP = 0.1
# Of float32, over some thousand steps, each of which rounds.
TOLERANCE = 1e-3
PART = 1 << 18  # of the weights, so that looking at them takes no memory of their size


def tensors(model, divisor):
    """Elements of each tensor, the last layer's first."""
    counts = []
    for takes, gives, *side in reversed(MODELS[model]):
        weights = takes * gives * (side[0] ** 2 if side else 1)
        counts += [max(1, count // divisor) for count in (gives, weights)]
    return counts


def ranges(counts, bucket_bytes):
    """[begin, end) of what one call adds up: a tensor, or as many in sequence as a bucket holds."""
    found, begin, end = [], 0, 0
    for count in counts:
        if end > begin and 4 * (end + count - begin) > bucket_bytes:
            found.append((begin, end))
            begin = end
        end += count
    return [*found, (begin, end)]


class Training:
    def __init__(self, world, counts, bucket_bytes):
        self.world, self.iterations = world, 0
        self.weights = numpy.ones(sum(counts), numpy.float32)
        self.gradient = numpy.empty_like(self.weights)
        self.calls = ranges(counts, bucket_bytes)
        self.target = numpy.float32(world.rank)

    def iterate(self):
        for begin, end in self.calls:
            own = self.gradient[begin:end]
            numpy.subtract(self.weights[begin:end], self.target, out=own)
            self.world.Allreduce(MPI.IN_PLACE, own, op=MPI.SUM)
        self.gradient *= numpy.float32(STEP / self.world.size)
        self.weights -= self.gradient
        self.iterations += 1

    def fault(self):
        """Of the weights, by all ranks together; None when they are right."""
        checksum = zlib.crc32(self.weights)
        if len(set(self.world.allgather(checksum))) > 1:
            return f"the ranks' weights differ after {self.iterations} iterations"
        mean = (self.world.size - 1) / 2
        expected = mean + (1 - mean) * (1 - STEP) ** self.iterations
        farthest = max(float(numpy.abs(self.weights[at:at + PART] - numpy.float32(expected)).max())
                       for at in range(0, self.weights.size, PART))
        if farthest > TOLERANCE * max(1.0, mean):
            return f"a weight is {farthest:g} away from the {expected:g} that {self.iterations} iterations lead to"
        return None


def train(training, options):
    """The seconds that it took. Rank 0's clock says when it is over."""
    start = time.monotonic()
    more = numpy.ones(1, numpy.int32)
    while more[0]:
        training.iterate()
        seconds = time.monotonic() - start
        if training.world.rank == 0:
            print(f"iteration {training.iterations} after {seconds:.3f} s", flush=True)
            more[0] = training.iterations < options.iterations if options.iterations else seconds < options.seconds
        training.world.Bcast(more)
    return seconds


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="training.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--model", choices=MODELS, default="alexnet", help="alexnet: 61 million parameters in 16 tensors; "
        "vgg11: 133 million in 22; default alexnet")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=more_than_0, default=30.0, metavar="S", help="no iteration begins later; default 30")
    length.add_argument("--iterations", type=positive, metavar="N", help="instead of a time")
    add("--bucket", type=more_than_0, metavar="MIB", help="add up tensors together as long as they fit into so much, as "
        "frameworks do (PyTorch 25, Horovod 64); default: each by itself")
    add("--divide", type=positive, default=1, metavar="N", help="tensors N times smaller, to try it out")
    return parser.parse_args(arguments)


def main():
    options = parse()
    world = MPI.COMM_WORLD
    training = Training(world, tensors(options.model, options.divide), int((options.bucket or 0) * 2**20))
    if world.rank == 0:
        print(f"{options.model}: {training.weights.size} parameters in {len(training.calls)} calls per iteration, {world.size} ranks",
              flush=True)
    seconds = train(training, options)
    fault = training.fault()
    if fault:
        print(f"training.py: rank {world.rank}: {fault}", file=sys.stderr, flush=True)
        world.Abort(1)
    if world.rank == 0:
        print(f"{training.iterations} iterations in {seconds:.3f} s: {training.iterations / seconds:.4f} iterations/s; all ranks' "
              "weights are the same and right", flush=True)


if __name__ == "__main__":
    main()
