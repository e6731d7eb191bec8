// Selects the cases that the table shows, and sorts them.
"use strict";
assay.filter = (() => {
  const { all, of, byId, distinct, element, fails, fillSelect, grouped, isExpected, plural } = assay;
  const inputs = {
    text: byId("filter-text"),
    status: byId("filter-status"),
    family: byId("filter-family"),
    variant: byId("filter-variant"),
    fixture: byId("filter-fixture"),
    ratio: byId("filter-ratio"),
  };
  const kFailing = "(all that failed)";

  let chosen = null; // {label, members}: the cases of a finding or of a cell of the heat map
  let order = { key: "severity", descending: true };
  let shown = all;

  let texts = null; // made at the first search
  const textOf = (i) => {
    texts ??= all.map((k) => `${of.name(k)} ${of.status(k)} ${of.reason(k)} ${of.note(k)}`.toLowerCase());
    return texts[i];
  };
  // Every word has to be there; '*' stands for anything.
  const matcher = (search) => {
    const words = search
      .toLowerCase()
      .split(/\s+/)
      .filter((part) => part !== "");
    const tests = words.map((part) => {
      if (!part.includes("*")) return (text) => text.includes(part);
      const pattern = new RegExp(
        part
          .split(/\*+/)
          .map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
          .join("\\S*"),
      );
      return (text) => pattern.test(text);
    });
    return tests.length === 0 ? null : (i) => tests.every((test) => test(textOf(i)));
  };

  const kKeys = {
    // Failures, then what came closest to its bound, last what fails as declared.
    severity: (i) =>
      isExpected(of.status(i)) ? -1 : (fails(of.status(i)) ? 1e9 : 0) + Math.min(Number.isNaN(of.ratio(i)) ? 0 : of.ratio(i), 1e8),
    status: (i) => of.status(i),
    name: (i) => i,
    ratio: (i) => of.ratio(i),
    sharpness: (i) => of.sharpness(i),
    compared: (i) => of.compared(i),
    seconds: (i) => of.seconds(i),
  };
  const sorted = (indices) => {
    const keys = new Map(indices.map((i) => [i, kKeys[order.key](i)]));
    const sign = order.descending ? -1 : 1;
    // What is no number goes to the end either way.
    const compare = (a, b) => (a === b ? 0 : Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a < b ? -sign : sign);
    return indices.sort((a, b) => compare(keys.get(a), keys.get(b)) || a - b);
  };

  const apply = () => {
    const tests = [];
    const status = inputs.status.value;
    if (chosen) tests.push((i) => chosen.members.has(i));
    if (status === kFailing) tests.push((i) => fails(of.status(i)));
    else if (status !== "") tests.push((i) => of.status(i) === status);
    for (const key of ["family", "variant", "fixture"]) {
      const { value } = inputs[key];
      if (value !== "") tests.push((i) => of[key](i) === value);
    }
    const least = Number.parseFloat(inputs.ratio.value);
    if (!Number.isNaN(least)) tests.push((i) => of.ratio(i) >= least);
    const words = matcher(inputs.text.value);
    if (words) tests.push(words);
    shown = sorted(all.filter((i) => tests.every((test) => test(i))));
    byId("case-count").textContent =
      shown.length === all.length ? plural(all.length, "case") : `${grouped(shown.length)} of ${plural(all.length, "case")}`;
    byId("chosen").replaceChildren(
      ...(chosen
        ? [
            chosen.label,
            element(
              "button",
              {
                type: "button",
                onclick: () => {
                  chosen = null;
                  apply();
                },
              },
              "Show the others too",
            ),
          ]
        : []),
    );
    assay.caseTable.show(shown);
  };

  const reset = () => {
    chosen = null;
    for (const input of Object.values(inputs)) input.value = "";
  };
  // From elsewhere in the page: these cases and no others.
  const showOnly = (wanted) => {
    reset();
    chosen = wanted.chosen || null;
    inputs.status.value = wanted.status || "";
    apply();
    byId("cases").scrollIntoView();
    byId("case-scroll").focus({ preventScroll: true });
  };

  const fill = () => {
    const choices = (values, first = []) => [["", "all"], ...first, ...values.map((value) => [value, value])];
    fillSelect(inputs.status, choices(distinct(of.status).sort(), [[kFailing, "all that failed"]]), "");
    for (const key of ["family", "variant", "fixture"]) fillSelect(inputs[key], choices(distinct(of[key]).sort()), "");
    let waiting = 0;
    for (const input of Object.values(inputs))
      input.addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(apply, 60);
      });
    byId("filter-reset").addEventListener("click", () => {
      reset();
      apply();
    });
    apply();
  };
  const sortBy = (key) => {
    order = { key, descending: order.key === key ? !order.descending : key !== "name" && key !== "status" };
    apply();
    return order;
  };
  return { fill, apply, showOnly, sortBy, shown: () => shown, order: () => order };
})();
