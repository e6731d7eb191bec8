"""Ledgers: the tables that docs/LEDGER.md describes, frames, and files of others."""

import re
import sqlite3
import unittest

import assay
from assay.ledger import APPLICATION, VERSION
from helpers import ROOT, InFolder, needs


def documented():
    """Types by column by table, as docs/LEDGER.md has them."""
    tables = {}
    columns = None
    for line in (ROOT / "docs/LEDGER.md").read_text().splitlines():
        if heading := re.match(r"## `(\w+)`", line):
            columns = tables.setdefault(heading[1], {})
        elif line.startswith("## "):
            columns = None
        elif columns is not None and line.startswith("| `"):
            names, types = line.split("|")[1:3]
            names = re.findall(r"`(\w+)`", names)
            types = [one.strip() for one in types.split(",")]
            columns.update(zip(names, types * len(names) if len(types) == 1 else types, strict=True))
    return tables


class Document(InFolder):
    def test_has_the_tables_and_columns_of_a_ledger(self):
        assay.call("run", "fwht_v1/d256/h1/standalone/gauss/s1", "--ledger", "real.sqlite")
        database = sqlite3.connect("real.sqlite")
        self.addCleanup(database.close)
        real = {
            table: {name: kind or "any" for _, name, kind, *_ in database.execute(f"PRAGMA table_info({table})")}
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        self.maxDiff = None
        self.assertEqual(documented(), real)
        text = (ROOT / "docs/LEDGER.md").read_text()
        for pragma, known in [("application_id", APPLICATION), ("user_version", VERSION)]:
            self.assertEqual(database.execute(f"PRAGMA {pragma}").fetchone()[0], known)
        self.assertIn(f"`PRAGMA application_id` is {APPLICATION} ", text)
        self.assertIn(f"describes version {VERSION}.", text)

    def test_tells_what_every_version_added(self):
        rows = re.findall(r"^\| (\d+) \| ", (ROOT / "docs/LEDGER.md").read_text(), re.MULTILINE)
        self.assertEqual(rows, [str(version) for version in range(2, VERSION + 1)])


class Files(InFolder):
    def write(self, *statements, application=APPLICATION, version=VERSION):
        self.addCleanup((self.folder / "made.sqlite").unlink, missing_ok=True)
        (self.folder / "made.sqlite").unlink(missing_ok=True)
        database = sqlite3.connect("made.sqlite")
        for statement in (f"PRAGMA application_id = {application}", f"PRAGMA user_version = {version}", *statements):
            database.execute(statement)
        database.commit()
        database.close()
        return "made.sqlite"

    def test_that_are_no_ledgers_are_refused(self):
        plain = "CREATE TABLE run(id)"
        for words, statements, options in [
            ("is no ledger", [plain], {"application": 7}),
            (f"has version {VERSION + 93}", [plain], {"version": VERSION + 93}),
            ("has version 0", [plain], {"version": 0}),
            ("the view 'verdict'", [plain, "CREATE VIEW verdict AS SELECT 1"], {}),
            ("the trigger 'x'", [plain, "CREATE TRIGGER x AFTER INSERT ON run BEGIN SELECT 1; END"], {}),
            ("the table 'v'", ["create virtual table v using fts5(a)"], {}),
            ("computed column", ["CREATE TABLE run(id, a AS (id + 1))"], {}),
        ]:
            with self.subTest(words), self.assertRaisesRegex(assay.LedgerError, re.escape(words)):
                assay.Ledger(self.write(*statements, **options))
        (self.folder / "text.sqlite").write_text("no database\n" * 100)
        for path in ["text.sqlite", "missing.sqlite", "."]:
            with self.subTest(path), self.assertRaises(assay.LedgerError):
                assay.Ledger(path)

    @needs("pandas")
    def test_of_others_may_hold_any_text(self):
        name = "a\nb\t\x1b[31m::error::\"';--\\"
        file = self.write(
            "CREATE TABLE run(id, command)",
            "CREATE TABLE verdict(run, name, ordinal, axes)",
            "INSERT INTO run VALUES(1, CAST(x'61ff62' AS TEXT))",
            f"INSERT INTO verdict VALUES(1, CAST(x'{name.encode().hex()}' AS TEXT), 0, '{{\"a b\": 1}}')",
        )
        with assay.Ledger(file) as ledger:
            self.assertEqual(ledger.runs()["command"].tolist(), ["a\\xffb"])
            self.assertEqual(ledger.verdicts()[["name", "axes.a b"]].values.tolist(), [[name, 1]])
            for words, wanted in [("has no run 2", lambda: ledger.verdicts(2)), ("has no table", lambda: ledger.table('run"; DROP TABLE run'))]:
                with self.assertRaisesRegex(assay.LedgerError, words):
                    wanted()
        for axes in ["NULL", "'[1]'", "'{'", "'" + "[" * 100000 + "'"]:
            file = self.write("CREATE TABLE run(id)", "CREATE TABLE verdict(run, ordinal, axes)", f"INSERT INTO verdict VALUES(1, 0, {axes})", "INSERT INTO run VALUES(1)")
            with assay.Ledger(file) as ledger, self.assertRaisesRegex(assay.LedgerError, "no JSON object"):
                ledger.verdicts()

    @needs("pandas")
    def test_are_never_written(self):
        file = self.write("CREATE TABLE run(id)")
        with assay.Ledger(file) as ledger:
            for statement in ["INSERT INTO run VALUES(1)", "DROP TABLE run", "SELECT no_such_column"]:
                with self.subTest(statement), self.assertRaises(assay.LedgerError):
                    ledger.query(statement)
            with self.assertRaisesRegex(assay.LedgerError, "has no run"):
                ledger.latest()

    @needs("pandas")
    def test_agree_with_the_report(self):
        report = assay.run("fwht_v1/d256/h1/*", ledger="runs.sqlite")
        with assay.Ledger("runs.sqlite") as ledger:
            verdicts = ledger.verdicts()
            self.assertEqual(ledger.table("run", run=1)["id"].tolist(), [1])
        cases = report.cases()
        self.assertGreater(len(cases), 5)
        for ours, theirs in [("name", "name"), ("max_ratio", "judgement.error_over_bound"), ("axes.head_dim", "axes.head_dim")]:
            self.assertEqual(verdicts[ours].tolist(), cases[theirs].tolist())


if __name__ == "__main__":
    unittest.main()
