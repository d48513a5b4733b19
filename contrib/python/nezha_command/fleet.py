# SPDX-License-Identifier: BSD-3-Clause
"""The same question on every node: this command is started there by the launcher, and its answers are collected."""

import collections
import os
import signal
import subprocess
import tempfile
import threading

from nezha_bench.excerpt import excerpt

from . import launch, letters, node
from .errors import CommandError

_WORDS = 1500
# Seconds that a launcher gets to end when every node has answered: 5.0's mpirun now and then misses the end of processes
# that were over soon, and waits for ever.
_ENOUGH = 10

Answers = collections.namedtuple("Answers", "by_node complaint")


def ask(options, question, seconds=60, tries=3):
    """{node: answer} of `question` (words for node.py). A launcher now and then mixes what it passes on: the answers
    of several tries are put together. Raises CommandError when there is none at all."""
    messages = {}
    for _ in range(tries):
        found, complaint = _try(options, question, seconds)
        messages.update(found)
        if _is_all(messages):
            break
    if not messages:
        raise CommandError(f"no node has answered: {complaint or 'the launcher started nothing'}")
    nodes = sorted(messages, key=_by_number)
    if not _is_all(messages):
        here, whole = _processes(messages)
        complaint = f"only {', '.join(nodes)} with {here} of {whole} processes have answered. {complaint}"
    return Answers({node: messages[node]["answer"] for node in nodes}, complaint)


def _processes(messages):
    """(how many processes the nodes have that have answered, how many there are)"""
    return sum(message["here"] for message in messages.values()), max(message["all"] for message in messages.values())


def _is_all(messages):
    if not messages:
        return False
    here, whole = _processes(messages)
    return here >= whole


def _by_number(name):
    """n2 before n10."""
    digits = "".join(letter if letter.isdigit() else " " for letter in name).split()
    return [int(word) for word in digits], name


def _try(options, question, seconds):
    """({node: message}, what the launcher complained about)"""
    box, found = letters.Box(), {}
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        job = subprocess.Popen([*launch.words(options), launch.COMMAND, node.VERB, *question], env=launch.environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
                               start_new_session=True)
        expired, over = threading.Event(), threading.Event()
        timer = _end_after(seconds, job, expired)
        try:
            for line in job.stdout:
                letter = box.take(line)
                if letter:
                    name, _, message = letter
                    found[name] = message
                    if _is_all(found):
                        timer.cancel()
                        timer = _end_after(_ENOUGH, job, over)
            job.wait()
        finally:
            timer.cancel()
            _end(job)
        errors.seek(0)
        words = " ".join(excerpt(errors.read(), _WORDS).split())
    if expired.is_set():
        words = f"the launcher did not end within {seconds} s. {words}"
    return found, words if job.returncode != 0 and not over.is_set() else ""


def _end_after(seconds, job, event):
    """The running timer that sets the event and ends the job."""
    timer = threading.Timer(seconds, lambda: (event.set(), _end(job)))
    timer.start()
    return timer


def _end(job):
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGTERM)
        try:
            job.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
