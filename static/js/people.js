// Users, roles, menus, the operation log: long choices are narrowed while one types, and exports take what is filtered now.
(() => {
  "use strict";
  const { $$ } = window.ec;
  document.addEventListener("input", (e) => {
    const into = e.target.dataset?.narrow && document.getElementById(e.target.dataset.narrow);
    if (!into) return;
    const q = e.target.value.trim().toLowerCase();
    // In a tree what lies above a hit stays, so that one sees where it is.
    const items = [...into.children], keep = new Set();
    const above = [];
    for (const item of items) {
      const depth = Number(item.dataset.depth || 0);
      above.length = depth;
      const tips = [item, ...$$("[title]", item)].map((x) => x.title).join(" ");
      if ((item.textContent + " " + tips).toLowerCase().includes(q)) { keep.add(item); for (const up of above) if (up) keep.add(up); }
      above[depth] = item;
    }
    for (const item of items) item.hidden = !keep.has(item) && !(q === "");
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && e.target.dataset?.narrow) e.preventDefault(); // it would send the form around it
  });
  document.addEventListener("click", (e) => {
    const a = e.target.closest("[data-export]");
    if (a) { const q = new URLSearchParams(location.search); for (const k of ["page", "size", "at", "said"]) q.delete(k); a.search = q.toString(); }
  });
})();
