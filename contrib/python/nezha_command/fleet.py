# SPDX-License-Identifier: BSD-3-Clause
"""The same question on every node: this command is started there by the launcher, and its answers are collected."""

import collections
import subprocess
import tempfile

from nezha_bench.excerpt import excerpt

from . import launch, letters, node
from .errors import CommandError
from .session import Session

_WORDS = 1500
# Seconds that a launcher gets to end when every node has answered: 5.0's mpirun now and then misses the end of processes
# that were over soon, and waits for ever.
_ENOUGH = 10

# lacking: fewer processes than there are have answered.
Answers = collections.namedtuple("Answers", "by_node complaint lacking")


def ask(options, question, seconds=60, tries=3):
    """{node: answer} of `question` (words for node.py). A launcher now and then mixes what it passes on: the answers
    of several tries are put together. A launcher that took more than `seconds` is not tried again. Raises CommandError
    when there is no answer at all."""
    messages = {}
    for _ in range(tries):
        found, complaint, expired = _try(options, question, seconds)
        messages.update(found)
        if expired or _is_all(messages) or _is_of_unknown_size(messages):
            break
    if not messages:
        raise CommandError(f"no node has answered: {complaint or 'the launcher started nothing'}")
    nodes = sorted(messages, key=_by_number)
    lacking = not _is_all(messages) and not _is_of_unknown_size(messages)
    if lacking:
        here, whole = _processes(messages)
        complaint = f"only {', '.join(nodes)} with {here} of {whole} processes have answered. {complaint}"
    return Answers({node: messages[node]["answer"] for node in nodes}, complaint, lacking)


def _processes(messages):
    """(how many processes the nodes have that have answered, how many there are)"""
    return sum(message["here"] for message in messages.values()), max(message["all"] for message in messages.values())


def _is_all(messages):
    if not messages:
        return False
    here, whole = _processes(messages)
    return 0 < whole <= here


def _is_of_unknown_size(messages):
    """Whether the launcher tells nobody how many it starts: only its own words can say that some are missing."""
    return bool(messages) and _processes(messages)[1] == 0


def _by_number(name):
    """n2 before n10."""
    digits = "".join(letter if letter.isdecimal() else " " for letter in name).split()
    return [int(word) for word in digits], name


def _try(options, question, seconds):
    """({node: message}, what the launcher complained about, whether it was ended as it took too long)"""
    box, found, over = letters.Box(), {}, False
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        words = [*launch.words(options), launch.COMMAND, node.VERB, *question]
        with Session(words, env=launch.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as job:
            for line in job.lines(seconds):
                letter = box.take(line)
                if letter:
                    name, _, message = letter
                    found[name] = message
                    if _is_all(found) and not over:
                        over = True
                        job.within(_ENOUGH)
        errors.seek(0)
        words = " ".join(excerpt(errors.read(), _WORDS).split())
    expired = job.expired and not over
    if expired:
        words = f"the launcher did not end within {seconds:g} s. {words}"
    good = job.returncode == 0 or (job.expired and over)
    return found, "" if good and not _is_of_unknown_size(found) else words, expired
