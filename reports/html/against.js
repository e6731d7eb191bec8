// The comparison with another run: what it says first, then every case that changed, both runs side by side.
"use strict";
assay.against = (() => {
  const { data, of, element, byId, chip, caseLink, fillTable, format, formatRatio, grouped, number, plural } = assay;
  const { against } = data;
  const kKinds = [
    ["broke", "broke", "passed before, does not now"],
    ["healed", "healed", "did not pass before, does now"],
    ["changed", "another verdict", "another verdict of the same value"],
    ["drifted", "other error", "the same verdict, another error / bound"],
    ["other_bits", "other bits", "the same verdict and nearly the same error, other bits of the output"],
  ];
  const kShown = 60;
  const changes = new Map((against?.changes || []).map((change) => [change[0], change]));
  const where = () => (against.before.is_same_file ? "" : ` of ${against.before.file}`);

  const shownRatio = (value) => (Number.isNaN(value) ? "\u2013" : formatRatio(value));
  const nowRatio = (i) => (of.compared(i) === 0 ? NaN : of.ratio(i));
  const factor = (before, now) => (before > 0 && Number.isFinite(before) && Number.isFinite(now) ? `${format(now / before)} times` : "");
  const row = ([i, , status, ratio, bits]) => [
    caseLink(i),
    chip(status),
    chip(of.status(i)),
    shownRatio(number(ratio)),
    shownRatio(nowRatio(i)),
    factor(number(ratio), nowRatio(i)),
    bits === 1 ? "other bits" : "",
  ];
  const table = (title, rows) => {
    const node = element("table");
    fillTable(
      node,
      title,
      ["Case", `Verdict in run ${against.before.id}`, "Verdict now", "Error / bound before", "Error / bound now", "Change", "Output"],
      rows.map(row),
    );
    assay.labelCells(node);
    return element("div", { class: "scroll-x stacked", tabindex: "0", role: "region", "aria-label": title }, node);
  };
  const group = ([kind, name, says]) => {
    const rows = against.changes.filter((change) => change[1] === kind);
    if (rows.length === 0) return [];
    const members = new Set(rows.map(([i]) => i));
    const label = `${name}: ${says}`;
    return [
      element(
        "div",
        { class: "finding-facts" },
        element("h3", {}, `${grouped(rows.length)} ${name}`),
        element(
          "button",
          { type: "button", "aria-label": `Show the ${plural(rows.length, "case")} in the table of cases: ${label}`, onclick: () => assay.filter.showOnly({ chosen: { label, members } }) },
          rows.length === 1 ? "Show it below" : `Show the ${grouped(rows.length)} below`,
        ),
      ),
      table(`${says[0].toUpperCase()}${says.slice(1)}${rows.length > kShown ? `; the first ${kShown} of ${grouped(rows.length)}` : ""}`, rows.slice(0, kShown)),
    ];
  };
  const names = (title, list) =>
    list.length === 0
      ? []
      : [
          element(
            "details",
            {},
            element("summary", {}, `${title}: ${plural(list.length, "case")}`),
            element(
              "ul",
              { class: "names" },
              list.slice(0, 500).map((entry) => element("li", {}, entry)),
              list.length > 500 ? element("li", {}, `and ${grouped(list.length - 500)} more`) : null,
            ),
          ),
        ];
  const side = (title, run, file) =>
    element("div", {}, element("h3", {}, title), element("p", {}, `${run.outcome}; started ${run.started}${file}`), element("p", {}, element("code", {}, run.command)));

  const fill = () => {
    if (!against) return;
    byId("against").hidden = byId("against-link").hidden = false;
    byId("against-title").textContent = `Compared with run ${against.before.id}${where()}`;
    byId("against-link").textContent = `Compared with run ${against.before.id}`;
    const counts = kKinds.map(([kind]) => against.changes.filter((change) => change[1] === kind).length);
    const isSame = against.changes.length === 0;
    byId("against-content").replaceChildren(
      element("p", { class: counts[0] > 0 ? "alarm" : "" }, `${against.summary}.`),
      element(
        "div",
        { class: "sides" },
        side(`Before: run ${against.before.id}`, against.before, where()),
        side(`Now: run ${data.run.id}`, data.run, ""),
      ),
      against.environment.length === 0
        ? element("p", { class: "quiet" }, "Both ran the same kernels with the same assay, compiler and options.")
        : element("p", {}, `Besides the results, these differ: ${against.environment.join("; ")}.`),
      element("p", { class: "quiet" }, "The sentence above counts different bits only where the verdict is the same."),
      isSame ? element("p", {}, "No case that both have changed in verdict, error or bits.") : "",
      ...kKinds.flatMap(group),
      ...names(`Only in run ${against.before.id}`, against.only_before),
      ...names("Only in this run", against.only_after.map(caseLink)),
      ...(against.costs.length === 0
        ? []
        : [
            (() => {
              const node = element("table");
              fillTable(
                node,
                "Cost over the cases that both counted",
                ["Counter", "Before", "Now", "Change"],
                against.costs.map(([name, before, now]) => [name, grouped(before), grouped(now), factor(before, now)]),
              );
              return element("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Cost of both runs" }, node);
            })(),
          ]),
    );
  };

  // Of one case, for its dialog.
  const ofCase = (i) => {
    const change = changes.get(i);
    if (!change) return [];
    const [, , status, ratio, bits] = change;
    return [
      element("h3", {}, `In run ${against.before.id}${where()}`),
      element("p", {}, chip(status), ` error / bound ${shownRatio(number(ratio))}, now ${shownRatio(nowRatio(i))}`, bits === 1 ? "; other bits of the output" : ""),
    ];
  };
  return { fill, ofCase };
})();
