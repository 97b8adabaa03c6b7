
const audit = embedded("audit");
const total = audit.index.length;
const PAGE = 50; // rows of the list that are built at once
const ON_PAPER = 500; // rows that are printed
const MOST_GROUPS = 12; // categories that are groups of their own
const MOST_NUMBERS = 6; // the same of numbers; of more, there is a group for each quarter of the rows
const alphabet = new Intl.Collator("en");
const inEnglish = (number) => number.toLocaleString("en");
const every = [...Array(total).keys()]; // records are known by their place

/* What is known of a record */

/** A share in per cent; 100 only if it is all. */
function share(value) {
  if (value == null) return "";
  return value >= 0.9995 && value < 1 ? "> 99.9 %" : `${short(100 * value, 3)} %`;
}

const verdictOf = (i) => audit.verdicts[audit.verdict[i]];
const isFlagged = (i) => audit.verdict[i] > 1; // neither trusted nor flat
const groupOf = (i) => (audit.group[i] === null ? null : audit.groups[audit.group[i]]);
const nameOf = (i, position) => groupOf(i).names[position];
const labelOf = (i) => cell(audit.label, i);

/** A text or a number of a column; null where there is none. */
function cell(column, place) {
  if (column.numbers !== undefined) return column.numbers[place] ?? null;
  return column.codes[place] === null ? null : column.labels[column.codes[place]];
}

/** The instance's value of a feature. */
function valueOf(i, position) {
  const group = groupOf(i);
  return group === null || group.presence ? null : cell(group.columns[position], audit.place[i]);
}

/** Features that something is said against, or that limit the region most. */
function namedFeatures(i) {
  const group = groupOf(i);
  if (group === null) return [];
  if (group.presence) return group.names;
  const positions = [...audit.underClaimed[i], ...audit.leftOut[i]];
  if (audit.shortest[i] !== null) positions.push(audit.shortest[i]);
  return positions.map((position) => group.names[position]);
}

/* The list: what it shows, and in which order */

/** A title, what to sort by, and what to show; `extra` is left out where there is no room. */
const EVERY_COLUMN = [
  { title: "#", key: (i) => audit.index[i], show: showNumber },
  { title: "verdict", key: (i) => audit.verdict[i], show: showVerdict },
  { title: "explained", key: labelOf, show: (i) => [named(labelOf(i) ?? "")], extra: true },
  { title: "why", key: (i) => audit.reason[i], show: showReason },
  { title: "honesty", key: (i) => audit.honesty[i], show: (i) => [share(audit.honesty[i])], number: true, extra: true },
  { title: "fidelity", key: (i) => audit.fidelity[i], show: (i) => [share(audit.fidelity[i])], number: true, extra: true },
  { title: "coverage", key: (i) => audit.coverage[i], show: (i) => [share(audit.coverage[i])], number: true, extra: true },
  { title: "lowest reach", key: (i) => audit.reach[i], show: showReach, number: true, extra: true },
];
const differ = (audit.label.labels ?? []).length > 1; // else all are about the same class, which needs no column
const COLUMNS = EVERY_COLUMN.filter((column) => differ || column.title !== "explained");

const named = (text) => make("bdi", {}, text);
const classOf = (column) => [column.number && "number", column.extra && "extra", column.title === "why" && "why"].filter(Boolean).join(" ");

function showNumber(i) {
  const button = make("button", { type: "button", "aria-expanded": "false" }, `#${audit.index[i]}`);
  return audit.rowId === null ? [button] : [button, make("small", {}, named(audit.rowId[i] ?? ""))];
}

function showVerdict(i) {
  return [make("span", { class: `verdict-name ${verdictOf(i)}` }, verdictOf(i))];
}

function showReason(i) {
  const values = valuesShown(i);
  return [named(audit.reason[i]), ...(values.length === 0 ? [] : [make("small", { class: "values" }, ...values)])];
}

