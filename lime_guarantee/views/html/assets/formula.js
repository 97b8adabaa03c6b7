
/** What a surrogate's formula says about a row: a coordinate for every feature of the domain. */
function predict(formula, row) {
  const sums = [...formula.intercept];
  for (const term of formula.terms) add(sums, TERMS[term.kind](term, row[term.feature]));
  return linked(formula, sums);
}

/** The same as one feature moves to given places, the others staying where a row has them. */
function predictAlong(formula, row, position, places) {
  const own = formula.terms.filter((term) => term.feature === position);
  const others = [...formula.intercept];
  for (const term of formula.terms) {
    if (term.feature !== position) add(others, TERMS[term.kind](term, row[term.feature]));
  }
  return places.map((place) => {
    const sums = [...others];
    for (const term of own) add(sums, TERMS[term.kind](term, place));
    return linked(formula, sums);
  });
}

function add(sums, added) {
  for (let k = 0; k < sums.length; k += 1) sums[k] += added[k];
}

function linked(formula, sums) {
  return formula.link === "logistic" ? sums.map((odds) => 1 / (1 + Math.exp(-odds))) : sums;
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

/** Where the explanation bends or jumps along a feature: both sides of every edge, and what lies between. */
function placesOf(formula, feature, count) {
  const { low, high, whole } = feature;
  if (whole && high - low < 200) return Array.from({ length: high - low + 1 }, (_, k) => low + k);
  const places = Array.from({ length: count }, (_, k) => (k === count - 1 ? high : low + ((high - low) * k) / (count - 1)));
  const small = (high - low) * 1e-6;
  for (const term of formula.terms) {
    if (term.feature !== feature.position) continue;
    for (const edge of [term.above ?? null, term.upto ?? null]) if (edge !== null) places.push(edge, edge + small);
    if (term.kind === "grid") places.push(...term.at);
  }
  const inside = places.filter((place) => place >= low && place <= high);
  return [...new Set(whole ? inside.map(Math.round) : inside)].sort((a, b) => a - b);
}
