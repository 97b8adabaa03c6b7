
const audit = embedded("audit");

/** A share in per cent; 100 only if it is all. */
function share(value) {
  if (value == null) return "";
  return value >= 0.9995 && value < 1 ? "> 99.9 %" : `${short(100 * value, 3)} %`;
}

const nameOf = (record, position) => audit.names[record.names][position];

/** What the table shows: a title, what to sort by, what to show; `extra` is left out where there is no room. */
const COLUMNS = [
  { title: "#", key: (r) => r.index },
  { title: "verdict", key: (r) => audit.verdicts.indexOf(r.verdict) },
  { title: "explained", key: (r) => r.label ?? null, extra: true },
  { title: "reason", key: (r) => r.reason },
  { title: "share", key: (r) => r.share ?? null, number: true, extra: true },
  { title: "coverage of data", key: (r) => r.coverage, number: true, extra: true },
  { title: "lowest reach", key: (r) => r.reach ?? null, number: true, extra: true },
];

/** Rows and details are made when they are first shown: a thousand at once would take long to lay out. */
const FIRST = 100;
const alphabet = new Intl.Collator("en");
const lines = audit.records.map((record) => ({ record, text: textOf(record), row: null, detail: null }));
const lineOf = new Map(lines.map((line) => [String(line.record.index), line]));

/** All that a search looks at. */
function textOf(record) {
  const features = record.names === undefined ? [] : audit.names[record.names];
  return ["#" + record.index, record.verdict, record.label ?? "", record.reason, ...features].join("\n").toLowerCase();
}

function makeRow(record) {
  const cells = [
    [make("button", { type: "button", "aria-expanded": "false" }, `#${record.index}`)],
    [make("span", { class: `verdict-name ${record.verdict}` }, record.verdict)],
    [record.label ?? ""],
    [record.reason],
    [share(record.share)],
    [share(record.coverage)],
    record.reach === undefined ? [] : [share(record.reach), make("small", {}, nameOf(record, record.shortest))],
  ];
  return make("tr", { class: "record", "data-index": record.index },
    ...cells.map((children, i) => make("td", { class: classOf(COLUMNS[i]) }, ...children)));
}

function classOf(column) {
  return [column.number && "number", column.extra && "extra"].filter(Boolean).join(" ");
}

/* Opening */

function toggle(line, open = line.detail === null || line.detail.hidden) {
  if (open && line.detail === null) {
    line.detail = make("tr", { class: "detail" }, make("td", { colspan: COLUMNS.length }, makeDetail(line.record)));
    line.row.after(line.detail);
  }
  if (line.detail !== null) line.detail.hidden = !open;
  line.row.classList.toggle("open", open);
  line.row.querySelector("button").setAttribute("aria-expanded", String(open));
  if (open) history.replaceState(null, "", `#${line.record.index}`);
}

/** Open the explanation that the address names, if it names one. */
function openNamed() {
  const line = lineOf.get(location.hash.slice(1));
  if (line === undefined) return;
  if (!matches(line)) clearFilters();
  if (line.row === null || !line.row.isConnected) showAll();
  toggle(line, true);
  line.row.scrollIntoView({ block: "start" });
  line.row.querySelector("button").focus({ preventScroll: true });
}

/** The region and the evidence of one explanation. */
function makeDetail(record) {
  const place = make("div");
  if (record.names === undefined) {
    place.append(make("p", {}, "There is no region: the row ended in an error."));
    return place;
  }
  place.append(make("p", {}, make("strong", {}, record.answer)));
  if (record.reach !== undefined) place.append(record.presence ? makeParts(record) : makeFeatures(record));
  place.append(...record.evidence.map((line) => make("p", { class: "muted" }, line)));
  if (record.findings.length > 0) place.append(make("h2", {}, "Features that it leaves out"));
  for (const finding of record.findings) {
    const judged = finding.incomplete ? "it matters beyond the region" : "no objection";
    place.append(make("h3", { class: finding.incomplete ? "bad" : "" }, `${finding.feature}: ${judged}`));
    place.append(...finding.lines.map((line) => make("p", {}, line)));
    place.append(...makeExamples(record, "Counterexamples, by what differs from the instance:", finding.rows));
  }
  if (record.check !== null) {
    place.append(make("h2", {}, "Real rows"));
    place.append(...record.check.lines.map((line) => make("p", {}, line)));
    place.append(...makeExamples(record, "Real rows that fail, by what differs from the instance:", record.check.rows));
  }
  return place;
}

