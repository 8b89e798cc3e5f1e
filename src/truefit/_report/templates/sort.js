"use strict";
// Headers become buttons here, so that without a script there is no button that does nothing.
for (const table of document.querySelectorAll(".tf-table")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  if (original.length < 2) continue;
  const words = new Intl.Collator(undefined, { numeric: true });
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const now = header.getAttribute("aria-sort");
      const next = now === "none" ? "ascending" : now === "ascending" ? "descending" : "none";
      for (const other of headers) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", next);
      body.append(...(next === "none" ? original : sorted(column, next === "ascending" ? 1 : -1)));
    });
  });

  function sorted(column, sign) {
    return [...original].sort((a, b) => {
      const [x, y] = [a.cells[column], b.cells[column]];
      const missing = x.hasAttribute("data-missing") - y.hasAttribute("data-missing");
      if (missing) return missing; // at the end, whichever way the rest is sorted
      if (x.dataset.sort !== undefined && y.dataset.sort !== undefined) return sign * (x.dataset.sort - y.dataset.sort);
      return sign * words.compare(x.textContent, y.textContent);
    });
  }
}
