#!/usr/bin/env python3
"""Tries a blind set (README.md) and counts how often triage is right.

blind.py try ASSAY RESULTS SET...    tries each mistake that RESULTS (a file of JSON lines) does not have, one after the other
blind.py count RESULTS SET...        prints a line for each mistake, and the counts
"""

import json
import os
import pathlib
import subprocess
import sys
import time


def mistakes(sets):
    for folder in map(pathlib.Path, sets):
        for row in json.loads((folder / "mistakes.json").read_text()):
            yield folder / "broken" / row["id"] / row["kernel"], row


def results(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


def attempt(assay, path, sets):
    done = results(path)
    for variant, row in mistakes(sets):
        if row["id"] in done:
            continue
        started = time.monotonic()
        run = subprocess.run([assay, "triage", "smoke", "--kernel", str(variant), "--json"], capture_output=True, text=True, check=False)
        seconds = round(time.monotonic() - started, 1)
        try:
            document = json.loads(run.stdout)
        except json.JSONDecodeError:
            document = {"variants": []}
        result = {"id": row["id"], "seconds": seconds, "status": run.returncode, "errors": run.stderr[-2000:], "document": document}
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(result) + "\n")
        print(describe(row, result), flush=True)


def findings_of(result):
    return [finding for variant in result["document"]["variants"] for finding in variant["findings"]]


def first_line(finding):
    """The line that a finding suspects most."""
    return next((suspect["line"] for suspect in finding["suspects"]), None)


def judge(row, result):
    """Of the findings for one mistake: whether a class is right, and whether a first line is within three of the mistake.

    The first finding counts, and of two mistakes any finding whose class or line is that of one of them.
    """
    findings = findings_of(result)
    findings = findings if row["two"] else findings[:1]
    wanted = set(row["class"]) | set(row["also_right"])
    wrong = [line for lines in row["lines"] for line in lines]
    classes = {name for finding in findings for name in finding["class"].split(" + ")}
    lines = [line for line in map(first_line, findings) if line is not None]
    return bool(classes & wanted), any(abs(line - other) <= 3 for line in lines for other in wrong)


def describe(row, result):
    kind, line = judge(row, result)
    said = "; ".join(f"{finding['class']} at {first_line(finding)}" for finding in findings_of(result)[:3])
    return (f"{row['id']} {'class' if kind else '-----'} {'line' if line else '----'} {result['seconds']:6.1f} s  {row['kernel']}: "
            f"{' + '.join(row['class'])} at {row['lines']}; said {said or 'nothing'}")


def count(path, sets):
    done = results(path)
    counts = {}
    for _, row in mistakes(sets):
        if row["id"] not in done:
            continue
        print(describe(row, done[row["id"]]))
        kind, line = judge(row, done[row["id"]])
        for group in ("own kernels" if row["own"] else "copies", "all"):
            counts[group] = [a + b for a, b in zip(counts.get(group, [0, 0, 0]), (1, kind, line))]
    for name, (number, kinds, lines) in counts.items():
        print(f"{name}: {number} mistakes, class right {kinds}, line within three {lines}")


if __name__ == "__main__":
    if len(sys.argv) > 4 and sys.argv[1] == "try":
        attempt(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif len(sys.argv) > 3 and sys.argv[1] == "count":
        count(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
