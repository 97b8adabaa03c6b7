
const whatIf = embedded("what-if");
const values = whatIf.features.map((feature) => feature.value);
const home = [];
whatIf.features.forEach((feature) => { home[feature.position] = feature.value; });
/** Where changes are compared, the explanation's curves start where the model is. */
const shift = whatIf.outputs.map((_, k) => (whatIf.change ? (whatIf.model[k] ?? 0) - (whatIf.surrogate[k] ?? 0) : 0));
const place = (id) => document.getElementById(id);
const called = (name) => make("bdi", {}, name);

/* Inside or outside */

/** How a value lies outside a feature's part of the region, in words; nothing if it does not. */
function leaves(feature, value) {
  if (feature.labels.length) {
    const cell = value - feature.low;
    return feature.allowed[cell] ? "" : `${feature.labels[cell]} is not allowed`;
  }
  if (value >= feature.lower && value <= feature.upper) return "";
  if (whatIf.presence) return value < feature.lower ? "must stay" : "must go";
  const below = value < feature.lower;
  const by = below ? feature.lower - value : value - feature.upper;
  return `${short(by)} ${below ? "below" : "above"} the region`;
}

/** What is wrong with a row, by feature; a ball may be left by all features together. */
function departures(values) {
  const found = whatIf.features
    .map((feature, i) => ({ i, name: feature.name, words: leaves(feature, values[i]) }))
    .filter((one) => one.words);
  if (whatIf.radius !== null && found.length === 0) {
    const distance = Math.hypot(...whatIf.features.map((feature, i) =>
      (feature.whole ? 0 : values[i] - feature.value)));
    if (distance > whatIf.radius) {
      const words = `${short(distance - whatIf.radius)} beyond the ball's radius of ${short(whatIf.radius)}`;
      found.push({ i: -1, name: "all features together", words });
    }
  }
  return found;
}

/* Controls of features */

let view = makeView(whatIf.chosen);
const controls = [];

const controlOf = (i) => (controls[i] ??= (whatIf.presence ? makePart : makeSlider)(whatIf.features[i], i));

/** A card with the feature's curves, the control that fits it, and what shows a value on it. */
function makeSlider(feature, i) {
  const label = make("label", { class: "name", for: `f${i}` }, called(feature.name));
  const needed = feature.needed && `, needed on ${feature.needed}`;
  const weight = make("span", { class: "weight" }, feature.weight && `weight ${feature.weight}${needed}`);
  const extent = make("span", { class: "extent", id: `e${i}` });
  const drawn = feature.low < feature.high && (view.along(feature) !== null || feature.curve || feature.bars)
    ? makeChart(feature, view, (value) => change(i, value)) : null;
  const inputs = makeInputs(feature, i, drawn === null ? [0, 0] : drawn.inset);
  const box = make("div", { class: "slider", id: `c${i}` }, make("div", { class: "head" }, label, weight),
    ...(drawn === null ? [] : [drawn.chart]), ...inputs.elements, extent);
  const region = feature.extent ? `region ${feature.extent}, instance ${feature.instance}` : `instance ${feature.instance}`;
  return {
    box,
    show(value, words, says) {
      inputs.show(value);
      box.classList.toggle("out", words !== "");
      setText(extent, words ? `${region} \u2014 ${words}` : region);
      if (drawn !== null) drawn.mark(value, says);
    },
  };
}

function makeInputs(feature, i, inset) {
  const common = { id: `f${i}`, "aria-describedby": `e${i}`, disabled: feature.low === feature.high };
  if (feature.labels.length) {
    const select = make("select", common, ...feature.labels.map((label, k) =>
      make("option", { value: feature.low + k }, feature.allowed[k] || !whatIf.certified ? label : `${label} (outside)`)));
    select.addEventListener("change", () => change(i, Number(select.value)));
    return { elements: [select], show: (value) => { select.value = value; } };
  }
  if (feature.switch) {
    const check = make("input", { ...common, type: "checkbox" });
    check.addEventListener("change", () => change(i, Number(check.checked)));
    return { elements: [make("span", { class: "check" }, check)], show: (value) => { check.checked = value === 1; } };
  }
  const { whole } = feature;
  const range = make("input", {
    ...common, type: "range", min: feature.low, max: feature.high, step: whole ? 1 : "any",
  });
  // A number box steps by about a hundredth of the range.
  const width = feature.high - feature.low || 1;
  const step = Math.max(whole ? 1 : 0, 10 ** Math.floor(Math.log10(width / 50)));
  const number = make("input", {
    type: "number", step: Number(step.toPrecision(3)), disabled: common.disabled, "aria-label": `${feature.name}, exact value`,
  });
  range.addEventListener("input", () => change(i, range.valueAsNumber));
  number.addEventListener("change", () => {
    const typed = number.valueAsNumber;
    if (Number.isFinite(typed)) change(i, whole ? Math.round(typed) : typed);
    else change(i, values[i]);
  });
  const decimals = Math.min(100, Math.max(0, 5 - Math.floor(Math.log10(width)))); // a millionth of the range
  const margin = whole ? 0.5 : 0; // a cell reaches half a step to either side
  const share = (value) => Math.min(1, Math.max(0, (value - feature.low) / (feature.high - feature.low || 1)));
  const bar = makeBar(share(feature.lower - margin), share(feature.upper + margin), share(feature.value));
  if (!whatIf.certified) bar.firstChild.remove();
  const track = make("span", { class: "track" }, bar, range);
  track.style.marginLeft = `calc(${100 * inset[0]}% - 0.5rem)`;
  track.style.marginRight = `calc(${100 * inset[1]}% - 0.5rem)`;
  return {
    elements: [track, number],
    show(value) {
      range.value = value;
      number.value = whole ? value : Number(value.toFixed(decimals));
    },
  };
}

