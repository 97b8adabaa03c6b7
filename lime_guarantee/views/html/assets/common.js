"use strict";

/** The data of a script element, by its id. */
function embedded(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/** A new element; attributes are set as they are, children that are text become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** An interval of a domain: ends and tick are shares of it. */
function makeBar(start, end, tick) {
  const band = make("span");
  band.style.left = `${100 * start}%`;
  band.style.width = `${100 * (end - start)}%`;
  const mark = make("i");
  mark.style.left = `${100 * tick}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, band, mark);
}

/** Categories: what is not allowed is struck through, so that colour alone says nothing. */
function makeChips(categories) {
  return categories.map(([label, allowed]) =>
    make("span", { class: allowed ? "chip allowed" : "chip not" }, label));
}

/** A number to so many digits, without trailing zeros. */
function short(number, digits = 4) {
  return String(Number(number.toPrecision(digits)));
}
