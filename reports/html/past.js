// What became of a case in earlier runs of the ledger.
"use strict";
assay.past = (() => {
  const { data, of, element, chip, fails, fillTable, format, formatRatio, number, plural } = assay;
  const { past } = data;

  // Every run that has the case, oldest first: reports/page_others.h says how they are packed.
  const stepsOf = (packed) => {
    const [set, changes] = packed;
    let at = 0;
    return past.sets[set].map((run, place) => {
      while (at + 1 < changes.length && changes[at + 1][0] <= place) ++at;
      const [since, status, ratio, bits] = changes[at];
      const [id, started, command, environment] = past.runs[run];
      return { id, started, command, environment, status, ratio: number(ratio), hasOtherBits: since === place && bits === 1 };
    });
  };
  const summary = (steps) => {
    const failures = steps.filter((step) => fails(step.status)).length;
    const last = steps.at(-1);
    const changed = steps.findLastIndex((step) => fails(step.status) !== fails(last.status));
    if (changed < 0) return failures === 0 ? `It failed in none of ${plural(steps.length, "run")}.` : `It failed in all of ${plural(steps.length, "run")}.`;
    return `It failed in ${failures} of ${plural(steps.length, "run")}: in ${fails(last.status) ? "all" : "none"} from run ${steps[changed + 1].id} on.`;
  };

  const ofCase = (i, packed) => {
    if (!past) return [];
    const title = element("h3", {}, "Earlier runs");
    if (past.trouble) return [title, element("p", { class: "alarm" }, `They cannot be read: ${past.trouble}`)];
    if (!packed) return [title, element("p", { class: "quiet" }, "No earlier run of this ledger has this case.")];
    const steps = stepsOf(packed);
    steps.push({
      id: data.run.id,
      started: data.run.started,
      command: data.run.command,
      environment: [],
      status: of.status(i),
      ratio: of.compared(i) === 0 ? NaN : of.ratio(i),
      hasOtherBits: packed[2] === 1,
      isThis: true,
    });
    const said = summary(steps);
    const table = element("table");
    fillTable(
      table,
      "The newest first; at most 50 runs before this one",
      ["Run", "Started", "Verdict", "Error / bound", "Output, beside the run before", "Differs from this run in"],
      steps
        .map((step, k) => [
          step.isThis ? `${step.id} (this)` : String(step.id),
          step.started,
          chip(step.status),
          Number.isNaN(step.ratio) ? "\u2013" : formatRatio(step.ratio),
          k === 0 ? "" : step.hasOtherBits ? "other bits" : "",
          step.isThis ? "" : step.environment.join("; ") || "nothing",
        ])
        .reverse(),
    );
    return [
      title,
      element("p", {}, said),
      element("div", { class: "scroll-x" }, assay.plots.sparkline(steps, `Error / bound in ${plural(steps.length, "run")}, oldest first: ${steps.map((step) => format(step.ratio)).join(", ")}. The line is the bound.`)),
      element("p", { class: "quiet" }, "Error / bound, oldest run first. A \u00D7 failed, a ring did not; the line is the bound."),
      element(
        "details",
        { open: steps.length <= 6 },
        element("summary", {}, `The ${plural(steps.length, "run")} as a table`),
        element("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Earlier runs" }, table),
      ),
    ];
  };
  return { ofCase };
})();
