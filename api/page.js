// What the page of the REST contract gains with JavaScript: search, and a form
// for every operation that sends it to this server. The key is read from its
// field when a request is sent and goes nowhere else.
(() => {
  "use strict";

  const most = 200_000; // characters of an answer that are shown
  const key = document.getElementById("key");
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  document.querySelector(".tools").hidden = false;
  addEventListener("pagehide", () => { key.value = ""; });

  document.getElementById("search").addEventListener("input", event => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const article of document.querySelectorAll("article")) {
      const text = article.text ??= `${article.id} ${article.textContent}`.toLowerCase();
      article.hidden = !words.every(word => text.includes(word));
      if (!article.hidden) shown++;
      const entry = document.querySelector(`[data-for="${article.id}"]`);
      if (entry) entry.hidden = article.hidden;
    }
    for (const list of document.querySelectorAll("nav ul")) list.previousElementSibling.hidden = !list.querySelector("li:not([hidden])");
    document.body.classList.toggle("searching", words.length > 0);
    for (const section of document.querySelectorAll("section")) section.hidden = !section.querySelector("article:not([hidden])");
    document.getElementById("found").textContent = words.length ? `${shown} found` : "";
  });

  // field returns a labelled field of a parameter.
  function field(row) {
    const { name, in: where } = row.dataset, required = "required" in row.dataset;
    const input = make("input", { name, "data-in": where, autocomplete: "off", ...(required ? { required: "" } : {}) });
    return make("label", {}, `${name} `, make("small", {}, required ? where : `${where}, optional`), input);
  }

  // request is what a form asks for.
  function request(article, form) {
    const { method, kind } = article.dataset;
    let { path } = article.dataset;
    const headers = {}, query = new URLSearchParams();
    for (const input of form.querySelectorAll("input")) {
      if (input.type === "checkbox") {
        if (input.checked) headers.Accept = "text/event-stream";
        continue;
      }
      if (input.value === "") continue;
      if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
      if (input.dataset.in === "query") query.append(input.name, input.value);
      if (input.dataset.in === "header") headers[input.name] = input.value;
    }
    if (key.value && !("public" in article.dataset)) headers.Authorization = `Bearer ${key.value.trim()}`;
    const body = form.querySelector("textarea")?.value;
    if (body) headers["Content-Type"] = kind;
    const search = query.toString();
    return [path + (search && `?${search}`), { method, headers, body: body || undefined, credentials: "omit", cache: "no-store", redirect: "manual" }];
  }

  // send shows an answer as it comes.
  async function send(article, form, output, signal) {
    const [url, options] = request(article, form);
    const status = make("strong", {}, "…"), shown = make("pre", { tabindex: "0", role: "group", "aria-label": "answer" });
    output.replaceChildren(status);
    const began = performance.now();
    try {
      const answer = await fetch(url, { ...options, signal });
      status.className = answer.ok ? "good" : "bad";
      status.textContent = `${answer.status} ${answer.statusText} after ${Math.round(performance.now() - began)} ms`;
      output.append(shown);
      let text = "";
      const decoder = new TextDecoder();
      for (const reader = answer.body.getReader(); text.length < most;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
        shown.textContent = text;
      }
      if (answer.headers.get("Content-Type")?.startsWith("application/json")) {
        try { shown.textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { /* cut off: as it came */ }
      }
      if (text === "") shown.remove();
    } catch (error) {
      if (signal.aborted) { output.append(make("p", { class: "hint" }, "Stopped.")); return; }
      status.className = "bad";
      status.textContent = `No answer: ${error.message}`;
    }
  }

  // build makes the form of an operation.
  function build(article, place) {
    const form = make("form"), output = make("output");
    for (const row of article.querySelectorAll("tr[data-name]")) form.append(field(row));
    if (article.dataset.kind) {
      const body = make("textarea", { spellcheck: "false" });
      body.value = article.dataset.body ?? "";
      form.append(make("label", {}, "Body ", make("small", {}, article.dataset.kind), body));
    }
    if ("streams" in article.dataset) {
      form.append(make("label", { class: "check" }, make("input", { type: "checkbox" }), "Piece by piece, as it comes"));
    }
    const stop = make("button", { type: "button", class: "quiet", hidden: "" }, "Stop");
    form.append(make("div", { class: "ends" }, make("button", { type: "submit" }, "Send"), stop,
      make("span", { class: "hint" }, "This really does it, on this server.")));
    let running;
    stop.addEventListener("click", () => running.abort());
    form.addEventListener("submit", async event => {
      event.preventDefault();
      running?.abort();
      const mine = running = new AbortController();
      stop.hidden = false;
      await send(article, form, output, mine.signal);
      if (running === mine) stop.hidden = true;
    });
    place.append(form, output);
  }

  for (const article of document.querySelectorAll("article[data-path]")) {
    const place = make("details", { class: "try" }, make("summary", {}, "Try it"));
    place.addEventListener("toggle", () => { if (place.open && !place.querySelector("form")) build(article, place); });
    article.append(place);
  }
})();
