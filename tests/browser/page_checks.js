// Run inside of a page: [what is wrong with contrast, names of controls and the structure of tables].
(() => {
  const errors = [];
  const name = (node) =>
    `${node.tagName.toLowerCase()}${node.id ? `#${node.id}` : ""}${node.className && node.className.baseVal === undefined ? `.${node.className}` : ""} "${(node.textContent || "").trim().slice(0, 30)}"`;
  const isSeen = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });

  const painter = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (text) => {
    painter.clearRect(0, 0, 1, 1);
    painter.fillStyle = text;
    painter.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = painter.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (front, back) => [0, 1, 2].map((c) => front[c] * front[3] + back[c] * (1 - front[3])).concat(1);
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const backdrop = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    const canvas = rgba(getComputedStyle(document.body).backgroundColor);
    return layers.reverse().reduce((under, layer) => over(layer, under), over(canvas, [255, 255, 255, 1]));
  };

  let texts = 0;
  for (const node of document.querySelectorAll("body *")) {
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(node.tagName) || !isSeen(node)) continue;
    const hasText =
      [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim() !== "") ||
      ["INPUT", "SELECT"].includes(node.tagName);
    if (!hasText || node.disabled) continue;
    ++texts;
    const style = getComputedStyle(node);
    const back = backdrop(node);
    const size = Number.parseFloat(style.fontSize);
    const wanted = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const found = contrast(over(rgba(style.color), back), back);
    if (found < wanted) errors.push(`contrast ${found.toFixed(2)} of ${name(node)}`);
  }
  if (texts < 50) errors.push(`only ${texts} texts were looked at`);
  const page = rgba(getComputedStyle(document.body).backgroundColor);
  for (const chart of Object.values(Chart.instances)) {
    for (const dataset of chart.data.datasets)
      for (const color of [dataset.backgroundColor].flat())
        if (contrast(rgba(color), page) < 3) errors.push(`contrast of ${color} in ${chart.canvas.id}`);
    for (const scale of Object.values(chart.options.scales))
      for (const color of [scale.ticks.color, scale.title?.display && scale.title.color].filter(Boolean))
        if (contrast(rgba(color), page) < 4.5) errors.push(`contrast of ${color} in ${chart.canvas.id}`);
  }
  for (const control of document.querySelectorAll("button, input, select")) {
    const edge = getComputedStyle(control);
    if (!isSeen(control) || edge.borderTopWidth === "0px" || control.closest(".heat")) continue;
    if (contrast(rgba(edge.borderTopColor), backdrop(control.parentElement)) < 3) errors.push(`edge of ${name(control)}`);
  }

  for (const control of document.querySelectorAll("button, input, select, textarea, a[href], summary, [tabindex='0']")) {
    const labels = [...(control.labels || [])].map((label) =>
      [...label.childNodes]
        .filter((child) => child.nodeType === Node.TEXT_NODE)
        .map((child) => child.data)
        .join(""),
    );
    const text = ["INPUT", "SELECT"].includes(control.tagName) ? "" : control.textContent;
    const referred = (control.getAttribute("aria-labelledby") || "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent || "")
      .join("");
    if ([...labels, text, referred, control.getAttribute("aria-label") || ""].join("").trim() === "")
      errors.push(`no name: ${name(control)}`);
  }
  for (const canvas of document.querySelectorAll("canvas"))
    if (canvas.getAttribute("role") !== "img" || !canvas.getAttribute("aria-label")) errors.push(`no text for ${name(canvas)}`);
  for (const table of document.querySelectorAll("table")) {
    if (!isSeen(table) || table.rows.length === 0) continue;
    if (table.querySelectorAll("th[scope=col]").length === 0) errors.push(`no headers: ${name(table)}`);
    if (!table.caption && !table.closest("[aria-label]")) errors.push(`no caption: ${name(table)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) errors.push(`two #${id}`);
  if (!document.documentElement.lang || !document.title) errors.push("no language or title");
  return [...new Set(errors)].slice(0, 40);
})();
