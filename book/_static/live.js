// "Run here" on every page with cells, and an audit where the page has a place for one. What they need is loaded when a
// button is pressed, and no sooner.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const article = document.querySelector("article.bd-article");

  function offer(place, text, part) {
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
        await start({ bar, said, button, root, name: DOCUMENTATION_OPTIONS.pagename });
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

  if (article && article.querySelector('.cell[class*="tag_cell-"]')) {
    offer(article.querySelector(".provenance") || article.querySelector("h1"), "Run here", "run");
  }
  const audit = document.querySelector(".your-table");
  if (audit) offer(audit, "Choose a table", "table");
});
