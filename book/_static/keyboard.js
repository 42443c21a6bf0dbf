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

// A box that scrolls can be reached with a key, so that arrows scroll it; one that has no need to is left out. Boxes are
// looked at again when they change their size, as one that is unfolded does: the theme, which takes -1 for a box that
// does not scroll, looks only when the window changes.
(() => {
  "use strict";
  const boxes = "figure, pre, div.math, div.cell_output, div.output, .pst-scrollable-table-container, .table-scroll";
  function reach(box) {
    const style = getComputedStyle(box);
    const across = /auto|scroll/.test(style.overflowX) && box.scrollWidth > box.clientWidth;
    const down = /auto|scroll/.test(style.overflowY) && box.scrollHeight > box.clientHeight;
    if (across || down) {
      if (box.getAttribute("tabindex") !== "0") {
        box.tabIndex = 0;
        box.dataset.reached = "";
      }
    } else if ("reached" in box.dataset) {
      box.removeAttribute("tabindex");
      delete box.dataset.reached;
    }
  }
  const sizes = new ResizeObserver((changed) => changed.forEach((one) => reach(one.target)));
  function look(place) {
    const all = [...place.querySelectorAll(`:is(${boxes})`)];
    all.forEach((box) => sizes.observe(box));
    return all;
  }
  window.addEventListener("load", () => {
    const all = [...document.querySelectorAll(".bd-article")].flatMap(look);
    if (window.MathJax && window.MathJax.startup) window.MathJax.startup.promise.then(() => all.forEach(reach));
  });
  document.addEventListener("shown", (event) => look(event.target)); // the output of a cell that ran in the page
})();
