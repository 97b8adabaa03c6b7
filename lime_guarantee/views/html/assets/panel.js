
/* What explanation and model say */

/** How far apart two values of a feature are, as a share of it. */
function apart(feature, one, other) {
  if (!feature.ordered) return Number(one !== other);
  return Math.abs(one - other) / (feature.high - feature.low + Number(feature.whole) || 1);
}

/** Of the places at which the model was asked, the one nearest to the values: a feature, and where on it. */
function nearestAsked() {
  const fromHome = whatIf.features.map((feature, i) => apart(feature, values[i], feature.value));
  const all = fromHome.reduce((sum, one) => sum + one, 0);
  let best = { i: -1, k: -1, distance: all };
  whatIf.features.forEach((feature, i) => {
    if (fromHome[i] === 0 || !feature.curve) return;
    feature.curve.at.forEach((at, k) => {
      const distance = all - fromHome[i] + apart(feature, values[i], at);
      if (distance < best.distance) best = { i, k, distance };
    });
  });
  return best;
}

/** A feature's value in words. */
function valueText(feature, value) {
  if (feature.labels.length) return feature.labels[value - feature.low];
  return feature.value === value ? feature.instance : short(value, 4);
}

/** What the model said there, and where that was. */
function modelSaid() {
  const { i, k } = nearestAsked();
  const moved = whatIf.features.filter((feature, j) => j !== i && values[j] !== feature.value);
  if (i < 0) {
    return { says: whatIf.model, where: moved.length ? ["at the instance; it was asked nowhere nearer"] : ["at the instance"] };
  }
  const feature = whatIf.features[i];
  const says = feature.curve.model.map((line) => line[k]);
  const where = whatIf.presence ? ["without ", called(feature.name)]
    : ["at ", called(feature.name), ` = ${valueText(feature, feature.curve.at[k])}`];
  if (moved.length === 0) return { says, where: [...where, whatIf.presence ? " alone" : ", the rest as the instance"] };
  const others = moved.length === 1 ? [called(moved[0].name)] : [`${moved.length} others`];
  return { says, where: [...where, " alone; not asked with ", ...others, whatIf.presence ? " gone, too" : " moved, too"] };
}

/** What the explanation says along a feature, moved alone: places and answers; null where that is not known. */
function explanationAlong(feature) {
  if (whatIf.formula !== null) {
    const at = placesOf(whatIf.formula, feature, 33);
    return { at, says: predictAlong(whatIf.formula, home, feature.position, at) };
  }
  if (!feature.curve || feature.curve.surrogate === null) return null;
  const { at, surrogate } = feature.curve;
  return { at, says: at.map((_, k) => surrogate.map((line) => line[k])) };
}

/** What all charts share, for one of the outputs: a scale, and where the instance is on it. */
function makeView(output) {
  const drawn = new Map();
  const numbers = whatIf.model.length ? [whatIf.model[output]] : [];
  for (const feature of whatIf.presence ? [] : whatIf.features) {
    const along = feature.low < feature.high ? explanationAlong(feature) : null;
    if (along !== null) {
      const says = along.says.map((line) => line[output] + shift[output]);
      drawn.set(feature, { at: along.at, says });
      numbers.push(...says);
    }
    if (feature.curve) numbers.push(...feature.curve.model[output]);
  }
  const own = whatIf.model.length ? whatIf.model[output] : null;
  return {
    output,
    certified: whatIf.certified,
    scale: numbers.length ? scaleOf(numbers, whatIf.narrowest) : null,
    home: own,
    along: (feature) => drawn.get(feature) ?? null,
  };
}

/* What is shown of it */

