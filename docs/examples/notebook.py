"""A kernel under the microscope, in pandas. Editors show the parts between `# %%` as cells; `python3 notebook.py` runs them all.

It writes into the current folder, and needs pandas, h5py and the package of docs/PYTHON.md.
"""

# %% [markdown]
# # One run
# `assay.run()` takes what `assay run` takes, and returns the report of the run.

# %%
import numpy
import pandas

import assay

report = assay.run("smoke", family="fwht", ledger="notebook.sqlite")
cases = report.cases()
print(f"{len(cases)} cases, {report.failures} failed, executed on the {report.run['executed_on']}")

# %% [markdown]
# # Where are errors large?
# A ratio is error / bound: a correct kernel may reach 1.

# %%
by_fixture = cases.groupby("fixture")["judgement.error_over_bound"].agg(["count", "max"]).sort_values("max", ascending=False)
print(by_fixture.head(3))

by_axes = cases.pivot_table(index="axes.head_dim", columns="axes.mode", values="judgement.error_over_bound", aggfunc="max")
print(by_axes.round(3))

# %% [markdown]
# # A capture
# The tensors that a kernel receives in an application, here from numpy, become a fixture file. Then any kernel runs on them.

# %%
rows = numpy.random.default_rng(7).standard_normal((8, 256), dtype="f4")
rows[3] *= 1000  # an outlier row, as models have them
capture = assay.write_fixture("captured.h5", "fwht", {"data": rows}, head_dim=256, num_heads=8, mode=0)
assay.call("fixture", "verify", capture)
captured = assay.run(fixture=capture, ledger="notebook.sqlite")
print(captured.cases()[["name", "status", "judgement.compared"]].to_string(index=False))

# %% [markdown]
# # Both runs, from the ledger
# A ledger keeps the verdicts of all runs: docs/LEDGER.md describes its tables.

# %%
with assay.Ledger("notebook.sqlite") as ledger:
    runs = ledger.runs()
    verdicts = pandas.concat([ledger.verdicts(run) for run in runs["id"]])
print(runs[["id", "selected", "policy"]].to_string(index=False))
print(verdicts.groupby("run")["max_ratio"].describe()[["count", "50%", "max"]].round(4))
