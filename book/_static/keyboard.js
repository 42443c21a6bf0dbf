// The theme takes the focus from a button once it was pressed. Who pressed it with a key keeps the place.
(() => {
  "use strict";
  document.addEventListener(
    "click",
    (event) => {
      const button = event.target.closest("button");
      if (!button || event.detail !== 0) return; // a mouse counts its clicks, a key does not
      setTimeout(() => {
        if (document.activeElement === document.body && button.isConnected) button.focus({ focusVisible: true });
      }, 0);
    },
    true,
  );
})();

// A box that scrolls can be reached with a key, so that arrows scroll it; one that has no need to is left out.
(() => {
  "use strict";
  const boxes = "figure, pre, div.math, div.cell_output, div.output, .pst-scrollable-table-container, .table-scroll";
  function reach() {
    for (const box of document.querySelectorAll(`.bd-article :is(${boxes})`)) {
      const style = getComputedStyle(box);
      const across = /auto|scroll/.test(style.overflowX) && box.scrollWidth > box.clientWidth;
      const down = /auto|scroll/.test(style.overflowY) && box.scrollHeight > box.clientHeight;
      if (across || down) {
        if (!box.hasAttribute("tabindex")) {
          box.tabIndex = 0;
          box.dataset.reached = "";
        }
      } else if ("reached" in box.dataset) {
        box.removeAttribute("tabindex");
        delete box.dataset.reached;
      }
    }
  }
  window.addEventListener("load", () => {
    reach();
    if (window.MathJax && window.MathJax.startup) window.MathJax.startup.promise.then(reach);
    window.addEventListener("resize", reach);
  });
})();
