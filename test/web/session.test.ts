import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  addRefreshListener,
  createRequestHeaders,
  setAuthorization,
  setHeaders,
} from '../../src/web/session.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  setAuthorization(null);
  setHeaders(null);
});

const headersOf = async () => {
  const headers = createRequestHeaders().catch(() => 'failed' as const);
  await vi.advanceTimersByTimeAsync(5_000);
  const found = await headers;
  return found instanceof Headers ? Object.fromEntries(found) : found;
};
const fail = () => {
  throw new Error('no storage');
};
/** What a page without types may return. */
const odd = (value: unknown) => () => value as never;

describe('the headers of a request', () => {
  it('are empty unless the page sets some', async () => {
    expect(await headersOf()).toEqual({});
  });

  it.each<[string, () => Promise<string> | string | null | undefined, string | null]>([
    ['a value', () => 'Bearer a', 'Bearer a'],
    ['a promise', async () => 'Bearer b', 'Bearer b'],
    ['a value with spaces around it', () => ' Bearer c\r\n', 'Bearer c'],
    ['null', () => null, null],
    ['undefined', () => undefined, null],
    ['an empty value', () => '', null],
    ['an exception', fail, 'failed'],
    ['a rejected promise', async () => fail(), 'failed'],
    ['a promise that never resolves', () => new Promise(() => {}), 'failed'],
    [
      'a promise that is late',
      () => new Promise((resolve) => setTimeout(resolve, 5_001, 'Bearer d')),
      'failed',
    ],
    ['a line break', () => 'Bearer e\r\nX-Admin: 1', 'failed'],
    ['a NUL', () => 'Bearer f\0', 'failed'],
    ['a character that no header has', () => 'Bearer \u2026', 'failed'],
  ])('with %s as authorization', async (_, get, expected) => {
    setAuthorization(get);
    expect(await headersOf()).toEqual(
      expected && expected !== 'failed' ? { authorization: expected } : expected,
    );
  });

  it.each<[string, () => Record<string, string> | null, object | 'failed']>([
    ['a CSRF token', () => ({ 'X-CSRFToken': 'a' }), { 'x-csrftoken': 'a' }],
    ['a promise', odd(Promise.resolve({ a: 'b' })), { a: 'b' }],
    ['null', () => null, {}],
    ['undefined', odd(undefined), {}],
    ['an exception', fail, 'failed'],
    ['a promise that never resolves', odd(new Promise(() => {})), 'failed'],
    ['a space in a name', () => ({ 'X-A ': 'b' }), 'failed'],
    ['a colon in a name', () => ({ 'X-A:': 'b' }), 'failed'],
    ['a line break in a name', () => ({ 'X-A\r\nCookie': 'b' }), 'failed'],
    ['an empty name', () => ({ '': 'b' }), 'failed'],
    ['a line break in a value', () => ({ 'X-A': 'b\nCookie: c' }), 'failed'],
    ['text instead of headers', odd('X-A: b'), 'failed'],
  ])('with %s as further headers', async (_, get, expected) => {
    setHeaders(get);
    expect(await headersOf()).toEqual(expected);
  });

  it('contain the authorization once, whatever its case', async () => {
    setHeaders(() => ({ AUTHORIZATION: 'Bearer other', 'X-CSRFToken': 'a' }));
    setAuthorization(() => 'Bearer a');
    expect(await headersOf()).toEqual({ authorization: 'Bearer a', 'x-csrftoken': 'a' });
  });

  it('are requested for each request, and a new function causes a request', async () => {
    const refreshed = vi.fn();
    addRefreshListener(refreshed);
    let count = 0;
    setAuthorization(() => `Bearer ${count++}`);
    expect(refreshed).toHaveBeenCalledTimes(1);
    expect([await headersOf(), await headersOf()]).toEqual([
      { authorization: 'Bearer 0' },
      { authorization: 'Bearer 1' },
    ]);
    setHeaders(() => ({ a: 'b' }));
    expect(refreshed).toHaveBeenCalledTimes(2);
  });
});
