// The pages of nodes: choosing references, marking rows, and asking before typed text is lost. Everything works without it.
(() => {
  "use strict";
  if (window.ecPages) return; // the drawer brings the tag again
  window.ecPages = true;
  const ec = window.ec, { $, $$ } = ec;

  // ---- rows ----
  const count = () => {
    const form = $("#page-rows");
    if (!form) return;
    const rows = $$("[data-row]", form), on = rows.filter((r) => r.checked).length;
    const said = $("[data-selected]", form), all = $("[data-all]", form);
    if (said) said.textContent = on ? said.dataset.selected.replace("%n", on) : "";
    if (all) { all.checked = on > 0 && on === rows.length; all.indeterminate = on > 0 && on < rows.length; }
    for (const b of $$("[data-needs-selection]", form)) b.disabled = on === 0;
    for (const r of rows) r.closest("tr")?.classList.toggle("on", r.checked);
    if (!on) $("#page-confirm", form)?.replaceChildren();
  };
  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-all]")) for (const r of $$("[data-row]", e.target.form)) r.checked = e.target.checked;
    if (e.target.matches("[data-all], [data-row]")) count();
    if (e.target.matches("[data-submit]")) e.target.form.requestSubmit();
    const text = e.target.dataset.colorOf && document.getElementById(e.target.dataset.colorOf);
    if (text) { text.value = e.target.value; text.dispatchEvent(new Event("input", { bubbles: true })); }
  });
  ec.acts["page-keep"] = (b, e) => {
    e.preventDefault();
    b.closest("[data-testid=page-confirm]").replaceChildren();
  };

  // ---- the side list's search filters what is listed; Enter asks the server for all ----
  document.addEventListener("input", (e) => {
    if (!e.target.matches("[data-side-find]")) return;
    const q = e.target.value.trim().toLowerCase();
    for (const node of $$("#side details")) {
      const own = $("summary", node).textContent.toLowerCase().includes(q);
      let any = own;
      for (const li of $$("li", node)) { const hit = own || li.textContent.toLowerCase().includes(q); li.hidden = !hit; any ||= hit; }
      node.closest("li").hidden = !any;
      if (q && any) node.open = true;
    }
  });

  // ---- text that was typed ----
  const touched = (form) => form.hasAttribute("data-dirty") || form.dataset.touched === "1";
  document.addEventListener("input", (e) => {
    const form = e.target.closest?.("[data-record-form]");
    if (form && !e.target.name?.startsWith("find.")) form.dataset.touched = "1";
  });
  const mayClose = () => {
    const form = $("#drawer [data-record-form]");
    return !form || !touched(form) || confirm(ec.words().unsaved);
  };
  // Before the console's own handlers, which close the drawer without asking.
  document.addEventListener("click", (e) => {
    if (e.target.closest("#drawer [data-do=close-drawer]") && !mayClose()) { e.preventDefault(); e.stopImmediatePropagation(); }
  }, true);
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !$("#drawer > .drawer")) return;
    const open = $("#drawer .page-options.open");
    if (open) { shut(open.closest("[data-ref]")); e.stopImmediatePropagation(); return; }
    if (!mayClose()) e.stopImmediatePropagation();
  }, true);
  document.addEventListener("click", (e) => {
    const a = e.target.closest("#drawer a[data-do=close-drawer]");
    if (a) e.preventDefault(); // "Cancel" leads to the list, which is behind the drawer
  });

  // ---- one sending ----
  document.addEventListener("submit", (e) => {
    if (e.defaultPrevented || e.target.method !== "post" || e.target.hasAttribute("hx-post")) return;
    setTimeout(() => { for (const b of $$("button[type=submit]", e.target)) b.disabled = true; }); // after the browser has read them
  });
  addEventListener("pageshow", () => { for (const b of $$("form[method=post] button[type=submit][disabled]:not([data-needs-selection])")) b.disabled = false; count(); });

  // ---- references ----
  const box = (ref) => $("[role=combobox]", ref), list = (ref) => $(".page-options", ref);
  const open = (ref) => {
    if (list(ref).classList.contains("open")) return;
    list(ref).classList.add("open");
    box(ref).setAttribute("aria-expanded", "true");
    box(ref).select();
    window.htmx?.trigger(box(ref), "page-ref-open");
  };
  const shut = (ref) => {
    list(ref).classList.remove("open");
    box(ref).setAttribute("aria-expanded", "false");
    box(ref).value = box(ref).dataset.chosen;
  };
  const choose = (ref, radio) => {
    radio.checked = true;
    box(ref).dataset.chosen = radio.dataset.label;
    radio.dispatchEvent(new Event("input", { bubbles: true }));
  };
  document.addEventListener("focusin", (e) => { if (e.target.matches("[data-ref] [role=combobox]")) open(e.target.closest("[data-ref]")); });
  document.addEventListener("focusout", (e) => {
    const ref = e.target.closest?.("[data-ref]");
    if (ref && !ref.contains(e.relatedTarget)) setTimeout(() => { if (ref.isConnected && !ref.contains(document.activeElement)) shut(ref); }, 150);
  });
  document.addEventListener("change", (e) => {
    const ref = e.target.closest("[data-ref]");
    if (ref && e.target.type === "radio") box(ref).dataset.chosen = e.target.dataset.label;
  });
  document.addEventListener("click", (e) => {
    const ref = e.target.closest("[data-ref]");
    if (!ref) return;
    if (e.target.closest("[data-do=page-pick]")) { e.preventDefault(); box(ref).focus(); open(ref); return; }
    const radio = e.detail > 0 && e.target.closest("label")?.querySelector("input[type=radio]");
    if (radio) setTimeout(() => shut(ref), 0);
  });
  document.addEventListener("keydown", (e) => {
    const ref = e.target.closest?.("[data-ref]");
    if (!ref) return;
    const radios = $$("input[type=radio]", list(ref));
    if (e.target === box(ref)) {
      if (e.key === "ArrowDown") { e.preventDefault(); open(ref); (radios.find((r) => r.checked) || radios[0])?.focus(); }
      if (e.key === "Enter") {
        e.preventDefault();
        const hit = radios.find((r) => r.value && r.dataset.label !== box(ref).dataset.chosen) || radios.find((r) => r.value);
        if (hit && list(ref).classList.contains("open") && box(ref).value) choose(ref, hit);
        shut(ref);
      }
      if (e.key === "Escape") { shut(ref); }
    } else if (e.key === "Enter" && e.target.type === "radio") { e.preventDefault(); shut(ref); box(ref).focus(); shut(ref); }
  });

  // ---- parts that arrive later ----
  const dress = () => {
    count();
    const form = $("[data-record-form][data-dirty]");
    // Tells the console's guard that this form, which came back from the server, still holds unsaved text.
    if (form) form.dispatchEvent(new Event("input", { bubbles: true }));
  };
  document.addEventListener("htmx:afterSettle", (e) => {
    dress();
    if (e.detail.target?.id === "record" || e.target.id === "record") $("#record [data-testid=record-notice]")?.focus();
  });
  dress();
})();
