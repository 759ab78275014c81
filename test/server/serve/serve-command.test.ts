import { expect, it } from 'vitest';
import { RepeatedFailure } from '../../../src/server/serve/product-callbacks.ts';
import { formatLogEntry } from '../../../src/server/serve/serve-command.ts';

it('logs one line with all causes, and none for a failure that the log already has', () => {
  const refused = new Error('connect\nECONNREFUSED');
  const entry = (cause: Error) => ({ level: 'warn', message: 'a request failed', cause }) as const;
  expect(formatLogEntry(entry(new Error('the product', { cause: refused })))).toBe(
    'WARN a request failed: the product: connect\\u000aECONNREFUSED',
  );
  const repeated = new RepeatedFailure('the callback user still fails', { cause: refused });
  expect(formatLogEntry(entry(new Error('the product', { cause: repeated })))).toBeNull();
});
