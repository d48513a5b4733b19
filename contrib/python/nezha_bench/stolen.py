# SPDX-License-Identifier: BSD-3-Clause
"""What a virtual machine's host took of its processors' time ("steal" in proc(5)) while a size was measured.

Such a measurement is about the host. What counts is chosen by that alone, never by the times themselves.
"""

from . import stats

MEMBER = "stolen"  # of a size's members: a part, 0 to 1
MOST = 0.03        # of a measurement that counts: one tick of /proc/stat in a sixth of a second on two processors
FEWEST = 3         # measurements that must be left, else all count

_STEAL = 7
_KNOWN = 8  # user, nice, system, idle, iowait, irq, softirq, steal; what follows is in these already


class Watch:
    """Parts of all processors' time, each since the one before."""

    def __init__(self, stat="/proc/stat"):
        self._stat = stat
        self._before = self._read()

    def _read(self):
        with open(self._stat, encoding="ascii") as lines:
            ticks = [int(word) for word in lines.readline().split()[1:1 + _KNOWN]]
        return sum(ticks), ticks[_STEAL]

    def part(self):
        now = self._read()
        total, stolen = (late - early for late, early in zip(now, self._before))
        self._before = now
        return stolen / total if total > 0 else 0.0


def counted(rounds, names):
    """(those of [{name: members}] that count, restless): the calm ones for all of `names`; all, where these are too few."""
    calm = [members for members in rounds if all(members[name].get(MEMBER, 0.0) <= MOST for name in names)]
    restless = len(calm) < min(FEWEST, len(rounds))
    return rounds if restless else calm, restless


def mark(restless):
    """Behind a figure; sentences() say what it means."""
    return " s" if restless else ""


class Samples:
    """A size's values by competitor and round, as far as they count."""

    def __init__(self, rounds, size):
        self._members = [{who: launch.sizes[size] for who, launch in launches.items()} for launches in rounds
                         if all(size in launch.sizes for launch in launches.values())]
        self.restless = False  # somewhere too few were calm, so that all count

    def times(self, who, name):
        return [members[who].get(name) for members in self._counted([who])]

    def ratios(self, above, below, name):
        """Round by round, where both count."""
        both = self._counted([above, below])
        return stats.pair_ratios([members[above][name] for members in both], [members[below][name] for members in both])

    def too_few(self, subject, others):
        """Whether that is so for the subject beside one of the others."""
        for who in others:
            self._counted([who, subject])
        return self.restless

    def _counted(self, competitors):
        members, restless = counted(self._members, competitors)
        self.restless = self.restless or restless
        return members


def summarise(launches):
    """Of {size: members} by launch: {"most": the largest part, "disturbed": how many had more than MOST, "of": of how many}."""
    parts = [members.get(MEMBER, 0.0) for sizes in launches for members in sizes.values()]
    return {"most": max(parts), "disturbed": sum(part > MOST for part in parts), "of": len(parts)}


def most_text(part):
    return f"The host took up to {100 * part:.0f} % of this machine's processor time (steal)"


def sentences(found, restless):
    """For people, of summarise()'s dict; restless: whether a size is. Nothing where the host took nothing."""
    if not found["disturbed"]:
        return
    yield (f"{most_text(found['most'])}. Measurements with more than "
           f"{100 * MOST:.0f} % ({found['disturbed']} of {found['of']}) do not count where {FEWEST} others do.")
    if restless:
        yield "s: there they do count."
