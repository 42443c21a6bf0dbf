// "Run here" on every page with cells, and an audit where the page has a place for one. What they need is loaded when a
// button is pressed, and no sooner.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const article = document.querySelector("article.bd-article");

  function offer(place, text, part, section = article) {
    const bar = document.createElement("div");
    bar.className = "live-bar";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    const said = document.createElement("span");
    said.className = "live-said";
    said.setAttribute("role", "status");
    bar.append(button, said);
    place.after(bar);
    button.addEventListener("click", async () => {
      said.textContent = "Starting …";
      if (!(await served())) {
        said.innerHTML = "This needs a kernel: type <code>make live</code> in the checkout, and open the address that it prints.";
        return;
      }
      try {
        const { start } = await import(new URL(`_static/live/${part}.mjs`, root));
        const name = section === article ? DOCUMENTATION_OPTIONS.pagename : `experiments/${section.id}`;
        await start({ bar, said, button, root, name, section });
      } catch (error) {
        said.textContent = error.message;
      }
    });
  }

  /** Whether the page comes from make live. */
  async function served() {
    if (!location.protocol.startsWith("http")) return false;
    const answer = await fetch(new URL("../api/status", root)).catch(() => ({ ok: false }));
    return answer.ok;
  }

  // Experiments without a page of their own are sections that run apart.
  for (const section of article ? [article, ...article.querySelectorAll("section.experiment")] : []) {
    const own = (selector) => [...section.querySelectorAll(selector)].find((one) => (one.closest("section.experiment") || section) === section);
    if (own('.cell[class*="tag_cell-"]')) offer(own(".provenance") || own("h1"), "Run here", "run", section);
  }
  const audit = document.querySelector(".your-table");
  if (audit) offer(audit, "Choose a table", "table");
});