/* Which of them are shown */

const FIRST = 24;
const find = { words: [], limits: false, most: whatIf.features.length > whatIf.many ? FIRST : Infinity, pinned: -1 };

/** The features that are looked for, in their order; one that was asked for by name comes first. */
function wanted() {
  const all = whatIf.features.map((_, i) => i);
  const found = all.filter((i) => {
    const feature = whatIf.features[i];
    const name = feature.name.toLowerCase();
    return (!find.limits || feature.limits) && find.words.every((word) => name.includes(word));
  });
  const pinned = find.pinned >= 0 && found.indexOf(find.pinned) >= find.most;
  return pinned ? [find.pinned, ...found.filter((i) => i !== find.pinned)] : found;
}

function showFeatures() {
  const found = wanted();
  const shown = found.slice(0, find.most);
  place("features").replaceChildren(...shown.map((i) => controlOf(i).box));
  const more = place("more");
  more.hidden = shown.length === found.length;
  setText(more, `Show ${Math.min(2 * FIRST, found.length - shown.length)} more`);
  if (place("shown") !== null) {
    const limiting = whatIf.features.filter((feature) => feature.limits).length;
    setText(place("shown"), `${shown.length} of ${found.length === whatIf.features.length ? "" : `${found.length} found, of `}${whatIf.features.length} features`
      + (whatIf.certified ? `; ${limiting} limit the region` : ""));
  }
  refresh();
}

/** Bring a feature into view, whatever was looked for. */
function reveal(i) {
  if (!whatIf.presence && controls[i]?.box.isConnected !== true) {
    find.pinned = i;
    if (!wanted().includes(i)) {
      [find.words, find.limits] = [[], false];
      [place("search").value, place("limits").checked] = ["", false];
    }
    showFeatures();
  }
  if (place("list") !== null) place("list").open = true;
  place(`f${i}`).focus();
}

function startSearch() {
  if (place("find") === null) return;
  const look = () => {
    find.words = place("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    find.limits = place("limits").checked;
    [find.most, find.pinned] = [FIRST, -1];
    showFeatures();
  };
  place("search").addEventListener("input", look);
  place("limits").addEventListener("change", look);
  place("find").addEventListener("submit", (event) => event.preventDefault());
}

/* What does not belong to one feature */

function change(i, value) {
  values[i] = value;
  refresh();
}

/** Text is only set where it differs: a screen reader says every change. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function refresh() {
  const left = whatIf.certified ? departures(values) : [];
  const wordsOf = new Map(left.map((one) => [one.i, one.words]));
  const row = [];
  whatIf.features.forEach((feature, i) => { row[feature.position] = values[i]; });
  const predicted = whatIf.formula === null ? null : predict(whatIf.formula, row);
  const says = predicted === null ? null : predicted[view.output] + shift[view.output];
  controls.forEach((control, i) => {
    if (whatIf.presence || control.box.isConnected) control.show(values[i], wordsOf.get(i) ?? "", says);
  });
  const inside = left.length === 0;
  place("status").className = whatIf.certified ? (inside ? "inside" : "outside") : "";
  setText(place("verdict"), !whatIf.certified ? "No guarantee: nothing is certified"
    : inside ? "Inside the guarantee" : "Outside the guarantee");
  place("left").replaceChildren(...left.map((one) => make("li", {}, toFeature(one.i, one.name), `: ${one.words}`)));
  showPrediction(predicted);
  showModel();
  for (const whole of wholes) whole.show();
}

/** A name that leads to its feature. */
function toFeature(i, name) {
  if (i < 0) return called(name);
  const button = make("button", { type: "button", class: "to", "data-i": i }, called(name));
  button.addEventListener("click", () => reveal(i));
  return button;
}

/** A panel that stays on top must not hide what has the focus; what scrolls in it takes the focus itself. */
function keepClear() {
  const [status, says] = [place("status"), place("says")];
  const clear = () => {
    const above = getComputedStyle(status).position === "sticky" ? status.offsetHeight + 8 : 0;
    document.documentElement.style.scrollPaddingTop = `${above}px`;
    if (says.scrollHeight > says.clientHeight + 1) says.tabIndex = 0;
    else says.removeAttribute("tabindex");
  };
  new ResizeObserver(clear).observe(status);
  window.addEventListener("resize", clear);
  clear();
}

const wholes = [];

function start() {
  startLegend();
  startWeights();
  startSearch();
  if (whatIf.presence) startParts();
  else showFeatures();
  place("more").addEventListener("click", () => {
    find.most += 2 * FIRST;
    showFeatures();
  });
  place("reset").addEventListener("click", () => {
    whatIf.features.forEach((feature, i) => { values[i] = feature.value; });
    refresh();
  });
  const certificate = document.getElementById("certificate").textContent;
  place("download").href = `data:application/json,${encodeURIComponent(certificate)}`;
  refresh();
  keepClear();
}

start();
