// A part of the page becomes what the server says it is now, by as few changes as can be: what is open stays open, what has the
// focus keeps it, a selection of text stays. Markup comes from our own server, where every name was escaped.

const OWN = ".stage, .legend, #range, #spoken, #whole, #theme, #live, #lost, script";  // what the script of the page itself fills
const KEPT_ATTRIBUTES = new Set(["open", "data-theme"]);  // set by whoever looks

function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) { old.replaceWith(document.importNode(fresh, true)); return; }
  if (old.nodeType !== Node.ELEMENT_NODE) { if (old.data !== fresh.data) old.data = fresh.data; return; }
  morphAttributes(old, fresh);
  if (!old.matches(OWN)) morphChildren(old, fresh);
}

function morphAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (!KEPT_ATTRIBUTES.has(name) && old.getAttribute(name) !== value && !isSetHere(old, name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !KEPT_ATTRIBUTES.has(name) && !isSetHere(old, name)) old.removeAttribute(name);
  }
}

function isSetHere(element, name) { return element.matches(OWN) && name !== "data-plot" && name !== "aria-label"; }

// Children that have an id are found by it, all others by their place.
function morphChildren(old, fresh) {
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = child.id ? [...old.children].find((each) => each.id === child.id) : place && !place.id ? place : null;
    if (!known) {
      old.insertBefore(document.importNode(child, true), place);
      continue;
    }
    if (known === place) place = place.nextSibling;
    else old.insertBefore(known, place);
    if (!known.isEqualNode(child)) morph(known, child);
  }
  while (place) { const next = place.nextSibling; place.remove(); place = next; }
}

// What is at the top of the window stays where it is, whatever grows above it.
function keepingScroll(change) {
  const anchor = window.scrollY > 0 && document.elementsFromPoint(window.innerWidth / 2, 90).find((each) => each.closest("main"));
  const before = anchor ? anchor.getBoundingClientRect().top : 0;
  change();
  if (anchor && anchor.isConnected) {
    const moved = anchor.getBoundingClientRect().top - before;
    if (Math.abs(moved) > 1) window.scrollBy(0, moved);
  }
}

// --- asking again and again; a server that is away is asked until it is back ---

const EVERY_MS = 1000, HIDDEN_MS = 5000, AWAY_MS = 2000;

function askAgain(address, take) {
  const lost = document.getElementById("lost");
  const say = (words) => { lost.hidden = !words; if (lost.textContent !== words) lost.textContent = words; };
  const again = async () => {
    let wait = document.hidden ? HIDDEN_MS : EVERY_MS;
    try {
      const answer = await fetch(address(), { cache: "no-store", headers: askAgain.seen ? { "If-None-Match": askAgain.seen } : {} });
      if (answer.ok) { await take(answer); askAgain.seen = answer.headers.get("ETag"); }
      if (answer.ok || answer.status === 304) say("");
      else { wait = AWAY_MS; say(refused(answer.status)); }
    } catch {
      wait = AWAY_MS;
      say("The board does not answer. What is shown is as it was; it is asked again until it is back (unstall board).");
    }
    again.waiting = setTimeout(again, wait);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { clearTimeout(again.waiting); again(); } });
  again.waiting = setTimeout(again, EVERY_MS);
}

function refused(status) {
  if (status === 404) return "This run is gone: its folder was removed. What is shown is as it was.";
  if (status === 401) return "The board asks for its token: open the address that it has printed.";
  return `The board could not tell (${status}). It is asked again.`;
}
