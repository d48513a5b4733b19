# SPDX-License-Identifier: BSD-3-Clause
"""nezha report: files that it does not replace, tells apart, or cannot use."""

import contextlib
import io
import json
import os
import re
import unittest

from report_case import Files, lines

from nezha_command import cli


class Outputs(Files):
    """No result replaces what it is made of, or another result."""

    def refused(self, *words):
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            status = cli.main(["report", *words])
        self.assertEqual(status, 2, said.getvalue())
        return said.getvalue()

    def test_an_input(self):
        path, link = self.trace(), os.path.join(self.directory.name, "link")
        os.symlink(path, link)
        with open(path, encoding="utf-8") as file:
            before = file.read()
        for words in (["--output", path], ["--output", link], ["--perfetto", path], ["--prometheus", link]):
            self.assertIn(f"would replace {path}, which is read", self.refused(path, *words))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)

    def test_one_name_in_two_directories(self):
        """Each job has its own label; a file that is named twice would be one job with samples that are there twice."""
        os.mkdir(os.path.join(self.directory.name, "other"))
        one, other = self.trace(), self.file(os.path.join("other", "job.trace"), "\n".join(lines()) + "\n")
        page, path = (os.path.join(self.directory.name, name) for name in ("page.html", "nezha.prom"))
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(cli.main(["report", one, other, "-o", page, "--prometheus", path]), 0)
        with open(path, encoding="utf-8") as file:
            samples = [line.rpartition(" ")[0] for line in file if not line.startswith("#")]
        self.assertEqual(len(samples), len(set(samples)))
        self.assertEqual({re.search('trace="(.*?)"', sample)[1] for sample in samples}, {one, other})
        self.assertIn("is named more than once", self.refused(one, os.path.join(self.directory.name, "other", "..", "job.trace"), "-o", page))

    def test_another_result(self):
        path = os.path.join(self.directory.name, "page.html")
        self.assertIn("--perfetto " + path + ": that is the file of --output", self.refused(self.trace(), "-o", path, "--perfetto", path))
        self.assertFalse(os.path.exists(path))


class Wrong(Files):
    """What is not as Nezha writes it ends with a sentence that names the file."""

    def refused(self, path, said):
        output = os.path.join(self.directory.name, "page.html")
        with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(cli.main(["report", path, "-o", output]), 3)
        self.assertIn(path, err.getvalue())
        self.assertIn(said, err.getvalue())
        self.assertFalse(os.path.exists(output))

    def test_bench_files(self):
        for text in ('{"cases":[{}]}', '{"cases":3}', '{"cases":[{"summary":{"case":{}}}]}'):
            self.refused(self.file("bench.json", text), "is not as nezha bench or contrib/bench has written it")
        self.refused(self.file("deep.json", "[" * 100000), "is neither a trace nor a file of the bench")

    def test_lines_of_a_trace(self):
        whole = list(lines())
        for old, new in (('"bytes":65536', '"bytes":"x"'), ('"bytes":65536', '"bytes":0'), ('"us":900.0', '"us":NaN'), ('"us":900.0', '"us":true'),
                         ('"sent":[30000,10000]', '"sent":[1,2,3]'), ('"sent":[30000,10000]', '"sent":7'), ('"way":"ring"', '"way":" "'),
                         ('"ranks":4', '"ranks":-4'), ('"t":0.000', '"t":[]')):
            with self.subTest(new=new):
                self.assertIn(old, whole[2])
                self.refused(self.file("job.trace", "\n".join([*whole[:2], whole[2].replace(old, new), *whole[3:]])),
                             "line 3: this is no line of a trace")
        for at, old, new in ((-1, '"class":16', '"class":64'), (-1, '"calls":60', '"calls":0'), (0, '"tick_ms":50', '"tick_ms":0')):
            whole = [*lines(), ""]
            whole[at if at == 0 else at - 1] = whole[at if at == 0 else at - 1].replace(old, new)
            self.refused(self.file("job.trace", "\n".join(whole)), "this is no line of a trace")

    def test_a_name_that_is_no_utf8(self):
        path = os.path.join(os.fsencode(self.directory.name), b"job\xff.trace")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines()) + "\n")
        page, metrics, events = (os.path.join(self.directory.name, name) for name in ("p\udcff.html", "nezha.prom", "events.json"))
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as said:
            self.assertEqual(cli.main(["report", os.fsdecode(path), "-o", page, "--prometheus", metrics, "--perfetto", events]), 0)
            said.flush()
        self.assertIn("p\ufffd.html", said.buffer.getvalue().decode())
        for name in (page, metrics):
            with open(name, encoding="utf-8") as file:
                self.assertIn("job\ufffd.trace", file.read())

    def test_a_command_line_with_a_name_that_is_no_utf8(self):
        with open(self.bench(), encoding="utf-8") as file:
            document = json.load(file)
        path = self.file("told.json", json.dumps({**document, "command": ["contrib/bench", "--json", "b\udcff.json"]}))
        page = os.path.join(self.directory.name, "page.html")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(cli.main(["report", path, "-o", page]), 0)
        with open(page, encoding="utf-8") as file:
            self.assertRegex(file.read(), "<pre>contrib/bench --json .*b[?].json")


if __name__ == "__main__":
    unittest.main()
