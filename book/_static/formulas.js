// Formulas that are wider than their column. A displayed one beside code is set above the code; one that is wider even so
// is broken before its relations, operators and spaces; what is left is set smaller, and can be scrolled. An inline one
// gets lines of its own.
(() => {
  "use strict";
  const SMALLEST = 0.8;
  const set = (formula) => formula.querySelector("mjx-math") || formula;
  const wide = (formula) => {
    const inline = formula.closest("p, li, dd, td, th, figcaption, .beside-text") || formula.parentElement;
    const room = (formula.getAttribute("display") ? formula : inline).clientWidth;
    return set(formula).getBoundingClientRect().width > room ? room : 0;
  };

  /** Wrap the parts of a row between which it may be broken, outside of brackets; where a part is wider than `room`,
      also inside of them. */
  function breakRow(row, room, inside = false) {
    const parts = [...row.children].filter((part) => !part.matches("mjx-tstrut"));
    if (row.querySelector(":scope > .formula-part") && !inside) return;
    if (parts.length === 1 && parts[0].matches("mjx-mtable")) {
      row.classList.add("formula-lines"); // aligned or gathered: each line is broken for itself
      for (const cell of row.querySelectorAll(":scope > * > * > * > * > mjx-mtd")) breakRow(cell, room);
      return;
    }
    if (parts.length === 1) return breakRow(parts[0], room);
    if (!row.matches("mjx-math, mjx-mrow, mjx-texatom, mjx-mstyle, mjx-mtd, mjx-mpadded, .formula-part")) return;
    row.classList.add("formula-row");
    const wrapped = [];
    let depth = 0;
    for (const part of parts) {
      // MathJax writes space 3 around operators and 4 around relations; a quad is a space of 1em.
      const quad = part.querySelector(":scope > mjx-mspace:only-child");
      const starts = part.matches('mjx-mo:is([space="3"], [space="4"])') || parseFloat(quad?.style.width) >= 1;
      if (!wrapped.length || (starts && (inside || depth === 0))) {
        wrapped.push(document.createElement("span"));
        wrapped.at(-1).className = "formula-part";
        part.before(wrapped.at(-1));
      }
      wrapped.at(-1).append(part);
      if (part.matches("mjx-mo:has(> :is(.mjx-c28, .mjx-c5B, .mjx-c7B, .mjx-c27E8))")) depth += 1;
      if (part.matches("mjx-mo:has(> :is(.mjx-c29, .mjx-c5D, .mjx-c7D, .mjx-c27E9))")) depth -= 1;
    }
    for (const part of wrapped.filter((one) => one.getBoundingClientRect().width > room)) {
      if (!inside) breakRow(part, room, true);
      else for (const inner of part.children) breakRow(inner, room);
    }
  }

  function fit() {
    const formulas = [...document.querySelectorAll(".bd-article mjx-container")];
    for (const formula of formulas) {
      formula.classList.remove("wide-formula");
      set(formula).style.fontSize = "";
    }
    for (const step of document.querySelectorAll(".beside")) step.classList.remove("stacked");
    // All are measured before one is changed, so that the page is laid out once for each kind of change.
    const found = () => formulas.map((formula) => [formula, wide(formula)]).filter(([, room]) => room);
    for (const [formula] of found()) formula.closest(".beside")?.classList.add("stacked");
    for (const [formula, room] of found()) {
      formula.classList.add("wide-formula");
      breakRow(set(formula), room);
    }
    const left = found().map(([formula, room]) => [set(formula), room / set(formula).getBoundingClientRect().width]);
    for (const [math, share] of left) math.style.fontSize = `${100 * Math.max(share, SMALLEST)}%`;
  }
  window.addEventListener("load", () => {
    if (!window.MathJax || !window.MathJax.startup) return;
    window.MathJax.startup.promise.then(() => {
      fit();
      window.addEventListener("resize", fit);
    });
  });
})();
