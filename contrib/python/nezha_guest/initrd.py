# SPDX-License-Identifier: BSD-3-Clause
"""The guest's kernel and its first file system: busybox, the modules, and a script that enters this machine's root."""

import glob
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile

from nezha_lab.errors import LabError, LabUnavailable

from .settings import MODULES

_BUSYBOX = ("/usr/bin/busybox", "/bin/busybox")
_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")

# The root is this machine's, read only, below a layer in memory that takes what is written. switch_root makes it the root of
# all mounts, as the lab's namespaces need it. The script is process 1 from there on, and must not return.
_INIT = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs devtmpfs /dev
for module in $($B cat /modules/order); do
  $B insmod /modules/$module || echo "GUEST: module $module cannot be loaded"
done
P=trans=virtio,version=9p2000.L,msize=512000
$B mount -t 9p -o ro,cache=loose,$P root /lower || echo "GUEST: the root cannot be mounted"
$B mount -t tmpfs -o mode=755 tmpfs /upper
$B mkdir /upper/changed /upper/work
$B mount -t overlay -o lowerdir=/lower,upperdir=/upper/changed,workdir=/upper/work overlay /root ||
  echo "GUEST: the layer above the root cannot be mounted"
for place in /proc /sys /dev; do $B mount --move $place /root$place; done
$B mkdir -p /root/dev/shm /root/dev/pts
$B mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
$B mount -t devpts devpts /root/dev/pts
$B mount -t tmpfs -o mode=755 tmpfs /root/run
script=$($B sed -n 's/.*guest_script=\\([^ ]*\\).*/\\1/p' /root/proc/cmdline)
exec $B switch_root /root /bin/sh $script
"""


def prepare(directory, packages):
    """(kernel, initrd) in `directory`, made of these packages unless it was made of the same before."""
    busybox = next(filter(os.path.exists, _BUSYBOX), None)
    if busybox is None:
        raise LabUnavailable("the guest needs busybox: apt-get install busybox-static")
    made_of = "\n".join([_INIT, *MODULES, *map(os.path.basename, packages)])
    stem = os.path.join(directory, hashlib.sha256(made_of.encode()).hexdigest()[:16])
    kernel, initrd = stem + ".vmlinuz", stem + ".initrd"
    if not (os.path.exists(kernel) and os.path.exists(initrd)):
        for old in [*glob.glob(os.path.join(directory, "*.vmlinuz")), *glob.glob(os.path.join(directory, "*.initrd"))]:
            os.unlink(old)
        with tempfile.TemporaryDirectory(dir=directory) as place:
            _unpack(packages, place)
            image = _initrd(place, busybox)
            shutil.copyfile(_one(place, "**/vmlinuz*"), kernel)
        _write(initrd, image)
    return kernel, initrd


def _unpack(packages, place):
    for package in packages:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as source:
            done = subprocess.run(["tar", "-x", "-C", place, "--wildcards", "*/vmlinuz*", "*.ko*"], stdin=source.stdout,
                                  capture_output=True, check=False)
        # tar complains of a pattern that this package has nothing for.
        if source.returncode != 0 or (done.returncode != 0 and b"Not found in archive" not in done.stderr):
            raise LabError(f"{package} cannot be unpacked: {done.stderr.decode(errors='replace').strip() or 'dpkg-deb failed'}")


def _one(place, pattern):
    found = sorted(glob.glob(os.path.join(place, pattern), recursive=True))
    if not found:
        raise LabError(f"the kernel's packages hold no {os.path.basename(pattern)}")
    return found[0]


def _initrd(place, busybox):
    archive = Archive()
    for name in ("bin", "dev", "lower", "modules", "proc", "root", "sys", "upper"):
        archive.directory(name)
    with open(busybox, "rb") as file:
        archive.file("bin/busybox", file.read())
    archive.file("init", _INIT.encode())
    names = []
    for name, content in in_order(_Files(place), MODULES):
        names.append(f"{name}.ko")
        archive.file(f"modules/{name}.ko", content)
    archive.file("modules/order", "\n".join(names).encode() + b"\n")
    return gzip.compress(archive.end(), 1)


class _Files:
    """The modules of an unpacked kernel, by name."""

    def __init__(self, place):
        self._paths = {os.path.basename(path).split(".ko")[0].replace("-", "_"): path
                       for path in glob.glob(os.path.join(place, "**/*.ko*"), recursive=True)}

    def get(self, name):
        path = self._paths.get(name.replace("-", "_"))
        if path is None:
            return None
        with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
            return file.read()


def in_order(files, wanted):
    """(name, content) of the modules `wanted` and of all that these depend on, each behind those that it needs. What `files`
    does not have is built into the kernel."""
    chosen = {}

    def add(name):
        name = name.replace("-", "_")
        if name in chosen:
            return
        content = files.get(name)
        if content is None:
            return
        found = _DEPENDS.search(content)
        for other in found[1].decode().split(",") if found and found[1] else ():
            add(other)
        chosen[name] = content

    for name in wanted:
        add(name)
    return list(chosen.items())


class Archive:
    """A cpio archive of the kind that the kernel unpacks (newc)."""

    def __init__(self):
        self._parts = []

    def directory(self, name):
        self._add(name, 0o040755, b"")

    def file(self, name, content):
        self._add(name, 0o100755, content)

    def _add(self, name, mode, content):
        path = name.encode() + b"\0"
        fields = (len(self._parts) + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._parts.append(_padded(head) + _padded(content))

    def end(self):
        self._add("TRAILER!!!", 0, b"")
        return b"".join(self._parts)


def _padded(data):
    return data + bytes(-len(data) % 4)


def _write(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)
