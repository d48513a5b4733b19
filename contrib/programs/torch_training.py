#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training of AlexNet or VGG-11 by PyTorch: DistributedDataParallel, whose buckets of gradients torch.distributed
adds up over the ranks by MPI_Allreduce, or by its own Gloo. mpirun starts it, one process per rank.

  mpirun -np 4 --hostfile hosts /usr/bin/python3 torch_training.py --model alexnet --seconds 75
  mpirun -np 4 --hostfile hosts -x MASTER_ADDR=node0 -x MASTER_PORT=29500 /usr/bin/python3 torch_training.py --backend gloo

The parameters are those of the real networks. The images are random and small, one per rank by default, so that adding up the
gradients takes most of the time, not computing them; --image 224 takes ImageNet's size. Rank 0 prints a line of JSON for the
start, for each iteration, and for the end. At the end all ranks must have the same bits in their parameters."""

import argparse
import json
import os
import pathlib
import sys
import time
import zlib

try:
    import torch
    from torch import distributed, nn
except ModuleNotFoundError as error:
    sys.exit(f"torch_training.py: Python's module {error.name} is missing: python3-torch of a Debian 13, for /usr/bin/python3 "
             f"(this is {sys.executable})")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from nezha_bench.arguments import more_than_0, positive  # noqa: E402

# Of convolutions: channels given, side of the kernel, stride, padding; "pool": the side and stride of a maximum.
FEATURES = {
    "alexnet": ((64, 11, 4, 2), "pool", (192, 5, 1, 2), "pool", (384, 3, 1, 1), (256, 3, 1, 1), (256, 3, 1, 1), "pool"),
    "vgg11": ((64, 3, 1, 1), "pool", (128, 3, 1, 1), "pool", (256, 3, 1, 1), (256, 3, 1, 1), "pool",
              (512, 3, 1, 1), (512, 3, 1, 1), "pool", (512, 3, 1, 1), (512, 3, 1, 1), "pool"),
}
POOL = {"alexnet": (3, 2), "vgg11": (2, 2)}
SIDE = {"alexnet": 6, "vgg11": 7}  # of what the full layers take
CLASSES = 1000


def network(model, divisor):
    """divisor: the layers' widths are divided by it."""
    layers, channels = [], 3
    for feature in FEATURES[model]:
        if feature == "pool":
            layers.append(nn.MaxPool2d(*POOL[model]))
            continue
        given, side, stride, padding = feature
        given = max(1, given // divisor)
        layers += [nn.Conv2d(channels, given, side, stride, padding), nn.ReLU()]
        channels = given
    width = max(1, 4096 // divisor)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(SIDE[model]), nn.Flatten(),
                         nn.Linear(channels * SIDE[model] ** 2, width), nn.ReLU(), nn.Dropout(),
                         nn.Linear(width, width), nn.ReLU(), nn.Dropout(), nn.Linear(width, CLASSES))


class Training:
    def __init__(self, options):
        self.rank, self.number = distributed.get_rank(), 0
        torch.manual_seed(1)  # all ranks begin with the same parameters
        own = network(options.model, options.divide)
        self.parameters = sum(parameter.numel() for parameter in own.parameters())
        torch.manual_seed(100 + self.rank)  # images and dropout are the rank's own
        self.images = torch.randn(options.batch, 3, options.image, options.image)
        self.labels = torch.randint(CLASSES, (options.batch,))
        self.model = nn.parallel.DistributedDataParallel(own, bucket_cap_mb=options.bucket, gradient_as_bucket_view=True)
        self.step = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.loss = nn.CrossEntropyLoss()

    def backward(self):
        self.step.zero_grad()
        loss = self.loss(self.model(self.images), self.labels)
        loss.backward()
        return loss

    def iterate(self):
        loss = self.backward()
        self.step.step()
        self.number += 1
        return loss.item()

    def compute(self):
        """An iteration that adds up nothing and leaves the parameters as they are."""
        with self.model.no_sync():
            self.backward()

    def same_everywhere(self):
        """Whether all ranks have the same parameters, to the bit."""
        checksum = 0
        for parameter in self.model.parameters():
            checksum = zlib.crc32(parameter.detach().numpy(), checksum)
        own = torch.tensor([checksum], dtype=torch.int64)
        all_of_them = [torch.zeros_like(own) for _ in range(distributed.get_world_size())]
        distributed.all_gather(all_of_them, own)
        return checksum, all(torch.equal(own, other) for other in all_of_them)


def goes_on(rank, wanted):
    """Rank 0 decides for all."""
    word = torch.tensor([int(wanted)])
    distributed.broadcast(word, 0)
    return bool(word.item())


def train(training, options, say):
    start = before = time.monotonic()
    wanted = True
    while goes_on(training.rank, wanted):
        loss = training.iterate()
        now = time.monotonic()
        say({"kind": "iteration", "number": training.number, "seconds": now - before, "loss": loss})
        before = now
        if training.number == options.warm:
            start = now
        enough_time = options.seconds is not None and training.number >= options.warm and now - start >= options.seconds
        wanted = training.number < options.least or not (enough_time or training.number == options.iterations)


def computing(training, count):
    """Seconds of each of `count` iterations that add up nothing; all ranks compute at the same time."""
    found = []
    for _ in range(count):
        distributed.barrier()
        start = time.monotonic()
        training.compute()
        found.append(time.monotonic() - start)
    return found


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="torch_training.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--backend", choices=("mpi", "gloo"), default="mpi", help="gloo: over GLOO_SOCKET_IFNAME; default mpi")
    add("--model", choices=FEATURES, default="alexnet", help="alexnet: 61 million parameters; vgg11: 133 million; default alexnet")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=more_than_0, metavar="S", help="no iteration begins later")
    length.add_argument("--iterations", type=positive, metavar="N", help="instead of a time; default 10")
    add("--warm", type=int, default=0, metavar="N", help="iterations before the time of --seconds begins; default 0")
    add("--least", type=positive, default=1, metavar="N", help="iterations however long they take; default 1")
    add("--batch", type=positive, default=1, metavar="N", help="images per rank; default 1")
    add("--image", type=positive, default=64, metavar="N", help="side of an image; from 63 (alexnet) or 32 (vgg11) on; default 64")
    add("--bucket", type=more_than_0, default=25, metavar="MIB", help="PyTorch's bucket_cap_mb: gradients that are added up "
        "together; a larger tensor is a call of its own; default 25, as PyTorch has it")
    add("--compute", type=positive, default=1, metavar="N", help="at the end, iterations without the others' gradients; default 1")
    add("--divide", type=positive, default=1, metavar="N", help="layers N times narrower, to try it out")
    options = parser.parse_args(arguments)
    if options.seconds is None and options.iterations is None:
        options.iterations = 10
    return options


def join(backend):
    """MPI knows who we are; Gloo is told by what mpirun has put into the environment."""
    if backend == "mpi":
        if not distributed.is_mpi_available():
            sys.exit("torch_training.py: this PyTorch has no MPI: python3-torch of a Debian 13 has it")
        distributed.init_process_group("mpi")
    else:
        os.environ.setdefault("USE_LIBUV", "0")  # Debian's PyTorch has none, and asks for it
        distributed.init_process_group("gloo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]),
                                       world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]))


def main():
    options = parse()
    torch.set_num_threads(1)
    join(options.backend)
    training = Training(options)

    def say(members):
        if training.rank == 0:
            print(json.dumps(members), flush=True)

    say({"kind": "start", "torch": torch.__version__, "parameters": training.parameters, "ranks": distributed.get_world_size(),
         **vars(options)})
    train(training, options, say)
    checksum, same = training.same_everywhere()
    alone = computing(training, options.compute)
    say({"kind": "end", "iterations": training.number, "same": same, "checksum": checksum, "compute_seconds": alone})
    distributed.barrier()
    distributed.destroy_process_group()
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
