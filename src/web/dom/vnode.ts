type AttributeValue = string | number | boolean | null | undefined | ((event: Event) => void);
type Attributes = Readonly<Record<string, AttributeValue>>;

export interface VNode {
  tag: string;
  /** Identifies the element among siblings with the same tag, even after it has moved. */
  key: unknown;
  /** Attributes and event listeners, such as `onclick`. */
  attributes: Attributes;
  children: readonly (VNode | string)[];
}

export type VNodeChild = VNode | string | null | false | undefined | readonly VNodeChild[];

/**
 * Describes an element: `h('p.muted', { title: 'x', onclick }, 'text', h('b', 'more'))`. Attributes and children that
 * are false or null are omitted.
 */
export function h(name: string, first: Attributes | VNodeChild = null, ...rest: VNodeChild[]): VNode {
  const [tag = '', ...classes] = name.split('.');
  const { key, ...given }: Attributes = isAttributes(first) ? first : {};
  const attributes = classes.length > 0 ? { class: classes.join(' '), ...given } : given;
  return { tag, key, attributes, children: flattenChildren(isAttributes(first) ? rest : [first, ...rest]) };
}

const isAttributes = (given: Attributes | VNodeChild): given is Attributes =>
  typeof given === 'object' && given !== null && !Array.isArray(given) && !('tag' in given);

export const flattenChildren = (children: readonly VNodeChild[]): (VNode | string)[] =>
  children.flatMap((child) => {
    if (child === null || child === undefined || child === false || child === '') return [];
    return Array.isArray(child) ? flattenChildren(child) : [child as VNode | string];
  });
