# SPDX-License-Identifier: BSD-3-Clause
"""One boot: QEMU runs the kernel, the kernel runs a command of this machine's, and both end."""

import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from nezha_lab.errors import LabError, LabUnavailable

from . import initrd, packages

# These parts of a processor cost an emulator more than they are worth, or confuse it.
_CPU = "max,erms=off,fsrm=off,la57=off"
_KERNEL = "console=ttyS0 panic=-1 quiet mitigations=off"
_PANIC = "Kernel panic"
_QEMU = "qemu-system-x86_64"
_GRACE_SECONDS = 10

# As process 1. What the command prints goes through pipes: many processes may write to a pipe, one to a port.
_SCRIPT = """
{share}
ulimit -l unlimited
ip link set lo up
rdma system set netns exclusive
echo 20000 > /proc/sys/net/core/netdev_max_backlog
hostname guest
cd {cwd}
for port in /dev/vport*p1; do port=${{port%1}}; done
mkfifo /run/out /run/err
cat /run/out > ${{port}}1 & out=$!
cat /run/err > ${{port}}2 & err=$!
env -i {environment} {command} < /dev/null > /run/out 2> /run/err &
wait $!
status=$?
# What the command has left behind may hold the pipes open.
{{ sleep 3; kill $out $err; }} 2>/dev/null &
wait $out $err 2>/dev/null
echo $status > ${{port}}3
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


class Machine:
    """A guest to run commands in, one a boot."""

    def __init__(self, settings):
        self._settings = settings

    def prepare(self):
        """Fetches the kernel and makes the initrd, where they are not there yet."""
        if shutil.which(_QEMU) is None:
            raise LabUnavailable("the guest needs QEMU: apt-get install qemu-system-x86")
        if self._settings.accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
            raise LabUnavailable("accelerator 'kvm': /dev/kvm cannot be opened; tcg needs nothing")
        os.makedirs(self._settings.cache, exist_ok=True)
        with open(os.path.join(self._settings.cache, ".lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return initrd.prepare(self._settings.cache, packages.fetch(self._settings.cache))

    def run(self, command, output=None, errors=None):
        """Boots, runs the command (words) in there in this directory and with this environment, and returns its exit status.
        What it prints goes to these binary files, by default this process's own. A kernel that panics is booted once more."""
        kernel, image = self.prepare()
        for attempt in (1, 2):
            with tempfile.TemporaryDirectory(prefix="nezha-guest-") as place:
                boot = _Boot(self._settings, kernel, image, place, command)
                status = boot.run(output or sys.stdout.buffer, errors or sys.stderr.buffer)
                if status is not None:
                    return status
                if boot.panicked() and attempt == 1:
                    print("lab: the guest's kernel has panicked; it boots once more", file=sys.stderr, flush=True)
                    continue
                raise LabError(f"the guest ended without the command's exit status; its console ended so:\n{boot.console()}")
        return None


class _Boot:
    """One run of QEMU. `place` is a directory for what goes in and out; it must lie on this machine's root."""

    def __init__(self, settings, kernel, image, place, command):
        self._settings, self._kernel, self._image, self._place = settings, kernel, image, place
        with open(os.path.join(place, "script"), "w", encoding="utf-8") as file:
            file.write(_script(settings, command))

    def run(self, output, errors):
        """The command's exit status, or None where the guest ended before it was known."""
        status = _Collected()
        with contextlib.ExitStack() as stack:
            ports = [stack.enter_context(_Copied(to)) for to in (output, errors, status)]
            qemu = subprocess.Popen(self._words([port.write_end for port in ports]), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[port.write_end for port in ports],
                                    start_new_session=True)
            for port in ports:
                port.begin()
            words = self._wait(qemu)
        if not status.data.strip().isdigit():
            if qemu.returncode != 0:
                raise LabError(f"QEMU ended with status {qemu.returncode}: {words.strip()}")
            return None
        return int(status.data)

    def _wait(self, qemu):
        """Until the guest is off, or its time is over. What QEMU says."""
        try:
            return qemu.communicate(timeout=self._settings.seconds)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            _end(qemu)
            raise LabError(f"the guest was ended after {self._settings.seconds} s (--timeout); its console ended so:\n"
                           f"{self.console()}") from None
        except BaseException:
            _end(qemu)
            raise

    def _words(self, ends):
        settings = self._settings
        share = ["-virtfs", f"local,path={settings.share},mount_tag=share,security_model=none,multidevs=remap"] \
            if settings.share else []
        ports = [word for number, end in enumerate(ends, 1) for word in (
            "-chardev", f"file,id=port{number},path=/proc/self/fd/{end}",
            "-device", f"virtserialport,chardev=port{number},nr={number}")]
        return [_QEMU, "-accel", "tcg,thread=multi" if settings.accelerator == "tcg" else "kvm", "-cpu",
                _CPU if settings.accelerator == "tcg" else "host", "-smp", str(settings.processors), "-m", str(settings.memory),
                "-display", "none", "-no-reboot", "-nodefaults", "-serial", f"file:{self._place}/console",
                "-kernel", self._kernel, "-initrd", self._image, "-append", f"{_KERNEL} guest_script={self._place}/script",
                "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap", *share,
                "-device", "virtio-serial-pci,max_ports=4", *ports]

    def console(self):
        with open(os.path.join(self._place, "console"), encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().splitlines()[-20:])

    def panicked(self):
        return _PANIC in self.console()


def _script(settings, command):
    share = ""
    if settings.share:
        path = shlex.quote(os.path.realpath(settings.share))
        share = f"mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 share {path}"
    environment = " ".join(shlex.quote(f"{name}={value}") for name, value in os.environ.items())
    return _SCRIPT.format(share=share, cwd=shlex.quote(os.getcwd()), environment=environment, command=shlex.join(command))


def _end(qemu):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(qemu.pid, signal.SIGTERM)
    try:
        qemu.communicate(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        qemu.kill()
        qemu.communicate()


class _Collected:
    """What looks like a file, and keeps what is written to it."""

    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data

    def flush(self):
        pass


class _Copied:
    """A pipe that a thread of its own copies to `to` until its other end is closed."""

    def __init__(self, to):
        self._to = to
        self._read_end, self.write_end = os.pipe()
        self._thread = threading.Thread(target=self._copy)

    def begin(self):
        """Once the child has the write end."""
        os.close(self.write_end)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._thread.is_alive() or self._thread.ident is not None:
            self._thread.join()
        else:
            os.close(self.write_end)
        os.close(self._read_end)

    def _copy(self):
        while data := os.read(self._read_end, 1 << 16):
            with contextlib.suppress(BrokenPipeError):
                self._to.write(data)
                self._to.flush()
