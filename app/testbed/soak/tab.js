// Counts in the page under test what its updates do: how many there are, and whether focus, caret or scroll get lost.
(() => {
  const soak = (window.soak = { updates: 0, rows: 0, fragments: 0, focusLost: 0, scrollLost: 0, lost: [] });
  const fetching = window.fetch;
  window.fetch = async (...args) => {
    const answer = await fetching(...args);
    if (args[1]?.headers?.["HX-Request"]) soak.fragments++;
    return answer;
  };
  let held = null, place = null;
  const name = (el) => !el ? "" : el.id || el.getAttribute("href") || el.getAttribute("name") || el.tagName;
  const scroller = (el) => {
    for (let e = el; e; e = e.parentElement) if (e.scrollHeight > e.clientHeight + 50 && /auto|scroll/.test(getComputedStyle(e).overflowY)) return e;
    return document.scrollingElement;
  };
  // hold puts focus and scroll somewhere; check says whether they are still there.
  soak.hold = (what) => {
    const all = what === "row" ? [...document.querySelectorAll("tbody tr a.open, tbody tr a")].filter((a) => a.offsetParent) : [...document.querySelectorAll("main input[type=search], main input[name=q], input[type=search]")].filter((i) => i.offsetParent);
    const el = all[Math.min(12, all.length - 1)];
    if (!el) { held = place = null; return "nothing to hold for " + what; }
    const s = scroller(document.querySelector("tbody tr") || el);
    s.scrollTop = what === "row" ? Math.min(240, s.scrollHeight - s.clientHeight) : 0;
    el.focus({ preventScroll: true });
    held = name(document.activeElement);
    place = { id: s.id, top: s.scrollTop };
    return held;
  };
  const check = () => {
    soak.updates++;
    if (held === null) return;
    if (name(document.activeElement) !== held) {
      soak.focusLost++;
      if (soak.lost.length < 20) soak.lost.push("focus " + held + " → " + name(document.activeElement));
      held = null; // once for each hold
      return;
    }
    const s = (place.id && document.getElementById(place.id)) || scroller(document.querySelector("tbody tr"));
    if (Math.abs(s.scrollTop - place.top) > 2) {
      soak.scrollLost++;
      if (soak.lost.length < 20) soak.lost.push("scroll " + place.top + " → " + s.scrollTop);
      place.top = s.scrollTop;
    }
  };
  const watch = () => new MutationObserver((changes) => {
    let rows = 0, parts = 0;
    for (const c of changes) for (const n of c.addedNodes) if (n.nodeType === 1 && n.closest("[data-live]")) { parts++; if (n.matches("tr")) rows++; }
    if (!parts) return;
    soak.rows += rows;
    requestAnimationFrame(check);
  }).observe(document.body, { childList: true, subtree: true });
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", watch) : watch();
})();
