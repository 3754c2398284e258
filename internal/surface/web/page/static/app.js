// What pages gain with JavaScript: copy buttons, questions before something
// that cannot be undone, search in lists, keys for the inbox, and one
// connection for what is live.
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

  // In the inbox one key goes to the next question, or to a button of this
  // one; it is Enter there that decides, so that no slip does.
  document.addEventListener("keyup", event => { // not down: the sign itself must go nowhere
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const asks = [...document.querySelectorAll("[data-ask]")];
    if (asks.length === 0) return;
    const at = asks.findIndex(ask => ask.contains(document.activeElement));
    const here = asks[Math.max(at, 0)];
    const goal = {
      j: () => asks[Math.min(at + 1, asks.length - 1)],
      k: () => asks[Math.max(at - 1, 0)],
      a: () => here.querySelector("[data-approve]"),
      r: () => here.querySelector("[data-reject]"),
    }[event.key]?.();
    if (!goal) return;
    goal.focus();
    goal.scrollIntoView({ block: "nearest" });
  });

  const showTools = () => {
    for (const tools of document.querySelectorAll("[data-tools]")) tools.hidden = false;
  };
  showTools();
  document.addEventListener("htmx:after:swap", showTools);

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
