# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/lab."""

import argparse
import os
import shlex
import shutil
import sys

from . import processes, state
from .checkout import TOP
from .errors import LabError, LabUsage
from .lab import Lab, take_down
from .leaving import exit_status, leave_on_signals
from .tools import require

_ABOUT = """\
An emulated cluster on this machine: every node is a set of namespaces, every rail a switch with one shaped
port per node, and an unshaped management network joins the nodes beside the rails. As root, or, where the
kernel lets ordinary users make user namespaces, without.

  lab with --nodes 4 --rail 1gbit --rail 500mbit -- ./program      up, mpirun, down
  lab up mine; lab run mine --np 4 -- ./program; lab cut mine --rail 1 --node n2; lab down mine
  lab guest -- lab with --rdma -- ./program   the same in a virtual machine whose kernel has RDMA devices for namespaces
  lab shell mine n0                           by hand: in it mpirun --host $LAB_HOSTS ./program, ip link, nezha doctor

Nodes are n0, n1... (their hostnames), rails eth0, eth1... in them, at 10.(10+RAIL).0.(NODE+1), and mgmt at
10.9.0.(NODE+1). Each node has its own hostname, /dev/shm, /sys and /etc/hosts; all else is this machine's.
Rates are written 1gbit, 500mbit, 100kbit, or none for unshaped. With --one-subnet all rails are ports of one
switch, at 10.10.RAIL.(NODE+1)/16, and each answers ARP for its own address only (arp_ignore 1, arp_announce 2).

Without root: all commands work alike; files are written as the user, though programs see themselves as root,
and the nodes use cubic only if the machine lets everybody (sysctl net.ipv4.tcp_allowed_congestion_control).

Exit status: that of the program; 1 when something failed; 2 for wrong arguments; 77 when this machine or user
cannot run a lab."""


def build_parser():
    parser = argparse.ArgumentParser(prog="lab", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name, action, text, named=True):
        sub = verbs.add_parser(name, help=text, description=text)
        if named:
            sub.add_argument("name", metavar="NAME", help="the lab")
        sub.set_defaults(action=action)
        return sub

    sub = verb("up", up, "bring a lab up and print its name; it stays until lab down", named=False)
    _up_options(sub)
    verb("down", down, "end all processes in a lab and take it away")
    verb("list", list_labs, "the labs of this user", named=False)
    verb("status", status, "rates and states of a lab's rails")
    sub = verb("run", run, "mpirun across the nodes; after --: [mpirun's options] PROGRAM ARGUMENTS")
    _run_options(sub)
    sub = verb("with", with_lab, "up, run and down in one; takes the options of up and run", named=False)
    _up_options(sub)
    _run_options(sub)
    sub = verb("exec", exec_in, "run the command after -- in a node, or in the switch")
    sub.add_argument("node", metavar="NODE", help="n0, n1... or switch")
    sub = verb("shell", shell, "a shell in a node, with what lab env prints; of $SHELL, or /bin/sh")
    sub.add_argument("node", metavar="NODE", help="n0, n1...")
    _mpi_options(sub)
    sub = verb("env", env, "print, for a shell's eval, what makes an mpirun that is started in a node run across the nodes, "
               "with --host $LAB_HOSTS")
    _mpi_options(sub)
    sub = verb("pids", pids, "the processes in a lab's nodes, to kill or stop")
    sub.add_argument("node", metavar="NODE", nargs="?")
    for name, text in (("cut", "pull the cable: the carrier goes"), ("heal", "end a cut, or silence"),
                       ("silence", "lose every frame, in both directions; the carrier stays"),
                       ("speak", "end silence"), ("unplug", "delete the interface"), ("plug", "bring it back")):
        _port_options(verb(name, fault, f"{text}: of one node's port, or of the whole rail"))
    for name, text in (("halfopen", "lose the frames of a rail from one node to another; the way back works"),
                       ("healopen", "end halfopen")):
        sub = verb(name, half, text)
        sub.add_argument("--rail", required=True, metavar="R")
        sub.add_argument("--from", required=True, metavar="NODE", dest="source")
        sub.add_argument("--to", required=True, metavar="NODE", dest="target")
    sub = verb("rate", rate, "change a rail's rate, for one node or all, also while a job runs")
    _port_options(sub)
    sub.add_argument("rate", metavar="RATE")
    sub = verb("guest", guest, "run the command after -- on this machine's files in a virtual machine with a newer kernel, whose "
               "RDMA devices belong to namespaces (lab up --rdma); what it writes is gone with it, but for what is in --share",
               named=False)
    sub.add_argument("--processors", type=int, metavar="N", help="default 2")
    sub.add_argument("--memory", type=int, metavar="MIB", help="default 1024")
    sub.add_argument("--timeout", type=int, metavar="SECONDS", dest="seconds", help="for boot and command; default 600")
    sub.add_argument("--accelerator", metavar="A", help="tcg (default: emulates, works everywhere) or kvm")
    sub.add_argument("--share", metavar="DIR", help="a directory that the command may write to")
    sub.add_argument("--cache", metavar="DIR", help="where kernel and initrd are kept; default: build/guest of the checkout")
    return parser


