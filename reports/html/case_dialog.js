// Everything about one case. Its address is #case=<name>, so that a case can be linked.
"use strict";
assay.caseDialog = (() => {
  const { all, of, axis, axisNames, details, element, byId, chip, fillTable, format, formatRatio, grouped, number, replayLine, spelt } =
    assay;
  const dialog = byId("case-dialog");
  const kFaults = ["", "above its bound", "never written", "NaN", "infinite"]; // harness::ElementFault

  let places = null;
  const find = (name) => {
    places ??= new Map(all.map((i) => [of.name(i), i]));
    return places.get(name);
  };

  const exact = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(9))) : format(value));
  const worstTable = (i, known) => {
    const rowLength = Math.max(known.row_length, 1);
    const table = element("table");
    fillTable(
      table,
      "Largest error / bound first",
      ["Element", "Row", "Coordinate", "Expected", "Actual", "Error", "Bound", "Error / bound", "Fault"],
      known.worst.map(([index, expected, actual, bound, ratio, fault]) => {
        const [e, a] = [number(expected), number(actual)];
        return [
          grouped(index),
          grouped(Math.floor(index / rowLength)),
          grouped(index % rowLength),
          exact(e),
          fault === 2 ? "never written" : exact(a),
          fault === 2 ? "\u2013" : format(Math.abs(a - e)),
          format(number(bound)),
          formatRatio(number(ratio)),
          kFaults[fault],
        ];
      }),
    );
    assay.labelCells(table);
    return element("div", { class: "scroll-x stacked worst", tabindex: "0", role: "region", "aria-label": "Worst elements" }, table);
  };
  const worstPlot = (known) => {
    const points = known.worst.map(([, expected, actual, bound, , fault]) => {
      const error = Math.abs(number(actual) - number(expected));
      return { magnitude: Math.abs(number(expected)), error: Number.isNaN(error) ? Infinity : error, bound: number(bound), fails: fault !== 0 };
    });
    const magnitudes = points.map((point) => point.magnitude);
    // Elements of one size, and those that are no numbers, show nothing that the table does not.
    if (!magnitudes.every(Number.isFinite) || Math.max(...magnitudes) < 2 * Math.min(...magnitudes)) return "";
    const said = `Error over the magnitude of the expected value of these ${points.length} elements, both axes logarithmic`;
    return element(
      "figure",
      {},
      assay.plots.elements(points, `${said}; the table has the figures`),
      element("figcaption", { class: "quiet" }, `${said}. A \u00D7 is a faulty element, a dash its bound.`),
    );
  };
  // Hazards or remarks: the first few with the lines around their places, each place once.
  const kListings = 6;
  const hazards = (title, rows) => {
    if (rows.length === 0) return [];
    const shown = new Set();
    const item = ([text, times, places]) => {
      const fresh = places.filter((place) => !shown.has(place.join(":")) && shown.size < kListings && shown.add(place.join(":")));
      return element("li", {}, times > 1 ? `${text} (${grouped(times)} times)` : text, fresh.flatMap((place) => assay.sources.around(place)));
    };
    return [element("h3", {}, title), element("ul", {}, rows.map(item))];
  };
  const list = (title, lines) =>
    lines.length === 0
      ? []
      : [
          element("h3", {}, title),
          element(
            "ul",
            {},
            lines.map((line) => element("li", {}, line)),
          ),
        ];
  const facts = (title, pairs) => [
    element("h3", {}, title),
    element(
      "dl",
      {},
      pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    ),
  ];

  const fill = (i) => {
    const known = details(i);
    const figures = Object.entries(known.figures).filter(([key, value]) => value !== 0 || key.startsWith("max"));
    byId("case-title").textContent = of.name(i);
    const axes = axisNames(of.family(i))
      .map((name) => [name, axis(i, name)])
      .filter(([, value]) => value !== null && value !== undefined);
    const counters = Object.entries(assay.data.counters)
      .map(([key, column]) => [spelt(key), column[i]])
      .filter(([, value]) => value !== null);
    byId("case-content").replaceChildren(
      element("p", {}, chip(of.status(i)), " ", of.reason(i)),
      of.note(i) === "" ? "" : element("p", {}, `Note: ${of.note(i)}`),
      replayLine(i),
      assay.causes.ofCase(i) || "",
      ...(known.worst
        ? [element("h3", {}, "Worst elements"), worstTable(i, known), worstPlot(known)]
        : of.status(i) === "passed"
          ? [
              element(
                "p",
                { class: "quiet" },
                "Every element is within its bound. To print the elements with the largest error / bound, replace run by show in the replay line.",
              ),
            ]
          : []),
      ...list("Known findings", known.known || []),
      ...hazards("Hazards", known.hazards || []),
      ...hazards("Remarks", known.remarks || []),
      ...list(
        "Later stages",
        (known.stages || []).map(
          ([name, isJudged, passed, reason, compared, ratio]) =>
            `${name}: ${isJudged ? (passed ? "passed" : "wrong") : "not judged"}${reason === "" ? "" : `, ${reason}`}; ${grouped(compared)} compared, largest error / bound ${formatRatio(number(ratio))}`,
        ),
      ),
      ...assay.against.ofCase(i),
      ...assay.past.ofCase(i, known.past),
      ...facts("Figures", [
        ["largest error / bound", of.compared(i) === 0 ? "nothing was compared" : formatRatio(of.ratio(i))],
        ["median bound / magnitude", format(of.sharpness(i))],
        ["magnitude expected at that element", format(of.expected(i))],
        ["error at that element", format(of.error(i))],
        ["elements compared", grouped(of.compared(i))],
        ["of these faulty", grouped(of.faulty(i))],
        ...figures.map(([key, value]) => [spelt(key), format(number(value), 6)]),
        ["simulator seconds", format(of.seconds(i))],
        ["schedules", known.schedules || "\u2013"],
        ["digest of the output", known.digest],
      ]),
      ...facts("Axes", [
        ...axes.map(([name, value]) => [name, String(value)]),
        ["fixture", of.fixture(i)],
        ["seed", assay.data.cases.seed[i]],
      ]),
      ...(counters.length === 0
        ? []
        : facts(
            "Counters",
            counters.map(([key, value]) => [key, grouped(value)]),
          )),
    );
    const shown = assay.filter.shown();
    const place = shown.indexOf(i);
    const step = (button, to) => {
      button.disabled = place < 0 || shown[to] === undefined;
      button.onclick = () => location.replace(assay.caseAddress(shown[to]));
    };
    step(byId("case-previous"), place - 1);
    step(byId("case-next"), place + 1);
  };

  let address = "";  // of the case that is shown
  const follow = () => {
    if (!location.hash.startsWith("#case=")) {
      if (dialog.open) dialog.close();
      return;
    }
    address = location.hash;
    let name = "";
    try {
      name = decodeURIComponent(location.hash.slice("#case=".length));
    } catch {
      /* an address that somebody mistyped names no case */
    }
    const i = find(name);
    if (i === undefined) {
      byId("case-title").textContent = "No such case";
      byId("case-content").replaceChildren(element("p", {}, name));
      for (const id of ["case-previous", "case-next"]) byId(id).disabled = true;
    } else {
      fill(i);
    }
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    byId("case-title").focus({ preventScroll: true });
  };

  const start = () => {
    addEventListener("hashchange", follow);
    byId("case-close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => {
      const i = find(byId("case-title").textContent);
      // The event arrives later than the change: the address may be that of another case already.
      if (location.hash === address) history.replaceState(null, "", location.pathname + location.search);
      const place = assay.filter.shown().indexOf(i);
      if (place >= 0 && document.activeElement?.closest("#case-body")) assay.caseTable.focusRow(place);
    });
    if (location.hash.startsWith("#case=")) follow();
  };
  return { start };
})();