function makeFeatures(record) {
  const weighted = record.rows.some((row) => row[2] !== "");
  const kinds = { feature: "", instance: "number", weight: "number", "": "bars", region: "", reach: "number" };
  const titles = Object.entries(kinds).filter(([title]) => weighted || title !== "weight");
  const head = make("tr", {}, ...titles.map(([title, kind]) => make("th", { scope: "col", class: kind }, title)));
  const rows = record.rows.map(([position, instance, weight, extent, reach, bar, , categories]) => make("tr", {},
    make("th", { scope: "row" }, nameOf(record, position)),
    make("td", { class: "number" }, instance),
    ...(weighted ? [make("td", { class: "number" }, weight)] : []),
    make("td", { class: "bars" }, ...(bar === null ? [] : [makeBar(...bar)])),
    make("td", {}, ...(categories && categories.length > 1 ? makeChips(categories) : [extent])),
    make("td", { class: "number" }, reach)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function makeParts(record) {
  const parts = record.rows.filter((row) => row[3] !== "constant");
  const listed = (title, some, allowed) => make("p", {}, `${title}: `,
    ...(some.length === 0 ? ["none"] : some.map((row) => make("span", { class: allowed ? "chip allowed" : "chip stays" },
      nameOf(record, row[0]), Number(row[2]) ? ` ${row[2]}` : ""))));
  return make("div", {}, listed("May go", parts.filter((row) => row[6] === 1), true),
    listed("Must stay", parts.filter((row) => row[6] === 0), false));
}

/** Rows, each by the features in which it is not as the instance. */
function makeExamples(record, title, rows) {
  if (rows.length === 0) return [];
  const home = new Map(record.rows.map((row) => [row[0], row[1]]));
  const items = rows.map((row) => {
    const differs = row.map((value, i) => [i, value]).filter(([i, value]) => value !== home.get(i));
    const words = differs.map(([i, value]) => `${nameOf(record, i)} = ${value}`);
    return make("li", {}, words.join("; ") || "as the instance, to four digits");
  });
  return [make("p", { class: "muted" }, title), make("ol", {}, ...items)];
}

/* Sorting and filtering */

const body = document.querySelector("#table > tbody");
const search = document.getElementById("search");
const more = document.getElementById("more");
const verdicts = [...document.querySelectorAll("input[name=verdict]")];
const order = { column: COLUMNS[1], descending: true };
let most = FIRST;

function compare(one, other) {
  const [a, b] = [order.column.key(one.record), order.column.key(other.record)];
  if (a === null || b === null) return (a === null) - (b === null); // last, always
  const difference = typeof a === "string" ? alphabet.compare(a, b) : a - b;
  return (order.descending ? -difference : difference) || one.record.index - other.record.index;
}

function matches(line) {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = verdicts.some((box) => box.checked && box.value === line.record.verdict);
  return wanted && words.every((word) => line.text.includes(word));
}

/** Show the first of the lines that are looked for, in their order. */
function refresh() {
  const found = lines.filter(matches).sort(compare);
  const shown = found.slice(0, most);
  body.replaceChildren(...shown.flatMap((line) => {
    line.row ??= makeRow(line.record);
    return line.detail === null ? [line.row] : [line.row, line.detail];
  }));
  for (const column of COLUMNS) column.head.removeAttribute("aria-sort");
  order.column.head.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
  const [count, all] = [found.length.toLocaleString("en"), lines.length.toLocaleString("en")];
  const of = found.length === lines.length ? "" : `${count} of `;
  document.getElementById("shown").textContent = `${of}${all} explanations`;
  more.hidden = shown.length === found.length;
  more.textContent = `Show all ${count} (now the first ${shown.length})`;
}

function showAll() {
  most = Infinity;
  refresh();
}

function clearFilters() {
  for (const box of verdicts) box.checked = true;
  search.value = "";
  refresh();
}

function sortBy(column) {
  order.descending = order.column === column && !order.descending;
  order.column = column;
  refresh();
}

function start() {
  const head = document.querySelector("#table > thead > tr");
  for (const column of COLUMNS) {
    const button = make("button", { type: "button" }, column.title);
    column.head = make("th", { scope: "col", class: classOf(column) }, button);
    button.addEventListener("click", () => sortBy(column));
    head.append(column.head);
  }
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr.record");
    if (row !== null) toggle(lineOf.get(row.dataset.index));
  });
  for (const box of verdicts) box.addEventListener("change", refresh);
  search.addEventListener("input", refresh);
  more.addEventListener("click", showAll);
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", openNamed);
  window.addEventListener("beforeprint", showAll);
  refresh();
  openNamed();
}

start();
