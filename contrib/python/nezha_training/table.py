# SPDX-License-Identifier: BSD-3-Clause
"""What is printed of the rounds, and its figures."""

import statistics

from nezha_bench import stats, stolen
from nezha_bench.competitors import AGAIN, NEZHA
from nezha_command import terminal

from . import jobs

_COLUMNS = ("who", "iterations/s", "s/iteration", "Nezha is", "least, most", "")
_RIGHT = _COLUMNS[1:4]


def summarise(measured, warm):
    """A dict of numbers and lists. A ratio is Nezha's iterations per second over theirs, round by round."""
    seconds = {who: [job[who].seconds_per_iteration(warm) for job in measured.rounds] for who in (*measured.competitors, AGAIN)
               if who in measured.rounds[0]}
    first = next(iter(measured.rounds[0].values()))
    cells = {}
    for who in measured.competitors:
        cells[who] = {"seconds": statistics.median(seconds[who]), "iterations": [len(one[who].iterations) - warm for one in measured.rounds]}
        if who != NEZHA and NEZHA in seconds:
            ratios = stats.pair_ratios(seconds[who], seconds[NEZHA])
            cells[who]["ratio"] = {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    found = {
        "case": measured.case.name, "nodes": measured.case.nodes, "rails": list(measured.case.rails), "model": measured.model,
        "parameters": first.start["parameters"], "options": first.start, "rounds": len(measured.rounds), "warm": warm,
        "competitors": cells, "limit_seconds": measured.limit,
        "computing_seconds": statistics.median(job.computing() for one in measured.rounds for job in one.values()),
        "noise_floor": None, "stolen": max(job.stolen for one in measured.rounds for job in one.values()),
        "interrupted": measured.interrupted, "failure": measured.failure,
    }
    if AGAIN in seconds and NEZHA in seconds:
        again = stats.pair_ratios(seconds[AGAIN], seconds[NEZHA])
        found["noise_floor"] = max(abs(ratio - 1) for ratio in again)
        found["carried"] = measured.rounds[0][NEZHA].carried
        found["settled"] = measured.rounds[0][NEZHA].settled
    return found


def verdict(cell, floor):
    """Of Nezha beside one other."""
    if floor is None:
        return stats.UNRESOLVED
    ratio = cell["ratio"]
    return stats.verdict_within(ratio["median"], ratio["least"], ratio["most"], len(cell["iterations"]), floor)


def best_of_the_others(found):
    """The competitor that is fastest beside Nezha; None where there is none."""
    others = {who: cell["seconds"] for who, cell in found["competitors"].items() if "ratio" in cell}
    return min(others, key=others.get) if others else None


def show(measured, warm):
    found = summarise(measured, warm)
    options = found["options"]
    terminal.say(f"\n{jobs.MODELS[found['model']]}, {found['parameters']:,} parameters, {found['nodes']} nodes, rails "
                 f"{' + '.join(found['rails'])}, {options['batch']} image(s) of {options['image']} x {options['image']} a rank", "bold")
    terminal.print_table(_COLUMNS, [_row(who, cell, found["noise_floor"]) for who, cell in found["competitors"].items()], right=_RIGHT)
    for sentence in sentences(found, measured.learned):
        terminal.say(f"- {sentence}")


def _row(who, cell, floor):
    begin = (jobs.NAMES[who], f"{1 / cell['seconds']:.3f}", f"{cell['seconds']:.2f}")
    if "ratio" not in cell:
        return *begin, "", "", ""
    ratio = cell["ratio"]
    return *begin, f"{ratio['median']:.2f} x", f"{ratio['least']:.2f}, {ratio['most']:.2f}", verdict(cell, floor)


def sentences(found, learned):
    counted = [count for cell in found["competitors"].values() for count in cell["iterations"]]
    yield (f"Medians of {found['rounds']} round(s); a job's figure is the mean of its iterations ({min(counted)} to {max(counted)}) behind "
           f"the first {found['warm']}.")
    best = best_of_the_others(found)
    if best:
        yield f"The best of the others is {jobs.NAMES[best]}: Nezha does {found['competitors'][best]['ratio']['median']:.2f} x its iterations."
    if found["noise_floor"] is not None:
        yield f"Nezha differs from itself (A/A) by {100 * found['noise_floor']:.1f} % at most."
    yield (f"An iteration takes {found['computing_seconds']:.2f} s where nothing is added up (all ranks compute on this machine's cores), and "
           f"the wires need {found['limit_seconds']:.2f} s for its gradients.")
    if learned:
        yield _learned(learned)
    elif found.get("settled"):
        yield f"Nezha learns in each of its jobs. Settled in the first one: {_settled(found['settled'])}."
    if found["stolen"] > stolen.MOST:
        yield f"{stolen.most_text(found['stolen'])}."
    if found["failure"] or found["interrupted"]:
        yield f"Ended early: {found['failure'] or 'interrupted'}"


def _learned(job):
    took = sum(one["seconds"] for one in job.iterations)
    open_ones = len(job.carried) - len(job.settled)
    what = (f"one of {took:.0f} s has learned in {len(job.iterations)} iterations (the first {job.iterations[0]['seconds']:.2f} s, the last "
            f"{job.iterations[-1]['seconds']:.2f} s)")
    if not job.settled:
        return f"Nezha's jobs learn anew: nothing of what {what} had settled."
    return (f"Nezha's jobs begin with what {what}. Settled: {_settled(job.settled)}"
            + (f"; {open_ones} size(s) not yet." if open_ones > 0 else "."))


def _settled(sizes):
    return "; ".join(f"from {size} {candidate} after {calls} calls" for size, (candidate, calls) in sizes.items())
