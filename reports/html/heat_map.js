// A table over two axes of a family, each cell shows the worst of its cases.
"use strict";
assay.heatMap = (() => {
  const { data, of, axis, axisNames, distinct, element, byId, fails, fillSelect, format, formatRatio, isExpected, spelt } = assay;
  const isDark = matchMedia("(prefers-color-scheme: dark)");

  // Blues alone, from pale to strong as seen on the page: whoever confuses red with green does not confuse blue with either, so that no
  // error within its bound looks like a failure, however large it is.
  const kLight = [
    [233, 241, 250],
    [186, 212, 238],
    [120, 170, 218],
    [52, 116, 181],
    [10, 56, 112],
  ];
  const kDark = [
    [27, 38, 54],
    [31, 66, 110],
    [46, 104, 166],
    [104, 160, 217],
    [190, 220, 250],
  ];
  // Reds, for cells in which cases failed: stronger where more of them did.
  const kLightFails = [
    [255, 224, 220],
    [245, 170, 165],
    [224, 100, 100],
    [185, 30, 45],
    [120, 0, 26],
  ];
  const kDarkFails = [
    [72, 22, 26],
    [116, 32, 36],
    [168, 52, 52],
    [226, 104, 96],
    [255, 186, 176],
  ];
  const colour = (share, fails) => {
    const scale = fails ? (isDark.matches ? kDarkFails : kLightFails) : isDark.matches ? kDark : kLight;
    const place = share * (scale.length - 1);
    const low = Math.min(Math.floor(place), scale.length - 2);
    return scale[low].map((part, c) => Math.round(part + (place - low) * (scale[low + 1][c] - part)));
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = (share, fails = false) => {
    const rgb = colour(Math.min(Math.max(share, 0), 1), fails);
    // The one of black and white that has more contrast, which is always above 4.5.
    return `background:rgb(${rgb});color:${luminance(rgb) > 0.179 ? "#000" : "#fff"}`;
  };

  const logShare = (low, high) => (value) => (value <= low ? 0 : (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low)));
  const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const kMeasures = {
    ratio: {
      text: "largest error / bound",
      value: (cell) => cell.ratio,
      share: logShare(1e-3, 1),
      steps: [1e-3, 1e-2, 0.1, 0.3, 1],
      show: formatRatio,
    },
    sharpness: {
      text: "median bound / magnitude",
      value: (cell) => median(cell.sharpness),
      share: logShare(1e-8, 1e-2),
      steps: [1e-8, 1e-6, 1e-4, 1e-2],
      show: format,
    },
    failures: {
      text: "failed cases",
      value: (cell) => (100 * cell.failures) / cell.members.length,
      share: (value) => value / 100,
      steps: [0, 25, 50, 75, 100],
      show: (v) => `${format(v, 2)} %`,
    },
  };
  const percent = (share) => `${Math.round(100 * Math.min(Math.max(share, 0), 1))} %`;
  const shareOf = (cell) => cell.failures / cell.members.length;
  // Where every cell has a failure, one colour for all of them would tell nothing.
  const isByShare = (measure, cells) => measure === kMeasures.failures || [...cells.values()].every((cell) => cell.failures > 0);

  // Ways to sort the cases of a family into rows or columns. Many values of an axis go together by powers of two.
  const kMostValues = 20;
  const groupings = (family, indices) => {
    const result = new Map();
    for (const name of axisNames(family)) {
      const values = distinct((i) => axis(i, name), indices)
        .filter((value) => value !== null && value !== undefined)
        .sort((a, b) => a - b);
      if (values.length < 2) continue;
      if (values.length <= kMostValues) {
        result.set(name, { name, text: name, keys: values, key: (i) => axis(i, name), show: String });
        continue;
      }
      const key = (i) => (axis(i, name) > 0 ? Math.ceil(Math.log2(axis(i, name))) : -1);
      const show = (power) => (power < 0 ? "\u2264 0" : power < 2 ? String(2 ** power) : `${2 ** (power - 1) + 1}\u2013${2 ** power}`);
      result.set(name, { name, text: `${name} (ranges)`, keys: distinct(key, indices).sort((a, b) => a - b), key, show });
    }
    for (const [name, value] of [
      ["fixture", of.fixture],
      ["variant", of.variant],
    ]) {
      const keys = distinct(value, indices).sort();
      if (keys.length > 1) result.set(name, { name, text: name, keys, key: value, show: String });
    }
    return result;
  };

  const cellsOf = (indices, rows, columns) => {
    const cells = new Map();
    for (const i of indices) {
      const status = of.status(i);
      // What fails as declared would drown everything else; what was not compared has no ratio.
      if (isExpected(status) || (of.compared(i) === 0 && !fails(status))) continue;
      const key = `${rows.key(i)} ${columns.key(i)}`;
      let cell = cells.get(key);
      if (!cell) cells.set(key, (cell = { ratio: NaN, sharpness: [], failures: 0, members: [] }));
      cell.members.push(i);
      if (of.compared(i) !== 0) cell.ratio = Number.isNaN(cell.ratio) ? of.ratio(i) : Math.max(cell.ratio, of.ratio(i));
      if (of.sharpness(i) > 0) cell.sharpness.push(of.sharpness(i));
      cell.failures += fails(status) ? 1 : 0;
    }
    return cells;
  };

  const controls = {
    family: byId("heat-family"),
    variant: byId("heat-variant"),
    rows: byId("heat-rows"),
    columns: byId("heat-columns"),
    measure: byId("heat-measure"),
  };
  const indicesShown = () =>
    assay.all.filter(
      (i) => of.family(i) === controls.family.value && (controls.variant.value === "" || of.variant(i) === controls.variant.value),
    );

  const legend = (measure, cells) => {
    const swatch = (text, css, kind = "swatch") => element("span", { class: kind, style: css }, text);
    const values = [...cells.values()];
    const shares = isByShare(measure, cells) && values.some((cell) => cell.failures > 0);
    byId("heat-legend").replaceChildren(
      ...(values.every((cell) => cell.failures > 0) || (shares && measure === kMeasures.failures)
        ? []
        : [element("span", {}, `${measure.text}:\u00A0`), ...measure.steps.map((step) => swatch(measure.show(step), style(measure.share(step))))]),
      ...(shares
        ? [
            element("span", {}, "share of the cases that failed:\u00A0"),
            ...[1, 25, 50, 75, 100].map((percent) => swatch(`\u00D7 ${percent} %`, style(percent / 100, true), "swatch above")),
          ]
        : [element("span", { class: "swatch above" }, "\u00D7 some failed")]),
      element("p", {}, "A dash: no such case. Known failures are omitted. Click a cell to show its cases in the table below."),
    );
  };

  const cellButton = (cell, rows, columns, row, column, measure, byShare) => {
    const value = measure.value(cell);
    const where = `${rows.text} ${rows.show(row)}, ${columns.text} ${columns.show(column)}`;
    const text = value === undefined || Number.isNaN(value) ? "?" : measure.show(value);
    const failures = cell.failures > 0 ? `, ${cell.failures} failed` : "";
    return element(
      "button",
      {
        type: "button",
        tabindex: "-1",
        class: cell.failures > 0 ? "above" : undefined,
        // A failing cell has a colour of failures and no other, whatever its figure.
        style: cell.failures > 0 ? (byShare ? style(shareOf(cell), true) : undefined) : style(Number.isNaN(value) || value === undefined ? 1 : measure.share(value)),
        "aria-label": `${where}: ${measure.text} ${text}, ${assay.plural(cell.members.length, "case")}${failures}`,
        title: `${where}: ${assay.plural(cell.members.length, "case")}${failures}`,
        onclick: () => assay.filter.showOnly({ chosen: { label: `${controls.family.value}, ${where}`, members: new Set(cell.members) } }),
      },
      cell.failures === 0 ? text : `\u00D7 ${text}${byShare && measure !== kMeasures.failures ? `, ${percent(shareOf(cell))} failed` : ""}`,
    );
  };

  let ways = new Map();
  const draw = () => {
    const measure = kMeasures[controls.measure.value];
    const rows = ways.get(controls.rows.value);
    const columns = ways.get(controls.columns.value);
    const table = byId("heat-table");
    const cells = rows && columns ? cellsOf(indicesShown(), rows, columns) : new Map();
    legend(measure, cells);
    tellChoice();
    if (!rows || !columns) {
      table.replaceChildren(element("caption", {}, "All cases of this family have the same values of every axis."));
      return;
    }
    const byShare = isByShare(measure, cells);
    table.replaceChildren(
      element(
        "caption",
        {},
        `${controls.family.value}${controls.variant.value === "" ? "" : `, ${controls.variant.value}`}: ${measure.text}; rows ${rows.text}, columns ${columns.text}`,
      ),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, `${rows.name} \\ ${columns.name}`),
          columns.keys.map((key) => element("th", { scope: "col" }, columns.show(key))),
        ),
      ),
      element(
        "tbody",
        {},
        rows.keys.map((row) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, rows.show(row)),
            columns.keys.map((column) => {
              const cell = cells.get(`${row} ${column}`);
              return cell
                ? element("td", {}, cellButton(cell, rows, columns, row, column, measure, byShare))
                : element("td", { class: "empty" }, "\u2013");
            }),
          ),
        ),
      ),
    );
    const first = table.querySelector("button");
    if (first) first.tabIndex = 0;
  };

  // Which two axes tell most about what became of the cases.
  //
  // If some cases failed and others did not: the mutual information of the pair of values and of failing, in bits. Of n cases in c cells
  // it comes out about (c - 1) / (2 n ln 2) too large by mere chance (Miller 1955), which is subtracted, else the finest division would
  // always win. As a share of the entropy of failing, 1 means that the pair decides which cases fail.
  // If all failed or none: the adjusted share of the variance of log(error / bound) between the cells.
  // Among equals, the pair with fewer cells.
  const entropy = (share) => (share <= 0 || share >= 1 ? 0 : -share * Math.log2(share) - (1 - share) * Math.log2(1 - share));
  const groupsOf = (keys, values) => {
    const groups = new Map();
    keys.forEach((key, k) => {
      let group = groups.get(key);
      if (!group) groups.set(key, (group = [0, 0]));
      group[0] += 1;
      group[1] += values[k];
    });
    return [...groups.values()];
  };
  const toldOfFailing = (keys, failing) => {
    const n = failing.length;
    const groups = groupsOf(keys, failing);
    const whole = entropy(failing.reduce((a, b) => a + b, 0) / n);
    const left = groups.reduce((sum, [count, failed]) => sum + (count / n) * entropy(failed / count), 0);
    return (whole - left - (groups.length - 1) / (2 * n * Math.LN2)) / whole;
  };
  const toldOfError = (keys, errors) => {
    const n = errors.length;
    const groups = groupsOf(keys, errors);
    const sum = errors.reduce((a, b) => a + b, 0);
    const total = errors.reduce((a, b) => a + b * b, 0) - (sum * sum) / n;
    if (n <= groups.length || !(total > 0)) return -1;
    const between = groups.reduce((all, [count, part]) => all + (part * part) / count, 0) - (sum * sum) / n;
    return 1 - ((1 - between / total) * (n - 1)) / (n - groups.length);
  };
  const outcomeOf = (indices) => {
    const judged = indices.filter((i) => !isExpected(of.status(i)) && (of.compared(i) !== 0 || fails(of.status(i))));
    const failed = judged.filter((i) => fails(of.status(i)));
    if (failed.length > 0 && failed.length < judged.length)
      return { told: toldOfFailing, indices: judged, values: judged.map((i) => (fails(of.status(i)) ? 1 : 0)), what: "failing" };
    const finite = judged.filter((i) => Number.isFinite(Math.log(of.ratio(i))));
    return { told: toldOfError, indices: finite, values: finite.map((i) => Math.log(of.ratio(i))), what: failed.length > 0 ? "all failed" : "none failed" };
  };
  // Every pair with what it tells, the best first.
  const rankPairs = (outcome) => {
    const names = [...ways.keys()];
    const places = new Map(
      names.map((name) => {
        const way = ways.get(name);
        const place = new Map(way.keys.map((key, k) => [key, k]));
        return [name, outcome.indices.map((i) => place.get(way.key(i)) ?? -1)];
      }),
    );
    const pairs = [];
    names.forEach((one, k) => {
      for (const other of names.slice(k + 1)) {
        const [a, b] = [places.get(one), places.get(other)];
        const width = ways.get(other).keys.length + 1;
        const keys = a.map((place, at) => place * width + b[at]);
        const told = outcome.indices.length === 0 ? -1 : outcome.told(keys, outcome.values);
        pairs.push({ names: [one, other], told, cells: ways.get(one).keys.length * ways.get(other).keys.length });
      }
    });
    const kSame = 1e-9;
    return pairs.sort((x, y) => (Math.abs(x.told - y.told) > kSame ? y.told - x.told : x.cells - y.cells));
  };

  let pairs = [];
  let what = "";
  const tellChoice = () => {
    const chosen = [controls.rows.value, controls.columns.value];
    const pair = pairs.find(({ names }) => chosen.every((name) => names.includes(name)) && chosen[0] !== chosen[1]);
    const best = pairs[0];
    const note = byId("heat-choice");
    note.hidden = !best || best.told <= 0;
    if (note.hidden) return;
    const [verb, verbs, of] =
      what === "failing"
        ? ["remove", "removes", "of the doubt whether a case fails, beyond what chance would"]
        : ["explain", "explains", `of the differences in error / bound${what === "all failed" ? " (every case failed)" : " (no case failed)"}`];
    if (pair && pair.told >= best.told - 1e-9) {
      note.replaceChildren(`These two axes together ${verb} ${percent(best.told)} ${of}; no other pair ${verbs} more.`);
      return;
    }
    note.replaceChildren(
      pair ? `These two axes together ${verb} ${percent(pair.told)} ${of}; ` : "",
      `${best.names.join(" and ")} ${verb} ${percent(best.told)}${pair ? ", the most" : ` ${of}, the most`}. `,
      element("button", { type: "button", onclick: () => chooseAxes() }, "Show these two"),
    );
  };

  const chooseAxes = () => {
    const indices = indicesShown();
    ways = groupings(controls.family.value, indices);
    const outcome = outcomeOf(indices);
    what = outcome.what;
    pairs = rankPairs(outcome);
    if (ways.size === 1) ways.set("", { name: "", text: "all", keys: [0], key: () => 0, show: () => "all" });
    const names = [...ways.keys()];
    // The more numerous down the page, where there is room.
    const best = [...(pairs.length > 0 ? pairs[0].names : names)].sort((a, b) => ways.get(b).keys.length - ways.get(a).keys.length);
    const choices = names.map((name) => [name, ways.get(name).text]);
    fillSelect(controls.rows, choices, best[0]);
    fillSelect(controls.columns, choices, best[1]);
    draw();
  };
  const chooseFamily = () => {
    const variants = distinct(
      of.variant,
      assay.all.filter((i) => of.family(i) === controls.family.value),
    ).sort();
    fillSelect(controls.variant, [["", "all"], ...variants.map((name) => [name, name])], "");
    chooseAxes();
  };

  // Arrow keys move among the cells, of which one alone is a stop of the Tab key.
  const move = (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const from = event.target.closest("td");
    if (!step || !from) return;
    event.preventDefault();
    const table = byId("heat-table");
    for (
      let row = from.parentNode.rowIndex + step[0], column = from.cellIndex + step[1];
      table.rows[row]?.cells[column];
      row += step[0], column += step[1]
    ) {
      const to = table.rows[row].cells[column].querySelector("button");
      if (!to) continue;
      event.target.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
      return;
    }
  };

  const fill = () => {
    const worst = data.findings.find((finding) => finding.fails);
    const families = distinct(of.family);
    fillSelect(
      controls.family,
      families.map((name) => [name, name]),
      worst ? of.family(worst.smallest) : families[0],
    );
    fillSelect(
      controls.measure,
      Object.entries(kMeasures).map(([key, measure]) => [key, spelt(measure.text)]),
      "ratio",
    );
    controls.family.addEventListener("change", chooseFamily);
    controls.variant.addEventListener("change", chooseAxes);
    for (const select of [controls.rows, controls.columns, controls.measure]) select.addEventListener("change", draw);
    byId("heat-table").addEventListener("keydown", move);
    isDark.addEventListener("change", draw);
    if (families.length > 0) chooseFamily();
  };
  return { fill };
})();
