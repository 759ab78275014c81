type Value = string | number | boolean | null | undefined | ((event: Event) => void);
type Attributes = Readonly<Record<string, Value>>;

/** What an element of the page is to be. */
export interface VNode {
  tag: string;
  /** Keeps an element apart from its like, and together with itself when it moves. */
  key: unknown;
  /** With its listeners, `onclick` and the like. */
  attributes: Attributes;
  children: readonly (VNode | string)[];
}

export type Child = VNode | string | null | false | undefined | readonly Child[];

const svgTags = new Set(['svg', 'path', 'circle']);

/**
 * Describes an element: `h('p.muted', { title: 'x', onclick }, 'text', h('b', 'more'))`. Attributes that are false or null
 * are left out, and so are such children.
 */
export function h(name: string, first: Attributes | Child = null, ...rest: Child[]): VNode {
  const [tag = '', ...classes] = name.split('.');
  const { key, ...given }: Attributes = isAttributes(first) ? first : {};
  const attributes = classes.length > 0 ? { class: classes.join(' '), ...given } : given;
  return { tag, key, attributes, children: flat(isAttributes(first) ? rest : [first, ...rest]) };
}

const isAttributes = (given: Attributes | Child): given is Attributes =>
  typeof given === 'object' && given !== null && !Array.isArray(given) && !('tag' in given);

const flat = (children: readonly Child[]): (VNode | string)[] =>
  children.flatMap((child) => {
    if (child === null || child === undefined || child === false || child === '') return [];
    return Array.isArray(child) ? flat(child) : [child as VNode | string];
  });

/** What each node was made of the last time. */
const made = new WeakMap<Node, VNode>();

/**
 * Makes the children of a node what they are to be. Nodes that are still wanted are kept as they are, with their focus,
 * their selection and their place, so that nothing flickers and nothing is announced twice. Text goes in as text alone.
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
  if (typeof child === 'string') return node.nodeType === Node.TEXT_NODE;
  const before = made.get(node);
  return before?.tag === child.tag && before.key === child.key;
}

function create(child: VNode | string): Node {
  if (typeof child === 'string') return document.createTextNode(child);
  return svgTags.has(child.tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', child.tag)
    : document.createElement(child.tag);
}

function dress(element: Element, wanted: VNode): void {
  const before = made.get(element)?.attributes ?? {};
  made.set(element, wanted);
  for (const name of Object.keys({ ...before, ...wanted.attributes })) {
    const value = wanted.attributes[name] ?? false;
    const text = value === true ? '' : String(value);
    if (name.startsWith('on')) Object.assign(element, { [name]: value || null });
    else if (value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
  patch(element, wanted.children);
}
