
/** What a surrogate's formula says about a row: a coordinate for every feature of the domain. */
function predict(formula, row) {
  const answer = [...formula.intercept];
  for (const term of formula.terms) {
    const x = row[term.feature];
    const added = TERMS[term.kind](term, x);
    for (let k = 0; k < answer.length; k += 1) answer[k] += added[k];
  }
  return formula.link === "logistic" ? answer.map((odds) => 1 / (1 + Math.exp(-odds))) : answer;
}

const TERMS = {
  step(term, x) {
    const held = (term.above === null || x > term.above) && (term.upto === null || x <= term.upto);
    return term.weights.map((weight) => (held ? weight : 0));
  },
  slope: (term, x) => term.weights.map((weight) => (weight * (x - term.shift)) / term.scale),
  table: (term, x) => term.values[x],
  grid(term, x) {
    const { at, values } = term;
    const last = at.length - 1;
    if (x <= at[0]) return values[0];
    if (x >= at[last]) return values[last];
    const right = at.findIndex((place) => place > x);
    const share = (x - at[right - 1]) / (at[right] - at[right - 1]);
    return values[right].map((end, k) => values[right - 1][k] + share * (end - values[right - 1][k]));
  },
};

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

const whatIf = embedded("what-if");
const values = whatIf.features.map((feature) => feature.value);
const controls = whatIf.features.map((feature, i) => (whatIf.presence ? makePart : makeSlider)(feature, i));

/** A row with the control that fits the feature, and what shows a value on it. */
function makeSlider(feature, i) {
  const label = make("label", { class: "name", for: `f${i}` }, feature.name);
  const needed = feature.needed && `, needed on ${feature.needed}`;
  const weight = make("span", { class: "weight" }, feature.weight && `weight ${feature.weight}${needed}`);
  const extent = make("span", { class: "extent", id: `e${i}` });
  const inputs = makeInputs(feature, i);
  const box = make("div", { class: "slider" }, label, ...inputs.elements, weight, extent);
  const instance = `instance ${feature.instance}`;
  const region = feature.extent ? `region ${feature.extent}, ${instance}` : instance;
  return {
    box,
    show(value, words) {
      inputs.show(value);
      box.classList.toggle("out", words !== "");
      extent.textContent = words ? `${region} \u2014 ${words}` : region;
    },
  };
}

function makeInputs(feature, i) {
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
  const step = whole ? 1 : "any";
  const range = make("input", { ...common, type: "range", min: feature.low, max: feature.high, step });
  const number = make("input", {
    type: "number", step, disabled: common.disabled, "aria-label": `${feature.name}, exact value`,
  });
  range.addEventListener("input", () => change(i, range.valueAsNumber));
  number.addEventListener("change", () => {
    const typed = number.valueAsNumber;
    if (Number.isFinite(typed)) change(i, whole ? Math.round(typed) : typed);
    else change(i, values[i]);
  });
  // Six digits, and one more for each that all values of the feature share.
  const largest = Math.max(Math.abs(feature.low), Math.abs(feature.high));
  const shared = Math.log10(largest / (feature.high - feature.low || largest || 1));
  const digits = Math.min(17, 6 + Math.max(0, Math.ceil(shared)));
  const margin = whole ? 0.5 : 0; // a cell reaches half a step to either side
  const share = (value) => Math.min(1, Math.max(0, (value - feature.low) / (feature.high - feature.low || 1)));
  const bar = makeBar(share(feature.lower - margin), share(feature.upper + margin), share(feature.value));
  if (!whatIf.certified) bar.firstChild.remove();
  return {
    elements: [make("span", { class: "track" }, bar, range), number],
    show(value) {
      range.value = value;
      number.value = whole ? value : Number(value.toPrecision(digits));
    },
  };
}

/** A word or superpixel, there or removed. */
function makePart(feature, i) {
  const check = make("input", { type: "checkbox", id: `f${i}`, disabled: feature.low === feature.high });
  check.addEventListener("change", () => change(i, Number(check.checked)));
  const weight = Number(feature.weight) ? [make("span", { class: "weight" }, feature.weight)] : [];
  const fixed = whatIf.certified && feature.lower === feature.upper;
  const box = make("label", { class: fixed ? "part fixed" : "part", for: `f${i}` }, check,
    make("span", { class: "name" }, feature.name), ...weight);
  return {
    box,
    show(value, words) {
      check.checked = value === 1;
      box.classList.toggle("out", words !== "");
      box.classList.toggle("gone", value === 0);
    },
  };
}

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
  controls.forEach((control, i) => control.show(values[i], wordsOf.get(i) ?? ""));
  const status = document.getElementById("status");
  const inside = left.length === 0;
  status.className = whatIf.certified ? (inside ? "inside" : "outside") : "";
  setText(document.getElementById("verdict"), !whatIf.certified ? "No guarantee: nothing is certified"
    : inside ? "Inside the guarantee" : "Outside the guarantee");
  document.getElementById("left").replaceChildren(...left.map((one) => make("li", {}, `${one.name}: ${one.words}`)));
  showPrediction();
}

function showPrediction() {
  const place = document.getElementById("prediction");
  if (whatIf.formula === null) {
    setText(place, "The explanation\u2019s own prediction is not available here.");
    return;
  }
  const row = [];
  whatIf.features.forEach((feature, i) => { row[feature.position] = values[i]; });
  place.replaceChildren(make("span", { class: "label" }, "The explanation predicts"));
  predict(whatIf.formula, row).forEach((number, k) => {
    place.append(make("div", {}, `${whatIf.outputs[k] ?? "value"} `, make("data", { value: number }, short(number))));
  });
}

function start() {
  const features = document.getElementById("features");
  if (whatIf.presence) {
    features.append(make("p", { class: "legend" }, whatIf.certified
      ? "Untick a part to remove it. Shaded: may go, in any combination. Bold: must stay."
      : "Untick a part to remove it."));
  }
  features.append(...controls.map((control) => control.box));
  document.getElementById("reset").addEventListener("click", () => {
    whatIf.features.forEach((feature, i) => { values[i] = feature.value; });
    refresh();
  });
  const certificate = document.getElementById("certificate").textContent;
  document.getElementById("download").href = `data:application/json,${encodeURIComponent(certificate)}`;
  refresh();
}

start();
