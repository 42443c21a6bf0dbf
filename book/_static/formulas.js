// An inline formula that is wider than its column gets a line of its own, on which it can be scrolled.
(() => {
  "use strict";
  function fit() {
    const formulas = [...document.querySelectorAll(".bd-article mjx-container:not([display='true'])")];
    for (const formula of formulas) formula.classList.remove("wide-formula");
    const wide = formulas.filter((formula) => {
      const column = formula.closest("p, li, dd, td, th, figcaption, .beside-text") || formula.parentElement;
      return formula.getBoundingClientRect().width > column.clientWidth;
    }); // all are measured before one is changed: the page is laid out once
    for (const formula of wide) formula.classList.add("wide-formula");
  }
  window.addEventListener("load", () => {
    if (!window.MathJax || !window.MathJax.startup) return;
    window.MathJax.startup.promise.then(() => {
      fit();
      window.addEventListener("resize", fit);
    });
  });
})();
