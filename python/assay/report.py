"""Reports: the JSON of `assay report --format json` as pandas frames."""

import json
import pathlib

from assay.errors import ReportError

# The columns that a frame has even without rows: the required members of docs/report.schema.json that are no objects.
COLUMNS = {
    "cases": (
        "name variant family fixture seed status reason note replay schedules digest oracle_seconds simulator_seconds"
        " judgement.compared judgement.faulty judgement.error_over_bound"
    ).split(),
    "findings": "variant status is_failure reason smallest largest_error_over_bound cases".split(),
    "causes": (
        "variant class says evidence given tried failing cases where where_given known_mistakes hazards suspects diff near"
        " smallest.name smallest.status smallest.reason smallest.replay"
    ).split(),
    "remarks": "variant kind file line functions count cases first_case text".split(),
    "statements": "variant omission ability text passed not_required failed skipped example".split(),
    "omissions": "family id sentence ability".split(),
}


class Report:
    """One recorded run. `document` is the whole JSON; `outcome` is the command of the run, if this package ran it."""

    def __init__(self, document, outcome=None):
        if not isinstance(document, dict) or document.get("format") != "assay-report":
            raise ReportError("this is no report of assay: its format is not 'assay-report'")
        if document.get("version") != 1:
            raise ReportError(f"the report has version {document.get('version')!r}; this package knows version 1")
        self.document = document
        self.outcome = outcome

    @classmethod
    def parse(cls, text, outcome=None):
        """Reads JSON text."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ReportError(f"this is no JSON: {error}") from None
        return cls(document, outcome)

    @classmethod
    def open(cls, path):
        """Reads a file of `assay report --format json -o FILE`."""
        return cls.parse(pathlib.Path(path).read_text(encoding="utf-8", errors="backslashreplace"))

    @property
    def run(self):
        """The run: command, times, compiler, policy ..."""
        return self.document["run"]

    @property
    def summary(self):
        """Counts of cases and elements."""
        return self.document["summary"]

    @property
    def failures(self):
        """Number of cases that failed, among them those without a verdict."""
        return self.summary["failures"]

    def frame(self, part):
        """A part as a frame, a row per entry. Members of objects become columns: `judgement.error_over_bound`, `axes.head_dim`."""
        import pandas

        if part not in COLUMNS:
            raise ReportError(f"a report has no part {part!r}; its parts are {', '.join(COLUMNS)}")
        frame = pandas.json_normalize(self.document.get(part, []))
        return frame.reindex(columns=[*COLUMNS[part], *(column for column in frame.columns if column not in COLUMNS[part])])

    def cases(self):
        """A row per case, in the order of starting."""
        return self.frame("cases")

    def findings(self):
        """A row for each group of cases that did not simply pass."""
        return self.frame("findings")

    def causes(self):
        """A row for each cause that `triage=True` found."""
        return self.frame("causes")
