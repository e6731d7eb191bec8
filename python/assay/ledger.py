"""Ledgers as pandas frames: docs/LEDGER.md describes tables and columns."""

import json
import os
import pathlib
import sqlite3
import urllib.parse

from assay.errors import LedgerError

APPLICATION = 0x41535359
VERSION = 7


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Ledger:
    """A ledger, opened for reading. A context manager, which closes the file."""

    def __init__(self, path):
        self.path = pathlib.Path(os.fspath(path))
        if not self.path.is_file():
            raise LedgerError(f"{self.path} is no file")
        try:
            self._connection = sqlite3.connect(f"file:{urllib.parse.quote(str(self.path.resolve()))}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path}: {error}") from None
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self):
        # Texts may hold any bytes, and others' files may hold definitions that run code whenever they are read.
        self._connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        self._execute("PRAGMA trusted_schema = OFF")
        self._execute("PRAGMA query_only = ON")
        if self._pragma("application_id") != APPLICATION:
            raise LedgerError(f"{self.path} is no ledger of assay")
        self.version = self._pragma("user_version")
        if not 1 <= self.version <= VERSION:
            raise LedgerError(f"{self.path} has version {self.version}; this package knows versions 1 to {VERSION}")
        self.tables = []
        for kind, name, sql in self._execute("SELECT type, name, sql FROM sqlite_master ORDER BY name"):
            if kind not in ("table", "index") or (sql or "").upper().startswith("CREATE VIRTUAL"):
                raise LedgerError(f"{self.path} has the {kind} {name!r}; the tables of a ledger are plain")
            if kind == "table" and not name.startswith("sqlite_"):
                self.tables.append(name)
        for table in self.tables:
            if any(column[6] for column in self._execute(f"PRAGMA table_xinfo({_quoted(table)})")):
                raise LedgerError(f"{self.path}: table {table!r} has a computed column; the tables of a ledger are plain")

    def _execute(self, sql, parameters=()):
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path}: {error}") from None

    def _pragma(self, name):
        return self._execute(f"PRAGMA {name}")[0][0]

    def close(self):
        """Closes the file."""
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def query(self, sql, parameters=()):
        """The rows of a SELECT as a frame."""
        import pandas

        try:
            cursor = self._connection.execute(sql, parameters)
            columns = [column[0] for column in cursor.description or []]
            return pandas.DataFrame.from_records(cursor.fetchall(), columns=columns)
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path}: {error}") from None

    def latest(self):
        """The number of the newest run."""
        run = self._execute("SELECT max(id) FROM run")[0][0]
        if run is None:
            raise LedgerError(f"{self.path} has no run")
        return run

    def runs(self):
        """All runs, oldest first."""
        return self.query("SELECT * FROM run ORDER BY id")

    def table(self, name, run=None):
        """The rows of a table, of one run or of all."""
        if name not in self.tables:
            raise LedgerError(f"{self.path} has no table {name!r}; it has {', '.join(self.tables)}")
        if run is None:
            return self.query(f"SELECT * FROM {_quoted(name)}")
        key = "id" if name == "run" else "run"
        return self.query(f"SELECT * FROM {_quoted(name)} WHERE {key} = ?", (run,))

    def verdicts(self, run=None):
        """The cases of a run, by default the newest, in the order of starting. Each axis is a column, such as `axes.head_dim`."""
        import pandas

        wanted = self.latest() if run is None else run
        frame = self.query("SELECT * FROM verdict WHERE run = ? ORDER BY ordinal", (wanted,))
        if frame.empty and not self._execute("SELECT 1 FROM run WHERE id = ?", (wanted,)):
            raise LedgerError(f"{self.path} has no run {wanted}")
        axes = pandas.DataFrame([self._axes(text) for text in frame.pop("axes")], index=frame.index)
        return frame.join(axes.add_prefix("axes."))

    def _axes(self, text):
        try:
            axes = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            axes = None
        if not isinstance(axes, dict):
            raise LedgerError(f"{self.path}: the axes of a verdict are no JSON object: {text!r}")
        return axes
