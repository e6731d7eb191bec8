"""Runs assay and reads what it writes: docs/PYTHON.md.

pandas, numpy and h5py are imported by the functions that need them. The command is `$ASSAY_COMMAND`, else `assay` of `$PATH`.
"""

from assay.bundle import Bundle
from assay.command import Outcome, call, find_command, gate, run
from assay.errors import AssayError, BundleError, CommandError, FixtureError, LedgerError, ReportError
from assay.fixture import Bfloat, Fixture, read_fixture, write_fixture
from assay.ledger import Ledger
from assay.report import Report

__all__ = [
    "AssayError",
    "Bfloat",
    "Bundle",
    "BundleError",
    "CommandError",
    "Fixture",
    "FixtureError",
    "Ledger",
    "LedgerError",
    "Outcome",
    "Report",
    "ReportError",
    "call",
    "find_command",
    "gate",
    "read_fixture",
    "run",
    "write_fixture",
]
