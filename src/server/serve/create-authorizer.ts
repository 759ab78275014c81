import { createHash, timingSafeEqual } from 'node:crypto';
import * as z from 'zod/mini';
import type { Caller } from '../contract/instance-options.ts';
import type { ProductCallbackClient } from './product-callback-client.ts';
import type { ServeSettings } from './serve-settings.ts';

const callerSchema = z.object({ role: z.enum(['admin', 'user']), name: z.string() });

/** Creates a function that authenticates requests (docs/contract.md 8.45). */
export const createAuthorizer =
  (
    { token, secret }: Pick<ServeSettings, 'token' | 'secret'>,
    product: Pick<ProductCallbackClient, 'user'> | null,
  ) =>
  async ({ headers }: Request): Promise<Caller> => {
    const [authorization, vouched] = [headers.get('authorization'), headers.get('x-svc-secret')];
    // Programs send the token.
    if (token !== null && isSame(authorization, `Bearer ${token}`)) return 'admin';
    // The product's proxy sends the secret to vouch for a user.
    if (vouched !== null)
      return isSame(vouched, secret)
        ? callerIn({ role: headers.get('x-svc-role'), name: headers.get('x-svc-user') ?? '' })
        : null;
    // The product identifies all other users by their cookie or `Authorization` header.
    const login = { cookie: headers.get('cookie'), authorization };
    if (product === null || (login.cookie === null && authorization === null)) return null;
    return callerIn(await product.user(login));
  };

/** Validates the role and name of a sender; null if one of them is invalid. */
const callerIn = (given: unknown): Caller => callerSchema.safeParse(given).data ?? null;

/** Compares hashes, so that the duration reveals neither the secret nor its length. */
const isSame = (given: string | null, wanted: string): boolean =>
  timingSafeEqual(hashOf(given ?? ''), hashOf(wanted));

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
