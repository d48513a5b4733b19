# SPDX-License-Identifier: BSD-3-Clause
"""Other Debians, each in a directory: made by debootstrap, and the root of namespaces that end with the command."""

import os
import shutil

from nezha_check.run import run_logged

MAKE_TIMEOUT = 900
APT = ["apt-get", "-y", "-qq", "--no-install-recommends"]

# $1: the root, $2: the name of the machine in there; the rest is run. UCX and the lab want /proc, /sys and /dev/shm, a shell a terminal. In a mere
# chroot the kernel would make no user namespaces. The shell stays, as the process 1 that buries orphans.
_ENTER = """
root=$1
hostname "$2"
shift 2
mount --bind "$root" "$root"
mkdir -p "$root/mnt/outside"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/dev/shm"
mkdir -p "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -sf pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/run"
cd "$root"
pivot_root . mnt/outside
umount -l /mnt/outside
"$@"
"""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Not by _ENTER: until then /proc may be a link to itself, and debootstrap mounts what it wants.
_SECOND_STAGE = ["unshare", "--mount", "chroot"]


def why_not():
    """Why there can be no other Debian here, '' where there can."""
    if os.geteuid() != 0:
        return "only root can make and enter another Debian"
    missing = [tool for tool in ("debootstrap", "unshare", "pivot_root") if shutil.which(tool) is None]
    return f"{missing[0]} is not installed" if missing else ""


class Debian:
    """A Debian in `root`. Its commands run as root of that directory, with no environment but a few variables."""

    def __init__(self, root, suite):
        self.root, self.suite = root, suite

    def make(self, log):
        """Makes it where it is not there yet. Returns whether that worked."""
        made = os.path.join(self.root, "made")
        if os.path.exists(made):
            return True
        self.remove()
        os.makedirs(self.root)
        # In two steps, so that dpkg's settings are there before it installs anything.
        if run_logged(["debootstrap", "--foreign", "--variant=minbase", self.suite, self.root], log, MAKE_TIMEOUT) != 0:
            return False
        with open(os.path.join(self.root, "etc", "dpkg", "dpkg.cfg.d", "fast"), "w", encoding="ascii") as settings:
            settings.write("force-unsafe-io\n")  # nobody misses it when the machine fails
        if run_logged([*_SECOND_STAGE, self.root, "/debootstrap/debootstrap", "--second-stage"], log, MAKE_TIMEOUT,
                      dict(os.environ, PATH=_PATH), append=True) != 0 or self.run(["apt-get", "clean"], log) != 0:
            return False
        with open(os.path.join(self.root, "etc", "hosts"), "w", encoding="ascii") as hosts:
            hosts.write(f"127.0.0.1 localhost {self.suite}\n")  # without its own name mpirun is slow
        with open(made, "w", encoding="ascii"):
            return True

    def copy(self, root, log):
        """Another one, like this one is now, in `root`; None if it cannot be made."""
        other = Debian(root, self.suite)
        other.remove()
        return other if run_logged(["cp", "-a", "--reflink=auto", self.root, root], log, MAKE_TIMEOUT) == 0 else None

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def command(self, words, user="root", **env):
        """The argv that runs `words` in there. Ending it ends all that it started."""
        home = "/root" if user == "root" else f"/home/{user}"
        settings = {"PATH": _PATH, "HOME": home, "USER": user,
                    "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **env}
        as_user = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL", "--", "sh", "-ec", _ENTER,
                "sh", self.root, self.suite, "env", "-i", *(f"{name}={value}" for name, value in settings.items()),
                *as_user, *words]

    def run(self, words, log, timeout=MAKE_TIMEOUT, append=True, **options):
        """Runs `words` in there, all they print goes to `log`. The exit status, None when that took too long."""
        return run_logged(self.command(words, **options), log, timeout, append=append)

    def install(self, packages, log):
        """Whether apt could install `packages` (names, or paths in there)."""
        return self.run([*APT, "update"], log) == 0 and self.run([*APT, "install", *packages], log, 1800) == 0

    def unpack(self, tarball, place, log, append=True):
        """Replaces the directory `place` in there by what `tarball` holds in its only directory."""
        target = self.root + place
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        return run_logged(["tar", "-xf", tarball, "--strip-components=1", "--no-same-owner", "-C", target], log, 60, append=append) == 0
