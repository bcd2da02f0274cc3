// Small helpers to build parts of the page. Text goes in as text, never as markup: names and ids are what users made them.

export const find = (selector, within = document) => within.querySelector(selector);

/** An element with attributes and children; strings become text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The same for drawings. */
export function draw(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Writes only what has changed, so that nothing is read aloud or laid out in vain. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Makes the children of `parent` follow `items`: one each, in their order, kept as long as the key is the same.
 * Children that stay are not touched, so the focus stays where it is. No two items may have the same key.
 */
export function follow(parent, items, { key, create, update }) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = known.get(name);
    if (child) {
      known.delete(name);
    } else {
      child = create(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  for (const gone of known.values()) gone.remove();
}

/** What is wrong and what to do about it, as the server says it. */
export function problem(error) {
  const box = make("div", { class: "problem" }, make("strong", {}, error.message));
  if (error.remedy) box.append(make("span", {}, error.remedy));
  return box;
}