/** Numbers with bars, one for each output. */
function meters(numbers, kind) {
  const scores = whatIf.model.every((number) => number >= 0 && number <= 1);
  return numbers.map((number, k) => {
    const meter = make("div", { class: `meter ${kind}` }, make("span", { class: "of" }, called(whatIf.outputs[k] ?? "value")));
    if (scores) {
      const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
      bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, number))}%`;
      meter.append(bar);
    }
    meter.append(make("data", { value: number }, short(number, 3)));
    return meter;
  });
}

function showPrediction(predicted) {
  if (predicted === null) {
    setText(place("prediction"), "The explanation\u2019s own prediction is not available here.");
    return;
  }
  place("prediction").replaceChildren(make("span", { class: "label" }, "The explanation predicts"),
    ...meters(predicted, "explains"));
}

function showModel() {
  if (whatIf.asked === 0) return;
  const { says, where } = modelSaid();
  place("said").replaceChildren(make("span", { class: "label" }, "The model said ", ...where),
    ...meters(says, "models"));
}

/** The largest weights as bars; of parts also what the model's answer loses without each of them. */
function startWeights() {
  const listed = whatIf.features.map((feature, i) => ({ feature, i })).filter(({ feature }) => feature.size !== 0)
    .sort((a, b) => Math.abs(b.feature.size) - Math.abs(a.feature.size));
  if (listed.length === 0) return;
  const shown = listed.slice(0, 12);
  const lossOf = (feature) => {
    if (!whatIf.presence || !feature.curve) return null;
    const line = feature.curve.model[whatIf.chosen];
    return line[feature.curve.at.indexOf(1)] - line[feature.curve.at.indexOf(0)];
  };
  const losses = shown.map(({ feature }) => lossOf(feature));
  const ends = [0, ...shown.map(({ feature }) => feature.size), ...losses];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const share = (number) => 100 * ((number - low) / (high - low));
  const items = shown.map(({ feature, i }, k) => {
    const bar = make("span", { class: `weigh ${feature.size > 0 ? "plus" : "minus"}`, "aria-hidden": "true" }, make("span"), make("i"));
    bar.firstChild.style.left = `${share(Math.min(0, feature.size))}%`;
    bar.firstChild.style.width = `${Math.max(0.5, share(Math.abs(feature.size)) - share(0))}%`;
    bar.lastChild.style.left = `${share(0)}%`;
    if (losses[k] !== null) {
      const mark = make("span", { class: "loss" });
      mark.style.left = `${share(losses[k])}%`;
      bar.append(mark);
    }
    return make("li", {}, toFeature(i, feature.name), bar, make("span", { class: "value" }, feature.weight));
  });
  const section = place("weights");
  section.append(make("ol", {}, ...items));
  const more = listed.length - shown.length;
  if (more > 0) section.append(make("p", { class: "note" }, `and ${more} smaller ones`));
  if (losses.some((loss) => loss !== null)) {
    section.append(make("p", { class: "note" }, make("span", { class: "diamond", "aria-hidden": "true" }),
      "what the model\u2019s answer loses when this alone is removed"));
  }
  section.hidden = false;
}

/** What the lines and colours of the charts mean, and of which output they are. */
function startLegend() {
  const legend = place("legend");
  if (whatIf.presence || view.scale === null) return;
  const known = [
    ["model", "the model", whatIf.asked > 0],
    ["explanation", whatIf.change ? "the explanation, from where the model is" : "the explanation", whatIf.features.some((f) => view.along(f) !== null)],
    ["fails", "not faithful there", whatIf.features.some((f) => f.curve && f.curve.fails.length)],
    ["held", "the region", whatIf.certified],
    ["data", "the data", whatIf.features.some((f) => f.bars)],
    ["instance", "the instance", whatIf.model.length > 0],
    ["now", "your values", true],
  ];
  legend.append(...known.filter(([, , used]) => used).map(([kind, words]) =>
    make("span", { class: "key" }, make("span", { class: `sign ${kind}`, "aria-hidden": "true" }), words)));
  if (whatIf.asked > 0) {
    legend.append(make("span", { class: "note" }, `Each feature moves alone; the model was asked ${whatIf.asked.toLocaleString("en")} rows for this.`));
  }
  if (whatIf.outputs.length > 1) {
    const select = make("select", { id: "output" }, ...whatIf.outputs.map((name, k) => make("option", { value: k }, name)));
    select.value = whatIf.chosen;
    select.addEventListener("change", () => {
      view = makeView(Number(select.value));
      controls.length = 0;
      showFeatures();
    });
    legend.append(make("label", { class: "key" }, "Curves of ", select));
  }
}
