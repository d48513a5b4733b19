# SPDX-License-Identifier: BSD-3-Clause
"""The part "packages": .deb and .rpm are built of the tarball as their users build them, and used.

Each Debian is copied from one that is clean: in one copy the packages are built, into another they are installed, and in a
third somebody begins with the sources as README.md says.
"""

import glob
import os
import re
import shutil

from nezha_check.debian import Debian, why_not
from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.rpm import rpm_cases
from nezha_check.run import read_log, run_logged
from nezha_check.tree import make, tarball_of

SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
SOURCES = "/packages/nezha"  # in there; dpkg-buildpackage leaves the packages beside it
USER = "somebody"
NAMES = ("nezha", "openmpi-nezha", "nezha-doc")
# What the lab and the demonstration want beside what the packages depend on.
LAB = ["iproute2", "nftables", "procps", "util-linux", "python3-matplotlib", "python3-rich"]
TIMEOUT = 1800

# All that is there, but for what changes by itself and where the packages are tried from.
LISTING = ("find / -xdev ( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o -path /var/cache "
           "-o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /home -o -path /packages -o -path /mnt ) -prune -o -print").split()


class Steps:
    """Steps that build on one another: each is a case, and after the first that fails the others are left out."""

    def __init__(self, title, debian, log):
        self.title, self.debian, self.log, self.cases = title, debian, log, []

    def failed(self):
        return bool(self.cases) and self.cases[-1].outcome != PASSED

    def step(self, name, done, reason=""):
        """done: a function without arguments that returns whether it worked."""
        if not self.failed():
            worked = done()
            self.cases.append(Case(f"{self.title}: {name}", PASSED if worked else FAILED, "" if worked else reason, self.log))
            print(f"  {self.title}: {name}: {'passed' if worked else 'failed, see ' + self.log}", flush=True)

    def run(self, name, words, **options):
        self.step(name, lambda: self.debian.run(words, self.log, TIMEOUT, **options) == 0)

    def shell(self, name, script, **options):
        self.run(name, ["sh", "-ec", script], **options)


def guides_commands(check):
    """How the administrator's guide has .deb built, and installed, in the unpacked tarball."""
    guide = read_log(os.path.join(check.top, "contrib", "doc", "administrators-guide.md"))
    return (re.search(rf"(?m)^({command} .*?)(?: +#|$)", guide)[1] for command in ("dpkg-buildpackage", "apt-get install"))


def build_steps(steps, check):
    """The packages, built as an ordinary user would. The tests of `make check` are other parts' affair."""
    debian, (build, _) = steps.debian, guides_commands(check)
    steps.step("the tarball is unpacked", lambda: debian.unpack(tarball_of(check), SOURCES, steps.log))
    steps.shell("build dependencies", f"apt-get -qq update; apt-get -y -qq --no-install-recommends build-dep {SOURCES}; "
                f"useradd --create-home --user-group {USER}; chown -R {USER}: {os.path.dirname(SOURCES)}")
    steps.shell("the packages are built", f"cd {SOURCES}; {build}", user=USER,
                DEB_BUILD_OPTIONS=f"nocheck parallel={check.jobs}")
    steps.shell("lintian is installed", "apt-get -y -qq --no-install-recommends install lintian")
    steps.shell("lintian has nothing to say", f"lintian --fail-on error,warning {SOURCES}/../nezha_*.changes", user=USER)


def paths(debian):
    """Where the packages lie that were built in there, from outside; not those of debug information."""
    found = glob.glob(debian.root + os.path.dirname(SOURCES) + "/*.deb")
    return sorted(path for path in found if "-dbgsym_" not in path)


def listing(debian, log):
    """All files of that Debian; None if that cannot be told."""
    status = run_logged(debian.command(LISTING), log, TIMEOUT)
    return set(read_log(log).splitlines()) if status == 0 else None