/** Some values of the instance: of the feature that is compared by, and of the largest weights. */
function valuesShown(i) {
  const group = groupOf(i);
  if (group === null) return [];
  if (group.presence) return [named(group.names.slice(0, 12).join(" "))];
  const chosen = typeof cohorts.column === "number" && audit.group[i] === tableGroup ? [cohorts.column] : [];
  const positions = [...new Set([...chosen, ...audit.largest[i]])];
  return positions.map((position) => make("span", {}, named(nameOf(i, position)), " ",
    make("strong", {}, named(String(valueOf(i, position) ?? "missing")))));
}

function showReach(i) {
  return audit.reach[i] === null ? []
    : [share(audit.reach[i]), make("small", {}, named(nameOf(i, audit.shortest[i])))];
}

const columnOf = (title) => COLUMNS.find((column) => column.title === title);
const order = { column: columnOf("verdict"), descending: true };

/** Null comes last, always. */
function compareBy(key, descending, one, other) {
  const [a, b] = [key(one), key(other)];
  if (a === null || b === null) return (a === null) - (b === null);
  const difference = typeof a === "string" ? alphabet.compare(a, b) : a - b;
  return descending ? -difference : difference;
}

/** Ties are in the order of how bad they are: by verdict, what is missed at the instance, honesty, fidelity and coverage. */
const TIES = [
  [columnOf("verdict").key, true],
  [(i) => audit.gap[i], true],
  ...["honesty", "fidelity", "coverage"].map((title) => [columnOf(title).key, false]),
];

function compare(one, other) {
  let difference = compareBy(order.column.key, order.descending, one, other);
  for (const [key, descending] of TIES) difference ||= compareBy(key, descending, one, other);
  return difference || audit.index[one] - audit.index[other];
}

/* Searching */

let texts = null; // made when they are first looked at

function textOf(i) {
  texts ??= every.map((k) => [verdictOf(k), labelOf(k) ?? "", audit.reason[k], audit.rowId?.[k] ?? "",
    ...namedFeatures(k)].join("\n").replaceAll('"', "").toLowerCase());
  return texts[i];
}

