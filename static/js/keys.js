// Keys and the palette. Nothing here is the only way to anything: each key presses what the page shows, and the palette's
// results are also a page. Keys never fire in fields.
(() => {
  "use strict";
  const { ec } = window, { $, $$, base } = ec;
  const palette = $("#palette"), box = $("#palette-q"), hits = $("#palette-hits"), sheet = $("#keys");
  if (!palette) return;

  // ---- pages that were looked at, newest first ----
  const KEPT = 12, key = "ec-recent:" + base + ":" + (document.documentElement.dataset.account || "");
  const recent = () => { try { return JSON.parse(localStorage.getItem(key)) || []; } catch { return []; } };
  const here = location.pathname.slice(base.length).match(/^\/console\/(nodes|groups|pages|users)\/[^/]+/)?.[0];
  if (here && !here.endsWith("/new") && !$("[data-testid=failure]")) {
    try { localStorage.setItem(key, JSON.stringify([here, ...recent().filter((p) => p !== here)].slice(0, KEPT))); } catch { /* private mode keeps nothing */ }
  }

  // ---- palette ----
  const options = () => $$("[role=option]", hits);
  const chosen = () => $("[aria-selected=true]", hits);
  const choose = (o) => {
    chosen()?.setAttribute("aria-selected", "false");
    if (o) { o.setAttribute("aria-selected", "true"); o.scrollIntoView({ block: "nearest" }); box.setAttribute("aria-activedescendant", o.id); } else box.removeAttribute("aria-activedescendant");
  };
  let asked = 0, timer = 0, pending = null;
  const ask = async () => {
    const mine = ++asked, query = new URLSearchParams({ q: box.value });
    for (const p of recent()) query.append("recent", p);
    let text = "";
    try {
      const a = await fetch(palette.dataset.src + "?" + query, { headers: { "HX-Request": "true", "HX-Current-URL": location.href, Accept: "text/html" } });
      const away = a.headers.get("HX-Redirect");
      if (away) { ec.keepText(a.status === 401); location.href = away; return; }
      text = await a.text();
    } catch { ec.alarm(ec.words().unreachable); palette.close(); return; }
    if (mine !== asked) return; // a later word is on its way
    hits.innerHTML = text;
    box.setAttribute("aria-expanded", options().length > 0);
    $("#palette-said").textContent = $("[data-said]", hits)?.textContent.trim() || "";
    choose(options()[0]);
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(() => { timer = 0; pending = ask(); }, 100); };
  const openPalette = (text = "") => {
    if (sheet.open) sheet.close();
    if (!palette.open) palette.showModal();
    box.value = text;
    box.focus();
    pending = ask();
  };
  const run = async (o, apart) => {
    if (!o) return;
    const act = o.dataset.run;
    if (!act) { if (apart) open(o.href, "_blank", "noopener"); else { palette.close(); location.href = o.href; } return; }
    palette.close();
    if (act === "keys") openSheet();
    else if (act === "theme") $(".tools [name=theme]").click();
    else if (act === "lang") $(".tools [name=lang]").click();
    else if (act === "logout") $("[data-testid=logout]").click();
  };
  box.addEventListener("input", later);
  box.addEventListener("keydown", async (e) => {
    const all = options(), at = all.indexOf(chosen());
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: e.ctrlKey ? 0 : NaN, End: e.ctrlKey ? -1 : NaN, PageDown: Math.min(at + 8, all.length - 1), PageUp: Math.max(at - 8, 0) }[e.key];
    if (to !== undefined && !Number.isNaN(to)) { e.preventDefault(); choose(all.at(to % (all.length || 1))); return; }
    if (e.key !== "Enter" || e.isComposing) return;
    e.preventDefault();
    const apart = e.ctrlKey || e.metaKey;
    if (timer) { clearTimeout(timer); timer = 0; pending = ask(); }
    await pending; // what is pressed is what the text finds, not what was there before
    run(chosen(), apart);
  });
  hits.addEventListener("click", (e) => { const o = e.target.closest("[role=option]"); if (o && !(e.ctrlKey || e.metaKey || e.shiftKey)) { e.preventDefault(); run(o, false); } });
  hits.addEventListener("pointermove", (e) => { const o = e.target.closest("[role=option]"); if (o && o !== chosen()) choose(o); });
  hits.addEventListener("mousedown", (e) => e.preventDefault()); // the text keeps the focus
  $("#find")?.addEventListener("pointerdown", (e) => { e.preventDefault(); openPalette(e.target.value); });
  for (const d of [palette, sheet]) d.addEventListener("click", (e) => { if (e.target === d) d.close(); }); // beside it

  // ---- the sheet: what this page offers ----
  const nameOf = (el) => el.dataset.keyName || el.getAttribute("aria-label") || el.labels?.[0]?.textContent.trim() || el.textContent.trim();
  const shown = (el) => el.checkVisibility?.() ?? el.offsetParent !== null;
  const openSheet = () => {
    const list = $("dl", sheet);
    for (const own of $$("[data-own]", list)) own.remove();
    for (const row of $$("[data-needs]", list)) row.hidden = !$$(row.dataset.needs).some(shown);
    for (const el of $$("[aria-keyshortcuts]")) {
      if (el.getAttribute("aria-keyshortcuts").length !== 1 || el.getAttribute("aria-keyshortcuts") === "/" || !shown(el)) continue;
      const row = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd"), k = document.createElement("kbd");
      row.dataset.own = ""; k.textContent = el.getAttribute("aria-keyshortcuts"); dd.textContent = nameOf(el);
      dt.append(k); row.append(dt, dd); list.append(row);
    }
    if (!sheet.open) sheet.showModal();
  };
  ec.acts.palette = (b, e) => { e.preventDefault(); openPalette(); };
  ec.acts.keys = (b) => { const d = b.closest("details"); if (d) d.open = false; openSheet(); };
  ec.acts["close-dialog"] = (b) => b.closest("dialog").close();

  // ---- keys ----
  const escape = () => {
    const menu = $("details.drop-menu[open]");
    if (menu) { menu.open = false; $("summary", menu).focus(); return; }
    if ($("#drawer > .drawer")) { ec.closeDrawer(); return; }
    document.body.classList.remove("nav-on");
  };
  const step = (by) => {
    const rows = $$("tbody tr:not(.grp):not([hidden])").filter((r) => $("a.open", r));
    const at = rows.findIndex((r) => r.contains(document.activeElement));
    $("a.open", rows[Math.min(Math.max(at + by, 0), rows.length - 1)] || document)?.focus();
  };
  const press = (el) => { if (el.matches("input:not([type=checkbox]), textarea, select")) { el.focus(); el.select?.(); } else { el.focus({ preventScroll: true }); el.click(); } };
  let first = "", since = 0;
  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.isComposing) return;
    if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") { e.preventDefault(); if (palette.open) palette.close(); else openPalette(); return; }
    if (document.querySelector("dialog[open]")) return;
    if (e.key === "Escape") { escape(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat && e.key.length === 1 && !/[jk]/.test(e.key) || e.target.closest("input, textarea, select, [contenteditable]")) return;
    const before = e.timeStamp - since < 1500 ? first : "";
    first = e.key; since = e.timeStamp;
    if (before === "g") { const to = $$("[data-go]").find((a) => a.dataset.go === e.key); first = ""; if (to) { e.preventDefault(); location.href = to.href; } return; }
    if (e.key === "?") { e.preventDefault(); openSheet(); return; }
    if (e.key === "/") { e.preventDefault(); const s = $("#drawer [data-log-search]") || $$("[aria-keyshortcuts='/']").find(shown); if (s) press(s); else openPalette(); return; }
    if (e.key === "j" || e.key === "k") { step(e.key === "j" ? 1 : -1); return; }
    if (!/^[a-z]$/.test(e.key)) return;
    const within = document.activeElement?.closest("tr"), own = `[aria-keyshortcuts='${e.key}']`; // the row with the focus goes before the page
    const target = within && $(own, within) || $$(`${own}`).find((x) => shown(x) && !x.closest("tr") && !x.closest("[inert]"));
    if (target) { e.preventDefault(); press(target); }
  });
})();
