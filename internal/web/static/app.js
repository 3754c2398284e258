// What pages gain with JavaScript: copy buttons, questions before something
// that cannot be undone, search in lists, and one connection for what is live.
// Everything works without it.
(() => {
  "use strict";

  const say = (() => { // for people who do not see the button change
    const line = document.createElement("p");
    line.className = "unseen";
    line.setAttribute("role", "status");
    document.body.append(line);
    return text => { line.textContent = text; };
  })();

  async function copy(button) {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch { // plain http on another host has no clipboard
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "unseen";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const label = button.querySelector("span");
    if (!label) return;
    clearTimeout(button.back);
    label.textContent = "Copied";
    button.back = setTimeout(() => { label.textContent = "Copy"; }, 1600);
    say("Copied");
  }

  // Before htmx and the browser see the click.
  document.addEventListener("click", event => {
    const asks = event.target.closest("[data-confirm]");
    if (asks && !window.confirm(asks.dataset.confirm)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
    const tick = event.target.closest("[data-tick]");
    if (tick) {
      for (const box of document.querySelectorAll(`${tick.dataset.tick} label:not([hidden]) input`)) box.checked = true;
    }
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  }, true);

  document.addEventListener("input", event => {
    const list = event.target.dataset?.filter;
    if (!list) return;
    const words = event.target.value.trim().toLowerCase();
    let shown = 0;
    for (const row of document.querySelectorAll(`${list} [data-text]`)) {
      row.hidden = !row.dataset.text.toLowerCase().includes(words);
      if (!row.hidden) shown++;
    }
    say(`${shown} shown`);
  });

  document.addEventListener("keydown", event => {
    if (event.key === "Escape") {
      for (const menu of document.querySelectorAll("details.menu[open]")) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    }
    // Enter in a search field must not answer the form that it stands in.
    if (event.key === "Enter" && event.target.dataset?.filter) event.preventDefault();
  });

  for (const tools of document.querySelectorAll("[data-tools]")) tools.hidden = false;

  // On a narrow window the menu is a strip; show the entry that is lit.
  const strip = document.querySelector(".bar nav");
  const lit = strip?.querySelector("[aria-current]");
  if (lit) strip.scrollLeft = lit.offsetLeft - (strip.clientWidth - lit.clientWidth) / 2;

  // After a form was answered in place, what it says comes into view, and a
  // form that has done its work is empty again.
  document.addEventListener("htmx:after:swap", event => {
    if (!event.target.matches?.("form") && !event.detail?.ctx?.sourceElement?.matches?.("form")) return;
    const news = document.querySelector(".once, #main > .note");
    news?.scrollIntoView({ block: "nearest" });
    if (news?.matches(".once")) {
      for (const form of document.querySelectorAll("form.row")) form.reset();
    }
  });
})();
