# SPDX-License-Identifier: BSD-3-Clause
"""The part "fuzz": every test/fuzz/fuzz_*.cc for a short while, beginning with its corpus, and what it covered."""

import concurrent.futures
import glob
import os
import re
import shutil

from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.run import read_log, run_logged
from nezha_check.tree import build, make

EDGES = re.compile(r"cov: (\d+) ft: (\d+)")
RUNS = re.compile(r"stat::number_of_executed_units: (\d+)")
LINE_COVERAGE_COLUMN = 9  # of llvm-cov's report: file, regions x3, functions x3, lines x2, then this


def seconds_each(check):
    return 3 if check.quick else 300 if check.long else 8


def covered_lines(check, program, profile, log):
    """'wire.cc 97 %, ...' for the engine's sources that a run reached, the longest first; '' without LLVM's tools."""
    data = f"{profile}.data"
    if not shutil.which("llvm-cov") or not shutil.which("llvm-profdata"):
        return ""
    if run_logged(["llvm-profdata", "merge", "-sparse", profile, "-o", data], log, 60) != 0:
        return ""
    run_logged(["llvm-cov", "report", program, f"-instr-profile={data}"], log, 60)
    rows = []
    for line in read_log(log).splitlines():
        words = line.split()
        if len(words) > LINE_COVERAGE_COLUMN and words[0].endswith(".cc") and "fuzz_" not in words[0]:
            lines, share = int(words[LINE_COVERAGE_COLUMN - 2]), float(words[LINE_COVERAGE_COLUMN].rstrip("%"))
            if share > 0:
                rows.append((lines, f"{os.path.basename(words[0])} {share:.0f} %"))
    return ", ".join(text for _, text in sorted(rows, reverse=True)[:4])


def target_of(source):
    """What make calls the program of a source file."""
    return f"test/fuzz/{os.path.splitext(os.path.basename(source))[0]}"


def directory(check):
    return os.path.join(check.build_dir, "fuzz")


def run_target(check, source):
    """Builds and runs one target. Returns its case and says what it covered."""
    build_dir, name = directory(check), os.path.basename(target_of(source))
    log, work = check.log(name), os.path.join(build_dir, "found", name)
    program, seeds = os.path.join(build_dir, target_of(source)), os.path.join(check.top, "test", "fuzz", "corpus", name)
    if not os.path.isdir(seeds) or not os.listdir(seeds):
        return Case(name, FAILED, f"has no corpus in test/fuzz/corpus/{name}")
    status, make_log = make(check, build_dir, f"build-{name}", target_of(source))
    if status != 0:
        return Case(name, FAILED, "does not compile", make_log)
    os.makedirs(work, exist_ok=True)
    profile = os.path.join(build_dir, f"{name}.profile")
    seconds = seconds_each(check)
    status = run_logged([program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
                         f"-artifact_prefix={work}/", work, seeds], log, seconds + 120,
                        dict(os.environ, LLVM_PROFILE_FILE=profile), build_dir)
    output = read_log(log)
    runs, edges = RUNS.findall(output), EDGES.findall(output)
    if status != 0 or not runs:
        return Case(name, FAILED, f"exit status {status}, input kept in {work}", log)
    lines = covered_lines(check, program, profile, check.log(f"{name}-coverage"))
    print(f"  {name}: {runs[-1]} inputs in {seconds} s, {edges[-1][0] if edges else 0} edges"
          f"{'; lines: ' + lines if lines else ''}", flush=True)
    return Case(name, PASSED, log=log)


def sources_of(check):
    return sorted(glob.glob(os.path.join(check.top, "test", "fuzz", "fuzz_*.cc")))


def prepare_fuzz(check):
    """Compiles the engine, and the targets as far as they can be: the case of the engine."""
    if not shutil.which("clang++"):
        return Case("fuzz targets", SKIPPED, "clang is not installed")
    build_dir = directory(check)
    built = build(check, "fuzz", build_dir, "--enable-sanitizer=fuzzer", "CC=clang", "CXX=clang++", "CFLAGS=-O1 -g",
                  "CXXFLAGS=-O1 -g", target="PRECOMPILED=standard libnezha_engine.la")
    if built.outcome == PASSED:
        make(check, build_dir, "build-fuzz-targets", "--keep-going", *map(target_of, sources_of(check)))
    return built


def run_fuzz(check, built):
    if built.outcome != PASSED:
        return [built]
    with concurrent.futures.ThreadPoolExecutor(check.jobs) as pool:
        return [built, *pool.map(lambda source: run_target(check, source), sources_of(check))]
