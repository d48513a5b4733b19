# SPDX-License-Identifier: BSD-3-Clause
"""Builds the engine and compiled tests from units of many sources, see united.py: some programs, each of which has several
tests, that run one by one all the same."""

import dataclasses
import os
import subprocess

from nezha_check.results import PASSED
from nezha_check.tree import made
from nezha_check.united import source, units

FOLDER = "united"  # in the build directory
CONFIGURED = "Makefile"  # what has to be made before: nothing but that
ENGINE = ("engine_sources", "libnezha_sim_la_SOURCES", "libnezha_simulate_la_SOURCES")  # make's variables
PRECOMPILED = "test/precompiled/googletest.h"  # for units of tests
APART = "components/reduce/kernels.cc"  # is compiled once for each kind of processor
# These make what tests hand in and what has to come of it, number by number: they are optimised, and no sanitizer looks at them.
NUMBERS = ("test/threads/kinds.cc", "test/unit/node_case.cc")
# The tests' own code is compiled with other flags. The engine calls its own copies of inline functions, not those of tests. The
# compiler may use half a GiB before it looks for memory that it does not need any more, which takes time.
RULES = """include Makefile
united_flags = $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) -I$(top_srcdir) -DNEZHA_TEST_TABLES='"$(abs_top_srcdir)/test/tables"' \\
	$(CPPFLAGS) $(AM_CXXFLAGS) -fPIC -fvisibility=default -fno-semantic-interposition -Wno-subobject-linkage \\
	--param=ggc-min-heapsize=524288
united_link = $(CXX) $(CXXFLAGS) $(AM_LDFLAGS) -o $@ $(filter %.o %.so,$^) -Wl,-rpath,$(abs_builddir)/united
united_libraries = $(NETTLE_LIBS) $(HWLOC_LIBS) $(MNL_LIBS) $(LIBS)
united/%.o: united/%.cc
	$(AM_V_CXX)$(CXX) $(united_flags) $(CXXFLAGS) -MMD -MP -c -o $@ $<
united/numbers-%.o: united/numbers-%.cc
	$(AM_V_CXX)$(CXX) $(united_flags) $(CXXFLAGS) -O2 -fno-sanitize=all -MMD -MP -c -o $@ $<
united/tests.h.gch: united/tests.h
	$(AM_V_CXX)$(CXX) $(united_flags) $(TEST_CXXFLAGS) -x c++-header -MMD -MP -MF united/tests.d -o $@ $<
united/test-%.o: united/test-%.cc united/tests.h.gch
	$(AM_V_CXX)$(CXX) $(united_flags) $(TEST_CXXFLAGS) -include united/tests.h -MMD -MP -c -o $@ $<
united/libengine.so: $(united_engine) $(engine_libadd)
	$(AM_V_CXXLD)$(united_link) -shared -Wl,-Bsymbolic-functions $(engine_libadd:%.la=.libs/%.a) $(united_libraries)
-include united/*.d
"""


@dataclasses.dataclass
class Program:
    """A program of several tests. `tests`: the suites of each, by its name; `objects`: what it is linked with beside its unit
    and the engine."""

    name: str
    tests: dict
    objects: list


def _asked(build_dir, words):
    """What make says to `words`."""
    return subprocess.run(["make", "-C", build_dir, "-s", "--no-print-directory", f"--eval=united-ask:;@printf '%s\\n' {words}",
                           "united-ask"], check=True, capture_output=True, text=True).stdout.splitlines()


def _variable(program):
    return program.replace("/", "_").replace(".", "_") + "_SOURCES"


def _sources(check, build_dir, variables):
    """Of each of make's variables the sources that it lists, without headers."""
    lines = _asked(build_dir, " ".join(f"'$({variable})'" for variable in variables))
    return [[source(os.path.join(check.top, word), check.top) for word in line.split() if word.endswith(".cc") and word != APART]
            for line in lines]


