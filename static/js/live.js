// Keeps an open page right: hears what changed, asks for the page's own fragments, and swaps only what nobody is using.
(() => {
  "use strict";
  const { ec } = window, { $, $$, words, base } = ec;
  const me = document.getElementById("live-script"), root = document.documentElement;
  const stream = me.dataset.stream, poll = stream.replace(/events$/, "changes");
  const indicator = document.getElementById("live");
  const BEAT = 15000, LATER = 700, STALE = 60000, POLL = 5000;
  let version = Number(me.dataset.version) || 0, boot = me.dataset.boot || "", lostAt = 0;

  // ---- the state of the connection (U62) ----
  const clock = (t) => new Date(t).toLocaleTimeString(root.lang, { hour: "2-digit", minute: "2-digit", hour12: false });
  const show = () => {
    if (!indicator) return;
    const age = lostAt ? Date.now() - lostAt : 0, label = $(".lbl", indicator);
    const state = !lostAt ? "live" : age < STALE ? "reconnecting" : "stale";
    if (state === "stale") root.dataset.live = "stale"; else delete root.dataset.live;
    indicator.className = "live js " + { live: "is-up", reconnecting: "is-slow stale", stale: "is-off stale" }[state];
    $("use", indicator).setAttribute("href", "#i-" + { live: "mark", reconnecting: "refresh", stale: "off" }[state]);
    const text = state === "live" ? words().live : words()[state].replace("%s", state === "stale" ? ec.span(Math.floor(age / 1000)) : clock(lostAt));
    if (label.textContent !== text) label.textContent = text;
  };
  const connected = () => { if (indicator) indicator.dataset.on = ""; if (lostAt) { lostAt = 0; refresh(["all"]); } show(); };
  const lost = () => { if (indicator) indicator.dataset.on = ""; lostAt ||= Date.now(); show(); };
  setInterval(() => lostAt && show(), 1000);

  // ---- which regions a change concerns ----
  const concerns = (el, topics) => el.dataset.live.split(" ").some((want) => topics.some((t) =>
    t === "all" || t === want || want === "nodes" && t.startsWith("node:") || want === "groups" && t.startsWith("group:")));
  const waiting = new Set();
  let timer = 0;
  const refresh = (topics) => {
    for (const el of $$("[data-live][data-src]")) if (el.id && concerns(el, topics)) waiting.add(el.id);
    if (waiting.size && !timer) timer = setTimeout(run, LATER);
  };
  const run = async () => {
    timer = 0;
    if (document.hidden) return; // asked for when the page is looked at again
    const ids = [...waiting].filter((id) => document.getElementById(id));
    waiting.clear();
    const bySource = Map.groupBy ? Map.groupBy(ids, (id) => source(id)) : ids.reduce((m, id) => m.set(source(id), [...(m.get(source(id)) || []), id]), new Map());
    for (const [src, own] of bySource) await load(src, own);
  };
  // What the page's own address says wins: a search changed it without changing the region.
  const source = (id) => {
    const src = document.getElementById(id).dataset.src, page = new URL(ec.behind || location.href), here = page.pathname + page.search;
    return src.split("?")[0] === page.pathname ? here : src;
  };
  const load = async (src, ids) => {
    let answer;
    try { answer = await fetch(src, { headers: { "HX-Request": "true", "HX-Current-URL": ec.behind || location.href, Accept: "text/html" } }); } catch { lost(); return; }
    const away = answer.headers.get("HX-Redirect");
    if (away) { ec.unveil?.(); ec.keepText(answer.status === 401); location.href = away; return; }
    if (answer.status === 404 || answer.status === 403) { gone(answer.status, await answer.text()); return; }
    if (!answer.ok) return; // the next change asks again
    const box = document.createElement("template");
    box.innerHTML = await answer.text();
    for (const id of ids) {
      const now = document.getElementById(id), next = box.content.getElementById(id);
      if (!now) continue;
      if (!next) { if (now.hasAttribute("data-reload")) location.reload(); continue; } // the page has another shape now
      swap(now, next);
    }
    alarm();
  };
  // The thing that the page shows is gone, or no longer permitted: the page stays readable and says so (U21).
  const gone = (status, html) => {
    const n = document.getElementById("notice");
    if (n && !n.querySelector("[data-gone]")) {
      n.innerHTML = html;
      const line = document.createElement("p");
      line.dataset.gone = status;
      line.textContent = status === 403 ? words().forbidden : words().gone;
      n.querySelector(".notice > div")?.append(line);
    }
    for (const el of $$("[data-live]")) el.removeAttribute("data-live");
    waiting.clear();
    for (const el of $$("[hx-trigger^=every]")) { const still = el.cloneNode(true); still.removeAttribute("hx-trigger"); still.removeAttribute("hx-get"); el.replaceWith(still); }
  };

  // ---- swapping without taking anything away (U61) ----
  const busy = (el) => {
    const a = document.activeElement;
    if (a && a !== document.body && el.contains(a) && (a.matches("input, textarea, select") || a.closest("details[open]"))) return true;
    if (el.querySelector("details.drop-menu[open]")) return true;
    const s = getSelection();
    if (s && !s.isCollapsed && s.rangeCount && el.contains(s.getRangeAt(0).commonAncestorContainer)) return true;
    return $$("input, textarea, select", el).some((x) => x.type !== "hidden" && (x.type === "checkbox" || x.type === "radio" ? x.checked !== x.defaultChecked && !x.dataset.keep : x.defaultValue !== undefined && x.value !== x.defaultValue));
  };
  const rowsOf = (el) => $$("tbody tr[id]", el).map((r) => r.id).join("\n");
  // A list that is pointed at keeps its order: rows change in place, or a button offers the new order.
  const swap = (now, next) => {
    const sameRows = rowsOf(now) === rowsOf(next);
    if (busy(now) || (!sameRows && now.matches(":hover") && now.querySelector("tbody"))) { rows(now, next, sameRows); if (!sameRows) offer(now, next); return; }
    if (sameRows && now.querySelector("tbody tr[id]")) { rows(now, next, true); rest(now, next); return; }
    put(now, next);
  };
  const plain = (el) => el.outerHTML.replace(/(<time[^>]*data-rel[^>]*>)[^<]*/g, "$1").replace(/ (hidden|style)="[^"]*"/g, "");
  // again returns how to find an element after its region was replaced: by its id, or as what it is in its row; in place of a row
  // that is gone the one that took its place.
  const again = (el) => {
    if (el.id) { const id = el.id; return () => document.getElementById(id); }
    const row = el.closest("tr[id], li[id]");
    const kin = (from) => [...from.querySelectorAll(el.tagName)].find((x) => ["href", "name", "data-testid", "aria-label", "class"].every((a) => x.getAttribute(a) === el.getAttribute(a)));
    if (!row) { const region = el.closest("[data-live][id]")?.id; return () => { const r = document.getElementById(region); return r && kin(r); }; }
    const { id } = row, list = el.closest("[data-live][id]")?.id, rows = () => $$("tr[id], li[id]", document.getElementById(list) || document);
    const at = rows().indexOf(row);
    return () => {
      const same = document.getElementById(id);
      if (same) return kin(same);
      const all = rows();
      return all[Math.min(at, all.length - 1)]?.querySelector("a[href], button");
    };
  };
  const put = (now, next) => {
    if (plain(now) === plain(next)) return;
    const find = now.contains(document.activeElement) && again(document.activeElement);
    const left = now.scrollLeft, top = now.scrollTop;
    now.replaceWith(next);
    window.htmx?.process(next);
    ec.dress(next.parentElement || document);
    next.scrollTo(left, top);
    if (find) find()?.focus({ preventScroll: true });
  };
  const rows = (now, next) => {
    for (const row of $$("tbody tr[id]", next)) {
      const old = $$("tbody tr[id]", now).find((r) => r.id === row.id);
      if (!old || plain(old) === plain(row) || busy(old)) continue;
      // The row of the link that opened a drawer has the focus again: it changes like the others, and keeps it.
      const find = old.contains(document.activeElement) && again(document.activeElement);
      row.hidden = old.hidden;
      old.replaceWith(row);
      window.htmx?.process(row);
      ec.dress(row);
      if (find) find()?.focus({ preventScroll: true });
    }
  };
  // What lies outside the rows: group headings, pager.
  const rest = (now, next) => { for (const part of $$(".grp .sum, .grp .n, .pager, .sec-head", next)) { const same = $$(".grp .sum, .grp .n, .pager, .sec-head", now)[$$(".grp .sum, .grp .n, .pager, .sec-head", next).indexOf(part)]; if (same && same.innerHTML !== part.innerHTML && !busy(same)) same.innerHTML = part.innerHTML; } };
  const offer = (now, next) => {
    let b = now.querySelector(":scope > .stale-hint");
    if (!b) { b = document.createElement("button"); b.type = "button"; b.className = "stale-hint"; b.textContent = words().changed; now.prepend(b); }
    b.onclick = () => put(now, next);
  };

  // ---- title and icon carry the alarm ----
  const alarm = () => {
    const down = Number($("#nav-nodes [data-down]")?.dataset.down || 0), plainTitle = document.title.replace(/^\(\d[\d,]*\) /, "");
    const title = down ? `(${down}) ${plainTitle}` : plainTitle;
    if (document.title !== title) document.title = title;
    const icon = document.getElementById("favicon"), href = down ? icon.dataset.alarm : icon.dataset.quiet;
    if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  };

  // ---- where changes come from: one stream for all tabs, or polling ----
  const hear = (m) => {
    // Another process, or a version without the names of what made it: something was missed.
    const missed = m.boot !== boot || m.v < version || m.t.length === 0 && m.v > version && !m.q;
    const topics = missed ? ["all"] : m.t;
    boot = m.boot; version = m.v;
    connected();
    if (topics.length) refresh(topics);
  };
  const asks = async () => {
    if (document.hidden) return;
    try {
      const a = await fetch(`${poll}?boot=${boot}&v=${version}`, { headers: { Accept: "application/json" } });
      if (a.status === 401) { ended(); return; }
      if (a.ok) { hear(await a.json()); return; }
    } catch { /* counted as lost below */ }
    lost();
  };
  const ended = () => {
    ec.unveil?.();
    ec.keepText(true);
    location.href = base + "/console/login?next=" + encodeURIComponent(location.pathname.slice(base.length) + location.search);
  };
  const told = ({ data }) => {
    if (data.kind === "message") hear(data.message);
    else if (data.kind === "lost") lost();
    else if (data.kind === "ended") ended();
    else if (data.kind === "open") connected();
  };
  let port = null;
  if (window.SharedWorker && window.EventSource) {
    try {
      const w = new SharedWorker(me.dataset.worker, { name: "ec-live:" + base });
      w.onerror = () => { if (port) { port = null; setInterval(asks, POLL); asks(); } };
      port = w.port;
      port.onmessage = told;
      port.start();
      port.postMessage({ kind: "hello", stream, poll, account: root.dataset.account });
      addEventListener("pagehide", () => port?.postMessage({ kind: "bye" }));
    } catch { port = null; }
  }
  if (!port) { setInterval(asks, POLL); asks(); }
  addEventListener("offline", lost);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { refresh(["all"]); if (!port) asks(); } });
  // Heartbeats are no changes: what shows them is asked for now and then.
  setInterval(() => { if (document.hidden || lostAt) return; for (const el of $$("[data-beat][data-live]")) waiting.add(el.id); if (waiting.size && !timer) timer = setTimeout(run, 0); }, BEAT);
  show();
})();