def _up_options(sub):
    sub.add_argument("name", metavar="NAME", nargs="?", help="made up when left out")
    sub.add_argument("--nodes", type=int, default=4, metavar="N", help="default 4")
    sub.add_argument("--rail", action="append", metavar="RATE", dest="rails", help="once per rail; default 1gbit twice")
    sub.add_argument("--node-rate", action="append", default=[], metavar="NODE:RAIL:RATE", dest="node_rates",
                     help="one node's port differs")
    sub.add_argument("--hub", action="append", default=[], metavar="RAIL:NODE", dest="hubs",
                     help="over this rail nodes reach that one alone, not one another: such as the network of an aggregator")
    sub.add_argument("--ipv6", action="store_true", help="IPv6 addresses on the rails too")
    sub.add_argument("--rdma", action="store_true",
                     help="an RDMA device on each rail, n0rxe0 and so on, where the kernel can (in lab guest)")
    sub.add_argument("--one-subnet", action="store_true", help="all rails in one subnet, on one switch")


def _run_options(sub):
    sub.add_argument("--np", type=int, metavar="N", help="ranks; default: one per node, or --ppn per node")
    sub.add_argument("--ppn", type=int, metavar="K", help="ranks per node; default: spread evenly")
    _mpi_options(sub)


def _mpi_options(sub):
    sub.add_argument("--incumbent-rails", default="all", metavar="WHICH",
                     help="what Open MPI's own traffic takes: all (default), mgmt, a rail, or rails with commas")
    sub.add_argument("--no-nezha", action="store_true", help="run without the component")
    sub.add_argument("--component-dir", metavar="DIR", help="where mca_coll_nezha.so lies, if not installed")


def _port_options(sub):
    sub.add_argument("--rail", required=True, metavar="R")
    sub.add_argument("--node", metavar="N", help="default: all")


def _lab(options):
    return Lab(options.nodes, options.rails or ["1gbit", "1gbit"], options.name, options.node_rates,
               options.ipv6, options.one_subnet, options.rdma, options.hubs)


def up(options, _):
    lab = _lab(options)
    lab.up()
    print(lab.name)
    if lab.record["congestion"] != "cubic":
        print(f"lab: the nodes use {lab.record['congestion']}, for this machine does not let them use cubic",
              file=sys.stderr)
    return 0


def down(options, _):
    record = state.load(options.name)
    if record is None:
        raise LabError(f"there is no lab named {options.name} (lab list shows what there is)")
    take_down(record)
    return 0


def list_labs(_options, _):
    for name in state.names():
        record = state.load(name)
        if record is not None:
            shape = f"{record['spec']['nodes']} nodes, {record['spec']['rails']} rails"
            print(name, shape, "up" if state.alive(record) else "its keeper was killed: lab down it", sep="  ")
    return 0


def status(options, _):
    lab = Lab.attach(options.name)
    print(f"{lab.name}: {lab.spec.nodes} nodes, {lab.spec.rails} rails, congestion control {lab.record['congestion']}")
    for row in lab.status():
        print("{:<5} {:<6} {:<15} {:<10} {}".format(*row))
    return 0


def run(options, command):
    return _mpirun(Lab.attach(options.name), options, command)


def with_lab(options, command):
    with _lab(options) as lab:
        return _mpirun(lab, options, command)


def _mpirun(lab, options, command):
    job = lab.popen(command, options.np, options.ppn, **_mpi_keywords(options))
    try:
        return _exit_status(job.wait())
    except BaseException:
        job.end()
        raise


def _mpi_keywords(options):
    rails = options.incumbent_rails
    return {"component_dir": options.component_dir, "nezha": not options.no_nezha,
            "incumbent_rails": rails.split(",") if "," in rails else rails}


def shell(options, _):
    """Does not return: the shell takes the place of this process, so that signals from the terminal reach the shell alone."""
    lab = Lab.attach(options.name)
    argv = [*lab.nsenter(lab.spec.node(options.node)), os.environ.get("SHELL") or "/bin/sh"]
    settings = lab.shell_environment(**_mpi_keywords(options)) if shutil.which("mpirun") else {}
    os.execvpe(argv[0], argv, {**os.environ, **settings, processes.MARK: lab.new_mark()})


def env(options, _):
    lab = Lab.attach(options.name)
    require("mpirun")
    for name, value in sorted(lab.shell_environment(**_mpi_keywords(options)).items()):
        print(f"export {name}={shlex.quote(value)}")
    return 0


def exec_in(options, command):
    lab = Lab.attach(options.name)
    node = None if options.node == "switch" else options.node
    return _exit_status(lab.exec(node, command).returncode)


def pids(options, _):
    for row in Lab.attach(options.name).pids(options.node):
        print(f"{row.pid:>8}  n{row.node}  {row.program}")
    return 0


def fault(options, _):
    getattr(Lab.attach(options.name), options.verb)(options.rail, options.node)
    return 0


def half(options, _):
    getattr(Lab.attach(options.name), options.verb)(options.rail, options.source, options.target)
    return 0


def rate(options, _):
    Lab.attach(options.name).rate(options.rail, options.rate, options.node)
    return 0


def guest(options, command):
    from nezha_guest import Machine, Settings  # here: only a checkout has it

    given = {name: getattr(options, name) for name in ("processors", "memory", "seconds", "accelerator", "share")}
    settings = Settings(cache=options.cache or os.path.join(TOP, "build", "guest"),
                        **{name: value for name, value in given.items() if value is not None})
    return Machine(settings).run(command)


def _exit_status(returned):
    """A shell's way of telling a signal."""
    return 128 - returned if returned < 0 else returned


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    command = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    options = build_parser().parse_args(arguments)
    needs_command = options.action in (run, with_lab, exec_in, guest)
    leave_on_signals()

    def act():
        if needs_command and not command:
            raise LabUsage(f"lab {options.verb}: what to run is missing: put it after --")
        if command and not needs_command:
            raise LabUsage(f"lab {options.verb}: nothing is allowed after --")
        return options.action(options, command)

    return exit_status("lab", act)
