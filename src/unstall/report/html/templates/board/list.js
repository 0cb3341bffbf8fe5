// The list of the board: rows that have changed are taken over, ages grow, and words or states choose what is shown.

const body = document.querySelector("tbody");
let version = document.body.dataset.version;

async function takeRows(answer) {
  const update = await answer.json();
  if (update.build !== document.body.dataset.build) { location.reload(); return; }
  version = update.version;
  keepingScroll(() => {
    for (const name of update.gone) document.getElementById(`run-${name}`)?.remove();
    for (const [name, markup] of Object.entries(update.rows)) takeRow(name, markup);
    if (update.order) putInOrder(update.order);
    morph(document.getElementById("alarm"), parsed(update.alarm, "#alarm"));
    morph(document.getElementById("counts"), parsed(update.counts, "#counts"));
  });
  document.getElementById("none").hidden = body.children.length > 0;
  if (document.title !== update.title) document.title = update.title;
  const icon = document.querySelector("link[rel=icon]");
  if (icon.getAttribute("href") !== update.icon) icon.setAttribute("href", update.icon);
  choose();
  tellAges();
}

function parsed(markup, selector) { return new DOMParser().parseFromString(markup, "text/html").querySelector(selector); }

function takeRow(name, markup) {
  const fresh = parsed(`<table><tbody>${markup}</tbody></table>`, "tr");
  const known = document.getElementById(`run-${name}`);
  if (known) morph(known, fresh); else body.append(document.importNode(fresh, true));
}

function putInOrder(names) {
  let place = body.firstElementChild;
  for (const name of names) {
    const row = document.getElementById(`run-${name}`);
    if (!row) continue;
    if (row === place) place = place.nextElementSibling; else body.insertBefore(row, place);
  }
}

// --- what is shown ---

const words = document.getElementById("words");

function choose() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const state = document.querySelector("#counts input:checked")?.value || "";
  let shown = 0;
  for (const row of body.children) {
    const said = row.textContent.toLowerCase();
    const fits = wanted.every((word) => said.includes(word)) && (!state || row.dataset.state === state);
    row.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  const count = document.getElementById("shown");
  const text = shown === body.children.length ? "" : `${shown} of ${body.children.length} runs are shown`;
  if (count.textContent !== text) count.textContent = text;
}

words.addEventListener("input", choose);
document.getElementById("counts").addEventListener("change", choose);

// --- ages ---

function ageWords(seconds) {
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
}

function tellAges() {
  const now = Date.now() / 1000;
  for (const time of document.querySelectorAll("time[data-at]")) {
    const text = ageWords(Math.max(0, now - Number(time.dataset.at)));
    if (time.textContent !== text) time.textContent = text;
  }
}

setUpTheme();
setInterval(tellAges, 5000);
tellAges();
choose();
askAgain(() => `rows?after=${encodeURIComponent(version)}`, takeRows);
