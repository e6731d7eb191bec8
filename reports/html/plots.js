// Small drawings inside of tables and dialogs, as SVG.
"use strict";
assay.plots = (() => {
  const { fails, format } = assay;
  const svg = (tag, attributes = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const drawing = (width, height, label, ...children) =>
    svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "plot" }, ...children);

  // Marks differ in shape and not in colour alone: a cross fails, a ring does not.
  const kMark = 4;
  const cross = (x, y) => svg("path", { d: `M${x - kMark} ${y - kMark}l${2 * kMark} ${2 * kMark}m0 ${-2 * kMark}l${-2 * kMark} ${2 * kMark}`, class: "mark-fails" });
  const ring = (x, y) => svg("circle", { cx: x, cy: y, r: 3, class: "mark-passes" });
  const mark = (status, x, y) => (fails(status) ? cross(x, y) : ring(x, y));
  const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });

  const logs = (values) => values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  // Where values stand between two ends; zero is at the lower end and infinity at the upper.
  const scale = (values, from, to, least = 1) => {
    const known = logs(values);
    let [low, high] = known.length === 0 ? [-1, 1] : [Math.min(...known), Math.max(...known)];
    if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
    return (value) =>
      value === 0 ? from : !Number.isFinite(value) ? to : from + (to - from) * (0.1 + (0.8 * (Math.log10(value) - low)) / (high - low));
  };

  // error / bound over runs, with the bound.
  const sparkline = (steps, label) => {
    const [width, height] = [Math.min(Math.max(steps.length * 14, 120), 560), 64];
    const y = scale([1, ...steps.map((step) => step.ratio)], height - 6, 6);
    const x = (k) => 10 + ((width - 20) * (k + 0.5)) / steps.length;
    const known = steps.map((step, k) => [step, k]).filter(([step]) => !Number.isNaN(step.ratio));
    const path = known.map(([step, k], at) => `${at === 0 ? "M" : "L"}${x(k).toFixed(1)} ${y(step.ratio).toFixed(1)}`).join("");
    return drawing(
      width,
      height,
      label,
      line(0, y(1), width, y(1), "bound"),
      svg("path", { d: path, class: "run-line" }),
      ...steps.map((step, k) => mark(step.status, x(k), Number.isNaN(step.ratio) ? height - 6 : y(step.ratio))),
    );
  };

  // Elements of a case: error over the magnitude of the expected value, and the bound of each.
  const elements = (points, label) => {
    const [width, height, left, bottom] = [360, 200, 70, 40];
    const heights = points.flatMap((point) => [point.error, point.bound]);
    const magnitudes = points.map((point) => point.magnitude);
    const y = scale(heights, height - bottom, 8);
    const x = scale(magnitudes, left, width - 14);
    const text = (words, at) => svg("text", at, words);
    const ends = (values, at) => [Math.min(...values), Math.max(...values)].map((value) => text(format(value), at(value)));
    return drawing(
      width,
      height,
      label,
      line(left - 6, height - bottom + 4, width - 4, height - bottom + 4, "axis"),
      line(left - 6, 4, left - 6, height - bottom + 4, "axis"),
      ...ends(heights, (value) => ({ x: left - 10, y: y(value) + 4, "text-anchor": "end" })),
      ...ends(magnitudes, (value) => ({ x: x(value), y: height - bottom + 18, "text-anchor": "middle" })),
      text("expected, in magnitude", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }),
      text("error", { x: left - 10, y: (height - bottom) / 2 + 4, "text-anchor": "end" }),
      ...points.flatMap((point) => [
        line(x(point.magnitude) - 6, y(point.bound), x(point.magnitude) + 6, y(point.bound), "bound"),
        line(x(point.magnitude), y(point.bound), x(point.magnitude), y(point.error), "reach"),
        mark(point.fails ? "failed" : "passed", x(point.magnitude), y(point.error)),
      ]),
    );
  };
  return { sparkline, elements };
})();
