import { type CodeText, english } from './english.ts';
import { known } from './model/selectors.ts';

export type Texts = typeof english;

export type TextOverrides = {
  [K in Exclude<keyof Texts, 'product'>]?: Texts[K] extends Record<string, unknown>
    ? Partial<Texts[K]>
    : Texts[K];
} & {
  /** What the product is called: its record, or how people write it. */
  product?: string | { readonly name: string };
};

let current: Texts = english;
const listeners = new Set<() => void>();

export const texts = (): Texts => current;

/** Replaces texts, for a translation or another name of the product; what is not named stays. */
export function setTexts({ product, ...overrides }: TextOverrides): void {
  if (product !== undefined)
    current = { ...current, product: typeof product === 'string' ? product : product.name };
  const merged = Object.entries(overrides).map(([key, text]) => {
    const before = current[key as keyof Texts];
    const isList = typeof before === 'object' && typeof text === 'object';
    return [key, isList ? { ...before, ...text } : text];
  });
  current = { ...current, ...Object.fromEntries(merged) };
  for (const listener of listeners) listener();
}

/** Calls a listener when texts were replaced, until what it gives is called. */
export function onTexts(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The text of a code; the server's own sentence where this page does not know the code (docs/contract.md 10.7). */
export function codeText(list: Readonly<Record<string, CodeText>>, code: string, message: string): string {
  const text = known(list, code) ?? message;
  return typeof text === 'function' ? text(message) : text;
}
