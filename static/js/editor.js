// The configuration editor: line numbers, position, the place of a syntax error while typing, formatting. The server has
// the last word on every text.
(() => {
  "use strict";
  const { ec } = window, { $, $$ } = ec;
  const place = (text, at) => { const before = text.slice(0, at).split("\n"); return [before.length, [...before.at(-1)].length + 1]; };

  // where finds the first syntax error of a JSON text, as an offset; -1 if there is none. Browsers word theirs differently.
  const where = (s) => {
    let i = 0;
    const ws = () => { while (i < s.length && " \t\n\r".includes(s[i])) i++; };
    const fail = () => { throw i; };
    const str = () => {
      if (s[i] !== '"') fail();
      for (i++; i < s.length && s[i] !== '"'; i++) {
        if (s[i] < " ") fail();
        if (s[i] === "\\") { i++; if (s[i] === "u") { for (let k = 0; k < 4; k++) { i++; if (!/[0-9a-fA-F]/.test(s[i] || "")) fail(); } } else if (!'"\\/bfnrt'.includes(s[i] || "x")) fail(); }
      }
      if (i >= s.length) fail();
      i++;
    };
    const value = (depth) => {
      if (depth > 100) fail();
      ws();
      if (s[i] === "{") {
        i++; ws();
        if (s[i] === "}") { i++; return; }
        for (;;) { ws(); str(); ws(); if (s[i] !== ":") fail(); i++; value(depth + 1); ws(); if (s[i] === ",") { i++; continue; } if (s[i] === "}") { i++; return; } fail(); }
      }
      if (s[i] === "[") {
        i++; ws();
        if (s[i] === "]") { i++; return; }
        for (;;) { value(depth + 1); ws(); if (s[i] === ",") { i++; continue; } if (s[i] === "]") { i++; return; } fail(); }
      }
      if (s[i] === '"') { str(); return; }
      const m = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/.exec(s.slice(i, i + 400));
      if (!m) fail();
      i += m[0].length;
    };
    try { ws(); if (i >= s.length) return -1; if (s[i] !== "{") return i; value(0); ws(); return i < s.length ? i : -1; } catch (at) { if (typeof at !== "number") throw at; return at; }
  };
  // format moves blanks only: numbers stay as they were typed, also those that JavaScript would round.
  const format = (s) => {
    let out = "", depth = 0;
    const line = () => { out += "\n" + "  ".repeat(depth); };
    const parts = s.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g) || [];
    parts.forEach((p, k) => {
      const next = parts[k + 1];
      if (p === "{" || p === "[") { out += p; if (next !== "}" && next !== "]") { depth++; line(); } } else if (p === "}" || p === "]") {
        const before = parts[k - 1];
        if (before !== "{" && before !== "[") { depth--; line(); }
        out += p;
      } else if (p === ",") { out += p; line(); } else out += p === ":" ? ": " : p;
    });
    return out;
  };
  // What is written and not published stays in this tab until it is, or is discarded; a dot in the side list says where (U40).
  // Signing out empties the tab's storage.
  const drafts = "ec-draft:" + (document.documentElement.dataset.account || "") + ":";
  const draftOf = (path) => { try { return JSON.parse(sessionStorage.getItem(drafts + path)); } catch { return null; } };
  const keep = (path, draft) => {
    try { if (draft) sessionStorage.setItem(drafts + path, JSON.stringify(draft)); else sessionStorage.removeItem(drafts + path); } catch { /* full or forbidden */ }
    dots();
  };
  const dots = () => {
    for (const a of $$(".side a[href$='/config']")) {
      const has = draftOf(a.getAttribute("href")), dot = $(".draft", a);
      if (!has) { dot?.remove(); continue; }
      if (dot) continue;
      const d = document.createElement("span");
      d.className = "draft is-slow"; d.textContent = "●"; d.title = ec.words().draft; d.setAttribute("role", "img"); d.setAttribute("aria-label", d.title);
      $("span", a).after(d);
    }
  };
  const same = (a, b) => a === b || where(a) < 0 && where(b) < 0 && format(a) === format(b);
  const drafting = (t) => {
    const path = t.form.getAttribute("action").replace(/\/review$/, ""), rev = t.form.elements.revision, discard = $("[data-discard]", t.form);
    const published = t.defaultValue, back = draftOf(path);
    const joined = t.form.id !== "config-editor"; // after a conflict: the text and its revision are the server's, and so is the address
    const plain = !joined && location.pathname === path && !location.search && !document.getElementById("config-problem"); // neither refused nor an older revision
    const note = () => { const d = same(t.value, published) && plain ? null : { text: t.value, rev: rev.value }; keep(path, d); discard.hidden = !d && !joined; };
    t.addEventListener("input", note);
    if (plain && back && same(back.text, published)) keep(path, null); // it was published
    else if (plain && back && t.value === published) { t.value = back.text; rev.value = back.rev; t.dispatchEvent(new Event("input", { bubbles: true })); }
    if (joined) t.form.addEventListener("submit", note); // what goes on is the joined text, not the draft that met the conflict
    else discard.hidden = !draftOf(path);
  };
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a[href]");
    if (!a) return;
    if (a.hasAttribute("data-discard")) keep(a.getAttribute("href"), null);
    for (const box of $$("[data-editor]")) { const f = box.closest("form"); if (draftOf(f.getAttribute("action").replace(/\/review$/, ""))) ec.kept(f); } // nothing to warn of
  });
  const side = $(".side");
  if (side) { dots(); new MutationObserver(dots).observe(side, { childList: true, subtree: true }); }
  const adopt = (box) => {
    if (box.dataset.ready) return;
    box.dataset.ready = "1";
    const t = $("textarea", box), gutter = $(".gutter", box), card = box.closest(".card");
    const problem = document.getElementById("config-problem"), refused = problem && t.value;
    // offset turns the line and column of the server's refusal, which counts characters, into a place in the text.
    const offset = () => {
      const all = t.value.split("\n"), line = Number(problem.dataset.line) - 1;
      return all.slice(0, line).join("\n").length + (line > 0 ? 1 : 0) + [...(all[line] || "")].slice(0, Number(problem.dataset.column) - 1).join("").length;
    };
    let lines = 0, timer = 0;
    const number = () => {
      const n = t.value.split("\n").length;
      if (n !== lines) { lines = n; gutter.textContent = Array.from({ length: n }, (_, k) => k + 1).join("\n"); }
      gutter.scrollTop = t.scrollTop;
    };
    const at = () => {
      const out = $("[data-editor-at]", card);
      if (!out) return;
      const [l, c] = place(t.value, t.selectionStart);
      out.textContent = out.dataset.text.replace("%l", l).replace("%c", c);
    };
    const check = () => {
      const ok = $("[data-json-ok]", card), bad = $("[data-json-bad]", card), send = $("[data-testid=review]", card);
      if (!ok) return;
      const err = t.value === refused ? offset() : where(t.value); // the server also refuses what looks well formed here
      ok.hidden = err >= 0; bad.hidden = err < 0;
      if (send) send.disabled = err >= 0;
      if (err >= 0) { const [l, c] = place(t.value, err), w = $("[data-json-where]", bad); w.textContent = w.dataset.text.replace("%l", l).replace("%c", c); bad.onclick = () => { t.focus(); t.setSelectionRange(err, err + 1); }; }
    };
    t.addEventListener("input", () => { number(); at(); clearTimeout(timer); timer = setTimeout(check, 250); });
    t.addEventListener("scroll", () => { gutter.scrollTop = t.scrollTop; }, { passive: true });
    for (const ev of ["click", "keyup", "focus"]) t.addEventListener(ev, at);
    if (!t.readOnly) drafting(t);
    number(); check();
    if (problem) { const pos = offset(); t.focus(); t.setSelectionRange(pos, pos + 1); }
  };
  Object.assign(ec.acts, {
    "json-format": (b) => {
      const t = $("textarea", $("[data-editor]", b.closest(".card")));
      if (where(t.value) >= 0) return; // the place of the error is shown beside the button
      t.focus(); t.setRangeText(format(t.value), 0, t.value.length, "start"); t.dispatchEvent(new Event("input", { bubbles: true }));
    },
    "editor-full": (b) => { b.closest(".card").classList.toggle("full"); },
  });
  for (const box of $$("[data-editor]")) adopt(box);
  document.addEventListener("htmx:afterSettle", () => { for (const box of $$("[data-editor]")) adopt(box); });
})();
