// The log panel: asks for new lines every two seconds, follows until the reader scrolls up, keeps at most 2,000 lines.
(() => {
  "use strict";
  const { ec } = window, { $, $$ } = ec;
  const MAX = 2000, EVERY = 2000, LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
  const panels = new Map();

  const panelOf = (el) => panels.get(el.closest(".log-panel"));
  const adopt = () => {
    for (const [el, p] of panels) if (!el.isConnected) { clearTimeout(p.timer); p.stop?.abort(); panels.delete(el); }
    for (const el of $$(".log-panel[data-log]")) if (!panels.has(el)) start(el);
  };
  const start = (el) => {
    const p = { el, list: $(".log", el), last: Number(el.dataset.last), follow: true, unseen: 0, level: "", marks: [], at: -1, timer: 0 };
    panels.set(el, p);
    p.list.addEventListener("scroll", () => {
      const end = p.list.scrollHeight - p.list.scrollTop - p.list.clientHeight < 24;
      if (end !== p.follow) { p.follow = end; if (end) p.unseen = 0; status(p); }
    }, { passive: true });
    $("[data-log-search]", el).addEventListener("input", () => search(p));
    $("[data-log-search]", el).addEventListener("keydown", (e) => { if (e.key === "Enter") { e.preventDefault(); step(p, e.shiftKey ? -1 : 1); } });
    bottom(p); status(p); count(p);
    p.timer = setTimeout(() => ask(p), EVERY);
  };
  const ask = async (p) => {
    if (!p.el.isConnected) { adopt(); return; }
    if (document.hidden) { p.timer = setTimeout(() => ask(p), EVERY); return; }
    p.stop = new AbortController();
    try {
      const answer = await fetch(p.el.dataset.log + "&offset=" + p.last, { signal: p.stop.signal, headers: { "HX-Request": "true", "HX-Current-URL": location.href } });
      const away = answer.headers.get("HX-Redirect");
      if (away) { ec.keepText(true); location.href = away; return; }
      p.lost = !answer.ok;
      if (answer.status === 200) add(p, await answer.text());
    } catch { if (p.stop.signal.aborted) return; p.lost = true; }
    status(p);
    p.timer = setTimeout(() => ask(p), EVERY);
  };
  const add = (p, html) => {
    const box = document.createElement("template");
    box.innerHTML = html;
    let fresh = 0;
    for (const li of $$("li", box.content)) {
      if ("restarted" in li.dataset) { p.last = 0; p.list.append(li); continue; }
      if ("failed" in li.dataset) { p.lost = true; continue; }
      if ("nothing" in li.dataset) continue;
      const num = Number(li.dataset.num);
      if (num <= p.last) continue; // shown already
      p.last = num;
      $("[data-nothing]", p.list)?.remove();
      li.hidden = !passes(p, li);
      p.list.append(li);
      fresh++;
    }
    // The numbers of the lines on screen stand still for who reads: what leaves at the top is taken off the scroll position.
    const rows = p.list.children;
    if (rows.length > MAX) {
      const before = p.list.scrollHeight;
      while (rows.length > MAX) rows[0].remove();
      if (!p.follow) p.list.scrollTop -= before - p.list.scrollHeight;
    }
    if (p.follow) bottom(p); else p.unseen += fresh;
    if (fresh) { count(p); if ($("[data-log-search]", p.el).value) search(p, true); }
  };
  const bottom = (p) => { p.list.scrollTop = p.list.scrollHeight; };
  const status = (p) => {
    const s = $("[data-log-status]", p.el), d = p.el.dataset;
    const text = p.lost ? d.lost : p.follow ? d.follow : !p.unseen ? d.resting : d.paused.replace("%s", p.unseen);
    if (s.textContent !== text) s.textContent = text;
    s.className = "tag" + (p.lost ? " is-down" : p.follow ? "" : " is-slow");
    $("[data-do=log-follow]", p.el).hidden = p.follow;
  };
  const count = (p) => {
    const lines = $$("li[data-num]", p.list);
    $("[data-log-count]", p.el).textContent = p.el.dataset.count.replace("%s", lines.length.toLocaleString("en-US"));
    for (const n of $$("[data-log-n]", p.el)) n.textContent = lines.filter((l) => l.dataset.lv === n.dataset.logN).length || "";
  };
  const passes = (p, li) => !p.level || !li.dataset.lv || LEVELS.indexOf(li.dataset.lv) >= LEVELS.indexOf(p.level);

  // ---- search: marks are made of text nodes, never of markup ----
  const unmark = (p) => {
    for (const m of $$("mark", p.list)) { const parent = m.parentNode; m.replaceWith(document.createTextNode(m.textContent)); parent.normalize(); }
    p.marks = [];
  };
  const search = (p, keep) => {
    const word = $("[data-log-search]", p.el).value.toLowerCase(), old = p.at;
    unmark(p);
    if (word) {
      for (const li of $$("li[data-num]:not([hidden])", p.list)) {
        const walk = document.createTreeWalker(li.lastElementChild, NodeFilter.SHOW_TEXT), texts = [];
        while (walk.nextNode()) texts.push(walk.currentNode);
        for (let t of texts) {
          for (let i; (i = t.data.toLowerCase().indexOf(word)) >= 0 && p.marks.length < 5000;) {
            const hit = t.splitText(i);
            t = hit.splitText(word.length);
            const m = document.createElement("mark");
            hit.replaceWith(m); m.append(hit);
            p.marks.push(m);
          }
        }
      }
    }
    p.at = keep ? Math.min(old, p.marks.length - 1) : -1;
    if (!keep && p.marks.length) step(p, 1); else found(p);
  };
  const step = (p, by) => {
    if (!p.marks.length) { found(p); return; }
    p.marks[p.at]?.classList.remove("on");
    p.at = (p.at + by + p.marks.length) % p.marks.length;
    p.marks[p.at].classList.add("on");
    p.marks[p.at].scrollIntoView({ block: "center" });
    found(p);
  };
  const found = (p) => {
    const word = $("[data-log-search]", p.el).value;
    $("[data-log-found]", p.el).textContent = word ? p.el.dataset.found.replace("%i", p.at + 1).replace("%n", p.marks.length) : "";
  };

  Object.assign(ec.acts, {
    "log-follow": (b) => { const p = panelOf(b); p.follow = true; p.unseen = 0; bottom(p); status(p); },
    "log-level": (b) => {
      const p = panelOf(b);
      p.level = b.value;
      for (const x of $$("[data-do=log-level]", p.el)) x.setAttribute("aria-pressed", x === b);
      for (const li of $$("li[data-num]", p.list)) li.hidden = !passes(p, li);
      search(p, true);
      if (p.follow) bottom(p);
    },
    "log-wrap": (b) => { const p = panelOf(b), on = p.list.classList.toggle("nowrap"); b.setAttribute("aria-pressed", !on); },
    "log-clear": (b) => { const p = panelOf(b); p.list.replaceChildren(); p.unseen = 0; p.marks = []; count(p); status(p); },
    "log-next": (b) => step(panelOf(b), 1),
    "log-prev": (b) => step(panelOf(b), -1),
  });
  // Another instance: its numbers are its own, so the panel is asked for anew.
  document.addEventListener("change", (e) => {
    if (e.target.dataset?.doChange !== "log-instance") return;
    const form = e.target.form, url = form.action + "?instance=" + encodeURIComponent(e.target.value);
    if (e.target.closest("#drawer")) window.htmx.ajax("GET", url, { target: "#drawer", swap: "innerHTML" });
    else location.href = url;
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "f" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
    const p = [...panels.values()].find((x) => x.el.isConnected);
    if (p) { p.follow = true; p.unseen = 0; bottom(p); status(p); }
  });
  document.addEventListener("htmx:afterSettle", adopt);
  new MutationObserver(adopt).observe(document.getElementById("drawer"), { childList: true });
  adopt();
})();
