# SPDX-License-Identifier: BSD-3-Clause
"""Who is compared, and how each is started on the lab."""

import dataclasses
import os

from nezha_lab import mpich, openmpi

from .collectives import ALLREDUCE, COLLECTIVES
from .errors import BenchError, BenchUsage
from .sizes import size_text

NEZHA, NEZHA_ONE, NEZHA_THREADS, NEZHA_OTHER = "nezha", "nezha-one", "nezha-threads", "nezha-other"
NEZHA_RAILS = "nezha-rails"  # where there is an aggregator, without it
NEZHA_OFI, NEZHA_RDM, NEZHA_BTL = "nezha-ofi", "nezha-rdm", "nezha-btl"  # with rails of another kind than TCP
ONE, ALL, GLOO = "ompi-one", "ompi-all", "gloo"
# Open MPI's collectives for nodes of several ranks, over all rails unless they say otherwise.
HAN_ONE, HAN, XHC, ACOLL = "han-one", "han", "xhc", "acoll"
MPICH_ONE, MPICH = "mpich-one", "mpich"
# On a cluster of which nothing is known, Open MPI as it is there.
INCUMBENT = "ompi"
AGAIN = "again"

LABELS = {NEZHA: "Nezha, all rails", NEZHA_ONE: "Nezha, one rail", NEZHA_THREADS: "Nezha, a thread per rail",
          NEZHA_OTHER: "Nezha, other build", NEZHA_RAILS: "Nezha, rails alone",
          NEZHA_OFI: "Nezha, libfabric rails", NEZHA_RDM: "Nezha, libfabric rails without connections",
          NEZHA_BTL: "Nezha, one BTL rail", ONE: "Open MPI, one rail", ALL: "Open MPI, all rails",
          GLOO: "Gloo, all rails", INCUMBENT: "Open MPI without Nezha", HAN_ONE: "Open MPI's han, one rail",
          HAN: "Open MPI's han, all rails", XHC: "Open MPI's xhc", ACOLL: "Open MPI's acoll",
          MPICH_ONE: "MPICH, one rail", MPICH: "MPICH, all rails"}
SHORT = {NEZHA: "Nezha", NEZHA_ONE: "Nezha one", NEZHA_THREADS: "Nezha threads", NEZHA_OTHER: "Nezha other",
         NEZHA_RAILS: "Nezha rails", NEZHA_OFI: "Nezha ofi", NEZHA_RDM: "Nezha rdm", NEZHA_BTL: "Nezha btl",
         ONE: "OMPI one", ALL: "OMPI all", GLOO: "Gloo", INCUMBENT: "OMPI", HAN_ONE: "han one", HAN: "han all",
         XHC: "xhc", ACOLL: "acoll", MPICH_ONE: "MPICH one", MPICH: "MPICH all"}
# The component that Open MPI is made to prefer for these.
PREFERRED = {HAN_ONE: "han", HAN: "han", XHC: "xhc", ACOLL: "acoll"}
_HIGHEST_PRIORITY = "100"
# Who carries the calls by the component, and is asked for proof.
WITH_COMPONENT = (NEZHA, NEZHA_ONE, NEZHA_THREADS, NEZHA_OTHER, NEZHA_RAILS, NEZHA_OFI, NEZHA_RDM, NEZHA_BTL)
# Of rails of libfabric, what comes in front of the name of the interface.
_PROVIDER = {NEZHA_OFI: "ofi/", NEZHA_RDM: "ofi/tcp;ofi_rxm:"}
BY_MPICH = (MPICH_ONE, MPICH)
# Who runs programs of the bench alone, in which its own library is.
OWN_PROGRAM = (GLOO, *BY_MPICH)
# Who can be launched on a lab.
ON_A_LAB = (*WITH_COMPONENT, ONE, ALL, GLOO, *PREFERRED, *BY_MPICH)
# Nezha on one rail tells what the second is worth, and with threads what they are, but they are no competitors of Nezha's
# unless asked for.
USUAL = (NEZHA, ONE, ALL, GLOO)
# With several ranks on a node.
USUAL_BY_NODE = (NEZHA, ONE, ALL, *PREFERRED, *BY_MPICH)
# That one rail and all of them are the same job for, where there is but one or nothing leaves the node.
OVER_ONE = {ALL: ONE, HAN: HAN_ONE, MPICH: MPICH_ONE}


