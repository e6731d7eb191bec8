// The table of cases. Only visible rows exist, so that tens of thousands of cases are as fast as fifty.
"use strict";
assay.caseTable = (() => {
  const { of, element, byId, chip, caseLink, format, formatRatio, grouped } = assay;
  const scroller = byId("case-scroll");
  const body = byId("case-body");
  const kColumns = [
    ["status", "Verdict"],
    ["name", "Case"],
    ["ratio", "Error / bound"],
    ["sharpness", "Bound / magn."],
    ["compared", "Elements"],
    ["seconds", "Seconds"],
  ];
  const kBeyond = 10; // rows above and below what is seen

  let indices = [];
  let current = 0; // the row that the keyboard is at
  let first = -1,
    last = -1;

  const rowHeight = () =>
    Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) *
    Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const cell = (key, ...children) =>
    element("td", { class: `column-${key}${["status", "name"].includes(key) ? "" : " number"}` }, ...children);
  // Of one cell: on a phone a wider one would bring the columns back that are hidden there.
  const spacer = (rows) => element("tr", { class: "spacer", "aria-hidden": true, style: `height:${rows * rowHeight()}px` }, element("td"));

  const row = (place) => {
    const i = indices[place];
    const link = caseLink(i);
    link.tabIndex = place === current ? 0 : -1;
    link.title = of.name(i);
    return element(
      "tr",
      { "aria-rowindex": place + 2, "data-place": place },
      cell("status", chip(of.status(i))),
      cell("name", link),
      cell("ratio", of.compared(i) === 0 ? "\u2013" : formatRatio(of.ratio(i))),
      cell("sharpness", format(of.sharpness(i))),
      cell("compared", grouped(of.compared(i))),
      cell("seconds", format(of.seconds(i))),
    );
  };

  const draw = (again = false) => {
    const height = rowHeight();
    const from = Math.max(Math.floor(scroller.scrollTop / height) - kBeyond, 0);
    const to = Math.min(Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + kBeyond, indices.length);
    if (!again && from === first && to === last) return;
    [first, last] = [from, to];
    const focused = document.activeElement?.closest?.("#case-body tr")?.dataset.place;
    body.replaceChildren(
      ...(from > 0 ? [spacer(from)] : []),
      ...indices.slice(from, to).map((_, k) => row(from + k)),
      ...(to < indices.length ? [spacer(indices.length - to)] : []),
    );
    if (indices.length === 0) body.replaceChildren(element("tr", {}, element("td", { colspan: 2 }, "No case matches.")));
    if (focused !== undefined) (body.querySelector(`[data-place="${focused}"] a`) || scroller).focus({ preventScroll: true });
  };

  const focusRow = (place) => {
    current = Math.min(Math.max(place, 0), indices.length - 1);
    const height = rowHeight();
    const head = byId("case-head").offsetHeight;
    const top = current * height;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + height + head > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + height + head - scroller.clientHeight;
    draw(true);
    body.querySelector(`[data-place="${current}"] a`)?.focus({ preventScroll: true });
  };
  const move = (event) => {
    const page = Math.max(Math.floor(scroller.clientHeight / rowHeight()) - 2, 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -indices.length, End: indices.length };
    if (!(event.key in steps) || indices.length === 0 || event.target.closest("thead")) return;
    event.preventDefault();
    focusRow(event.target === scroller ? current : current + steps[event.key]);
  };

  const fillHead = () => {
    const order = assay.filter.order();
    byId("case-head").replaceChildren(
      ...kColumns.map(([key, text]) => {
        const isOrder = order.key === key;
        const arrow = isOrder ? (order.descending ? " \u2193" : " \u2191") : "";
        return element(
          "th",
          {
            scope: "col",
            class: `column-${key}${["status", "name"].includes(key) ? "" : " number"}`,
            "aria-sort": isOrder ? (order.descending ? "descending" : "ascending") : undefined,
          },
          element(
            "button",
            {
              type: "button",
              onclick: () => {
                assay.filter.sortBy(key);
                fillHead();
                byId("case-head").querySelector(`.column-${key} button`).focus();
              },
            },
            text + arrow,
          ),
        );
      }),
    );
  };

  const show = (wanted) => {
    indices = wanted;
    current = 0;
    byId("case-table").setAttribute("aria-rowcount", String(indices.length + 1));
    scroller.scrollTop = 0;
    draw(true);
  };
  const fill = () => {
    fillHead();
    scroller.addEventListener("scroll", () => requestAnimationFrame(() => draw()));
    scroller.addEventListener("keydown", move);
    new ResizeObserver(() => draw(true)).observe(scroller);
  };
  return { fill, show, focusRow };
})();
