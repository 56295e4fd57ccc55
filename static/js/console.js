/* What the pages do beyond their forms. Every page works without it. */
(() => {
  "use strict";

  const root = document.documentElement;
  root.classList.add("has-script");
  const $ = (selector, from = document) => from.querySelector(selector);
  const announce = (words) => {
    const line = $("#announce");
    if (line) line.textContent = words;
  };

  /* The CSRF token is read when a request leaves: signing in again in another tab changes it. */
  const csrfToken = () => {
    const pair = document.cookie.split("; ").find((part) => part.startsWith("csrftoken="));
    return pair ? decodeURIComponent(pair.slice("csrftoken=".length)) : "";
  };
  const setToken = (form) => {
    const field = form && form.elements && form.elements.csrfmiddlewaretoken;
    if (field && csrfToken()) field.value = csrfToken();
  };

  document.addEventListener("htmx:configRequest", (event) => {
    const { detail } = event;
    if (detail.verb !== "get") {
      detail.headers["X-CSRFToken"] = csrfToken();
      if ("csrfmiddlewaretoken" in detail.parameters) detail.parameters.csrfmiddlewaretoken = csrfToken();
    }
    if (detail.elt.hasAttribute("data-pulse") && isTyping()) detail.parameters.typing = "1";
  });
  document.addEventListener("submit", (event) => setToken(event.target), true);

  /* A poll rests while nobody looks. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.elt.hasAttribute("data-poll") && document.hidden) event.preventDefault();
  });

  /* What was pressed says that it is being sent, until there is an answer; all buttons beside it rest meanwhile. */
  const SENDING = "Sending…";
  const pressed = (event) => event.detail.requestConfig?.triggeringEvent?.submitter;
  document.addEventListener("htmx:beforeSend", (event) => {
    if (!pressed(event)) return;
    pressed(event).setAttribute("aria-busy", "true");
    announce(SENDING);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    pressed(event)?.removeAttribute("aria-busy");
    if ($("#announce")?.textContent === SENDING) announce("");
  });

  /* Somebody has begun to answer: what they look at is not replaced. */
  const isTyping = () => {
    const place = $("#exchanges");
    if (!place) return false;
    const typed = [...place.querySelectorAll("textarea, input[type=text]")].some((field) => field.value.trim());
    const last = $(".last-look", place);
    return typed || Boolean(last) || (place.contains(document.activeElement) && document.activeElement.matches("button, input, textarea"));
  };

  /* The network was lost while an answer was under way: nobody knows, and it is never sent again by itself. */
  const lost = (event) => {
    const form = event.detail.elt.closest("form[data-check]");
    const template = $("#not-known");
    if (!form || !template || event.detail.requestConfig.verb === "get") return;
    const banner = template.content.cloneNode(true);
    $("a", banner).href = form.dataset.check;
    $("#banner").replaceChildren(banner);
    $("#banner").scrollIntoView({ block: "nearest" });
  };
  for (const kind of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(kind, lost);
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status >= 500) lost(event);
  });

  /* Once an answer has left, what stood in the banner is over. */
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.requestConfig.verb === "post" && event.detail.target.id !== "banner") {
      $("#banner").replaceChildren();
    }
    tellAges();
  });

  /* Copy an id. */
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.classList.add("is-copied");
      announce("Copied.");
      setTimeout(() => button.classList.remove("is-copied"), 1500);
    } catch {
      announce("The browser did not allow copying.");
    }
  });

  /* Ages grow while a page is open. The clock of the server counts, not that of this machine. */
  const loadedAt = performance.now();
  const serverNow = Date.parse($("meta[name=server-now]")?.content ?? "");
  const span = (seconds) => {
    if (seconds < 5) return "now";
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    const days = Math.floor(hours / 24);
    if (hours < 1) return `${minutes} min`;
    if (days < 1) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
    return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
  };
  function tellAges() {
    if (Number.isNaN(serverNow)) return;
    const now = serverNow + (performance.now() - loadedAt);
    for (const part of document.querySelectorAll("[data-ago], time[data-age]")) {
      const seconds = (now - Date.parse(part.closest("time").dateTime)) / 1000;
      if (Number.isNaN(seconds) || seconds < 0) continue;
      const said = span(seconds);
      part.textContent = part.hasAttribute("data-age") ? said : said === "now" ? "just now" : `${said} ago`;
    }
  }
  setInterval(tellAges, 10000);

  /* How many are ticked, and all that are shown at once. Without scripts the button says it without a number. */
  const tellTicks = (form) => {
    const boxes = [...form.querySelectorAll("input[name=pick]")];
    const ticked = boxes.filter((box) => box.checked).length;
    const button = $("[data-tick-count]", form);
    if (!button) return;
    button.textContent = ticked ? `Approve ${ticked} ticked…` : "Approve the ticked ones…";
    button.disabled = !ticked;
    const all = $("[data-tick-all]", form);
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  };
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-ticks]");
    if (!form) return;
    if (event.target.matches("[data-tick-all]")) {
      for (const box of form.querySelectorAll("input[name=pick]")) box.checked = event.target.checked;
    }
    tellTicks(form);
  });

  /* Shortcuts move the focus and never press anything. They can be switched off. */
  const shortcutsOff = () => localStorage.getItem("shortcuts") === "off";
  const showShortcuts = () => {
    root.classList.toggle("no-shortcuts", shortcutsOff());
    const toggle = $("[data-shortcuts]");
    if (toggle) toggle.textContent = shortcutsOff() ? "Shortcuts: off" : "Shortcuts: on";
  };
  document.addEventListener("click", (event) => {
    if (!event.target.matches("[data-shortcuts]")) return;
    localStorage.setItem("shortcuts", shortcutsOff() ? "on" : "off");
    showShortcuts();
  });
  const move = (by) => {
    const links = [...document.querySelectorAll(".list .row-link")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    links[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by, 0), links.length - 1)].focus();
  };
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest("input, textarea, select, [contenteditable]");
    if (busy || shortcutsOff() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if ("asc".includes(event.key) && event.key.length === 1) $(`[data-shortcut="${event.key}"]`)?.focus();
  });

  document.addEventListener("DOMContentLoaded", () => {
    showShortcuts();
    document.querySelectorAll("form[data-ticks]").forEach(tellTicks);
    $("[data-focus]")?.focus();
  });
})();