@dataclasses.dataclass(frozen=True)
class Programs:
    """What the build made, or somebody's own OSU program in place of ours."""

    mpi: str
    gloo: str
    component_dir: str
    osu: str = None
    other_dir: str = None  # NEZHA_OTHER's component_dir
    aggregate: str = None
    mpich: str = ""

    @classmethod
    def of_build(cls, build, osu=None):
        programs = os.path.join(build, "contrib", "programs")
        return cls(os.path.join(programs, "nezha_allreduce_bench"), os.path.join(programs, "nezha_gloo_bench"),
                   os.path.join(build, "component"), os.path.abspath(osu) if osu else None,
                   aggregate=os.path.join(build, "nezha-aggregate"),
                   mpich=os.path.join(programs, "nezha_mpich_bench"))

    def check(self, wanted):
        """Drops what is optional and not there, with a reason; raises where the rest lacks something."""
        left_out = []
        if GLOO in wanted and not os.access(self.gloo, os.X_OK):
            left_out.append((GLOO, "the build has no nezha_gloo_bench (install libgloo-dev and build again)"))
        without_mpich = mpich.why_not(self.mpich)
        left_out += [(name, without_mpich) for name in BY_MPICH if name in wanted and without_mpich]
        left_out += [(name, f"this Open MPI has no coll/{part}") for name, part in PREFERRED.items()
                     if name in wanted and not openmpi.has_coll(part)]
        if self.osu and not (os.path.isfile(self.osu) and os.access(self.osu, os.X_OK)):
            raise BenchUsage(f"--osu {self.osu}: there is no such program")
        if not self.osu and not os.access(self.mpi, os.X_OK):
            raise BenchError(f"there is no program {self.mpi}: build first (contrib/build), or name the build by --build")
        self.check_components(wanted)
        return left_out

    def check_components(self, wanted):
        if set(wanted) & (set(WITH_COMPONENT) - {NEZHA_OTHER}) and not has_component(self.component_dir):
            raise BenchError(f"there is no mca_coll_nezha.so in {self.component_dir}: build first (contrib/build), name "
                             "the place by --component-dir, or compare the others by --subject ompi-all")

    def component_of(self, competitor):
        return self.other_dir if competitor == NEZHA_OTHER else self.component_dir


def has_component(directory):
    return os.path.isfile(os.path.join(directory, "mca_coll_nezha.so"))


