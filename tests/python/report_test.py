"""Reports: parts as frames, and documents that are none."""

import json
import unittest

import assay
from assay.report import COLUMNS
from helpers import ROOT, InFolder, needs


def report_of(**parts):
    return assay.Report({"format": "assay-report", "version": 1, "run": {}, "summary": {"failures": 0}, **parts})


class Documents(InFolder):
    def test_other_than_reports_are_refused(self):
        for text in ["", "{", "[]", "7", '{"format": "assay-bundle", "version": 1}', '{"format": "assay-report", "version": 2}', "[" * 100000]:
            with self.subTest(text[:40]), self.assertRaises(assay.ReportError):
                assay.Report.parse(text)


@needs("pandas")
class Frames(unittest.TestCase):
    def test_have_their_columns_without_rows(self):
        for part, columns in COLUMNS.items():
            self.assertEqual(report_of().frame(part).columns.tolist(), columns)
        with self.assertRaisesRegex(assay.ReportError, "no part 'run'"):
            report_of().frame("run")

    def test_have_the_members_that_the_schema_requires(self):
        schema = json.loads((ROOT / "docs/report.schema.json").read_text())
        for part, columns in COLUMNS.items():
            items = schema["properties"][part]["items"]
            entry = schema["$defs"][items["$ref"].split("/")[-1]] if "$ref" in items else items
            flat = {name for name in entry["required"] if entry["properties"][name].get("type") != "object"}
            self.assertEqual(flat, {column for column in columns if "." not in column}, part)
            for column in columns:
                if "." in column:
                    outer, inner = column.split(".")
                    self.assertIn(inner, entry["properties"][outer]["required"], column)

    def test_keep_any_text(self):
        name = "a\nb\x00\ud800::'\""
        frame = report_of(cases=[{"name": name, "axes": {"x": 1}}, {"name": "b", "new": 2}]).cases()
        self.assertEqual(frame["name"].tolist(), [name, "b"])
        self.assertEqual(frame.loc[0, "axes.x"], 1)
        self.assertEqual(frame.loc[1, "new"], 2)


if __name__ == "__main__":
    unittest.main()
