
/* Texts and pictures: the whole thing, of which parts can be taken away */

const mayGo = (feature) => feature.lower < feature.upper;

/** What a part is, in words. */
function partWords(feature) {
  const weight = feature.size ? `, weight ${feature.weight}` : "";
  if (!whatIf.certified) return `${feature.name}${weight}`;
  return `${feature.name}${weight}, ${mayGo(feature) ? "may go" : "must stay"}`;
}

function makeCheck(feature, i, own = {}) {
  const check = make("input", { type: "checkbox", disabled: feature.low === feature.high, ...own });
  check.addEventListener("change", () => change(i, Number(check.checked)));
  return check;
}

function markPart(box, check, value, words) {
  check.checked = value === 1;
  box.classList.toggle("out", words !== "");
  box.classList.toggle("gone", value === 0);
}

const fixedClass = (feature) => (whatIf.certified && !mayGo(feature) ? "fixed" : "");

/** A word or superpixel, there or removed. */
function makePart(feature, i) {
  const check = makeCheck(feature, i, { id: `f${i}` });
  const weight = feature.size ? [make("span", { class: "weight" }, feature.weight)] : [];
  const box = make("label", { class: `part ${fixedClass(feature)}`, for: `f${i}`, "data-i": i }, check,
    make("span", { class: "name" }, called(feature.name)), ...weight);
  return { box, show: (value, words) => markPart(box, check, value, words) };
}

/** The text, whose words can be struck; a word stands for all its places, unless each has a part of its own. */
function makeText() {
  const largest = Math.max(...whatIf.features.map((feature) => Math.abs(feature.size))) || 1;
  const places = whatIf.features.map(() => []);
  const pieces = whatIf.text.map(([piece, i]) => {
    if (i < 0) return piece;
    const feature = whatIf.features[i];
    const check = makeCheck(feature, i, places[i].length ? {} : { id: `f${i}` });
    const word = piece.trim();
    const sign = feature.size ? [make("sup", { "aria-hidden": "true" }, feature.size > 0 ? "+" : "\u2212")] : [];
    const kind = feature.size ? (feature.size > 0 ? "plus" : "minus") : "";
    const box = make("label", { class: `word ${kind} ${fixedClass(feature)}`, title: partWords(feature) }, check,
      make("span", { class: "name" }, called(word || feature.name)), ...sign);
    box.style.setProperty("--strength", `${Math.round(12 + 43 * (Math.abs(feature.size) / largest))}%`);
    places[i].push([box, check]);
    const [before, after] = word ? [piece.match(/^\s*/)[0], piece.match(/\s*$/)[0]] : ["", piece];
    return [before, box, after];
  });
  places.forEach((boxes, i) => {
    controls[i] = { show: (value, words) => boxes.forEach(([box, check]) => markPart(box, check, value, words)) };
  });
  return make("p", { class: "text", dir: "auto" }, ...pieces.flat());
}

/** Numbers that were packed: compressed, and in base 64. */
async function unpack(packed, Kind) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Kind(await new Response(stream).arrayBuffer());
}

/** The lines around all pixels of some parts, and the pixels themselves, as paths of a larger picture. */
function pathsOf(picture, parts, zoom) {
  const { width, height } = picture;
  const at = (x, y) => (x < 0 || y < 0 || x >= width || y >= height ? -2 : parts[y * width + x]);
  const fills = new Map();
  const fillOf = (part) => fills.get(part) ?? fills.set(part, new Path2D()).get(part);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0, from = 0; x < width; x += 1) {
      if (at(x + 1, y) === at(x, y)) continue;
      fillOf(at(x, y)).rect(from * zoom, y * zoom, (x + 1 - from) * zoom, zoom);
      from = x + 1;
    }
  }
  const outline = (holds) => {
    const path = new Path2D();
    const line = (x, y, dx, dy) => { path.moveTo(x * zoom, y * zoom); path.lineTo((x + dx) * zoom, (y + dy) * zoom); };
    for (let y = 0; y <= height; y += 1) {
      for (let x = 0; x <= width; x += 1) {
        if (holds(at(x, y), at(x - 1, y))) line(x, y, 0, 1);
        if (holds(at(x, y), at(x, y - 1))) line(x, y, 1, 0);
      }
    }
    return path;
  };
  return { fills, outline, at };
}

function makeHatch(context) {
  const tile = make("canvas", { width: 10, height: 10 });
  const drawn = tile.getContext("2d");
  for (const [colour, wide] of [["rgb(0 0 0 / 0.45)", 3], ["rgb(255 255 255 / 0.75)", 1.4]]) {
    drawn.strokeStyle = colour;
    drawn.lineWidth = wide;
    drawn.beginPath();
    for (const from of [-10, 0, 10]) { drawn.moveTo(from - 2, 12); drawn.lineTo(from + 12, -2); }
    drawn.stroke();
  }
  return context.createPattern(tile, "repeat");
}

