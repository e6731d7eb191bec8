"use strict";
// Distributions of errors and costs, by Chart.js; each has a table that says the same.
assay.charts = (() => {
  const { data, count, of, element, byId, distinct, fillSelect, fillTable, format, formatRatio, plural, spelt } = assay;
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const quantile = (sorted, share) => sorted[Math.round(share * (sorted.length - 1))];
  // `value` over the cases of each variant, sorted; what is not finite or not known is left out.
  const byVariant = (value) => {
    const groups = new Map();
    for (let i = 0; i < count; ++i) {
      const v = value(i);
      if (!Number.isFinite(v)) continue;
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
      color: (context) => (context.tick.value === strongAt ? ink("fail") : isDecade(context.tick.value) ? ink("grid") : "transparent"),
      lineWidth: (context) => (context.tick.value === strongAt ? 3 : 1),
    },
  });
  const labelScale = () => ({ ticks: { color: ink("ink"), autoSkip: false }, grid: { display: false } });

  const charts = new Map();
  const draw = (id, label, rows, config) => {
    charts.get(id)?.destroy();
    const canvas = byId(id);
    canvas.setAttribute("aria-label", label);
    if (rows > 0) canvas.parentNode.style.height = `${rows * 30 + 90}px`;
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

  const judged = (i) => (of.compared(i) !== 0 && of.status(i) !== "known" ? of.ratio(i) : NaN);
  const kLeastRatio = 1e-6; // bits equal, or as good as

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
    const lifted = rows.map(([name, ...figures]) => [name, ...figures.map((value) => Math.max(value, kLeastRatio))]);
    const [low, high] = decadesAround(
      lifted.flatMap((row) => row.slice(1)),
      [1e-3, 1],
    );
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
    draw("spread-chart", `Error / bound of ${plural(groups.length, "variant")}; the table below has the figures`, groups.length, {
      data: {
        labels: lifted.map((row) => row[0]),
        datasets: [
          bars("median", ink("mark"), 0.8, (row) => [row[3] * 0.97, row[3] * 1.03]),
          bars("middle half", ink("bar"), 0.6, (row) => [row[2], row[4]]),
          bars("smallest to largest", ink("pale-bar"), 0.3, (row) => [row[1], row[5]]),
        ],
      },
      options: {
        indexAxis: "y",
        scales: { x: logScale("largest error / bound of a case (1: the bound)", low, Math.max(high, 1), 1), y: labelScale() },
        plugins: withoutLegend((context) => {
          const row = rows[context.dataIndex];
          return `smallest ${format(row[1])}, quartiles ${format(row[2])} and ${format(row[4])}, median ${format(row[3])}, largest ${formatRatio(row[5])}`;
        }),
      },
    });
    const extra = new Map();
    for (let i = 0; i < count; ++i)
      if (of.compared(i) !== 0 && of.status(i) !== "known" && !Number.isFinite(of.ratio(i)))
        extra.set(of.variant(i), (extra.get(of.variant(i)) || 0) + 1);
    const names = distinct(of.variant).sort();
    const figures = new Map(rows.map(([name, ...rest]) => [name, rest]));
    fillTable(
      byId("spread-table"),
      "Largest error / bound of each case, without cases known to fail",
      ["Variant", "Cases", "Smallest", "First quartile", "Median", "Third quartile", "Largest", "Not finite"],
      names.map((name) => [
        name,
        groups.find(([group]) => group === name)?.[1].length ?? 0,
        ...(figures.get(name) || Array(5).fill(NaN)),
        extra.get(name) || 0,
      ]),
    );
  };

  const kBinsPerDecade = 4;
  const drawHistogram = () => {
    const wanted = byId("histogram-variant").value;
    const bins = new Map();
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const value = judged(i);
      if (!Number.isFinite(value) || (wanted !== "" && of.variant(i) !== wanted)) continue;
      // A bin ends with its largest value, so that what is exactly at its bound is not taken for above it.
      const bin = Math.ceil(Math.log10(Math.max(value, kLeastRatio)) * kBinsPerDecade - 1e-9);
      bins.set(bin, (bins.get(bin) || 0) + 1);
      ++total;
    }
    const places = [...bins.keys()];
    const first = total === 0 ? -12 : Math.min(...places);
    const last = Math.max(total === 0 ? 0 : Math.max(...places), 0);
    const all = Array.from({ length: last - first + 1 }, (_, k) => first + k);
    const labelStep = Math.ceil(all.length / kBinsPerDecade / 8); // decades, so that labels fit on a phone
    const end = (bin) => 10 ** (bin / kBinsPerDecade);
    draw(
      "histogram-chart",
      `Histogram of error / bound of ${plural(total, "case")}${wanted === "" ? "" : ` of ${wanted}`}, ${all.filter((bin) => bin > 0).reduce((sum, bin) => sum + (bins.get(bin) || 0), 0)} of them above 1`,
      0,
      {
        data: {
          labels: all.map((bin) => `at most ${formatRatio(end(bin))}`),
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
                callback: (_, k) => (all[k] % (kBinsPerDecade * labelStep) === 0 ? decade(10 ** (all[k] / kBinsPerDecade)) : ""),
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
    if (!key) return;
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
        : "Counted by the simulator, the same in every run. Variants differ in their cases: what compares is the same family. ") +
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
