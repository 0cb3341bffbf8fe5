// The part of the run that all plots show: chosen by dragging, by keys, or by a click on a moment.

const LEAST_SPAN_S = 0.5;
const DRAG_PX = 6;

function showRange(from, to) {
  const whole = Math.max(page.timeline.seconds, LEAST_SPAN_S);
  const span = Math.min(whole, Math.max(LEAST_SPAN_S, to - from));
  const first = Math.min(Math.max(0, (from + to - span) / 2), whole - span);
  page.range = { from: first, to: first + span };
  drawAll();
}

function showWhole() { showRange(0, page.timeline.seconds); }

function zoomBy(factor, around) {
  const { from, to } = page.range;
  const middle = around ?? (from + to) / 2;
  showRange(middle - (middle - from) * factor, middle + (to - middle) * factor);
}

function moveBy(share) {
  const { from, to } = page.range;
  const by = Math.min(page.timeline.seconds - to, Math.max(-from, (to - from) * share));
  showRange(from + by, to + by);
}

function momentUnder(view, event) {
  const box = view.stage.querySelector("svg").getBoundingClientRect();
  const place = (event.clientX - box.left) / box.width * view.frame.width;
  return Math.min(page.range.to, Math.max(page.range.from, view.frame.moment(place)));
}

function listenToPointer(view) {
  let drag = null;
  view.stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && !event.target.closest("a")) drag = { x: event.clientX, moment: momentUnder(view, event) };
  });
  view.stage.addEventListener("pointermove", (event) => {
    const moment = momentUnder(view, event);
    if (drag && Math.abs(event.clientX - drag.x) > DRAG_PX) {
      if (!view.stage.hasPointerCapture(event.pointerId)) view.stage.setPointerCapture(event.pointerId);
      showChosen(view, drag.moment, moment);
    } else lookAt(view, moment);
  });
  view.stage.addEventListener("pointerup", (event) => {
    const far = drag && Math.abs(event.clientX - drag.x) > DRAG_PX;
    const ends = far && [drag.moment, momentUnder(view, event)].sort((one, other) => one - other);
    drag = null;
    view.stage.querySelector(".chosen")?.remove();
    if (ends) showRange(...ends);
  });
  view.stage.addEventListener("pointerleave", () => { if (!drag) hideTips(); });
  view.stage.addEventListener("dblclick", showWhole);
}

function showChosen(view, one, other) {
  const svg = view.stage.querySelector("svg");
  const box = svg.querySelector(".chosen") || svgElement("rect", { class: "chosen" }, svg);
  const [from, to] = [one, other].sort((first, second) => first - second).map(view.frame.x);
  const { top, bottom } = view.frame.inner;
  for (const [key, value] of Object.entries({ x: from, y: top, width: to - from, height: bottom - top })) box.setAttribute(key, value);
}

function listenToKeys(view) {
  view.stage.addEventListener("keydown", (event) => {
    const step = (page.range.to - page.range.from) / 60;
    const moment = page.moment ?? (page.range.from + page.range.to) / 2;
    const acts = {
      ArrowLeft: () => (event.shiftKey ? moveBy(-0.25) : lookAndSpeak(view, moment - step)),
      ArrowRight: () => (event.shiftKey ? moveBy(0.25) : lookAndSpeak(view, moment + step)),
      "+": () => zoomBy(0.5, moment), "=": () => zoomBy(0.5, moment), "-": () => zoomBy(2, moment),
      0: showWhole, Escape: () => { hideTips(); showWhole(); },
    };
    if (!(event.key in acts) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  });
  view.stage.addEventListener("blur", hideTips);
}

function lookAndSpeak(view, moment) {
  lookAt(view, moment);
  speak(view);
}

// A link to a moment shows a stretch around it, in all plots.
function listenToMoments() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.moment");
    if (!link || !page.views.length) return;
    const moment = link.dataset.moment !== undefined ? Number(link.dataset.moment) : Number(link.dataset.at) - page.timeline.began;
    const span = Math.max(page.timeline.seconds / 10, 10);
    showRange(moment - span / 2, moment + span / 2);
    lookAt(page.views[0], moment);
  });
}
