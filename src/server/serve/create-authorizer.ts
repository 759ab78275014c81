import { createHash, timingSafeEqual } from 'node:crypto';
import * as z from 'zod/mini';
import type { Caller } from '../contract/instance-options.ts';
import type { ProductCallbacks } from './product-callbacks.ts';
import type { ServeSettings } from './serve-settings.ts';

const callerSchema = z.object({ role: z.enum(['admin', 'user']), name: z.string() });

/**
 * Creates the function that authenticates senders of requests (docs/contract.md 8.45). A sender is a program with the
 * token, a user whose role and name the product's proxy sends together with the secret, or a user whom the product
 * identifies by a cookie or an `Authorization` header.
 */
export const createAuthorizer =
  ({ token, secret }: Pick<ServeSettings, 'token' | 'secret'>, product: Pick<ProductCallbacks, 'user'>) =>
  async ({ headers }: Request): Promise<Caller> => {
    const [authorization, vouched] = [headers.get('authorization'), headers.get('x-svc-secret')];
    if (token !== null && isSame(authorization, `Bearer ${token}`)) return 'admin';
    if (vouched !== null)
      return isSame(vouched, secret)
        ? callerIn({ role: headers.get('x-svc-role'), name: headers.get('x-svc-user') ?? '' })
        : null;
    const login = { cookie: headers.get('cookie'), authorization };
    return login.cookie === null && authorization === null ? null : callerIn(await product.user(login));
  };

/** Null if the role or the name is invalid. */
const callerIn = (given: unknown): Caller => callerSchema.safeParse(given).data ?? null;

/** Compares hashes, so that the duration reveals neither the secret nor its length. */
const isSame = (given: string | null, wanted: string): boolean =>
  timingSafeEqual(hashOf(given ?? ''), hashOf(wanted));

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
