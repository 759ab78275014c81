import { expect, it } from 'vitest';
import { RepeatedCallbackFailureError } from '../../../src/server/serve/product-callback-client.ts';
import { formatLogEntry } from '../../../src/server/serve/serve-command.ts';

it('logs one line with all causes, and no line for a failure that was already logged', () => {
  const refused = new Error('connect\nECONNREFUSED');
  const entry = (cause: Error) => ({ level: 'warn', message: 'a request failed', cause }) as const;
  expect(formatLogEntry(entry(new Error('the product', { cause: refused })))).toBe(
    'WARN a request failed: the product: connect\\u000aECONNREFUSED',
  );
  const repeated = new RepeatedCallbackFailureError('the callback user is still failing', { cause: refused });
  expect(formatLogEntry(entry(new Error('the product', { cause: repeated })))).toBeNull();
});
