// The values at one moment: under the pointer, or where the keys have led.

function valuesAt(plot, moment) {
  if (plot.kind === "areas") {
    const place = Math.floor(moment / plot.bin_s);
    return plot.areas.map((area) => ({ name: area.name, colour: partColour(area.name), words: asWords(area.shares[place] || 0, "%") }));
  }
  return plot.lines.map((line, number) => {
    const place = nearestPlace(line.t, moment);
    let words = asWords(line.mean[place], plot.unit);
    if (line.low && line.low[place] !== line.high[place]) {
      words += ` (${asWords(line.low[place], plot.unit)} – ${asWords(line.high[place], plot.unit)})`;
    }
    return { name: line.name, colour: lineColour(number), words };
  });
}

function momentWords(timeline, moment, span) {
  const place = placeBefore(timeline.steps.t, moment);
  const steps = place < 0 ? "" : ` · step ${Math.round((timeline.steps.high || timeline.steps.mean)[place]).toLocaleString("en")}`;
  return asClock(moment, span) + steps;
}

function showTip(view, moment) {
  const { plot, stage, frame } = view;
  const tip = stage.querySelector(".tip") || stage.appendChild(Object.assign(document.createElement("div"), { className: "tip" }));
  const head = document.createElement("b");
  head.textContent = momentWords(page.timeline, moment, page.range.to - page.range.from);
  const rows = valuesAt(plot, moment).map(({ name, colour, words }) => {
    const row = document.createElement("i");
    row.textContent = `${name}: ${words}`;
    row.style.setProperty("--colour", colour);
    return row;
  });
  tip.replaceChildren(head, ...rows);
  const scale = stage.clientWidth / frame.width;
  const place = frame.x(moment) * scale;
  tip.style.left = place > stage.clientWidth / 2 ? `${place - tip.offsetWidth - 12}px` : `${place + 12}px`;
  tip.style.top = "18px";
}

function hideTips() {
  page.moment = null;
  for (const { stage } of page.views) {
    stage.querySelector(".tip")?.remove();
    stage.querySelector(".cursor")?.remove();
  }
}

// A line through all plots; the values in the one that is looked at.
function lookAt(view, moment) {
  page.looked = view;
  page.moment = Math.min(page.range.to, Math.max(page.range.from, moment));
  for (const each of page.views) {
    const svg = each.stage.querySelector("svg");
    const line = svg.querySelector(".cursor") || svgElement("line", { class: "cursor" }, svg);
    const place = each.frame.x(page.moment);
    for (const [key, value] of Object.entries({ x1: place, x2: place, y1: each.frame.inner.top, y2: each.frame.inner.bottom })) {
      line.setAttribute(key, value);
    }
    if (each !== view) each.stage.querySelector(".tip")?.remove();
  }
  showTip(view, page.moment);
}

function speak(view) {
  const values = valuesAt(view.plot, page.moment).map(({ name, words }) => `${name} ${words}`).join(", ");
  document.getElementById("spoken").textContent = `${momentWords(page.timeline, page.moment)}: ${values}`;
}
