// Distributions of errors and costs, by Chart.js; each has a table with the same figures.
"use strict";
assay.charts = (() => {
  const { data, count, of, byId, distinct, fails, fillSelect, fillTable, format, formatRatio, grouped, isExpected, plural, spelt } = assay;
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const quantile = (sorted, share) => sorted[Math.round(share * (sorted.length - 1))];
  // `value` over the cases of each variant, sorted; what is no number is left out, and infinity is the largest.
  const byVariant = (value) => {
    const groups = new Map();
    for (let i = 0; i < count; ++i) {
      const v = value(i);
      if (Number.isNaN(v)) continue;
      if (!groups.has(of.variant(i))) groups.set(of.variant(i), []);
      groups.get(of.variant(i)).push(v);
    }
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, values]) => [name, Float64Array.from(values).sort()]);
  };

  const isDecade = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
  const decade = (value) => (value === 1 ? "1" : value >= 1 && value < 1e5 ? String(value) : value.toExponential(0).replace("e+", "e"));
  const logScale = (title, low, high, strongAt) => ({
    type: "logarithmic",
    min: low,
    max: high,
    title: { display: true, text: title, color: ink("ink") },
    ticks: { color: ink("quiet"), maxRotation: 0, autoSkip: true, callback: (value) => (isDecade(value) ? decade(value) : null) },
    grid: {
      color: (context) => (context.tick.value === strongAt ? ink("mark") : isDecade(context.tick.value) ? ink("grid") : "transparent"),
      lineWidth: (context) => (context.tick.value === strongAt ? 3 : 1),
    },
  });
  const labelScale = () => ({ ticks: { color: ink("ink"), autoSkip: false }, grid: { display: false } });

  const charts = new Map();
  const kRowHeight = 30;
  const draw = (id, label, rows, config, rowHeight = kRowHeight) => {
    charts.get(id)?.destroy();
    const canvas = byId(id);
    canvas.setAttribute("aria-label", label);
    if (rows > 0) canvas.parentNode.style.height = `${rows * rowHeight + 90}px`;
    const { scales, ...options } = config.options;
    charts.set(
      id,
      new Chart(canvas, {
        type: "bar",
        data: config.data,
        options: { animation: false, responsive: true, maintainAspectRatio: false, ...options, scales },
      }),
    );
  };
  const withoutLegend = (tooltip) => ({ legend: { display: false }, tooltip: { callbacks: { label: tooltip } } });

  // The decade below the smallest and the one above the largest of some positive numbers.
  const decadesAround = (values, otherwise) =>
    values.length === 0
      ? otherwise
      : [
          10 ** Math.floor(Math.log10(Math.min(...values))),
          10 ** Math.max(Math.ceil(Math.log10(Math.max(...values))), Math.floor(Math.log10(Math.min(...values))) + 1),
        ];

  // An element that is NaN, infinite or was never written is infinitely far off.
  const judged = (i) => {
    if (of.compared(i) === 0 || isExpected(of.status(i))) return NaN;
    return Number.isNaN(of.ratio(i)) && fails(of.status(i)) ? Infinity : of.ratio(i);
  };
  const infinities = (values) => values.reduce((sum, value) => sum + (value === Infinity ? 1 : 0), 0);
  const countBy = (test) => {
    const counts = new Map();
    for (let i = 0; i < count; ++i) if (test(i)) counts.set(of.variant(i), (counts.get(of.variant(i)) || 0) + 1);
    return counts;
  };
  const kLeastRatio = 1e-6; // bits equal, or as good as

  // Decades with room between their labels, the one of the bound, and the place of what is infinite.
  const withEdge = (scale, edge) => ({
    ...scale,
    afterBuildTicks: (axis) => {
      const first = Math.round(Math.log10(axis.min));
      const last = Math.round(Math.log10(edge)) - 1;
      const step = Math.max(Math.ceil((last - first + 2) / Math.max(Math.floor((axis.chart.width - 150) / 52), 2)), 1);
      axis.ticks = [];
      for (let power = first; power <= last; ++power) if (power % step === 0) axis.ticks.push({ value: 10 ** power });
      axis.ticks.push({ value: edge });
    },
    ticks: { ...scale.ticks, autoSkip: false, callback: (value) => (value === edge ? "inf" : decade(value)) },
  });

  const tellSpread = (total, infinite, lost) => {
    const lostCount = [...lost.values()].reduce((a, b) => a + b, 0);
    const notes = [];
    if (infinite > 0)
      notes.push(`${grouped(infinite)} of ${plural(total, "case")} not finite: an element is NaN, infinite, was never written, or is wrong where no error is allowed. They are drawn at \u201cinf\u201d.`);
    if (lostCount > 0)
      notes.push(
        `Not drawn: ${plural(lostCount, "case")} that did not pass and had nothing compared (${[...lost].map(([name, n]) => `${name} ${grouped(n)}`).join(", ")}).`,
      );
    byId("spread-note").textContent = notes.join(" ");
    byId("spread-note").hidden = notes.length === 0;
  };

  const drawSpread = () => {
    const groups = byVariant(judged);
    const rows = groups.map(([name, values]) => [
      name,
      values[0],
      quantile(values, 0.25),
      quantile(values, 0.5),
      quantile(values, 0.75),
      values.at(-1),
    ]);
    const infinite = new Map(groups.map(([name, values]) => [name, infinities(values)]));
    const totalInfinite = [...infinite.values()].reduce((a, b) => a + b, 0);
    const sizes = new Map(groups.map(([name, values]) => [name, values.length]));
    const total = [...sizes.values()].reduce((a, b) => a + b, 0);
    const lost = countBy((i) => of.compared(i) === 0 && fails(of.status(i)));
    tellSpread(total, totalInfinite, lost);
    const [low, finiteHigh] = decadesAround(
      groups.flatMap(([, values]) => [values[0], values.findLast(Number.isFinite)]).filter(Number.isFinite).map((value) => Math.max(value, kLeastRatio)),
      [1e-3, 1],
    );
    const high = Math.max(finiteHigh, 1);
    const edge = totalInfinite > 0 ? high * 10 : high;
    const lifted = rows.map(([name, ...figures]) => [name, ...figures.map((value) => Math.min(Math.max(value, kLeastRatio), edge))]);
    const labels = rows.map(([name]) =>
      infinite.get(name) > 0 ? [name, `${grouped(infinite.get(name))} of ${grouped(sizes.get(name))} not finite`] : name,
    );
    const scale = logScale("largest error / bound of a case (1: the bound)", low, edge, 1);
    const bars = (label, color, share, ends) => ({
      label,
      data: lifted.map(ends),
      backgroundColor: color,
      barPercentage: share,
      categoryPercentage: 1,
      grouped: false,
      borderSkipped: false,
      minBarLength: 2,
    });
    const said = labels.filter(Array.isArray).map((label) => `; ${label.join(": ")}`);
    const label = `Error / bound of ${plural(groups.length, "variant")}${said.join("")}; the table below has the figures`;
    const config = {
      data: {
        labels,
        datasets: [
          // In front of the others; 0.6: some of the decade that is kept free for it.
          bars("not finite", ink("fail"), 0.8, (row) => (infinite.get(row[0]) > 0 ? [edge / 10 ** 0.4, edge] : null)),
          bars("median", ink("mark"), 0.8, (row) => [Math.min(row[3] * 0.97, edge * 0.94), Math.min(row[3] * 1.03, edge)]),
          bars("middle half", ink("bar"), 0.6, (row) => [row[2], row[4]]),
          bars("smallest to largest", ink("pale-bar"), 0.3, (row) => [row[1], row[5]]),
        ],
      },
      options: {
        indexAxis: "y",
        scales: { x: totalInfinite > 0 ? withEdge(scale, edge) : scale, y: labelScale() },
        plugins: withoutLegend((context) => {
          const row = rows[context.dataIndex];
          return `smallest ${formatRatio(row[1])}, quartiles ${formatRatio(row[2])} and ${formatRatio(row[4])}, median ${formatRatio(row[3])}, largest ${formatRatio(row[5])}`;
        }),
      },
    };
    draw("spread-chart", label, groups.length, config, said.length > 0 ? 42 : kRowHeight);
    const names = distinct(of.variant).sort();
    const figures = new Map(rows.map(([name, ...rest]) => [name, rest]));
    fillTable(
      byId("spread-table"),
      "Largest error / bound of each case, without known failures",
      ["Variant", "Cases", "Smallest", "First quartile", "Median", "Third quartile", "Largest", "Not finite", "Failed, not compared"],
      names.map((name) => [
        name,
        sizes.get(name) || 0,
        ...(figures.get(name) || Array(5).fill(NaN)),
        infinite.get(name) || 0,
        lost.get(name) || 0,
      ]),
    );
  };

  const kBinsPerDecade = 4;
  const drawHistogram = () => {
    const wanted = byId("histogram-variant").value;
    const bins = new Map(); // by the power of 10 ** (1 / kBinsPerDecade) that each ends with; Infinity for what is not finite
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const value = judged(i);
      if (Number.isNaN(value) || (wanted !== "" && of.variant(i) !== wanted)) continue;
      // A bin ends with its largest value, so that what is exactly at its bound is not taken for above it.
      const bin = Math.ceil(Math.log10(Math.max(value, kLeastRatio)) * kBinsPerDecade - 1e-9);
      bins.set(bin, (bins.get(bin) || 0) + 1);
      ++total;
    }
    const infinite = bins.get(Infinity) || 0;
    const places = [...bins.keys()].filter(Number.isFinite);
    const first = places.length === 0 ? -12 : Math.min(...places, 0);
    const last = Math.max(...places, 0);
    const all = Array.from({ length: last - first + 1 }, (_, k) => first + k);
    if (infinite > 0) all.push(Infinity);
    byId("histogram-note").textContent = `${grouped(infinite)} of ${plural(total, "case")} not finite: the last bar, \u201cinf\u201d.`;
    byId("histogram-note").hidden = infinite === 0;
    const labelStep = Math.ceil(all.length / kBinsPerDecade / 8); // decades, so that labels fit on a phone
    const end = (bin) => 10 ** (bin / kBinsPerDecade);
    draw(
      "histogram-chart",
      `Histogram of error / bound of ${plural(total, "case")}${wanted === "" ? "" : ` of ${wanted}`}, ${all.filter((bin) => bin > 0).reduce((sum, bin) => sum + (bins.get(bin) || 0), 0)} of them above 1${infinite > 0 ? `, of these ${grouped(infinite)} not finite` : ""}`,
      0,
      {
        data: {
          labels: all.map((bin) => (bin === Infinity ? "not finite" : `at most ${formatRatio(end(bin))}`)),
          datasets: [
            {
              data: all.map((bin) => bins.get(bin) || 0),
              categoryPercentage: 1,
              barPercentage: 0.95,
              backgroundColor: all.map((bin) => (bin > 0 ? ink("fail") : ink("bar"))),
            },
          ],
        },
        options: {
          scales: {
            x: {
              title: { display: true, text: "largest error / bound of a case is at most; above 1 it failed", color: ink("ink") },
              ticks: {
                color: ink("quiet"),
                autoSkip: false,
                maxRotation: 0,
                callback: (_, k) => {
                  if (all[k] === Infinity) return "inf";
                  const hasRoom = infinite === 0 || ((last - all[k] + 1) * byId("histogram-chart").parentNode.clientWidth) / all.length > 48; // beside "inf"
                  return hasRoom && all[k] % (kBinsPerDecade * labelStep) === 0 ? decade(10 ** (all[k] / kBinsPerDecade)) : "";
                },
              },
              grid: { display: false },
            },
            y: {
              title: { display: true, text: "cases", color: ink("ink") },
              ticks: { color: ink("quiet"), precision: 0 },
              grid: { color: ink("grid") },
            },
          },
          plugins: withoutLegend((context) => plural(context.raw, "case")),
        },
      },
    );
  };

  const drawCosts = () => {
    const key = byId("cost-counter").value;
    if (!key) {
      byId("cost-chart").setAttribute("aria-label", "No counter was recorded");
      byId("cost-chart").parentNode.hidden = true;
      return;
    }
    const groups = byVariant((i) => data.counters[key][i] ?? NaN);
    const values = groups.map(([, sorted]) => Math.max(quantile(sorted, 0.5), 0));
    const [low, high] = decadesAround(
      values.filter((value) => value > 0),
      [1, 10],
    );
    draw("cost-chart", `Median over cases of ${spelt(key)} by variant; the table below has the figures`, groups.length, {
      data: {
        labels: groups.map(([name]) => name),
        datasets: [{ data: values, backgroundColor: ink("bar"), barPercentage: 0.7, categoryPercentage: 1 }],
      },
      options: {
        indexAxis: "y",
        scales: { x: logScale(`${spelt(key)}, median of the cases`, Math.max(low / 10, 0.1), high, 0), y: labelScale() },
        plugins: withoutLegend((context) => assay.grouped(context.raw)),
      },
    });
  };
  const fillCosts = () => {
    const keys = Object.keys(data.counters);
    const hasBytes = keys.includes("device_bytes_read");
    byId("cost-note").textContent =
      (keys.length === 0
        ? "No counter was recorded. "
        : "Counted by the simulator; every run gives the same figures. Variants have different cases, so compare only variants of one family. ") +
      (hasBytes ? "" : "Bytes and operations are counted under --policy checked.");
    fillSelect(
      byId("cost-counter"),
      keys.map((key) => [key, spelt(key)]),
      keys[0],
    );
    const names = distinct(of.variant).sort();
    const groups = new Map(keys.map((key) => [key, new Map(byVariant((i) => data.counters[key][i] ?? NaN))]));
    fillTable(
      byId("cost-table"),
      "Sums over the cases of each variant",
      ["Variant", ...keys.map(spelt)],
      names.map((name) => [
        name,
        ...keys.map((key) => {
          const values = groups.get(key).get(name);
          return values ? assay.grouped(values.reduce((a, b) => a + b, 0)) : "\u2013";
        }),
      ]),
    );
  };

  const drawAll = () => {
    drawSpread();
    drawHistogram();
    drawCosts();
  };
  const fill = () => {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 13;
    fillSelect(
      byId("histogram-variant"),
      [
        ["", "all variants"],
        ...distinct(of.variant)
          .sort()
          .map((name) => [name, name]),
      ],
      "",
    );
    fillCosts();
    drawAll();
    byId("histogram-variant").addEventListener("change", drawHistogram);
    byId("cost-counter").addEventListener("change", drawCosts);
    isDark.addEventListener("change", drawAll);
  };
  return { fill };
})();
