// A point per case: the magnitude of the expected value of its worst element, and the error. By Chart.js, with a table beside it.
"use strict";
assay.scatter = (() => {
  const { all, of, byId, caseLink, caseAddress, chip, distinct, fails, fillSelect, fillTable, format, formatRatio, grouped, isExpected, plural } = assay;
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const kCells = 160; // along each side: points that would lie on each other become one
  const kRows = 200; // of the table
  const kMeasures = {
    error: { text: "error", value: of.error, bound: (i) => (of.ratio(i) > 0 ? of.error(i) / of.ratio(i) : NaN) },
    ratio: { text: "error / bound", value: of.ratio, bound: () => 1 },
  };
  const kKinds = {
    failed: { label: "failed", colour: "fail", style: "crossRot", radius: 6, width: 2.5 },
    known: { label: "known to fail, or not required", colour: "known", style: "triangle", radius: 5, width: 1.5 },
    passed: { label: "passed", colour: "bar", style: "circle", radius: 3, width: 1.5 },
  };
  const kindOf = (i) => (fails(of.status(i)) ? "failed" : isExpected(of.status(i)) ? "known" : "passed");

  // An axis of decades. Only those with values, and their neighbours: a long gap between the values of two fixtures would squeeze both into
  // corners, so it shrinks to one step, a grey band. Zero, and what is not finite, have steps of their own at the ends.
  const kZero = -Infinity;
  const kGap = null;
  const decadeOf = (value) => Math.floor(Math.log10(value) + 1e-12);
  const axisOf = (values) => {
    const decades = [...new Set(values.filter((value) => value > 0 && Number.isFinite(value)).map(decadeOf))].sort((a, b) => a - b);
    const steps = values.includes(0) ? [kZero] : [];
    decades.forEach((decade, k) => {
      const before = k === 0 ? decade : decades[k - 1];
      if (decade - before <= 4) for (let d = before + 1; d < decade; ++d) steps.push(d);
      else steps.push(kGap);
      steps.push(decade);
    });
    if (decades.length === 0) steps.push(0);
    const ends = steps.length + (values.includes(Infinity) ? 1 : 0);
    const places = new Map(steps.map((decade, k) => [decade, k]));
    const place = (value) =>
      value === 0 ? 0 : value === Infinity ? ends : places.get(decadeOf(value)) + Math.min(Math.max(Math.log10(value) - decadeOf(value), 0), 1);
    const name = (k) => {
      if (steps[k] === kZero) return "0";
      if (steps[k] === kGap) return "";
      if (steps[k] !== undefined) return `1e${steps[k]}`;
      return k === ends && values.includes(Infinity) ? "inf" : Number.isFinite(steps.at(-1)) ? `1e${steps.at(-1) + 1}` : "";
    };
    const gaps = steps.flatMap((decade, k) => (decade === kGap ? [k] : []));
    return { ends, place, name, gaps };
  };

  const scaleOf = (title, axis) => ({
    type: "linear",
    min: 0,
    max: axis.ends,
    title: { display: true, text: title, color: ink("ink") },
    grid: { color: ink("grid") },
    ticks: { color: ink("quiet"), autoSkip: true, autoSkipPadding: 10, maxRotation: 0, stepSize: 1, callback: axis.name },
  });

  let chart = null;
  let points = []; // {i, x, y, bound, count}, by x
  let current = -1; // of the keyboard

  const text = (point) =>
    `${of.name(point.i)}: ${of.status(point.i)}, expected ${format(of.expected(point.i))}, error ${format(of.error(point.i))}, error / bound ${formatRatio(of.ratio(point.i))}${point.count > 1 ? `; ${plural(point.count - 1, "other case")} at this place` : ""}`;

  const collect = (key) => {
    const measure = kMeasures[key];
    const variant = byId("scatter-variant").value;
    const shown = all.filter(
      (i) => (variant === "" || of.variant(i) === variant) && !Number.isNaN(of.expected(i)) && !Number.isNaN(of.error(i)) && of.expected(i) !== Infinity,
    );
    const xs = axisOf(shown.map(of.expected));
    const ys = axisOf([...shown.map(measure.value), ...shown.map(measure.bound).filter((value) => value > 0)]);
    const cells = new Map();
    for (const i of shown) {
      const [x, y] = [xs.place(of.expected(i)), ys.place(measure.value(i))];
      const cell = (place, axis) => Math.round((kCells * place) / axis.ends);
      const key = `${kindOf(i)} ${cell(x, xs)} ${cell(y, ys)}`;
      const point = cells.get(key);
      if (!point) {
        const bound = measure.bound(i);
        cells.set(key, { i, x, y, bound: bound > 0 ? ys.place(bound) : NaN, count: 1 });
      } else {
        ++point.count;
      }
    }
    const line = key === "ratio" ? ys.place(1) : NaN;
    return { shown, xs, ys, line, points: [...cells.values()].sort((a, b) => a.x - b.x || a.y - b.y) };
  };

  // Gaps and bounds below the points, and a ring around the one that the keyboard is at.
  const bounds = ({ line, xs, ys }) => ({
    id: "bounds",
    beforeDatasetsDraw: ({ ctx, chartArea, scales: { x, y } }) => {
      ctx.save();
      ctx.fillStyle = ink("none-page");
      for (const gap of xs.gaps) ctx.fillRect(x.getPixelForValue(gap), chartArea.top, x.getPixelForValue(gap + 1) - x.getPixelForValue(gap), chartArea.height);
      for (const gap of ys.gaps) ctx.fillRect(chartArea.left, y.getPixelForValue(gap + 1), chartArea.width, y.getPixelForValue(gap) - y.getPixelForValue(gap + 1));
      ctx.strokeStyle = ink("mark");
      if (!Number.isNaN(line)) {
        ctx.lineWidth = 2;
        ctx.beginPath();
        ctx.moveTo(chartArea.left, y.getPixelForValue(line));
        ctx.lineTo(chartArea.right, y.getPixelForValue(line));
        ctx.stroke();
      } else {
        for (const point of points) {
          if (Number.isNaN(point.bound)) continue;
          const [px, py] = [x.getPixelForValue(point.x), y.getPixelForValue(point.bound)];
          const isFailure = fails(of.status(point.i));
          ctx.lineWidth = isFailure ? 2 : 1;
          ctx.globalAlpha = isFailure ? 1 : 0.55;
          ctx.beginPath();
          ctx.moveTo(px - 5, py);
          ctx.lineTo(px + 5, py);
          if (isFailure) {
            ctx.moveTo(px, py);
            ctx.lineTo(px, y.getPixelForValue(point.y));
          }
          ctx.stroke();
        }
      }
      ctx.restore();
    },
    afterDatasetsDraw: ({ ctx, scales: { x, y } }) => {
      const point = points[current];
      if (!point) return;
      ctx.save();
      ctx.strokeStyle = ink("accent");
      ctx.lineWidth = 3;
      ctx.beginPath();
      ctx.arc(x.getPixelForValue(point.x), y.getPixelForValue(point.y), 11, 0, 2 * Math.PI);
      ctx.stroke();
      ctx.restore();
    },
  });

  const fillRows = (shown) => {
    const worst = [...shown].sort((a, b) => fails(of.status(b)) - fails(of.status(a)) || of.ratio(b) - of.ratio(a) || a - b).slice(0, kRows);
    const table = byId("scatter-table");
    fillTable(
      table,
      `${shown.length > kRows ? `The ${kRows} of ${grouped(shown.length)} cases that failed or came nearest to their bounds` : plural(shown.length, "case")}; failures first`,
      ["Case", "Verdict", "Magnitude of the expected value", "Error", "Error / bound"],
      worst.map((i) => [caseLink(i), chip(of.status(i)), format(of.expected(i)), format(of.error(i)), formatRatio(of.ratio(i))]),
    );
    assay.labelCells(table);
  };

  const draw = () => {
    const key = byId("scatter-measure").value;
    const measure = kMeasures[key];
    const found = collect(key);
    points = found.points;
    current = -1;
    byId("scatter-point").textContent = "";
    const failures = found.shown.filter((i) => fails(of.status(i))).length;
    const left = all.filter((i) => (byId("scatter-variant").value === "" || of.variant(i) === byId("scatter-variant").value) && of.status(i) !== "skipped").length - found.shown.length;
    byId("scatter-note").textContent =
      `${plural(found.shown.length, "case")}, ${grouped(failures)} failed.${left > 0 ? ` Not shown: ${plural(left, "case")} of whose elements the run recorded none.` : ""}`;
    const hasKnown = found.shown.some((i) => isExpected(of.status(i)));
    byId("scatter-key").textContent = [
      `A \u00D7 failed, a ring passed${hasKnown ? ", a triangle is known to fail or not required" : ""}.`,
      key === "ratio" ? "The line is the bound." : `A dash is the bound of a case${failures > 0 ? "; a line joins it to its \u00D7" : ""}.`,
    ].join(" ");
    byId("scatter-box").hidden = found.shown.length === 0;
    if (byId("scatter-details").open) fillRows(found.shown);
    byId("scatter-details").ontoggle = () => byId("scatter-details").open && fillRows(found.shown);
    chart?.destroy();
    chart = null;
    if (found.shown.length === 0) return;
    byId("scatter-chart").setAttribute("aria-label", `${measure.text} over the magnitude of the expected value of ${plural(found.shown.length, "case")}, ${grouped(failures)} of them failed; the table below has the figures`);
    chart = new Chart(byId("scatter-chart"), {
      type: "scatter",
      data: {
        datasets: Object.entries(kKinds).map(([kind, { label, colour, style, radius, width }]) => ({
          label,
          data: points.filter((point) => kindOf(point.i) === kind),
          backgroundColor: ink(colour),
          pointBackgroundColor: kind === "passed" ? "transparent" : ink(colour),
          borderColor: ink(colour),
          pointStyle: style,
          radius,
          hoverRadius: radius + 3,
          borderWidth: width,
          clip: 8,
        })),
      },
      plugins: [bounds(found)],
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        scales: { x: scaleOf("magnitude of the expected value", found.xs), y: scaleOf(measure.text, found.ys) },
        plugins: {
          legend: { display: false },
          tooltip: { callbacks: { label: (context) => wrapped(text(context.raw)) } },
        },
        onClick: (_, hit) => {
          if (hit.length > 0) location.hash = caseAddress(chart.data.datasets[hit[0].datasetIndex].data[hit[0].index].i);
        },
      },
    });
  };
  const wrapped = (words) => words.match(/.{1,60}(\s|$)|\S{1,60}/g) || [];

  const move = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (points.length === 0) return;
    if (event.key === "Enter" && current >= 0) location.hash = caseAddress(points[current].i);
    if (step === undefined) return;
    event.preventDefault();
    current = Math.min(Math.max(current + step, 0), points.length - 1);
    byId("scatter-point").textContent = `Point ${current + 1} of ${grouped(points.length)}: ${text(points[current])}`;
    chart.draw();
  };

  const fill = () => {
    fillSelect(byId("scatter-variant"), [["", "all variants"], ...distinct(of.variant).sort().map((name) => [name, name])], "");
    fillSelect(byId("scatter-measure"), Object.entries(kMeasures).map(([key, measure]) => [key, measure.text]), "error");
    for (const id of ["scatter-variant", "scatter-measure"]) byId(id).addEventListener("change", draw);
    byId("scatter-box").addEventListener("keydown", move);
    byId("scatter-box").addEventListener("blur", () => {
      current = -1;
      chart?.draw();
    });
    isDark.addEventListener("change", () => chart && draw());
    // Thousands of points take a while, and most readers look at other things first.
    const start = () => {
      observer.disconnect();
      if (!chart) draw();
    };
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && start(), { rootMargin: "400px" });
    observer.observe(byId("scatter"));
    addEventListener("beforeprint", start);
  };
  return { fill, points: () => points };
})();
