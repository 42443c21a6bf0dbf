// An address of the former page of all names, reference/api.html#evenspan.FairPCA.transform, leads to the name's page.
(() => {
  "use strict";
  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    for (let part = name; part.includes("."); part = part.slice(0, part.lastIndexOf("."))) {
      const row = document.getElementById(part)?.closest("tr");
      if (row) return location.replace(row.querySelector("a").href + location.hash);
    }
  }
  window.addEventListener("hashchange", follow);
  document.addEventListener("DOMContentLoaded", follow);
})();
