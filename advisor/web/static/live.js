// Keeps a page as it is at the service, shows times in the reader's zone, and helps to copy what is to be copied.
// A page is whole without it.
"use strict";

(() => {
  const PAUSED = "kuberay-advisor.paused";
  const PATIENCE_MS = 10_000;
  const LONGEST_SECONDS = 300;
  const FIELDS = "input, select, textarea";
  const changed = new WeakSet();

  const made = (name, properties = {}, ...children) => {
    const element = document.createElement(name);
    Object.assign(element, properties);
    element.append(...children);
    return element;
  };

  const two = (value) => String(value).padStart(2, "0");

  const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

  const zoneOf = (at) =>
    new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(at).find((part) => part.type === "timeZoneName")
      .value;

  // Times

  const localTimes = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.valueOf()) && !time.title) {
        time.title = time.textContent;
        const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
        time.textContent = `${day} ${clock(at)} ${zoneOf(at)}`;
      }
    }
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const told of zone === "UTC" ? [] : root.querySelectorAll(".zone")) {
      told.textContent = `Times are in your zone, ${zone}, where they do not say UTC.`;
    }
  };

  // Copying

  const copied = async (text, source) => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return;
    }
    // Over plain HTTP from another machine there is no clipboard; what is selected can be copied.
    getSelection().selectAllChildren(source);
    if (!document.execCommand("copy")) {
      throw new Error("the browser does not copy");
    }
  };

  const copyButtons = (root) => {
    for (const source of root.querySelectorAll("pre")) {
      if (source.parentElement.matches(".copyable")) {
        continue;
      }
      const button = made("button", { type: "button", className: "copy", textContent: "Copy" });
      button.setAttribute("aria-live", "polite");
      button.addEventListener("click", async () => {
        try {
          await copied(source.textContent, source);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Not copied: select the text";
        }
        setTimeout(() => (button.textContent = "Copy"), 3000);
      });
      const holder = made("div", { className: "copyable" });
      source.before(holder);
      holder.append(source, button);
    }
  };

  const enhance = (root) => {
    localTimes(root);
    copyButtons(root);
    window.advisorCharts?.enliven(root);
  };

  // What a page is made of: what stands around the sections, and each section. Only what differs is exchanged.

  const parts = (page) =>
    [...page.body.children]
      .filter((part) => !part.matches(".live-bar"))
      .flatMap((part) => (part.matches("main") ? [...part.children] : [part]));

  const shape = (found) => found.map((part) => `${part.tagName}#${part.id}`).join(" ");

  const texts = (found) => found.map((part) => part.outerHTML);

  const nameOf = (details) => details.querySelector("summary")?.textContent;

  const isBusy = (part) => {
    const { activeElement } = document;
    const selection = getSelection();
    const isRead = !selection.isCollapsed && part.contains(selection.anchorNode);
    return isRead || (part.contains(activeElement) && activeElement.matches(FIELDS));
  };

  // Where the focus is, so that it can be given to what stands there afterwards.
  const focusIn = (part) => {
    const { activeElement } = document;
    if (!part.contains(activeElement) || activeElement === document.body) {
      return () => {};
    }
    const like = `${activeElement.tagName}${activeElement.className ? `.${CSS.escape(activeElement.className)}` : ""}`;
    const index = [...part.querySelectorAll(like)].indexOf(activeElement);
    return (fresh) => fresh.querySelectorAll(like)[index]?.focus({ preventScroll: true });
  };

  const keep = (old, fresh) => {
    const opened = new Map([...old.querySelectorAll("details")].map((one) => [nameOf(one), one.open]));
    for (const one of fresh.querySelectorAll("details")) {
      one.open = opened.get(nameOf(one)) ?? one.open;
    }
    const fields = [...old.querySelectorAll(FIELDS)];
    fresh.querySelectorAll(FIELDS).forEach((field, index) => {
      const before = fields[index];
      if (before?.name === field.name && changed.has(before)) {
        changed.add(field);
        field.value = before.value;
        field.checked = before.checked;
      }
    });
  };

  const exchange = (old, fresh) => {
    const refocus = focusIn(old);
    const rolled = [...old.querySelectorAll(".wide")].map((one) => one.scrollLeft);
    window.advisorCharts?.dispose(old);
    old.replaceWith(fresh);
    enhance(fresh);
    keep(old, fresh);
    fresh.querySelectorAll(".wide").forEach((one, index) => (one.scrollLeft = rolled[index] ?? 0));
    refocus(fresh);
  };

  let known = [];

  const addresses = (page) =>
    [...page.querySelectorAll("link[rel=stylesheet], script[src]")]
      .map((one) => one.getAttribute("href") ?? one.getAttribute("src"))
      .join(" ");

  // For a page that is made of other parts than before.
  const exchangeAll = (page) => {
    const main = page.querySelector("main");
    const around = (root) => [...root.body.children].filter((part) => !part.matches(".live-bar, main"));
    const isBefore = (part) => part.compareDocumentPosition(main) & Node.DOCUMENT_POSITION_FOLLOWING;
    const before = around(page).filter(isBefore);
    const after = around(page).filter((part) => !isBefore(part));
    around(document).forEach((part) => part.remove());
    exchange(document.querySelector("main"), document.adoptNode(main));
    document.body.prepend(...before);
    document.body.append(...after);
    [...before, ...after].forEach(enhance);
    placeBar();
  };

  const show = (page) => {
    if (addresses(page) !== addresses(document)) {
      // The service is another one now; so are the files that this page was made with.
      location.reload();
      return;
    }
    const [now, next] = [parts(document), parts(page)];
    const { scrollX, scrollY } = window;
    const fresh = texts(next);
    document.title = page.title;
    if (shape(now) === shape(next)) {
      now.forEach((part, index) => {
        if (known[index] !== fresh[index] && !isBusy(part)) {
          exchange(part, document.adoptNode(next[index]));
          known[index] = fresh[index];
        }
      });
    } else if (!now.some(isBusy)) {
      exchangeAll(page);
      known = fresh;
    }
    window.scrollTo(scrollX, scrollY);
  };

  // Asking again

  const WANTED = "meta[name=advisor-refresh]";
  const wanted = document.querySelector(WANTED);
  const state = made("span", { className: "live-state" });
  const toggle = made("button", { type: "button" });
  const notice = made("p", { className: "notice", hidden: true });
  const bar = made("aside", { className: "live-bar" }, state, toggle, notice);

  let isLive = true;
  let failures = 0;
  let timer = 0;
  let asked = null;
  let refreshed = new Date();

  const placeBar = () => (document.querySelector(".skip") ?? document.body.firstElementChild).after(bar);

  const remembered = (value) => {
    try {
      if (value === undefined) {
        return localStorage.getItem(PAUSED) === "1";
      }
      localStorage.setItem(PAUSED, value ? "1" : "0");
    } catch {
      // Nothing is remembered where the browser keeps nothing.
    }
    return value ?? false;
  };

  // What goes on, such as a what-if that is simulated, ends for want of a reader where nobody asks for it.
  const goesOn = () => wanted.dataset.goesOn !== undefined;

  const asks = () => goesOn() || (isLive && !document.hidden);

  const tell = () => {
    const kind = !isLive ? "Paused" : failures ? "Waiting" : "Live";
    bar.dataset.state = kind.toLowerCase();
    state.textContent = `${kind}, as of ${clock(refreshed)}`;
    toggle.textContent = isLive ? "Pause" : "Resume";
  };

  const periodSeconds = () =>
    Math.min(Math.max(Number(wanted.content) || 30, 2) * 2 ** Math.min(failures, 6), LONGEST_SECONDS);

  // How often this page may ask from now on.
  const follow = (given) => {
    wanted.content = given?.content ?? "";
    if (given?.dataset.goesOn === undefined) {
      delete wanted.dataset.goesOn;
    } else {
      wanted.dataset.goesOn = "";
    }
  };

  const plan = () => {
    clearTimeout(timer);
    if (asks()) {
      timer = setTimeout(refresh, periodSeconds() * 1000);
    }
  };

  const warn = (text) => {
    notice.hidden = text === "";
    if (notice.textContent !== text) {
      notice.textContent = text;
    }
  };

  const refresh = async () => {
    clearTimeout(timer);
    asked?.abort();
    const mine = (asked = new AbortController());
    const patience = setTimeout(() => mine.abort(new Error("too late")), PATIENCE_MS);
    try {
      const answer = await fetch(location.href, { cache: "no-cache", signal: mine.signal, headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (asked !== mine || !asks()) {
        return;
      }
      if (answer.ok) {
        const page = new DOMParser().parseFromString(text, "text/html");
        show(page);
        follow(page.querySelector(WANTED));
        failures = 0;
        refreshed = new Date();
        warn("");
      } else {
        failures += 1;
        const why = answer.status === 404 ? "This is not there any more" : `The service answers with an error (${answer.status})`;
        warn(`${why}; what is shown is as of ${clock(refreshed)}.`);
      }
    } catch {
      if (asked !== mine || !asks()) {
        return;
      }
      failures += 1;
      warn(`The service does not answer; what is shown is as of ${clock(refreshed)} and may be old.`);
    } finally {
      clearTimeout(patience);
      if (asked === mine) {
        asked = null;
        tell();
        plan();
      }
    }
  };

  const resume = () => {
    const age = (Date.now() - refreshed.valueOf()) / 1000;
    if (asks() && age >= periodSeconds()) {
      refresh();
    } else {
      plan();
    }
  };

  const watch = () => {
    bar.setAttribute("aria-label", "How new this page is");
    notice.setAttribute("role", "status");
    isLive = !remembered();
    placeBar();
    tell();
    toggle.addEventListener("click", () => {
      isLive = !isLive;
      remembered(!isLive);
      tell();
      if (isLive) {
        refresh();
      } else {
        if (!goesOn()) {
          asked?.abort();
        }
        warn("");
        plan();
      }
    });
    document.addEventListener("visibilitychange", resume);
    document.addEventListener("input", (event) => changed.add(event.target));
    addEventListener("pagehide", () => clearTimeout(timer));
    addEventListener("pageshow", resume);
    plan();
  };

  known = texts(parts(document));
  enhance(document.body);
  if (wanted !== null) {
    watch();
  }
})();
