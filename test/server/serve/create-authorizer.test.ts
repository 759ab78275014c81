import { expect, it } from 'vitest';
import { createAuthorizer } from '../../../src/server/serve/create-authorizer.ts';

const token = 't'.repeat(32);
const secret = 's'.repeat(32);
const vouched = { 'x-svc-secret': secret, 'x-svc-role': 'admin', 'x-svc-user': 'anna' };
const ben = { role: 'user', name: 'ben' };

it.each<[what: string, headers: Record<string, string>, caller: unknown, asked?: object]>([
  ['nobody', {}, null],
  ['the token', { authorization: `Bearer ${token}` }, 'admin'],
  ['a token that is longer', { authorization: `Bearer ${token}t` }, ben, { cookie: null }],
  ['the token of no scheme', { authorization: token }, ben, { cookie: null }],
  ['the secret as a token', { authorization: `Bearer ${secret}` }, ben, { cookie: null }],
  ['a proxy that vouches', vouched, { role: 'admin', name: 'anna' }],
  ['a proxy without a name', { ...vouched, 'x-svc-user': '' }, { role: 'admin', name: '' }],
  ['a proxy with another secret', { ...vouched, 'x-svc-secret': token, cookie: 'a=b' }, null],
  ['a proxy without a secret', { ...vouched, 'x-svc-secret': '', cookie: 'a=b' }, null],
  ['a role that does not exist', { ...vouched, 'x-svc-role': 'root' }, null],
  ['two roles', { ...vouched, 'x-svc-role': 'user, admin' }, null],
  ['a role without a secret', { 'x-svc-role': 'admin' }, null],
  ['a cookie', { cookie: 'a=b' }, ben, { cookie: 'a=b', authorization: null }],
])('determines the caller for %s', async (_, headers, caller, asked) => {
  const logins: unknown[] = [];
  const product = {
    user: async (login: unknown) => {
      logins.push(login);
      return ben;
    },
  };
  const authorize = createAuthorizer({ token, secret }, product);
  expect(await authorize(new Request('http://a/', { headers }))).toEqual(caller);
  expect(logins).toMatchObject(asked ? [asked] : []);
});

it('accepts only programs and the proxy if the product has no callbacks', async () => {
  const authorize = createAuthorizer({ token, secret }, null);
  const callers = [vouched, { authorization: `Bearer ${token}` }, { cookie: 'a=b' }].map((headers) =>
    authorize(new Request('http://a/', { headers })),
  );
  expect(await Promise.all(callers)).toEqual([{ role: 'admin', name: 'anna' }, 'admin', null]);
});

it('accepts no token if none is configured', async () => {
  const authorize = createAuthorizer({ token: null, secret }, { user: async () => null });
  const headers = { authorization: 'Bearer null' };
  expect(await authorize(new Request('http://a/', { headers }))).toBeNull();
});

it.each([
  [null],
  ['admin'],
  [[]],
  [{ name: 'ben' }],
  [{ role: 'owner', name: 'ben' }],
  [{ role: 'admin', name: 7 }],
])('accepts no user from the response %j', async (answer) => {
  const authorize = createAuthorizer({ token: null, secret }, { user: async () => answer });
  expect(await authorize(new Request('http://a/', { headers: { cookie: 'a=b' } }))).toBeNull();
});
