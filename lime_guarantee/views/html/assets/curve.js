
/** Where the plot lies in a chart; the slider below it is as wide. */
const FRAME = { width: 280, height: 126, left: 34, right: 272, top: 8, bottom: 106 };
const MOST_DOTS = 40;

function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const rounded = (number) => Math.round(10 * number) / 10;
const pathOf = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${rounded(x)} ${rounded(y)}`).join("");

/** Round numbers, some three of them, between two ends. */
function ticksBetween(low, high) {
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/** A scale for numbers that all charts share, so that they can be compared. */
function scaleOf(numbers, narrowest) {
  let [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const missing = Math.max(0, narrowest - (high - low)) / 2;
  [low, high] = [low - missing, high + missing];
  const margin = 0.06 * (high - low || 1);
  [low, high] = [low - margin, high + margin];
  const { top, bottom } = FRAME;
  const place = (number) => bottom - ((bottom - top) * (number - low)) / (high - low);
  return { ticks: ticksBetween(low, high), y: (number) => Math.min(bottom + 3, Math.max(top - 3, place(number))) };
}

/** From a feature's coordinates to the chart; a cell is one wide. */
function acrossOf(feature) {
  const half = feature.whole ? 0.5 : 0;
  const [low, high] = [feature.low - half, feature.high + half];
  const { left, right } = FRAME;
  return {
    half,
    x: (value) => left + (right - left) * Math.min(1, Math.max(0, (value - low) / (high - low))),
    value(share) {
      const place = low + (high - low) * Math.min(1, Math.max(0, share));
      return feature.whole ? Math.min(feature.high, Math.max(feature.low, Math.round(place))) : place;
    },
    /** How far, in shares of the chart, a slider stays away from its edges. */
    inset: [
      (left + (right - left) * (half / (high - low))) / FRAME.width,
      1 - (right - (right - left) * (half / (high - low))) / FRAME.width,
    ],
  };
}

/** The part of a feature that the region holds. */
function drawHeld(feature, across) {
  const { top, bottom } = FRAME;
  const { half } = across;
  const spans = feature.labels.length
    ? feature.allowed.flatMap((held, k) => (held ? [[feature.low + k - half, feature.low + k + half]] : []))
    : [[feature.lower - half, feature.upper + half]];
  return spans.map(([from, to]) => makeSvg("rect", {
    class: "held", x: rounded(across.x(from)), y: top - 4,
    width: Math.max(1, rounded(across.x(to) - across.x(from))), height: bottom - top + 4,
  }));
}

function drawData(feature) {
  const { left, right, top, bottom } = FRAME;
  const step = (right - left) / feature.bars.length;
  const bars = feature.bars.map((height, k) => {
    const up = (0.55 * (bottom - top) * height) / 100;
    return height ? `M${rounded(left + k * step + 0.5)} ${bottom}v${rounded(-up)}h${rounded(step - 1)}v${rounded(up)}z` : "";
  });
  return makeSvg("path", { class: "data", d: bars.join("") });
}

function drawTicks(scale) {
  return scale.ticks.flatMap((tick) => [
    makeSvg("line", { class: "grid", x1: FRAME.left, x2: FRAME.right, y1: scale.y(tick), y2: scale.y(tick) }),
    makeSvg("text", { x: FRAME.left - 4, y: scale.y(tick) + 3, "text-anchor": "end" }, short(tick, 3)),
  ]);
}

/** What stands below: the names of few cells, else both ends. */
function drawEnds(feature, across) {
  const y = FRAME.bottom + 14;
  const count = feature.labels.length;
  if (count > 0 && count <= 5) {
    const room = Math.floor((FRAME.right - FRAME.left) / count / 7);
    return feature.labels.map((label, k) => makeSvg("text", { x: across.x(feature.low + k), y, "text-anchor": "middle" },
      label.length > room ? `${label.slice(0, room - 1)}\u2026` : label));
  }
  if (count > 0) return [makeSvg("text", { x: FRAME.left, y }, `${count} values`)];
  return [
    makeSvg("text", { x: FRAME.left, y }, short(feature.low)),
    makeSvg("text", { x: FRAME.right, y, "text-anchor": "end" }, short(feature.high)),
  ];
}

function drawExplanation(feature, across, scale, along) {
  const points = along.at.map((place, k) => [across.x(place), scale.y(along.says[k])]);
  if (!feature.ordered) {
    const half = 0.35 * (across.x(feature.low + 1) - across.x(feature.low));
    return makeSvg("path", { class: "explanation", d: points.map(([x, y]) =>
      `M${rounded(x - half)} ${rounded(y)}h${rounded(2 * half)}`).join("") });
  }
  return makeSvg("path", { class: "explanation", d: pathOf(points) });
}

/** The model at the places where it was asked; a cross, where the explanation is not faithful. */
function drawModel(feature, across, scale, curve, says) {
  const points = curve.at.map((place, k) => [across.x(place), scale.y(says[k])]);
  const fails = new Set(curve.fails);
  const drawn = feature.ordered ? [makeSvg("path", { class: "model", d: pathOf(points) })] : [];
  const good = points.filter((_, k) => !fails.has(k)).slice(0, MOST_DOTS);
  drawn.push(makeSvg("path", { class: "dots", d: good.map(([x, y]) => `M${rounded(x)} ${rounded(y)}h0`).join("") }));
  drawn.push(makeSvg("path", { class: "fails", d: points.filter((_, k) => fails.has(k))
    .map(([x, y]) => `M${rounded(x - 2.5)} ${rounded(y - 2.5)}l5 5m-5 0l5 -5`).join("") }));
  return drawn;
}

/** In words, for those who do not see a chart. */
function chartLabel(feature, curve, says) {
  const range = (numbers) => `from ${short(Math.min(...numbers), 3)} to ${short(Math.max(...numbers), 3)}`;
  const model = says === null ? "" : ` The model goes ${range(says)}, and is met at ${curve.at.length - curve.fails.length} of ${curve.at.length} places asked.`;
  return `${feature.name} alone, from ${short(feature.low)} to ${short(feature.high)}.${model}`;
}

/** A chart of one feature, and `mark`, which moves what stands for the values tried. */
function makeChart(feature, view, pick) {
  const { scale, output } = view;
  const across = acrossOf(feature);
  const says = feature.curve ? feature.curve.model[output] : null;
  const along = view.along(feature);
  const { top, bottom } = FRAME;
  const chart = makeSvg("svg", {
    class: "chart", viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: "img",
    "aria-label": chartLabel(feature, feature.curve, says),
  });
  if (view.certified) chart.append(...drawHeld(feature, across));
  if (feature.bars) chart.append(drawData(feature));
  if (scale !== null) chart.append(...drawTicks(scale));
  chart.append(...drawEnds(feature, across));
  const home = rounded(across.x(feature.value));
  chart.append(makeSvg("line", { class: "home", x1: home, x2: home, y1: top - 4, y2: bottom }));
  if (along !== null) chart.append(drawExplanation(feature, across, scale, along));
  if (says !== null) chart.append(...drawModel(feature, across, scale, feature.curve, says));
  const line = makeSvg("line", { class: "now", y1: top - 4, y2: bottom });
  const dot = makeSvg("circle", { class: "now", r: 4 });
  chart.append(line, dot);
  if (view.home !== null) {
    const y = rounded(scale.y(view.home));
    chart.append(makeSvg("path", { class: "instance", d: `M${home} ${y - 5}l5 5l-5 5l-5 -5z` }));
  }
  const follow = (event) => {
    const box = chart.getBoundingClientRect();
    const place = (FRAME.width * (event.clientX - box.left)) / box.width;
    pick(across.value((place - FRAME.left) / (FRAME.right - FRAME.left)));
  };
  chart.addEventListener("pointerdown", follow);
  chart.addEventListener("pointermove", (event) => { if (event.buttons === 1) follow(event); });
  return {
    chart,
    inset: across.inset,
    mark(value, says) {
      const x = rounded(across.x(value));
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", says === null ? bottom : rounded(scale.y(says)));
    },
  };
}
