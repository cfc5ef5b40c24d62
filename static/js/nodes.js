// The node list: selecting several nodes, clearing the search, and rows that open their node.
(() => {
  "use strict";
  const { ec } = window, { $, $$ } = ec;
  const boxes = () => $$("input[form=bulk][name=node]:not(:disabled)");

  // ---- selection ----
  const count = () => {
    const bar = document.getElementById("bulk");
    if (!bar) return;
    const all = boxes(), n = all.filter((b) => b.checked).length, head = $("[data-do=bulk-all]");
    bar.toggleAttribute("data-some", n > 0);
    for (const b of all) b.closest("tr, li")?.classList.toggle("on", b.checked);
    if (n) { const label = $("[data-bulk-count]", bar); label.textContent = label.dataset.text.replace("%s", n); } else for (const d of $$("details[open]", bar)) d.open = false;
    if (head) { head.checked = n > 0 && n === all.length; head.indeterminate = n > 0 && n < all.length; }
  };
  const choose = (want) => { for (const b of boxes()) b.checked = want(b); count(); };
  ec.acts["bulk-all"] = (head) => choose(() => head.checked);
  ec.acts["bulk-none"] = () => choose(() => false);
  document.addEventListener("change", (e) => { if (e.target.matches("input[form=bulk]")) count(); });
  document.addEventListener("htmx:afterSettle", (e) => {
    // What is done is no longer selected; what failed is, so that it can be tried again.
    if (e.detail.target?.id === "bulk-result" && $("#bulk-result [data-bulk-done]")) {
      const failed = new Set($$("#bulk-result [data-failed]").map((f) => f.dataset.failed));
      choose((b) => failed.has(b.value));
      $("#bulk-result .notice").scrollIntoView({ block: "nearest" });
    } else count();
  });

  // ---- search ----
  ec.acts["clear-search"] = (b) => {
    const input = document.getElementById("node-q");
    input.value = ""; b.hidden = true;
    input.dispatchEvent(new Event("search", { bubbles: true }));
    input.focus();
  };
  document.addEventListener("input", (e) => { if (e.target.id === "node-q") { const b = $("[data-do=clear-search]"); if (b) b.hidden = !e.target.value; } });

  // ---- the row opens the node ----
  document.addEventListener("click", (e) => {
    const row = e.target.closest("[data-testid=node-row], [data-testid=instance-row]"), link = row && $("a.open", row);
    if (!link || e.defaultPrevented || e.target.closest("a, button, input, label, summary, details, .tag") || String(getSelection())) return;
    if (e.ctrlKey || e.metaKey) window.open(link.href, "_blank", "noopener"); else link.click();
  });
  count();
})();
