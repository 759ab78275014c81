/** What a node of the page is to be. */
export interface VNode {
  tag: string;
  /** Keeps a node apart from its like, and together with itself when it moves. */
  key: string | null;
  attributes: Readonly<Record<string, string>>;
  listeners: Readonly<Record<string, (event: Event) => void>>;
  children: readonly (VNode | string)[];
}

type Value = string | number | boolean | null | undefined | ((event: Event) => void);
export type Child = VNode | string | null | false | undefined | readonly Child[];

const svgTags = new Set(['svg', 'path', 'circle']);

/** Describes an element. `onclick` and the like are listeners; attributes that are false or null are left out. */
export function h(tag: string, given: Readonly<Record<string, Value>> = {}, ...children: Child[]): VNode {
  const attributes: Record<string, string> = {};
  const listeners: Record<string, (event: Event) => void> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'function') listeners[name.slice(2)] = value;
    else if (name !== 'key' && value !== null && value !== undefined && value !== false)
      attributes[name] = value === true ? '' : String(value);
  }
  const key = typeof given.key === 'string' ? given.key : null;
  return { tag, key, attributes, listeners, children: flat(children) };
}

const flat = (children: readonly Child[]): (VNode | string)[] =>
  children.flatMap((child): (VNode | string)[] => {
    if (child === null || child === undefined || child === false || child === '') return [];
    return Array.isArray(child) ? flat(child) : [child as VNode | string];
  });

/** What each node was made to be. */
const made = new WeakMap<Node, VNode>();

/**
 * Makes the children of a node what they are to be. Nodes that are still wanted are kept as they are, with their focus,
 * their selection and their place, so that nothing flickers and nothing is told twice. Text goes in as text alone.
 */
export function patch(parent: Node, children: readonly Child[]): void {
  const wanted = flat(children);
  const old = new Set<Node>(parent.childNodes);
  const nodes = wanted.map((child) => {
    const kept = [...old].find((node) => fits(node, child));
    if (kept) old.delete(kept);
    return kept ?? create(child);
  });
  for (const node of old) parent.removeChild(node);
  let place = parent.firstChild;
  for (const [index, node] of nodes.entries()) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
    const child = wanted[index];
    if (typeof child === 'string') {
      if (node.nodeValue !== child) node.nodeValue = child;
    } else if (child) dress(node as Element, child);
  }
}

function fits(node: Node, child: VNode | string): boolean {
  const before = made.get(node);
  if (typeof child === 'string') return node.nodeType === Node.TEXT_NODE;
  return before !== undefined && before.tag === child.tag && before.key === child.key;
}

function create(child: VNode | string): Node {
  if (typeof child === 'string') return document.createTextNode(child);
  return svgTags.has(child.tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', child.tag)
    : document.createElement(child.tag);
}

function dress(element: Element, wanted: VNode): void {
  const before = made.get(element);
  made.set(element, wanted);
  for (const name of Object.keys(before?.attributes ?? {})) {
    if (!(name in wanted.attributes)) element.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(wanted.attributes)) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  for (const type of Object.keys(wanted.listeners)) {
    if (before?.listeners[type]) continue;
    element.addEventListener(type, (event) => made.get(element)?.listeners[type]?.(event));
  }
  patch(element, wanted.children);
}

/** A style sheet that no policy of the page forbids. */
export function sheet(css: string): CSSStyleSheet {
  const made = new CSSStyleSheet();
  made.replaceSync(css);
  return made;
}