/** A test for every word, or phrase in quotes, of what is looked for. */
function testsOf(query) {
  const words = [...query.toLowerCase().matchAll(/"([^"]+)"?|(\S+)/g)].map(([, phrase, word]) => phrase ?? word);
  return words.map((word) => {
    if (/^#\d+$/.test(word)) return (i) => audit.index[i] === Number(word.slice(1)); // #2 is row 2, and not 20
    if (word.startsWith("#")) return (i) => (audit.rowId?.[i] ?? "").toLowerCase() === word.slice(1);
    const hasValue = valueTest(word);
    if (/^\d+$/.test(word)) {
      return (i) => audit.index[i] === Number(word) || audit.rowId?.[i] === word || hasValue(i);
    }
    return (i) => textOf(i).includes(word) || hasValue(i);
  });
}

/** Whether an instance has a value: this number, or a category with this in its name. */
function valueTest(word) {
  const number = word === "" ? NaN : Number(word);
  const found = audit.groups.map((group) => group.columns.map((column) => (column.numbers !== undefined ? null
    : new Set(column.labels.flatMap((label, k) => (label.toLowerCase().includes(word) ? [k] : []))))));
  const wanted = found.map((sets) => sets.flatMap((set, k) => (set === null ? !Number.isNaN(number) : set.size > 0) ? [k] : []));
  return (i) => {
    const g = audit.group[i];
    if (g === null) return false;
    const [columns, place] = [audit.groups[g].columns, audit.place[i]];
    return wanted[g].some((k) => (found[g][k] === null ? columns[k].numbers[place] === number
      : found[g][k].has(columns[k].codes[place])));
  };
}

/* The list, a page at a time */

const body = document.querySelector("#table > tbody");
const search = document.getElementById("search");
const pages = document.getElementById("pages");
const clear = document.getElementById("clear");
const verdicts = [...document.querySelectorAll("input[name=verdict]")];
const lines = new Map(); // the rows that were built, and what they show when they are open
let found = []; // the records that are looked for, in their order
let first = 0; // the first of them on this page

function lineOf(i) {
  if (!lines.has(i)) {
    const cells = COLUMNS.map((column) => make("td", { class: classOf(column) || null }, ...column.show(i)));
    lines.set(i, { row: make("tr", { class: "record", "data-place": i }, ...cells), detail: null });
  }
  return lines.get(i);
}

function find() {
  const tests = testsOf(search.value);
  const wanted = new Set(verdicts.filter((box) => box.checked).map((box) => box.value));
  const group = cohorts.chosen;
  found = every.filter((i) => wanted.has(verdictOf(i)) && (group === null || group.has(i)) && tests.every((test) => test(i)));
  found.sort(compare);
}

/** Look for records anew, and show the page that has one of them, or the first. */
function refresh(place = null) {
  find();
  first = place === null ? 0 : PAGE * Math.floor(found.indexOf(place) / PAGE);
  showPage();
  for (const column of COLUMNS) column.head.removeAttribute("aria-sort");
  order.column.head.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
  const of = found.length === total ? "" : `${inEnglish(found.length)} of `;
  document.getElementById("shown").textContent = `${of}${inEnglish(total)} explanations`;
  clear.hidden = found.length === total;
  clear.textContent = cohorts.chosen === null ? "Show all" : `Show all, not only ${cohorts.title}`;
}

function showPage(most = PAGE) {
  const shown = found.slice(first, first + most);
  body.replaceChildren(...shown.flatMap((i) => {
    const { row, detail } = lineOf(i);
    return detail === null ? [row] : [row, detail];
  }));
  pages.hidden = found.length <= PAGE;
  pages.at.textContent = `${inEnglish(first + 1)} to ${inEnglish(first + shown.length)} of ${inEnglish(found.length)}`;
  for (const button of pages.buttons) button.disabled = button.target() === first;
}

function makePages() {
  const last = () => PAGE * Math.floor(Math.max(0, found.length - 1) / PAGE);
  const targets = {
    "First": () => 0,
    "Previous": () => Math.max(0, first - PAGE),
    "Next": () => Math.min(last(), first + PAGE),
    "Last": last,
  };
  pages.buttons = Object.entries(targets).map(([title, target]) => {
    const button = make("button", { type: "button" }, title);
    button.target = target;
    button.addEventListener("click", () => {
      first = target();
      showPage();
      document.getElementById("list").scrollIntoView({ block: "start" });
    });
    return button;
  });
  pages.at = make("span", { role: "status" });
  pages.append(pages.buttons[0], pages.buttons[1], pages.at, pages.buttons[2], pages.buttons[3]);
}

function clearFilters() {
  for (const box of verdicts) box.checked = true;
  search.value = "";
  cohorts.choose(null);
}

function sortBy(column) {
  order.descending = order.column === column && !order.descending;
  order.column = column;
  refresh();
}

/* Opening */

const unpacked = new Map();

/** What explanations show that are packed together. */
async function unpack(place) {
  const bytes = Uint8Array.from(atob(embedded(`details-${place}`)), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

async function detailOf(i) {
  const place = Math.floor(i / audit.together);
  if (!unpacked.has(place)) unpacked.set(place, unpack(place));
  const [details, rows] = await unpacked.get(place);
  const detail = details[i % audit.together];
  if (detail === null) return null;
  const full = rows[i % audit.together].map(([position, own, ...rest]) => [position, own ?? String(valueOf(i, position)), ...rest]);
  return { ...detail, rows: full, instance: new Map(full) };
}

async function toggle(i, open = lineOf(i).detail === null || lineOf(i).detail.hidden) {
  const line = lineOf(i);
  line.row.classList.toggle("open", open);
  line.row.querySelector("button").setAttribute("aria-expanded", String(open));
  if (line.detail !== null) line.detail.hidden = !open;
  if (!open) return;
  history.replaceState(null, "", `#${audit.index[i]}`);
  if (line.detail !== null) return;
  const place = make("div", { tabindex: "0", role: "group", "aria-label": `Explanation #${audit.index[i]}` });
  line.detail = make("tr", { class: "detail" }, make("td", { colspan: COLUMNS.length }, place));
  line.row.after(line.detail);
  place.append(...makeDetail(i, await detailOf(i)));
  line.detail.setAttribute("data-ready", "");
}

/** Open the explanation that the address names, if it names one. */
async function openNamed() {
  const i = audit.index.indexOf(Number(location.hash.slice(1)));
  if (!/^#\d+$/.test(location.hash) || i < 0) return;
  find();
  if (!found.includes(i)) clearFilters();
  refresh(i);
  await toggle(i, true);
  const { row } = lineOf(i);
  row.scrollIntoView({ block: "start" });
  row.querySelector("button").focus({ preventScroll: true });
}

/** The region and the evidence of one explanation. */
function makeDetail(i, detail) {
  if (detail === null) return [make("p", {}, "There is no region: the row ended in an error.")];
  const parts = [make("p", {}, make("strong", {}, detail.answer)), ...detail.worth.map((line) => make("p", {}, line))];
  if (detail.certified) parts.push(groupOf(i).presence ? makeParts(i, detail) : makeFeatures(i, detail));
  parts.push(...detail.evidence.map((line) => make("p", { class: "muted" }, line)));
  if (detail.findings.length > 0) parts.push(make("h3", {}, "Features that it leaves out"));
  for (const finding of detail.findings) {
    const judged = finding.incomplete ? "it matters beyond the region" : "no objection";
    parts.push(make("h4", { class: finding.incomplete ? "bad" : "" }, named(nameOf(i, finding.feature)), `: ${judged}`));
    parts.push(...finding.lines.map((line) => make("p", {}, line)));
    parts.push(...makeExamples(i, "Counterexamples, by what differs from the instance:", detail, finding.examples));
  }
  if (detail.real !== null) {
    parts.push(make("h3", {}, "Real rows"), ...detail.real.lines.map((line) => make("p", {}, line)));
    parts.push(...makeExamples(i, "Real rows that fail, by what differs from the instance:", detail, detail.real.examples));
    parts.push(...makeSwaps(i, detail.real.swaps));
  }
  return parts;
}

function makeFeatures(i, detail) {
  const weighted = detail.rows.some((row) => row[2] !== "");
  const kinds = { feature: "", instance: "number", weight: "number", "": "bars", region: "", reach: "number" };
  const titles = Object.entries(kinds).filter(([title]) => weighted || title !== "weight");
  const head = make("tr", {}, ...titles.map(([title, kind]) => (title === "" ? make("td", { class: kind })
    : make("th", { scope: "col", class: kind }, title))));
  const rows = detail.rows.map(([position, instance, weight, extent, reach, bar, , categories]) => make("tr", {},
    make("th", { scope: "row" }, named(nameOf(i, position))),
    make("td", { class: "number" }, named(instance)),
    ...(weighted ? [make("td", { class: "number" }, weight)] : []),
    make("td", { class: "bars" }, ...(bar === null ? [] : [makeBar(...bar.map((place) => place / 1000))])),
    make("td", {}, ...(categories && categories.length > 1 ? makeChips(categories) : [named(extent)])),
    make("td", { class: "number" }, reach)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function makeParts(i, detail) {
  const parts = detail.rows.filter((row) => row[3] !== "constant");
  const listed = (title, some, allowed) => make("p", {}, `${title}: `,
    ...(some.length === 0 ? ["none"] : some.map((row) => make("span", { class: allowed ? "chip allowed" : "chip stays" },
      named(nameOf(i, row[0])), Number(row[2]) ? ` ${row[2]}` : ""))));
  return make("div", {}, listed("May go", parts.filter((row) => row[6] === 1), true),
    listed("Must stay", parts.filter((row) => row[6] === 0), false));
}

/** A feature, its value before, and its value after. */
function makeChange(i, [position, before, after]) {
  return make("span", { class: "change" }, named(nameOf(i, position)), ": ", named(before), " \u2192 ", make("strong", {}, named(after)));
}

/** Rows, each by the features in which it is not as the instance, and what was said there. */
function makeExamples(i, title, detail, examples) {
  if (examples.length === 0) return [];
  const items = examples.map(({ differs, more, said }) => make("li", {},
    ...(differs.length === 0 ? ["as the instance"] : differs.flatMap(([position, after], k) =>
      [k > 0 ? "; " : "", makeChange(i, [position, detail.instance.get(position), after])])),
    more > 0 ? `; and ${more} more features` : "",
    ...(said === "" ? [] : [make("div", { class: "said" }, named(said))])));
  return [make("p", { class: "muted" }, title), make("ol", {}, ...items)];
}

function makeSwaps(i, swaps) {
  if (swaps.length === 0) return [];
  const items = swaps.map(([position, before, after, change]) => make("li", {}, makeChange(i, [position, before, after]),
    make("div", { class: "said" }, `the model\u2019s answer changes by ${change}`)));
  return [make("p", { class: "muted" }, "Real rows nearby in which this one value was swapped:"), make("ol", {}, ...items)];
}

/* Groups: verdicts of explanations that have a value in common */

const tableGroup = largestTable();

/** The features that most explanations have in common, if they are those of a table. */
function largestTable() {
  const sizes = audit.groups.map((group) => (group.presence ? 0 : (group.columns[0]?.numbers ?? group.columns[0]?.codes ?? []).length));
  const most = Math.max(0, ...sizes);
  return most > 1 ? sizes.indexOf(most) : null;
}

const cohorts = {
  column: null, // the position of a feature, or "explained"
  title: "",
  chosen: null, // the records of the group that is chosen
  choose(group) {
    this.chosen = group === null ? null : new Set(group.records);
    this.title = group === null ? "" : `${nameOfColumn(this.column)} ${group.title}`;
    for (const button of document.querySelectorAll("#cohorts button")) {
      button.setAttribute("aria-pressed", String(group !== null && button.textContent === group.title));
    }
  },
};

const nameOfColumn = (column) => (column === "explained" ? "explained" : audit.groups[tableGroup].names[column]);

/** Records by their value in a column: a group for each category, or each of a few numbers, or each quarter. */
function groupsBy(column) {
  const records = every.filter((i) => (column === "explained" ? audit.group[i] !== null : audit.group[i] === tableGroup));
  const value = column === "explained" ? labelOf : (i) => valueOf(i, column);
  const known = records.filter((i) => value(i) !== null);
  const distinct = [...new Set(known.map(value))];
  const few = distinct.length <= MOST_NUMBERS || typeof distinct[0] === "string";
  const groups = few ? byValue(known, value, distinct) : byQuarter(known, value);
  const missing = records.filter((i) => value(i) === null);
  return missing.length === 0 ? groups : [...groups, { title: "missing", records: missing }];
}

function byValue(records, value, distinct) {
  const held = new Map(distinct.map((one) => [one, []]));
  for (const i of records) held.get(value(i)).push(i);
  const groups = [...held].map(([one, some]) => ({ title: String(one), value: one, records: some }));
  if (typeof distinct[0] === "number") return groups.sort((a, b) => a.value - b.value);
  groups.sort((a, b) => b.records.length - a.records.length || alphabet.compare(a.title, b.title));
  const rest = groups.slice(MOST_GROUPS).flatMap((group) => group.records);
  return rest.length === 0 ? groups
    : [...groups.slice(0, MOST_GROUPS), { title: `${groups.length - MOST_GROUPS} others`, records: rest }];
}

function byQuarter(records, value) {
  const sorted = records.map(value).sort((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  const ends = [...new Set([at(0.25), at(0.5), at(0.75), sorted.at(-1)])];
  return ends.map((end, k) => ({
    title: k === 0 ? `up to ${end}` : `above ${ends[k - 1]}, up to ${end}`,
    records: records.filter((i) => value(i) <= end && (k === 0 || value(i) > ends[k - 1])),
  })).filter((group) => group.records.length > 0);
}

/** An interval for a share of which so many were seen (Wilson 1927), with confidence 0.95. */
function shareInterval(count, of) {
  const z = 1.959964;
  const [p, spread] = [count / of, z * z / of];
  const half = z * Math.sqrt(p * (1 - p) / of + spread / (4 * of));
  return [Math.max(0, (p + spread / 2 - half) / (1 + spread)), Math.min(1, (p + spread / 2 + half) / (1 + spread))];
}

function median(values) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (known.length === 0) return null;
  const middle = (known.length - 1) / 2;
  return (known[Math.floor(middle)] + known[Math.ceil(middle)]) / 2;
}

/** The verdicts of some records, side by side. */
function makeStack(records) {
  const stack = make("span", { class: "stack", "aria-hidden": "true" });
  audit.verdicts.forEach((verdict, code) => {
    const count = records.filter((i) => audit.verdict[i] === code).length;
    if (count === 0) return;
    const part = make("span", { class: `swatch ${verdict}`, title: `${verdict}: ${count}` });
    part.style.flexGrow = count;
    stack.append(part);
  });
  return stack;
}

function makeCohorts() {
  const groups = groupsBy(cohorts.column);
  const titles = ["explanations", "flagged", "95 % interval", "median honesty", "median fidelity", "median coverage"];
  const head = make("tr", {}, make("th", { scope: "col" }, named(nameOfColumn(cohorts.column))), make("td"),
    ...titles.map((title) => make("th", { scope: "col", class: "number" }, title)));
  const rows = groups.map((group) => {
    const { records } = group;
    const flagged = records.filter(isFlagged).length;
    const button = make("button", { type: "button", "aria-pressed": "false", class: "find" }, named(group.title));
    button.addEventListener("click", () => {
      cohorts.choose(button.getAttribute("aria-pressed") === "true" ? null : group);
      refresh();
    });
    const middle = (column) => share(median(records.map((i) => audit[column][i])));
    const figures = [inEnglish(records.length), `${inEnglish(flagged)} (${share(flagged / records.length)})`,
      shareInterval(flagged, records.length).map((end) => short(100 * end, 2)).join(" to ") + " %",
      middle("honesty"), middle("fidelity"), middle("coverage")];
    return make("tr", {}, make("th", { scope: "row" }, button), make("td", {}, makeStack(records)),
      ...figures.map((text) => make("td", { class: "number" }, text)));
  });
  return make("table", { class: "faults" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

function startCohorts() {
  const section = document.getElementById("groups");
  const select = document.getElementById("group-by");
  const options = [["", "a column \u2026"]];
  if (differ) options.push(["explained", "what was explained"]);
  if (tableGroup !== null) options.push(...audit.groups[tableGroup].names.map((name, k) => [String(k), name]));
  if (options.length === 1) return;
  section.hidden = false;
  select.append(...options.map(([value, title]) => make("option", { value }, title)));
  select.addEventListener("change", () => {
    cohorts.column = select.value === "" || select.value === "explained" ? select.value || null : Number(select.value);
    cohorts.choose(null);
    document.getElementById("cohorts").replaceChildren(...(cohorts.column === null ? [] : [makeCohorts()]));
    for (const [i, line] of [...lines]) if (line.detail === null) lines.delete(i); // they show another value now
    refresh();
  });
}

function start() {
  const head = document.querySelector("#table > thead > tr");
  for (const column of COLUMNS) {
    const button = make("button", { type: "button" }, column.title);
    column.head = make("th", { scope: "col", class: `${column.title.replace("#", "place").replace(" ", "-")} ${classOf(column)}` }, button);
    button.addEventListener("click", () => sortBy(column));
    head.append(column.head);
  }
  makePages();
  startCohorts();
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr.record");
    if (row !== null && String(getSelection()) === "") toggle(Number(row.dataset.place));
  });
  for (const box of verdicts) box.addEventListener("change", () => refresh());
  search.addEventListener("input", () => refresh());
  clear.addEventListener("click", () => { clearFilters(); refresh(); });
  for (const button of document.querySelectorAll("#features button.find")) {
    button.addEventListener("click", () => {
      search.value = `"${button.value.replaceAll('"', "")}"`;
      refresh();
      document.getElementById("list").scrollIntoView({ block: "start" });
    });
  }
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", openNamed);
  window.addEventListener("beforeprint", printMore);
  window.addEventListener("afterprint", () => showPage());
  refresh();
  openNamed();
}

/** On paper there are no pages to turn: print more of them, and say what is left. */
function printMore() {
  first = 0;
  showPage(ON_PAPER);
  const left = document.getElementById("not-printed");
  left.hidden = found.length <= ON_PAPER;
  left.textContent = `${inEnglish(found.length - ON_PAPER)} more are not printed; report.to_frame() has them all.`;
}

start();
