import { flattenChildren, type VNode, type VNodeChild } from './vnode.ts';

const svgTags = new Set(['svg', 'path', 'circle']);

/** The VNode from which a DOM node was last drawn, keyed by the DOM node. */
const drawnVNodes = new WeakMap<Node, VNode>();

/**
 * Updates the child nodes to match `children`. Reused nodes keep their focus, selection and scroll position, and are
 * not announced again. Text is never inserted as HTML.
 */
export function patchChildren(parent: Node, children: readonly VNodeChild[]): void {
  const wanted = flattenChildren(children);
  const old = new Set<Node>(parent.childNodes);
  const nodes = wanted.map((child) => {
    const kept = [...old].find((node) => isReusableNode(node, child));
    if (kept) old.delete(kept);
    return kept ?? createNode(child);
  });
  for (const node of old) parent.removeChild(node);
  let location = parent.firstChild;
  for (const [index, node] of nodes.entries()) {
    if (node === location) location = location.nextSibling;
    else parent.insertBefore(node, location);
    const child = wanted[index];
    if (typeof child === 'string') {
      if (node.nodeValue !== child) node.nodeValue = child;
    } else if (child) patchElement(node as Element, child);
  }
}

function isReusableNode(node: Node, child: VNode | string): boolean {
  if (typeof child === 'string') return node.nodeType === Node.TEXT_NODE;
  const before = drawnVNodes.get(node);
  return before?.tag === child.tag && before.key === child.key;
}

function createNode(child: VNode | string): Node {
  if (typeof child === 'string') return document.createTextNode(child);
  return svgTags.has(child.tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', child.tag)
    : document.createElement(child.tag);
}

function patchElement(element: Element, wanted: VNode): void {
  const before = drawnVNodes.get(element)?.attributes ?? {};
  drawnVNodes.set(element, wanted);
  for (const name of Object.keys({ ...before, ...wanted.attributes })) {
    const value = wanted.attributes[name] ?? false;
    const text = value === true ? '' : String(value);
    // Set `value` as a property: the attribute is only the initial value of a field, and would expose a secret in the
    // page.
    if (name.startsWith('on') || name === 'value') Object.assign(element, { [name]: value || null });
    else if (value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
  patchChildren(element, wanted.children);
}
