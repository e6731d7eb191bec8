"""Commands: words of options, results and errors."""

import os
import unittest
from unittest import mock

import assay
from assay import command
from helpers import ROOT, InFolder

CASE = "fwht_v1/d256/h1/standalone/gauss/s1"


class Words(unittest.TestCase):
    def test_keywords_are_options(self):
        words = command._options({"policy": "checked", "fail_fast": True, "strict": False, "ledger": None, "set": ["a=1", "-b=2"], "jobs": 2})
        self.assertEqual(words, ["--policy=checked", "--fail-fast", "--set=a=1", "--set=-b=2", "--jobs=2"])


class Runs(InFolder):
    def test_a_run_is_a_report(self):
        report = assay.run(CASE, policy="checked", ledger="runs.sqlite")
        self.assertEqual((report.failures, report.summary["statuses"]), (0, {"passed": 1}))
        self.assertEqual((report.run["policy"], report.outcome.status), ("checked", 0))
        self.assertEqual([case["name"] for case in report.document["cases"]], [CASE])
        self.assertTrue((self.folder / "runs.sqlite").is_file())

    def test_a_failure_is_a_result(self):
        source = (ROOT / "kernels/variants/fwht_v1/kernel.metal").read_text()
        broken = source.replace("= a - b;", "= b - a;")
        self.assertNotEqual(source, broken)
        (self.folder / "broken.metal").write_text(broken)
        report = assay.run("*/d256/h1/*", kernel="broken.metal", family="fwht")
        self.assertEqual(report.outcome.status, 1)
        self.assertEqual(report.failures, report.summary["statuses"]["failed"])

    def test_wrong_usage_raises(self):
        with self.assertRaisesRegex(assay.CommandError, "ended with status 2") as caught:
            assay.run("no_such_kernel/d1")
        self.assertEqual(caught.exception.outcome.status, 2)
        with self.assertRaisesRegex(assay.CommandError, "--no-such-option"):
            assay.gate(no_such_option=1)

    def test_words_reach_no_shell_and_no_option(self):
        for name in ["; touch made", "$(touch made)", "--ledger=made", "a\nb", "'\"`"]:
            with self.subTest(name), self.assertRaises(assay.CommandError):
                assay.run(name)
        self.assertEqual(os.listdir(), [])

    def test_a_missing_command_is_named(self):
        with mock.patch.dict(os.environ, {"ASSAY_COMMAND": "/nowhere/assay"}), self.assertRaisesRegex(assay.CommandError, "/nowhere/assay"):
            assay.call("list")


if __name__ == "__main__":
    unittest.main()