class United:
    """What is to be built in a configured directory: the engine, and compiled tests and programs that others run, by their names
    among `wanted`. What is no program there is made as usual. `beside`: a source that is linked into each program."""

    def __init__(self, check, build_dir, wanted, beside=None):
        self._check, self._dir = check, build_dir
        modules = [name for name in wanted if name.endswith(".la")]
        self._usual = [name for name in wanted if "." in name and name not in modules]
        programs = [name for name in wanted if "." not in name]
        self._units = {}  # sources by the name of the unit
        engine = [file for files in _sources(check, build_dir, ENGINE) for file in files]
        self._engine = self._add("engine", units([[file] for file in engine]))
        self._modules = {name.replace(stem := os.path.basename(name), f".libs/{stem[:-3]}.so"): self._add("module", [[files]])
                         for name, files in zip(modules, _sources(check, build_dir, map(_variable, modules)))}
        self._beside = self._add("beside", [[[source(os.path.join(check.top, beside), check.top)]]] if beside else [])
        self._programs = self._planned(dict(zip(programs, _sources(check, build_dir, map(_variable, programs)))))

    def _add(self, stem, made_units):
        names = [f"{FOLDER}/{stem}-{number}" for number in range(len(made_units))]
        for name, unit in zip(names, made_units):
            self._units[name] = [file for group in unit for file in group]
        return names

    def _planned(self, wanted):
        """wanted: sources by the name of the test. The programs for them."""
        helpers = {}  # by folder: sources that are no tests, and no allocators
        own = {}
        for name, files in wanted.items():
            own[name] = [file for file in files if self._is_own(name, file)]
            for file in files:
                if file not in own[name] and not file.allocates:
                    helpers.setdefault(self._place(file), {})[file] = None
        objects = {place: self._add(place, units([[file] for file in files])) for place, files in helpers.items()}
        found = []
        for key in dict.fromkeys(self._kind(name, files) for name, files in wanted.items()):
            alike = [name for name, files in wanted.items() if self._kind(name, files) == key]
            for unit in units([own[name] for name in alike]):
                names = [name for name in alike if own[name] in unit]
                needed = {file for name in names for file in wanted[name] if file not in own[name]}
                program = f"{FOLDER}/test-{len(found)}"
                self._units[program] = [file for group in unit for file in group]
                places = sorted({self._place(file) for file in needed if not file.allocates})
                linked = [unit for place in places for unit in objects[place]]
                linked += self._add("help-allocating", [[[file]] for file in needed if file.allocates])
                found.append(Program(program, {name: sorted(frozenset().union(*(file.suites for file in own[name])))
                                               for name in names}, linked + self._beside))
        return found

    def _place(self, file):
        """The stem of the units that a test's helper is part of: of one folder, or of numbers only."""
        path = os.path.relpath(file.path, self._check.top)
        folder = os.path.basename(os.path.dirname(path))
        return f"numbers-{folder}" if path in NUMBERS else f"help-{folder}"

    def _is_own(self, name, file):
        base = os.path.basename(file.path)
        return base.startswith("test_") or base == os.path.basename(name) + ".cc"

    def _kind(self, name, files):
        """What tests of one program have in common."""
        return (os.path.dirname(name), any(file.allocates for file in files),
                name if any(file.is_program for file in files) else "")

    def write(self):
        """Writes units and rules; what has not changed keeps its time."""
        os.makedirs(os.path.join(self._dir, FOLDER), exist_ok=True)
        for name, files in self._units.items():
            _write(os.path.join(self._dir, f"{name}.cc"), "".join(f'#include "{file.path}"\n' for file in files))
        _write(os.path.join(self._dir, f"{FOLDER}/tests.h"), f'#include "{os.path.join(self._check.top, PRECOMPILED)}"\n')
        rules = "united_engine = " + " ".join(f"{name}.o" for name in self._engine) + "\n" + RULES
        for program in self._programs:
            needs = " ".join(f"{name}.o" for name in (program.name, *program.objects))
            rules += f"{program.name}: {needs} united/libengine.so\n"
            rules += "\t$(AM_V_CXXLD)$(united_link) $(GTEST_LIBS) $(united_libraries)\n"
        for module, names in self._modules.items():
            rules += f"{module}: {' '.join(f'{name}.o' for name in names)} united/libengine.so\n"
            rules += "\t@$(MKDIR_P) $(@D)\n\t$(AM_V_CXXLD)$(united_link) -shared $(united_libraries)\n"
        rules += f"united: {' '.join([*(program.name for program in self._programs), *self._modules])}\n.PHONY: united\n"
        _write(os.path.join(self._dir, f"{FOLDER}.mk"), rules)

    def make(self, name, flags):
        """The cases of compiling it. `flags`: of the tests' own code."""
        self.write()
        cases = [made(self._check, name, self._dir, "units", "-f", f"{FOLDER}.mk", f"TEST_CXXFLAGS={flags}", "united")]
        alone = {test: program.name for program in self._programs for test, suites in program.tests.items() if not suites}
        for test, program in alone.items():  # others look for it at its usual place
            _link(os.path.join(self._dir, program), os.path.join(self._dir, test))
        if cases[0].outcome == PASSED and self._usual:
            done = [word for test in alone for word in ("-o", test)]
            cases.append(made(self._check, name, self._dir, "tests", *done, *self._usual))
        return cases

    def command(self, test):
        """The argv that runs it. What suites nobody claims go with a program's first test."""
        program = next(program for program in self._programs if test in program.tests)
        first = test == next(iter(program.tests))
        others = {suite for name, suites in program.tests.items() if name != test for suite in suites}
        return [os.path.join(self._dir, program.name), *_filter(program.tests[test], others, first)]


def _filter(suites, others, first):
    """googletest's option for these suites, or for all but those of others."""
    chosen = ":".join(pattern for suite in sorted(others if first else suites)
                      for pattern in (f"{suite}.*", f"{suite}/*", f"*/{suite}.*", f"*/{suite}/*"))
    return [f"--gtest_filter={'-' if first else ''}{chosen}"] if others else []


def _write(path, text):
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _link(program, place):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if not os.path.lexists(place):
        os.symlink(program, place)
