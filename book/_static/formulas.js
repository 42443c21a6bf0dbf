// An inline formula that is wider than its column gets a line of its own, on which it can be scrolled.
(() => {
  "use strict";
  function fit() {
    for (const formula of document.querySelectorAll(".bd-article mjx-container:not([display='true'])")) {
      formula.classList.remove("wide-formula");
      const column = formula.closest("p, li, dd, td, th, figcaption, .beside-text") || formula.parentElement;
      if (formula.getBoundingClientRect().width > column.clientWidth) formula.classList.add("wide-formula");
    }
  }
  window.addEventListener("load", () => {
    if (!window.MathJax || !window.MathJax.startup) return;
    window.MathJax.startup.promise.then(() => {
      fit();
      window.addEventListener("resize", fit);
    });
  });
})();
