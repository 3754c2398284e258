// What JavaScript adds to the chat page: Enter sends, forms work without a new
// page, the newest words stay in view, and a lost connection is announced. The
// words themselves come through the page's stream, as HTML.
(() => {
  "use strict";

  const composer = document.getElementById("composer");
  const box = document.getElementById("message");
  const near = 120; // pixels from the end that still count as being there
  let stuck = true;

  const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - near;
  const toEnd = () => scrollTo({ top: document.documentElement.scrollHeight });
  addEventListener("scroll", () => { stuck = atEnd(); }, { passive: true });
  document.addEventListener("htmx:after:swap", () => {
    if (stuck) toEnd();
    if (document.activeElement === document.body && matchMedia("(hover: hover)").matches) box?.focus({ preventScroll: true });
  });
  if (document.getElementById("transcript")?.childElementCount) toEnd();

  // On a narrow window the list would push the conversation away.
  const narrow = matchMedia("(max-width: 64rem)");
  const fold = () => { document.querySelector(".chats").open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();

  let sends = false; // the key that is down does, and must not also write a line break
  box?.addEventListener("keyup", () => { sends = false; });
  box?.addEventListener("beforeinput", event => { if (sends && event.inputType === "insertLineBreak") event.preventDefault(); });
  box?.addEventListener("keydown", event => {
    sends = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!sends) return;
    event.preventDefault();
    if (box.value.trim() || composer.elements.file?.files.length) composer.requestSubmit();
  });

  const files = composer?.elements.file;
  const picked = composer?.querySelector("[data-picked]");
  const showPicked = () => {
    if (!picked) return;
    picked.replaceChildren(...[...(files?.files ?? [])].map(file => {
      const item = document.createElement("li");
      item.className = "chip";
      item.textContent = file.name;
      return item;
    }));
    picked.hidden = !picked.childElementCount;
  };
  files?.addEventListener("change", () => { showPicked(); box.focus(); });

  const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, "0")).join("");

  function complain(text) {
    const line = composer?.querySelector("[data-problem]");
    if (!line) return;
    line.textContent = text;
    line.hidden = !text;
    if (text && stuck) toEnd();
  }

  // send returns what was wrong, or nothing.
  async function send(form, submitter) {
    const body = new FormData(form, submitter);
    let answer;
    try {
      answer = await fetch(form.action, { method: "POST", body, headers: { "Accept": "text/plain", "HX-Request": "true" } });
    } catch {
      return "That did not get through. Check the connection and send it again; it will not be sent twice.";
    }
    const elsewhere = answer.headers.get("HX-Redirect");
    if (elsewhere) location.href = elsewhere;
    return answer.ok ? "" : await answer.text();
  }

  document.addEventListener("submit", async event => {
    const form = event.target;
    if (!form.matches("[data-quiet]")) return;
    event.preventDefault();
    complain("");
    if (form === composer) {
      const text = box.value, key = composer.elements.key.value, along = files?.files;
      if (!text.trim() && !files?.files.length) return;
      const sending = send(form);
      box.value = ""; // what is written from now on is the next message
      composer.elements.key.value = newKey();
      if (files) files.value = "";
      showPicked();
      stuck = true;
      toEnd();
      box.focus();
      const problem = await sending;
      if (problem) { // the same words with the same key are the same message
        if (!box.value) {
          box.value = text;
          composer.elements.key.value = key;
          if (files) files.files = along;
          showPicked();
        }
        complain(problem);
      }
      return;
    }
    if (form.dataset.busy) return;
    form.dataset.busy = "true";
    complain(await send(form, event.submitter));
    delete form.dataset.busy;
    box?.focus({ preventScroll: true });
  });

  const lost = document.getElementById("lost");
  document.addEventListener("htmx:sse:error", event => {
    const status = event.detail?.status;
    if (status === 404 || status === 401) location.reload(); // deleted, or signed out
    if (lost) lost.hidden = false;
  });
  document.addEventListener("htmx:sse:after:connection", () => { if (lost) lost.hidden = true; });
})();
