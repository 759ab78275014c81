import { englishTexts, type Texts } from '../presentation/english.ts';
import { createTextsAndFormats, type TextsAndFormats } from '../presentation/texts-and-formats.ts';

export type { Texts } from '../presentation/english.ts';

export type TextOverrides = {
  [K in Exclude<keyof Texts, 'product'>]?: Texts[K] extends Record<string, unknown>
    ? Partial<Texts[K]>
    : Texts[K];
} & {
  /** Name of the product, or an object with the name. */
  product?: string | { readonly name: string };
};

let current: Texts = englishTexts;
const listeners = new Set<() => void>();

export const getTexts = (): Texts => current;

/** @param now - the server's current time in milliseconds; null before the first response */
export const createPageTextsAndFormats = (now: number | null): TextsAndFormats =>
  createTextsAndFormats(current, now);
/** Replaces the given texts, for a translation or a different product name. All other texts remain unchanged. */
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

/** Adds a listener. The returned function removes it. */
export function addTextsListener(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
