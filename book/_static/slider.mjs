// Figures with a slider (src/compendium/book/slider.py): shows what was drawn for a position, and says its sentence. A
// classic script in spite of its ending: files that end in .js are loaded by every page, this one only where it is used.
(() => {
  "use strict";
  const paper = window.matchMedia("print");

  for (const root of document.querySelectorAll(".slider")) {
    const [label, input, value] = ["label", "input", "label b"].map((name) => root.querySelector(name));
    const [svg, says] = ["svg", "p"].map((name) => root.querySelector(`:scope > ${name}`));
    const { alt, positions } = JSON.parse(root.querySelector("script").textContent);
    let speaking = 0;

    const show = (place) => {
      const [text, sentence] = positions[place];
      for (const part of svg.querySelectorAll("[data-position]")) {
        if (part.dataset.position === String(place)) part.removeAttribute("display");
        else part.setAttribute("display", "none");
      }
      value.textContent = text;
      input.setAttribute("aria-valuetext", text);
      svg.setAttribute("aria-label", `${alt} ${sentence}`);
      clearTimeout(speaking);
      // Not at every step: nobody who listens would hear a sentence to its end.
      speaking = setTimeout(() => (says.textContent = sentence), paper.matches ? 0 : 300);
    };

    input.addEventListener("input", () => show(input.value));
    paper.addEventListener("change", () => show(paper.matches ? input.defaultValue : input.value));
    label.hidden = false;
  }
})();