/** The picture: a click on a superpixel hides it or brings it back. */
class Picture {
  constructor(picture) {
    this.picture = picture;
    this.zoom = Math.max(1, Math.round(900 / Math.max(picture.width, picture.height)));
    this.canvas = make("canvas", { width: picture.width * this.zoom, height: picture.height * this.zoom, role: "img", "aria-label": "" });
    this.tint = make("input", { type: "checkbox" });
    this.told = make("p", { class: "told", "aria-hidden": "true" }, "Click a superpixel to hide it.");
    this.pointed = -1;
    this.ready = false;
    this.box = make("figure", { class: "picture" }, this.canvas, make("figcaption", {}, this.told,
      make("label", {}, this.tint, " colour by weight")));
    this.tint.addEventListener("change", () => this.show());
    this.canvas.addEventListener("pointermove", (event) => this.point(this.partAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.point(-1));
    this.canvas.addEventListener("click", (event) => {
      const part = this.partAt(event);
      if (part >= 0 && whatIf.features[part].low < whatIf.features[part].high) change(part, 1 - values[part]);
    });
  }

  async load() {
    const { picture } = this;
    [this.pixels, this.parts] = [await unpack(picture.pixels, Uint8Array), await unpack(picture.parts, Int16Array)];
    Object.assign(this, pathsOf(picture, this.parts, this.zoom));
    const stays = (part) => part >= 0 && whatIf.certified && !mayGo(whatIf.features[part]);
    this.between = this.outline((one, other) => one !== other);
    this.staying = this.outline((one, other) => stays(one) !== stays(other));
    this.ready = true;
    this.show();
  }

  partAt(event) {
    if (!this.ready) return -1;
    const box = this.canvas.getBoundingClientRect();
    const { width, height } = this.picture;
    return this.at(Math.floor((width * (event.clientX - box.left)) / box.width),
      Math.floor((height * (event.clientY - box.top)) / box.height));
  }

  point(part) {
    if (part === this.pointed) return;
    this.pointed = part;
    setText(this.told, part >= 0 ? partWords(whatIf.features[part]) : "Click a superpixel to hide it.");
    this.show();
  }

  show() {
    const off = whatIf.features.flatMap((_, i) => (values[i] === 0 ? [i] : []));
    this.canvas.setAttribute("aria-label", `The picture, ${off.length} of ${whatIf.features.length} superpixels hidden`);
    if (!this.ready) return;
    const { picture, zoom } = this;
    const small = make("canvas", { width: picture.width, height: picture.height });
    const shown = new ImageData(picture.width, picture.height);
    const hidden = new Map(off.map((part) => [part, picture.hidden[part]]));
    this.parts.forEach((part, k) => {
      const colour = hidden.get(part) ?? this.pixels.subarray(3 * k, 3 * k + 3);
      shown.data.set(colour, 4 * k);
      shown.data[4 * k + 3] = 255;
    });
    small.getContext("2d").putImageData(shown, 0, 0);
    const context = this.canvas.getContext("2d");
    context.imageSmoothingEnabled = picture.width > 64;
    context.drawImage(small, 0, 0, picture.width * zoom, picture.height * zoom);
    if (this.tint.checked) this.paintWeights(context);
    this.hatch ??= makeHatch(context);
    for (const part of off) this.fill(context, part, this.hatch);
    this.stroke(context, this.between, [["rgb(0 0 0 / 0.5)", 2.6], ["rgb(255 255 255 / 0.85)", 1.3]]);
    this.stroke(context, this.staying, [["#ffffff", 6], ["#111111", 3]]);
    for (const part of off.filter((part) => leaves(whatIf.features[part], 0) && whatIf.certified)) {
      this.stroke(context, this.outline((one, other) => (one === part) !== (other === part)), [["#ffffff", 7], ["#d55e00", 4.5]]);
    }
    if (this.pointed >= 0) {
      const around = this.outline((one, other) => (one === this.pointed) !== (other === this.pointed));
      this.stroke(context, around, [["#ffffff", 6], ["#0072b2", 3.5]]);
    }
  }

  fill(context, part, style) {
    if (!this.fills.has(part)) return;
    context.fillStyle = style;
    context.fill(this.fills.get(part));
  }

  paintWeights(context) {
    const largest = Math.max(...whatIf.features.map((feature) => Math.abs(feature.size))) || 1;
    whatIf.features.forEach((feature, part) => {
      const strength = 0.65 * (Math.abs(feature.size) / largest);
      if (feature.size && values[part] === 1) {
        this.fill(context, part, feature.size > 0 ? `rgb(0 114 178 / ${strength})` : `rgb(230 140 0 / ${strength})`);
      }
    });
  }

  stroke(context, path, pens) {
    context.lineCap = "round";
    for (const [colour, wide] of pens) {
      context.strokeStyle = colour;
      context.lineWidth = wide;
      context.stroke(path);
    }
  }
}

/** What the marks mean, in a sentence for each. */
function partsLegend() {
  const weights = " Blue speaks for the class explained, orange against it.";
  if (whatIf.text) {
    return `Click a word to strike it.${whatIf.features.some((feature) => feature.size) ? weights : ""}`
      + (whatIf.certified ? " Dashed line: may go, in any combination. Thick line: must stay." : "");
  }
  const untick = whatIf.picture ? "Click a superpixel, or untick it in the list, to hide it." : "Untick a part to remove it.";
  if (!whatIf.certified) return untick;
  return untick + (whatIf.picture ? " Within the thick outline: must stay. All others may go, in any combination."
    : " Shaded: may go, in any combination. Bold: must stay.");
}

function startParts() {
  place("legend").append(make("p", { class: "legend" }, partsLegend()));
  if (whatIf.text) {
    place("whole").append(makeText());
    return;
  }
  if (whatIf.picture) {
    const picture = new Picture(whatIf.picture);
    const list = make("details", { id: "list" }, make("summary", {}, `All ${whatIf.features.length} superpixels as a list`));
    place("features").before(list);
    list.append(place("features"));
    place("whole").append(picture.box);
    wholes.push(picture);
    picture.load();
    for (const id of ["features", "weights"]) {
      for (const kind of ["pointerover", "focusin"]) place(id).addEventListener(kind, (event) => pointFrom(event, picture));
    }
  }
  place("features").append(...whatIf.features.map((_, i) => controlOf(i).box));
}

/** A part that is pointed at in a list is shown in the picture. */
function pointFrom(event, picture) {
  const named = event.target.closest("[data-i]");
  if (named !== null) picture.point(Number(named.dataset.i));
}
