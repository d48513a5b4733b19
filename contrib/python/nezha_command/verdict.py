# SPDX-License-Identifier: BSD-3-Clause
"""What a trace and a bench's case come to, in a sentence each."""

from nezha_bench import carried, stats
from nezha_bench.competitors import LABELS
from nezha_bench.sizes import size_text
from nezha_bench.table import collective_text

from .trace_story import INCUMBENT

# Below this part of the bytes a rail does not count as used.
_A_SHARE = 0.05


def of_trace(trace, sizes, lost):
    """lost: how many lanes were lost."""
    calls = sum(size.calls for size in sizes)
    own = calls - _incumbents(trace)
    text = f"Rails carried {own} of {calls} calls that the trace has ({100 * own / calls:.1f} %)"
    left = _names(sizes, lambda size: size.is_incumbent)
    if left:
        text += f"; the calls of {left} went to Open MPI's own allreduce"
    shared = _names(sizes, lambda size: sum(part >= _A_SHARE for part in size.shares) > 1)
    if shared:
        text += f"; {shared} used several rails"
    elif len(trace.rails) > 1 and own:
        text += f"; no size used more than one of the {len(trace.rails)} rails"
    unsettled = _names(sizes, lambda size: not size.settled)
    if unsettled:
        text += f"; {unsettled} never settled"
    return f"{text}; {'no lane was' if lost == 0 else f'{lost} lane was' if lost == 1 else f'{lost} lanes were'} lost."


def _incumbents(trace):
    return sum(call.way == INCUMBENT for call in trace.single) + sum(row.calls for row in trace.summed if row.way == INCUMBENT)


def _names(sizes, chosen):
    return _listed([(size_text(1 << size.size_class), chosen(size)) for size in sizes])


def _listed(names):
    """(name, whether it is meant): '64K', '64K and 1M', '4K to 1M' where all between are meant, else all of them."""
    meant = [index for index, (_, is_meant) in enumerate(names) if is_meant]
    words = [names[index][0] for index in meant]
    if len(words) > 2 and meant[-1] - meant[0] == len(meant) - 1:
        return f"{words[0]} to {words[-1]}"
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def of_case(summary):
    if summary["subject"] in summary["invalid"]:
        return f"{summary['case']['name']}: INVALID: {summary['invalid'][summary['subject']]}."
    largest = summary["sizes"][-1]
    subject = largest["competitors"][summary["subject"]]
    text = (f"{summary['case']['name']}: {collective_text(summary['collective'])}at {size_text(largest['size'])} "
            f"{_name(summary['subject'])} took {_time(subject['us']['median'])}")
    if "of_limit" in subject:
        text += f", {100 * subject['of_limit']['median']:.0f} % of what the rails allow"
    best = largest["best_competitor"]
    if best and best not in summary["invalid"]:
        cell = largest["competitors"][best]
        doubt = ", which is not resolvable" if cell["subject_is"] == stats.UNRESOLVED else ""
        text += f"; the best competitor, {_name(best)}, {cell['over_subject']['median']:.2f} times as long{doubt}"
    for verdict, quantifier, words in ((stats.FASTER, all, "faster than every competitor at"), (stats.SLOWER, any, "slower than one at")):
        found = _listed([(size_text(row["size"]), _compared(summary, row, verdict, quantifier)) for row in summary["sizes"]])
        if found:
            text += f"; {words} {found}"
    return text + "."


def _name(who):
    """'Gloo (all rails)'"""
    name, _, which = LABELS[who].partition(", ")
    return f"{name} ({which})" if which else name


def _compared(summary, row, verdict, quantifier):
    """Beside the columns that are what their heading says. Where Open MPI's own carried the calls, Nezha is not the faster one."""
    if verdict == stats.FASTER and row["competitors"][summary["subject"]].get("carried_by") == carried.INCUMBENT:
        return False
    others = [cell for who, cell in row["competitors"].items() if who != summary["subject"] and who not in summary["invalid"]]
    return bool(others) and quantifier(cell["subject_is"] == verdict for cell in others)


def _time(us):
    return f"{us:.0f} µs" if us < 1000 else f"{us / 1000:.3g} ms"
