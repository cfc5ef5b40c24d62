// The log panel: asks for new lines, follows until the reader scrolls up, keeps at most 2,000 lines, loads older ones on demand.
// Lines come as the server escaped them; what is made here is made of text nodes.
(() => {
  "use strict";
  const { ec } = window, { $, $$ } = ec;
  const MAX = 2000, EVERY = 2000, SOON = 150, SLOWEST = 15000, CATCH_UP = 6, NOTE = 8000, REACH = 400;
  const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
  const panels = new Map();
  const num = (n) => n.toLocaleString("en-US");
  // The texts come with the panel; one is said in its own form.
  const some = (p, key, n) => n === 1 ? p.d[key + "One"] : p.d[key].replace("%s", num(n));
  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const store = (key, value) => { try { localStorage.setItem(key, value); } catch { /* private mode keeps nothing */ } };

  // ---- panels come and go ----
  const panelOf = (el) => panels.get(el.closest(".log-panel"));
  const adopt = () => {
    for (const [el, p] of panels) if (!el.isConnected) { clearTimeout(p.timer); p.stop?.abort(); panels.delete(el); }
    for (const el of $$(".log-panel[data-log]")) if (!panels.has(el)) start(el);
    const drawer = $("#drawer .drawer .log-panel");
    if (drawer && !ec.behind) ec.behind = location.href;
    if (!drawer && ec.behind) unveil();
    if (drawer && panels.has(drawer)) { size(drawer.closest(".drawer")); address(panels.get(drawer)); }
  };
  // While the drawer is open the address is that of the log: it can be copied, and a reload shows it as a page (U30, U80).
  const unveil = () => { const was = ec.behind; ec.behind = null; history.replaceState(history.state, "", was); };
  ec.unveil = () => { if (ec.behind) unveil(); };
  const start = (el) => {
    const d = el.dataset, list = $(".log", el);
    const p = {
      el, list, d, merged: el.classList.contains("merged"), sources: new Map(), follow: d.line === "0", unseen: 0, level: d.level, marks: [], hit: null,
      timer: 0, wait: EVERY, full: 0, levels: {}, word: "", zone: d.zone, note: "", line: Number(d.line), charsets: new Set(),
    };
    panels.set(el, p);
    p.older = $("[data-older]", list) || list.insertBefore(olderRow(), list.firstChild);
    list.prepend(p.older);
    take(p, list, "start");
    for (const li of rows(p)) admit(p, li);
    list.addEventListener("scroll", () => {
      const end = list.scrollHeight - list.scrollTop - list.clientHeight < 24;
      if (end === p.follow || p.busy) return;
      if (end && p.behind) return; // the end of what is shown is not the end of the log
      if (!end && list.scrollTop >= p.top - 4) { bottom(p); return; } // it grew; nobody scrolled up
      p.follow = end;
      if (end) p.unseen = 0;
      status(p);
    }, { passive: true });
    new ResizeObserver(() => { if (p.follow) bottom(p); }).observe(list);
    const box = $("[data-log-search]", el);
    box.addEventListener("input", () => { clearTimeout(p.typing); p.typing = setTimeout(() => { search(p); address(p); }, 150); });
    box.addEventListener("keydown", (e) => {
      if (e.key === "Enter") { e.preventDefault(); step(p, e.shiftKey ? -1 : 1); }
      if (e.key === "Escape" && box.value) { e.stopPropagation(); box.value = ""; search(p); address(p); }
    });
    if (stored("ec-log-wrap") === "0") wrap(p, false);
    if (stored("ec-log-zone")) zone(p, stored("ec-log-zone"));
    const there = $(".at", list);
    if (there) there.scrollIntoView({ block: "center" }); else if (p.follow) bottom(p);
    if (box.value) search(p, true);
    older(p); status(p); count(p);
    p.timer = setTimeout(() => ask(p), EVERY);
  };
  const rows = (p) => $$(":scope > li[data-num]", p.list);
  const olderRow = () => {
    const li = document.createElement("li"), text = document.createElement("span");
    li.className = "skipped"; li.dataset.older = ""; li.hidden = true;
    li.append(text);
    return li;
  };

  // ---- asking ----
  const later = (p, ms) => { clearTimeout(p.timer); p.timer = setTimeout(() => ask(p), ms); };
  const fetched = async (p, query) => {
    p.stop = new AbortController();
    const answer = await fetch(p.d.log + query, { signal: p.stop.signal, headers: { "HX-Request": "true", "HX-Current-URL": ec.behind || location.href } });
    const away = answer.headers.get("HX-Redirect");
    if (away) { ec.unveil(); ec.keepText(true); location.href = away; return null; }
    if (!answer.ok) throw new Error(answer.status);
    const box = document.createElement("template");
    box.innerHTML = await answer.text();
    return box.content;
  };
  const cursors = (p, name, of) => [...p.sources].map(([id, s]) => `&${name}=${of(id, s)}@${encodeURIComponent(id)}`).join("");
  const ask = async (p) => {
    if (!p.el.isConnected) { adopt(); return; }
    if (document.hidden || p.busy) { later(p, EVERY); return; }
    // Who follows a log that is written faster than it can be read sees its end, and how much was left out.
    const jump = p.follow && p.full > CATCH_UP;
    try {
      const part = await fetched(p, jump ? "" : cursors(p, "at", (id, s) => s.last));
      if (!part) return;
      p.lost = false; p.wait = EVERY;
      add(p, part, jump ? "jump" : "newer");
    } catch (e) { if (e.name === "AbortError") return; p.lost = true; p.wait = Math.min(p.wait * 2, SLOWEST); }
    status(p);
    later(p, p.again ? SOON : p.wait);
  };
  // take notes where each instance stands. mode: "start", "newer", "jump" or "older".
  const take = (p, part, mode) => {
    p.again = false;
    let failing = 0, all = 0;
    for (const li of $$("li[data-source]", part)) {
      const d = li.dataset, id = d.source, known = p.sources.get(id), s = known || { first: 0, last: 0, oldest: 0 };
      const failed = Boolean(d.failed), gone = "gone" in d;
      all++;
      if (failed || gone) failing++;
      s.newly = (failed && !s.failed) || (gone && !s.gone);
      s.failed = failed; s.gone = gone; s.cls = d.class; s.name = d.name;
      if (!failed && !gone) {
        if (mode === "older") s.first = Number(d.first) || s.first;
        else {
          if (mode === "jump" && s.last) { const gap = Number(d.first) - (shownLast(p, id) || s.last) - 1; if (gap > 0) p.skipped = (p.skipped || 0) + gap; }
          s.last = Number(d.last);
          if (mode !== "newer" || !s.first || "restarted" in d) s.first = Number(d.first) || s.first;
          if ("rotated" in d && s.last === 0) s.first = s.oldest = 0;
        }
        if (Number(d.oldest)) s.oldest = Number(d.oldest);
        if ("again" in d) p.again = true;
        if ("restarted" in d) note(p, p.d.sayRestarted);
        if ("rotated" in d) note(p, p.d.sayRotated);
      }
      p.sources.set(id, s);
      label(p, id, s);
      li.remove();
    }
    p.gone = all > 0 && !p.merged && [...p.sources.values()].every((s) => s.gone);
    if (all > 0 && failing === all && !p.gone) p.lost = true;
    p.full = p.again ? p.full + 1 : 0;
  };
  // The legend below names the instances; those that cannot be read are struck through there.
  const label = (p, id, s) => {
    const foot = $("footer", p.el);
    let tag = $$("[data-log-source]", foot).find((x) => x.dataset.logSource === id);
    if (!tag && p.merged) {
      tag = document.createElement("span");
      tag.dataset.logSource = tag.title = id; tag.tabIndex = 0; tag.textContent = s.name || id;
      foot.prepend(tag);
    }
    if (tag) { tag.className = `cut ${s.cls || ""}${s.failed || s.gone ? " off" : ""}`; }
  };
  const note = (p, text) => { p.note = text; clearTimeout(p.noted); p.noted = setTimeout(() => { p.note = ""; status(p); }, NOTE); };

  // ---- lines ----
  const add = (p, part, mode) => {
    take(p, part, mode);
    if (mode === "jump") { clear(p); p.behind = false; p.full = 0; }
    let n = 0;
    if (mode === "jump" && p.skipped) { p.list.append(mark(some(p, "saySkipped", p.skipped))); p.skipped = 0; }
    for (const li of $$("li", part)) {
      const d = li.dataset;
      if (d.mark) {
        const s = p.sources.get(d.of);
        if ((d.mark === "failed" || d.mark === "gone") && !s?.newly) continue; // said already
        if (!p.behind) place(p, li);
        continue;
      }
      if (!("num" in d)) continue;
      n++;
      if (p.behind) continue;
      $("[data-nothing]", p.list)?.remove();
      admit(p, li);
      place(p, li);
    }
    for (const [id, s] of p.sources) if (s.gone && p.merged) p.sources.delete(id);
    if (p.follow) { trimTop(p); if (n) bottom(p); } else {
      p.unseen += n;
      // Who reads keeps what he reads: what comes now is counted, and read anew when he follows again.
      if (!p.behind && p.list.children.length > MAX + 1) { trimEnd(p); }
    }
    if (n) { count(p); older(p); }
  };
  const mark = (text) => { const li = document.createElement("li"); li.className = "skipped"; li.textContent = text; return li; };
  // place puts a line at the end; one of a slower instance goes where its time belongs.
  const place = (p, li) => {
    let next = null;
    if (p.merged && li.dataset.t) {
      const t = Number(li.dataset.t);
      for (let at = p.list.lastElementChild, i = 0; at && i < REACH; at = at.previousElementSibling, i++) {
        if (!at.dataset.t || Number(at.dataset.t) <= t || at.dataset.of === li.dataset.of) break;
        next = at;
      }
    }
    p.list.insertBefore(li, next);
  };
  // admit prepares a line: its level for the filter, its time, its matches.
  const admit = (p, li, levels = p.levels) => {
    const d = li.dataset;
    if (d.lv) levels[d.of] = d.lv;
    d.as = d.lv || levels[d.of] || "";
    li.hidden = !passes(p, li);
    if (p.zone !== p.d.zone) when(p, li);
    if (d.charset) p.charsets.add(d.charset);
    if (p.word && !li.hidden) markRow(p, li);
  };
  const passes = (p, li) => !p.level || !li.dataset.as || LEVELS.indexOf(li.dataset.as) >= LEVELS.indexOf(p.level);
  const trimTop = (p) => {
    let over = p.list.children.length - MAX - 1;
    if (over <= 0) return;
    for (; over > 0; over--) p.older.nextElementSibling.remove();
    p.marks = p.marks.filter((m) => m.isConnected);
  };
  const trimEnd = (p) => {
    while (p.list.children.length > MAX + 1) p.list.lastElementChild.remove();
    p.marks = p.marks.filter((m) => m.isConnected);
    p.behind = true;
    p.list.append(mark(p.d.sayNewer));
  };
  const clear = (p) => { for (const li of [...p.list.children]) if (li !== p.older) li.remove(); p.marks = []; p.hit = null; };
  const bottom = (p) => { p.list.scrollTop = p.list.scrollHeight; p.top = p.list.scrollTop; };

  // ---- older lines ----
  const shownFirst = (p, id, s) => { const li = rows(p).find((r) => r.dataset.of === id); return li ? Number(li.dataset.num) : s.first; };
  const shownLast = (p, id) => Number(rows(p).findLast((r) => r.dataset.of === id)?.dataset.num || 0);
  const remaining = (p) => [...p.sources].reduce((n, [id, s]) => { const f = shownFirst(p, id, s); return n + (f ? Math.max(f - (s.oldest || 1), 0) : 0); }, 0);
  const older = (p) => {
    const n = remaining(p), text = $("span", p.older), was = $("button", p.older);
    p.older.hidden = !n && !p.started;
    text.textContent = n ? some(p, "sayOlder", n) : p.d.sayStart;
    if (!was && n) {
      const b = document.createElement("button");
      b.type = "button"; b.className = "btn ghost sm"; b.dataset.do = "log-older"; b.textContent = p.d.sayLoad;
      p.older.append(b);
    }
    if (was) was.hidden = !n;
  };
  const loadOlder = async (p) => {
    if (p.busy || !remaining(p)) return false;
    p.busy = true;
    if (p.follow) { p.follow = false; status(p); }
    let added = 0;
    try {
      const part = await fetched(p, cursors(p, "before", (id, s) => shownFirst(p, id, s) || 0));
      if (!part) return false;
      const firsts = new Map([...p.sources].map(([id, s]) => [id, shownFirst(p, id, s)]));
      take(p, part, "older");
      const levels = {}, above = document.createDocumentFragment(), height = p.list.scrollHeight, top = p.list.scrollTop;
      for (const li of $$("li[data-num]", part)) {
        if (Number(li.dataset.num) >= (firsts.get(li.dataset.of) || Infinity)) continue;
        admit(p, li, levels);
        above.append(li);
        added++;
      }
      p.older.after(above);
      p.started = true;
      older(p);
      p.list.scrollTop = top + p.list.scrollHeight - height;
      if (p.list.children.length > MAX + 1) trimEnd(p);
      p.marks = $$("mark", p.list);
      found(p);
    } catch (e) { p.lost = e.name !== "AbortError"; } finally { p.busy = false; status(p); count(p); }
    return added > 0;
  };
  const follow = async (p) => {
    p.follow = true; p.unseen = 0; p.line = 0;
    $(".at", p.list)?.classList.remove("at");
    if (p.behind) {
      // What was being asked for would come after what is newer, or a second jump would wipe away what this one says was skipped.
      clearTimeout(p.timer);
      p.stop?.abort();
      try { const part = await fetched(p, ""); if (part) add(p, part, "jump"); } catch (e) { p.lost = e.name !== "AbortError"; }
      later(p, p.again ? SOON : p.wait);
    }
    bottom(p); status(p); address(p); older(p);
  };

  // ---- what is said ----
  const status = (p) => {
    const s = $("[data-log-status]", p.el), d = p.d;
    const none = !$("li[data-num]", p.list);
    const [text, look] = p.gone ? [d.sayGone, " is-down"] : p.lost ? [d.sayLost, " is-down"]
      : !p.follow ? [p.unseen ? some(p, "sayPaused", p.unseen) : d.sayResting, " is-slow"]
      : p.note ? [p.note, " is-probe"] : none && !p.cleared ? [d.sayNothing, ""] : [d.sayFollowing, ""];
    if (s.textContent !== text) s.textContent = text;
    s.className = "tag" + look;
    $("[data-do=log-follow]", p.el).hidden = p.follow;
  };
  const count = (p) => {
    cancelAnimationFrame(p.counting);
    p.counting = requestAnimationFrame(() => {
      const all = rows(p), n = {};
      let hidden = 0;
      for (const li of all) { n[li.dataset.lv] = (n[li.dataset.lv] || 0) + 1; if (li.hidden) hidden++; }
      let text = p.d.sayCount.replace("%s", num(all.length));
      if (hidden) text += " · " + some(p, "sayHidden", hidden);
      $("[data-log-count]", p.el).textContent = text;
      for (const x of $$("[data-log-n]", p.el)) x.textContent = n[x.dataset.logN] ? num(n[x.dataset.logN]) : "";
      if (p.charsets.size) $("[data-log-charset]", p.el).textContent = p.d.sayCharset.replace("%s", [...p.charsets].join(", "));
    });
  };
  const address = (p, li) => {
    const u = new URL(p.d.page, location.href), set = (k, v) => { if (v) u.searchParams.set(k, v); };
    const at = li || $(".at", p.list);
    set("instance", at ? at.dataset.of : p.d.instance);
    if (at) set("line", at.dataset.num);
    set("level", p.level.toLowerCase());
    set("q", $("[data-log-search]", p.el).value);
    set("charset", new URL(p.d.log, location.href).searchParams.get("charset"));
    const page = $("[data-log-page]", p.el);
    if (page) page.href = u;
    if (ec.behind || location.pathname === u.pathname) history.replaceState(history.state, "", u);
    return u;
  };

  // ---- time zone: lines that name theirs are shown in the chosen one ----
  const formats = {};
  const clock = (z) => (formats[z] ||= new Intl.DateTimeFormat("en-GB", { timeZone: z, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" }));
  const when = (p, li) => { if ("zoned" in li.dataset) $(".when", li).textContent = clock(p.zone).format(Number(li.dataset.t)); };
  const zones = (p) => [...new Set([p.d.zone, "UTC", Intl.DateTimeFormat().resolvedOptions().timeZone])];
  const zone = (p, z) => {
    const b = $("[data-do=log-zone]", p.el);
    if (!zones(p).includes(z)) return;
    p.zone = z;
    $("span", b).textContent = z === p.d.zone ? b.dataset.here : z;
    for (const li of rows(p)) when(p, li);
  };
  const wrap = (p, on) => { p.list.classList.toggle("nowrap", !on); $("[data-do=log-wrap]", p.el).setAttribute("aria-pressed", on); };

  // ---- search: marks are made of text nodes, never of markup ----
  const markRow = (p, li) => {
    const walk = document.createTreeWalker($(".text", li), NodeFilter.SHOW_TEXT), texts = [];
    while (walk.nextNode()) texts.push(walk.currentNode);
    for (let t of texts) {
      for (let i; p.marks.length < 5000;) {
        const low = t.data.toLowerCase();
        i = low.length === t.data.length ? low.indexOf(p.word) : t.data.indexOf(p.word); // some letters change their length
        if (i < 0) break;
        const hit = t.splitText(i);
        t = hit.splitText(p.word.length);
        const m = document.createElement("mark");
        hit.replaceWith(m); m.append(hit);
        p.marks.push(m);
      }
    }
  };
  const search = (p, keep) => {
    for (const m of $$("mark", p.list)) { const parent = m.parentNode; m.replaceWith(document.createTextNode(m.textContent)); parent.normalize(); }
    p.marks = []; p.hit = null;
    p.word = $("[data-log-search]", p.el).value.toLowerCase();
    if (p.word) for (const li of rows(p)) if (!li.hidden) markRow(p, li);
    if (!keep && p.marks.length) step(p, -1); else found(p); // the newest match first: that is where the reader is
  };
  const step = async (p, by) => {
    let at = p.marks.indexOf(p.hit);
    // Before the first match lie older lines: they are fetched before the search begins anew at the end.
    if (by < 0 && at <= 0 && p.word && (p.hit || !p.marks.length)) {
      while (await loadOlder(p)) { at = p.marks.indexOf(p.hit); if (at > 0 || (!p.hit && p.marks.length)) break; if (p.behind && p.list.children.length > MAX) break; }
      at = p.marks.indexOf(p.hit);
    }
    if (!p.marks.length) { found(p); return; }
    p.hit?.classList.remove("on");
    at = at < 0 ? (by < 0 ? p.marks.length - 1 : 0) : (at + by + p.marks.length) % p.marks.length;
    p.hit = p.marks[at];
    p.hit.classList.add("on");
    const more = p.hit.closest("details");
    if (more) more.open = true;
    p.hit.scrollIntoView({ block: "center" });
    found(p);
  };
  const found = (p) => {
    const at = p.marks.indexOf(p.hit);
    $("[data-log-found]", p.el).textContent = !p.word ? "" : !p.marks.length ? p.d.sayNone : p.d.sayFound.replace("%i", num(at + 1)).replace("%n", num(p.marks.length));
  };

  // ---- height of the drawer, remembered ----
  const size = (drawer) => { const h = Number(stored("ec-log-height")); if (h && innerWidth > 640) drawer.style.height = Math.min(innerHeight - 60, Math.max(200, h)) + "px"; };
  const grip = (drawer) => store("ec-log-height", Math.round(drawer.getBoundingClientRect().height));
  document.addEventListener("pointerdown", (e) => { const g = e.target.closest(".grip"); if (g) addEventListener("pointerup", () => grip(g.closest(".drawer")), { once: true }); });
  document.addEventListener("keydown", (e) => {
    const g = e.target.closest?.(".grip");
    if (!g || (e.key !== "ArrowUp" && e.key !== "ArrowDown")) return;
    e.preventDefault();
    const drawer = g.closest(".drawer"), h = drawer.getBoundingClientRect().height + (e.key === "ArrowUp" ? 40 : -40);
    drawer.style.height = Math.min(innerHeight - 60, Math.max(200, h)) + "px";
    grip(drawer);
  });

  Object.assign(ec.acts, {
    "log-follow": (b) => follow(panelOf(b)),
    "log-older": (b) => loadOlder(panelOf(b)),
    "log-level": (b) => {
      const p = panelOf(b);
      p.level = b.value;
      for (const x of $$("[data-do=log-level]", p.el)) x.setAttribute("aria-pressed", x === b);
      for (const li of rows(p)) li.hidden = !passes(p, li);
      search(p, true);
      count(p); address(p);
      if (p.follow) bottom(p);
    },
    "log-wrap": (b) => { const p = panelOf(b), on = p.list.classList.contains("nowrap"); wrap(p, on); store("ec-log-wrap", on ? "1" : "0"); if (p.follow) bottom(p); },
    "log-zone": (b) => { const p = panelOf(b), all = zones(p), next = all[(all.indexOf(p.zone) + 1) % all.length]; zone(p, next); store("ec-log-zone", next); ec.say(next); },
    "log-clear": (b) => { const p = panelOf(b); clear(p); p.cleared = true; p.unseen = 0; p.follow = true; p.behind = false; p.list.append(mark(p.d.sayCleared)); count(p); older(p); status(p); },
    "log-next": (b) => step(panelOf(b), 1),
    "log-prev": (b) => step(panelOf(b), -1),
    "log-line": (b, e) => { e.preventDefault(); point(panelOf(b), b.closest("li")); },
    "log-link": (b) => {
      const p = panelOf(b), top = p.list.getBoundingClientRect().top;
      const li = $(".at", p.list) || p.hit?.closest("li") || rows(p).find((r) => !r.hidden && r.getBoundingClientRect().bottom > top + 4);
      const u = li ? address(p, li) : address(p);
      ec.acts.copy({ dataset: { copy: u.href } });
    },
  });
  // A line that was pointed at is the position of the address; reading it stops the following.
  const point = (p, li) => {
    $(".at", p.list)?.classList.remove("at");
    li.classList.add("at");
    if (p.follow) { p.follow = false; status(p); }
    address(p, li);
  };
  // Another instance has numbers of its own, another character set other texts: the panel is asked for anew.
  document.addEventListener("change", (e) => {
    const what = e.target.dataset?.doChange;
    if (what !== "log-instance" && what !== "log-charset") return;
    const p = panelOf(e.target);
    $(".at", p.list)?.classList.remove("at");
    const u = address(p);
    if (e.target.value) u.searchParams.set(e.target.name, e.target.value); else u.searchParams.delete(e.target.name);
    if (e.target.closest("#drawer")) window.htmx.ajax("GET", u.pathname + u.search, { target: "#drawer", swap: "innerHTML" });
    else location.href = u;
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "f" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
    const p = [...panels.values()].find((x) => x.el.isConnected);
    if (p && !p.follow) follow(p);
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) for (const p of panels.values()) later(p, 0); });
  document.addEventListener("htmx:afterSettle", adopt);
  const drawer = document.getElementById("drawer"); // missing where the page was left before it was whole
  if (drawer) new MutationObserver(adopt).observe(drawer, { childList: true });
  adopt();
})();
