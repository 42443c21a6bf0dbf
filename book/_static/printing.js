// A page that is read in the dark is printed in the colours of day, and shown in the dark again afterwards.
(() => {
  "use strict";
  const page = document.documentElement;
  const paper = window.matchMedia("print");
  let before = null;
  function change() {
    if (paper.matches && before === null) {
      before = page.dataset.theme || "light";
      page.dataset.theme = "light";
    } else if (!paper.matches && before !== null) {
      page.dataset.theme = before;
      before = null;
    }
  }
  paper.addEventListener("change", change);
  change();
})();
