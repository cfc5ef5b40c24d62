// The console's own script. Pages work without it; it adds copying, menus that close, toasts, relative times,
// and keeps typed text over a session that ended. No eval, no inline code: the page's CSP forbids both.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const base = root.dataset.base || "";
  const words = () => document.getElementById("words").dataset;
  const $ = (sel, from = document) => from.querySelector(sel);
  const $$ = (sel, from = document) => [...from.querySelectorAll(sel)];
  const started = performance.now(), serverNow = Number(root.dataset.now) || Date.now();
  const ec = (window.ec = { base, words, $, $$, now: () => serverNow + performance.now() - started });

  // ---- saying things ----
  ec.say = (text) => { const s = document.getElementById("said"); s.textContent = ""; setTimeout(() => { s.textContent = text; }, 50); };
  const icon = (name) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    svg.setAttribute("class", "i"); svg.setAttribute("aria-hidden", "true"); use.setAttribute("href", "#i-" + name); svg.append(use);
    return svg;
  };
  ec.icon = icon;
  ec.toast = (text, state = "up") => {
    const t = document.createElement("div"), span = document.createElement("span"), close = document.createElement("button");
    t.className = "toast is-" + state; t.dataset.toast = "";
    span.textContent = text;
    close.className = "btn ghost sm sq"; close.type = "button"; close.dataset.do = "untoast"; close.setAttribute("aria-label", words().close);
    close.append(icon("no"));
    t.append(icon(state === "up" ? "ok" : "info"), span, close);
    document.getElementById("toasts").append(t);
    fade(t);
    fewToasts();
  };
  // Of many toasts the newest three stay, the newest last.
  const fewToasts = () => { const all = $$("#toasts > .toast"); for (const t of all.slice(0, Math.max(0, all.length - 3))) t.remove(); };
  const fade = (t) => {
    let left = 6;
    const timer = setInterval(() => { if (!t.isConnected) clearInterval(timer); else if (!t.matches(":hover, :focus-within") && --left <= 0) { clearInterval(timer); t.remove(); } }, 1000);
  };
  // A failure that no answer tells about: the server is away. It stays until closed.
  ec.alarm = (text) => {
    const n = document.getElementById("notice");
    if (!n) return;
    const box = document.createElement("div"), p = document.createElement("div"), b = document.createElement("button");
    box.className = "notice is-down"; box.setAttribute("role", "alert");
    p.textContent = text; b.className = "btn sm"; b.type = "button"; b.dataset.do = "unnotice"; b.textContent = words().close;
    box.append(icon("down"), p, b);
    n.replaceChildren(box);
  };

  // ---- what buttons do ----
  const cookie = (name, value) => { document.cookie = `${name}=${encodeURIComponent(value)}; path=${base || "/"}; max-age=31536000; samesite=lax`; };
  const store = (key, value) => { try { localStorage.setItem(key, value); } catch { /* private mode keeps nothing */ } };
  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const acts = ec.acts = {
    nav: (b) => b.setAttribute("aria-expanded", document.body.classList.toggle("nav-on")),
    side: () => {
      if (innerWidth <= 1240) { document.body.classList.toggle("side-on"); return; }
      cookie("ec_side", document.body.classList.toggle("side-off") ? "hidden" : "shown");
    },
    header: (b) => {
      const short = root.dataset.header !== "short";
      if (short) root.dataset.header = "short"; else delete root.dataset.header;
      b.setAttribute("aria-pressed", short); cookie("ec_header", short ? "short" : "full");
    },
    theme: (b, e) => {
      e.preventDefault();
      const names = ["light", "dark", "system"], next = names[(names.indexOf(root.dataset.theme || "system") + 1) % 3];
      if (next === "system") root.removeAttribute("data-theme"); else root.dataset.theme = next;
      cookie("ec_theme", next);
      b.title = b.dataset.themes.split("|")[names.indexOf(next)]; ec.say(b.title);
    },
    group: (b) => {
      const body = b.closest("tbody"), open = b.getAttribute("aria-expanded") !== "true";
      fold(body, open); store("ec-group:" + body.dataset.group, open ? "" : "shut");
    },
    copy: async (b) => {
      const from = b.dataset.copyFrom && document.getElementById(b.dataset.copyFrom);
      const text = from ? from.textContent : b.dataset.copy;
      try { await navigator.clipboard.writeText(text); } catch { copyOld(text); }
      ec.say(words().copied); ec.toast(words().copied);
    },
    untoast: (b) => b.closest(".toast").remove(),
    unnotice: (b) => b.closest(".notice").remove(),
    "close-drawer": () => ec.closeDrawer(),
    grip: () => {},
  };
  // Without a secure context there is no clipboard interface, and consoles often run without TLS inside a house.
  const copyOld = (text) => {
    const t = document.createElement("textarea");
    t.value = text; t.className = "vh"; document.body.append(t); t.select(); document.execCommand("copy"); t.remove();
  };
  const fold = (body, open) => {
    const b = $(".grp button", body);
    if (!b) return;
    b.setAttribute("aria-expanded", open);
    $("use", b).setAttribute("href", open ? "#i-below" : "#i-right");
    for (const row of $$("tr:not(.grp)", body)) row.hidden = !open;
  };
  document.addEventListener("click", (e) => {
    const b = e.target.closest("[data-do]");
    if (b && acts[b.dataset.do]) acts[b.dataset.do](b, e);
    for (const d of $$("details.drop-menu[open]")) if (!d.contains(e.target)) d.open = false;
    if (e.target.closest("[data-discard]")) dirty.clear();
  });
  // A menu near the lower edge opens upwards.
  document.addEventListener("toggle", (e) => {
    const d = e.target;
    if (!(d instanceof HTMLDetailsElement) || !d.matches(".drop-menu")) { if (d.dataset?.keep) store("ec-open:" + d.dataset.keep, d.open ? "1" : "0"); return; }
    const menu = $(".menu", d);
    if (!d.open || !menu || d.closest(".pager")) return;
    d.classList.remove("up");
    const r = menu.getBoundingClientRect();
    if (r.bottom > innerHeight && r.top - r.height > 60) d.classList.add("up");
    $("input:not([type=hidden])", menu)?.focus();
  }, true);

  // ---- drawer ----
  let opener = null;
  ec.closeDrawer = () => {
    document.getElementById("drawer").replaceChildren();
    document.getElementById("frame").inert = false;
    opener?.isConnected && opener.focus();
    opener = null;
  };
  const openDrawer = () => {
    const d = $("#drawer > .drawer");
    document.getElementById("frame").inert = Boolean(d);
    d?.focus();
  };
  document.addEventListener("pointerdown", (e) => {
    const grip = e.target.closest(".grip");
    if (!grip) return;
    const drawer = grip.closest(".drawer");
    const move = (ev) => { drawer.style.height = Math.min(innerHeight - 60, Math.max(200, innerHeight - ev.clientY)) + "px"; };
    const stop = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", stop); };
    addEventListener("pointermove", move); addEventListener("pointerup", stop);
    e.preventDefault();
  });

  // ---- htmx: what its answers mean here ----
  document.addEventListener("htmx:beforeRequest", (e) => { if (e.detail.target?.id === "drawer") opener = e.detail.elt; });
  document.addEventListener("htmx:afterSwap", (e) => { if (e.detail.target?.id === "drawer") openDrawer(); });
  document.addEventListener("htmx:afterSettle", (e) => { dress(e.detail.elt?.isConnected ? e.detail.elt : document); });
  // Answers that failed say so in #notice. What is no notice of ours, such as the page of a proxy in front, must not land in
  // the page; a form that came back with its errors belongs where it was (S90).
  document.addEventListener("htmx:beforeSwap", (e) => {
    const d = e.detail, status = d.xhr.status;
    if (status < 400) return;
    if (/^\s*<div [^>]*data-testid="failure"/.test(d.serverResponse)) { d.target = document.getElementById("notice"); d.swapOverride = "innerHTML"; d.shouldSwap = true; }
    else if (!d.xhr.getResponseHeader("X-Request-Id") || /<html[\s>]/i.test(d.serverResponse)) { d.shouldSwap = false; ec.alarm(words().failed.replace("%s", status)); }
    else if (d.requestConfig?.target) { d.target = d.requestConfig.target; d.swapOverride = null; }
  });
  document.addEventListener("htmx:sendError", () => ec.alarm(words().unreachable));
  document.addEventListener("htmx:timeout", () => ec.alarm(words().timeout));
  document.addEventListener("htmx:beforeOnLoad", (e) => { if (e.detail.xhr.getResponseHeader("HX-Redirect")) keepText(e.detail.xhr.status === 401); });
  document.addEventListener("ec:said", (e) => { const text = e.detail?.value ?? e.detail; if (text) { ec.toast(String(text)); } });
  document.addEventListener("htmx:responseError", () => $("#notice .notice")?.scrollIntoView({ block: "nearest" }));

  // ---- text that was typed and not sent ----
  const dirty = new Set();
  const account = root.dataset.account || "";
  document.addEventListener("input", (e) => {
    const f = e.target.closest?.("form");
    if (f?.hasAttribute("data-unsaved")) dirty.add(f);
    if (e.target.matches?.("[data-match]")) matchName(e.target);
  });
  document.addEventListener("submit", (e) => { dirty.delete(e.target); e.target.dataset.sent = ""; });
  addEventListener("beforeunload", (e) => {
    for (const f of dirty) if (!f.isConnected) dirty.delete(f);
    if (dirty.size > 0 && !leaving) e.preventDefault();
  });
  let leaving = false;
  const fieldsOf = (form) => [...form.elements].filter((x) => x.name && /^(INPUT|TEXTAREA|SELECT)$/.test(x.tagName) && !/^(password|hidden|file|submit)$/.test(x.type));
  const formKey = (form) => "ec-kept:" + location.pathname + "#" + (form.id || form.getAttribute("action") || form.dataset.testid || "form");
  // keepText puts what was typed aside when the session is over; it comes back to the same account on the same page (S61, S89).
  const keepText = (ended) => {
    leaving = true;
    if (!ended || !account) return;
    for (const form of document.forms) {
      if (form.hasAttribute("data-nokeep") || form.method === "get" && !form.closest("[data-unsaved]")) continue;
      const kept = fieldsOf(form).filter((x) => x.type === "checkbox" || x.type === "radio" ? x.checked !== x.defaultChecked : x.value !== (x.defaultValue ?? x.value))
        .map((x) => [x.name, x.type === "checkbox" || x.type === "radio" ? x.checked : x.value, x.value]);
      if (kept.length) try { sessionStorage.setItem(formKey(form), JSON.stringify({ account, kept })); } catch { /* full or forbidden */ }
    }
  };
  ec.keepText = keepText;
  ec.kept = (form) => dirty.delete(form);
  const restoreText = () => {
    let back = false;
    for (const form of document.forms) {
      let saved;
      try { saved = JSON.parse(sessionStorage.getItem(formKey(form)) || "null"); sessionStorage.removeItem(formKey(form)); } catch { continue; }
      if (!saved || saved.account !== account) continue;
      for (const [name, value, own] of saved.kept) {
        for (const x of fieldsOf(form).filter((y) => y.name === name)) {
          if (typeof value === "boolean") { if (x.value === own) x.checked = value; } else x.value = value;
          back = true;
        }
      }
      if (back) { dirty.add(form); form.dispatchEvent(new Event("input", { bubbles: true })); $$("[data-editor] textarea", form).forEach((t) => t.dispatchEvent(new Event("input", { bubbles: true }))); }
    }
    if (back) ec.toast(words().restored);
  };
  // Posted without htmx, a form whose session is over would lose its text on the way to the login: ask first.
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (form.method !== "post" || form.hasAttribute("hx-post") || form.hasAttribute("data-nokeep") || !form.hasAttribute("data-unsaved") || form.dataset.checked) return;
    e.preventDefault();
    const by = e.submitter;
    let ended = false;
    try { ended = (await fetch(base + "/console/changes?v=0", { headers: { Accept: "application/json" } })).status === 401; } catch { ec.alarm(words().unreachable); dirty.add(form); return; }
    if (ended) { keepText(true); location.href = base + "/console/login?next=" + encodeURIComponent(location.pathname.slice(base.length) + location.search); return; }
    form.dataset.checked = "1";
    leaving = true;
    form.requestSubmit(by);
    delete form.dataset.checked;
  });
  document.addEventListener("submit", (e) => {
    if (/\/console\/logout$/.test(e.target.getAttribute("action") || "")) { leaving = true; try { sessionStorage.clear(); } catch { /* nothing there */ } }
  });
  const matchName = (input) => { const b = $("button.danger", input.form); if (b) b.disabled = input.value !== input.dataset.match; };

  // ---- times that go on ----
  const unit = (key, n) => words()[key].replace("%s", n);
  const span = (s) => s < 60 ? unit("s", s) : s < 3600 ? unit("min", Math.floor(s / 60)) : s < 172800 ? unit("h", Math.floor(s / 3600)) : unit("d", Math.floor(s / 86400).toLocaleString("en-US"));
  ec.span = span;
  const tick = () => {
    if (document.hidden || root.dataset.live === "stale") return;
    for (const t of $$("time[data-rel]")) {
      const text = words().ago.replace("%s", span(Math.max(0, Math.floor((ec.now() - Date.parse(t.dateTime)) / 1000))));
      if (t.textContent !== text) t.textContent = text;
    }
  };
  setInterval(tick, 1000);

  // ---- each page, and each part that arrives later ----
  const dress = (part) => {
    for (const body of $$("tbody[data-group]", part)) if (stored("ec-group:" + body.dataset.group) === "shut") fold(body, false);
    for (const d of $$("details[data-keep]", part)) { const v = stored("ec-open:" + d.dataset.keep); if (v) d.open = v === "1"; }
    for (const i of $$("[data-match]", part)) matchName(i);
    for (const t of $$("[data-toast]", part)) fade(t);
    fewToasts();
    const lang = stored("ec-snippet");
    for (const r of $$("[data-keep=snippet]", part)) if (r.value === lang) r.checked = true;
  };
  ec.dress = dress;
  document.addEventListener("change", (e) => { if (e.target.dataset?.keep === "snippet") store("ec-snippet", e.target.value); });
  dress(document);
  $(".side [aria-current]")?.scrollIntoView({ block: "nearest" });
  // On a phone the tab that is shown may lie beyond the edge of the row.
  { const on = $(".tabs > [aria-current]"); if (on) on.parentElement.scrollLeft = on.offsetLeft + on.offsetWidth + 24 - on.parentElement.clientWidth - on.parentElement.offsetLeft; }
  restoreText();
  if ($("#drawer > .drawer")) openDrawer();
  const here = new URL(location.href);
  if (here.searchParams.has("said")) { here.searchParams.delete("said"); history.replaceState(history.state, "", here); }
  if (!/(^|; )ec_zone=/.test(document.cookie)) {
    try { cookie("ec_zone", Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"); } catch { /* stays UTC */ }
  }
  // A page that comes back from the browser's memory may be of a session that is over.
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
})();