def component_of_build(directory):
    """Where the component of another build lies, given the build or that place itself."""
    places = [os.path.abspath(directory), os.path.join(os.path.abspath(directory), "component")]
    for place in places:
        if has_component(place):
            return place
    raise BenchUsage(f"--against {directory}: there is no mca_coll_nezha.so in {' or '.join(places)}: a directory made by "
                     "contrib/build, or the one that the component lies in, is allowed")


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long each size is measured in one launch."""

    sizes: tuple
    seconds: float
    iterations: int = None
    warmup: int = None
    in_place: bool = False
    rest: float = None  # milliseconds between two calls at least
    settled: bool = False  # small sizes are called until they get no faster, before they are timed
    collective: str = ALLREDUCE


class Launcher:
    """Makes the mpirun arguments and the lab's keywords for a competitor."""

    def __init__(self, case, programs, effort, nezha_mca=(), cores=None):
        """cores: where the threads of NEZHA_THREADS are bound, as coll_nezha_rail_cores has it; NEZHA then has none."""
        self.case, self.programs, self.effort, self.nezha_mca, self.cores = case, programs, effort, nezha_mca, cores
        self.gloo_plan = {}
        self.aggregator = []  # what makes a job use it, as options of mpirun
        self.named_by_rank = []  # and as words before its program
        self.services = []  # the processes whose cost is measured: pids

    def of(self, competitor):
        """(arguments, keywords for Lab.popen)"""
        spread = {"np": self.case.processes, "ppn": self.case.ranks}  # none on an aggregator's node
        if competitor == GLOO:
            return self._gloo(), {**spread, "incumbent_rails": "mgmt", "nezha": False}
        if competitor in BY_MPICH:
            rails = self.case.best_rail() if competitor == MPICH_ONE else "all"
            return [self.programs.mpich, *self._collective(), *self._ours()], {**spread, "incumbent_rails": rails, "by_mpich": True}
        if competitor in WITH_COMPONENT:
            # A BTL's rail is of the first network that Open MPI itself uses. Over one rail Open MPI's own allreduce, which may carry calls, has
            # no other either.
            own = {"incumbent_rails": self.case.best_rail()} if competitor in (NEZHA_BTL, NEZHA_ONE) else {}
            return self._nezha(competitor), {**spread, **own, "component_dir": self.programs.component_of(competitor)}
        rails = self.case.best_rail() if competitor in (ONE, HAN_ONE) else "all"
        return [*self._preferred(competitor), *self._mpi()], {**spread, "incumbent_rails": rails, "nezha": False}

    @staticmethod
    def _preferred(competitor):
        part = PREFERRED.get(competitor)
        return ["--mca", f"coll_{part}_priority", _HIGHEST_PRIORITY] if part else []

    def _nezha(self, competitor):
        pairs = [*self._carries(), *self._own(competitor), *self.nezha_mca]
        aggregator, by_rank = (self.aggregator, self.named_by_rank) if uses_aggregator(competitor) else ([], [])
        return [*aggregator, *(word for key, value in pairs for word in ("--mca", key, value)), *by_rank, *self._mpi()]

    def _carries(self):
        word = COLLECTIVES[self.effort.collective].parameter
        return [("coll_nezha_collectives", word)] if word else []

    def _own(self, competitor):
        if competitor == NEZHA_ONE:
            return [("coll_nezha_rail_include", f"eth{self.case.best_rail()}")]
        if provider := _PROVIDER.get(competitor):
            return [("coll_nezha_rail_include", self._shared_rails(provider))]
        if competitor == NEZHA_RAILS and self.case.own_rails:  # nobody answers over those, and ranks would wait for them
            return [("coll_nezha_rail_include", self._shared_rails())]
        if competitor == NEZHA_BTL:
            return [("pml", "ob1"), ("coll_nezha_btl", "1"), ("coll_nezha_rail_include", "btl/0")]
        if competitor == NEZHA_THREADS:
            return [("coll_nezha_rail_threads", "1"), *([("coll_nezha_rail_cores", self.cores)] if self.cores else [])]
        return [] if self.cores is None else [("coll_nezha_rail_threads", "0")]

    def _shared_rails(self, provider=""):
        return ",".join(f"{provider}eth{rail}" for rail in self.case.shared_rails())

    def _mpi(self):
        return self._osu() if self.programs.osu else [self.programs.mpi, *self._collective(), *self._ours()]

    def _ours(self):
        sizes = ",".join(map(str, self.effort.sizes))
        flags = [word for word, wanted in (("-I", self.effort.in_place), ("--settle", self.effort.settled)) if wanted]
        return ["--json", "-s", sizes, "-T", str(self.effort.seconds), *flags, *self._calls()]

    def _collective(self):
        return [] if self.effort.collective == ALLREDUCE else ["--collective", self.effort.collective]

    def _osu(self):
        return [self.programs.osu, "-f", "-m", f"{self.effort.sizes[0]}:{self.effort.sizes[-1]}", *self._calls()]

    def _calls(self):
        given = (("-i", self.effort.iterations), ("-x", self.effort.warmup), ("--rest", self.effort.rest))
        return [word for letter, number in given if number is not None for word in (letter, str(number))]

    def _gloo(self):
        plan = ",".join(f"{size_text(size)}={way}" for size, way in self.gloo_plan.items())
        return [self.programs.gloo, "--rails", self._shared_rails(), "--shares", ",".join(f"{w:g}" for w in self.case.weights()),
                *(["--plan", plan] if plan else []), *self._ours()]


def uses_aggregator(competitor):
    """Where there is one."""
    return competitor in (NEZHA, NEZHA_THREADS, NEZHA_OTHER)


def order(competitors, round_number):
    """Each round starts with another one, and every second round goes backwards, so that none always follows the same."""
    shift = round_number % len(competitors)
    turned = competitors[shift:] + competitors[:shift]
    return turned[::-1] if round_number % 2 else turned