def use_steps(steps, check, packages):
    """Installed where nothing of a build is, used by a new user over two rails, and purged."""
    debian, (_, install) = steps.debian, guides_commands(check)
    place = os.path.dirname(SOURCES)
    here = " ".join(f"{place}/{os.path.basename(package)}" for package in packages)
    before, after = check.log(f"packages-{debian.suite}-before"), check.log(f"packages-{debian.suite}-after")

    def brought():
        return debian.unpack(tarball_of(check), SOURCES, steps.log) and all(
            shutil.copy(package, debian.root + place) for package in packages)

    def nothing_left():
        left = (listing(debian, after) or {"no listing"}) - (listing_before[0] or set())
        with open(steps.log, "a", encoding="utf-8") as log:
            log.write("left behind: " + " ".join(sorted(left)) + "\n")
        return not left

    listing_before = []
    steps.step("the packages are brought to a clean one", brought)
    steps.shell("what they depend on is installed", f"""
        apt-get -qq update
        wanted=$(for package in {here}; do dpkg-deb -f "$package" Depends; done | tr ',' '\\n' | sed 's/^ *//' |
            grep -v -e '^$' -e '^nezha' -e '^openmpi-nezha' | paste -sd,)
        apt-get -y -qq --no-install-recommends satisfy "$wanted"
        apt-get -y -qq --no-install-recommends install {' '.join(LAB)}
        useradd --create-home --user-group {USER}""")
    steps.step("its files are listed", lambda: listing_before.append(listing(debian, before)) or listing_before[0] is not None)
    install = install.replace("apt-get", "apt-get -y -qq --no-install-recommends")
    steps.shell("they are installed", f"cd {SOURCES}; {install} ../nezha-doc_*.deb")
    steps.run("their own test, as a new user", ["sh", f"{SOURCES}/debian/tests/allreduce"], user=USER)
    steps.shell("the command", "nezha --version; nezha rails; nezha doctor || test $? = 1; nezha report --help >/dev/null\n"
                "for page in man1/nezha.1 man1/nezha-aggregate.1 man5/nezha-table.5 man7/nezha-parameters.7; do gzip -t /usr/share/man/$page.gz; done",
                user=USER)
    steps.shell("mpirun over the lab's two rails", f"""
        cd
        {SOURCES}/contrib/lab with --nodes 2 --rail none --rail none -- --mca coll_nezha_report 1 \
            /usr/libexec/nezha/nezha_allreduce_bench -s 4,1M >run 2>&1 || {{ cat run; false; }}
        cat run
        grep -q 'tcp/eth0 *rank 0' run
        grep -q 'tcp/eth1 *rank 0' run""", user=USER)
    steps.shell("the demonstration, on what is installed", """
        cd
        mkdir -p demo/contrib/programs
        ln -sf /usr/libexec/nezha/nezha_allreduce_bench demo/contrib/programs
        ln -sfn "$(dirname "$(dpkg -L openmpi-nezha | grep '/mca_coll_nezha[.]so$')")" demo/component
        PYTHONPATH=/usr/share/nezha/python python3 -m nezha_bench.demo --build demo""", user=USER)
    steps.shell("they are purged", f"apt-get -y -qq purge {' '.join(NAMES)}")
    steps.step("purging leaves nothing", nothing_left, "see the end of the log")


def newcomer_steps(steps, check):
    """README.md's first command where nothing is installed, then what it says of a real cluster."""
    readme = read_log(os.path.join(check.top, "README.md"))
    first = re.search(r"(?m)^(contrib/demo)$", readme)[1]
    install = re.search(r"(?m)^(\./configure .*make install)$", readme)[1]
    steps.step("the sources are unpacked", lambda: steps.debian.unpack(tarball_of(check), SOURCES, steps.log))
    steps.shell(first, f"cd {SOURCES}; {first}")
    steps.shell(install, f"cd {SOURCES}; {install}")
    steps.shell("the command finds the component", "ompi_info | grep 'coll: nezha'; nezha rails; nezha doctor || test $? = 1")
    steps.shell("mpirun finds the component", f"""
        cd {SOURCES}
        contrib/lab with --nodes 2 --rail none --rail none -- --mca coll_nezha_report 1 \\
            /usr/local/libexec/nezha/nezha_allreduce_bench -s 4,1M >run 2>&1 || {{ cat run; false; }}
        grep 'tcp/eth1 *rank 0' run""")
    steps.shell("make uninstall leaves nothing", f"""
        cd {SOURCES}
        make uninstall
        left=$(find / -xdev '(' -path /proc -o -path /sys -o -path /packages -o -path /mnt ')' -prune -o -name '*nezha*' -print)
        echo "left behind: $left"
        test -z "$left" """)


def debian_cases(check, suite):
    title, log = SUITES[suite], check.log(f"packages-{suite}")
    places = {name: os.path.join(check.build_dir, f"{name}-{suite}") for name in ("clean", "builder", "user", "newcomer")}
    print(f"  {title}: {places['builder']}, {places['user']} and {places['newcomer']}, log {log}", flush=True)
    clean = Debian(places["clean"], suite)
    run_logged(["true"], log, TIMEOUT)  # empties it
    if not clean.make(log):
        return [Case(f"debootstrap {suite}", SKIPPED, f"debootstrap failed, see {log}")]
    builder, user, newcomer = (clean.copy(places[name], log) for name in ("builder", "user", "newcomer"))
    if not (builder and user and newcomer):
        return [Case(f"{title}: copies", FAILED, "cp failed", log)]
    building = Steps(title, builder, log)
    build_steps(building, check)
    using = Steps(title, user, log)
    if not building.failed():
        use_steps(using, check, paths(builder))
    beginning = Steps(f"{title}, from the sources", newcomer, log)
    newcomer_steps(beginning, check)
    done = (building, using, beginning)
    if not any(steps.failed() for steps in done):
        for steps in done:
            steps.debian.remove()
    return [case for steps in done for case in steps.cases]


def run_packages(check):
    status, log = make(check, check.build_dir, "packages-dist", "dist")
    if status != 0:
        return [Case("make dist", FAILED, f"exit status {status}", log)]
    reason = why_not()
    if reason:
        return [Case("packages of Debian", SKIPPED, reason), *rpm_cases(check)]
    return [case for suite in SUITES for case in debian_cases(check, suite)] + rpm_cases(check)
