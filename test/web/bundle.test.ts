import { expect, it } from 'vitest';
import { englishTexts } from '../../src/presentation/english.ts';
import { openApi } from '../../src/server/http/openapi.ts';
import { attributes } from '../../src/web/tags.ts';

/** Keys of an object and of the objects in it. */
const keysOf = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inside]) => [key, ...keysOf(inside)])
    : [];

it('the published file shortens no name of a text, an attribute, or a field of a request or response', async () => {
  const { shortenedNames } = await import(new URL('../../scripts/lib/web-bundle.mjs', import.meta.url).href);
  const taken = new Set([englishTexts, openApi('/api', 'v1.0.0'), attributes].flatMap(keysOf));
  expect([...taken]).toEqual(expect.arrayContaining(['updateTo', 'isSet', 'allSteps', 'settings-url']));
  expect(shortenedNames.length).toBeGreaterThan(50);
  expect(shortenedNames.filter((name: string) => taken.has(name))).toEqual([]);
});
