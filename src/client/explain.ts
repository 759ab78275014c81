import type { NoAnswer, Refused } from '../wire/reader-answer.ts';
import type { Config } from './config.ts';
import { names } from './names.ts';
import { cleanText, sentence } from './text.ts';

/** What a proxy says for a server that it does not reach. */
const proxyErrors = new Set([502, 503, 504]);
const endpoints = '/api/v1/instance/update';

/** Why svc gave no proper answer: one sentence with the address, and what to change. */
export function explain(refused: Refused, config: Config): string {
  const { url, token, urlSetting, tokenSetting } = config;
  const { name, token: tokenVariable } = names();
  if (refused.kind === 'none') return explainNone(refused.why, config);
  if (refused.kind === 'problem') {
    const { status, detail } = refused.problem;
    if (status === 403)
      return `${url} does not allow this (403): ${sentence(cleanText(detail))} See ${tokenSetting}.`;
    return `${url} answered ${status}: ${sentence(cleanText(detail))}${status === 404 ? ` See ${urlSetting}.` : ''}`;
  }
  // A request has one `Authorization`, which has the token.
  if (refused.inFront !== null)
    return `Something in front of ${name} at ${url} wants a login of its own (401, ${refused.inFront}), and ${name} was not asked. It has to let ${endpoints} pass; else see ${urlSetting}.`;
  if (refused.status !== 401) return explainRedirect(refused.location, config);
  return token === null
    ? `${url} wants to know who asks (401). Set ${tokenVariable}, or log in: ${name} login`
    : `${url} does not accept the token (401). See ${tokenSetting}, or log in again: ${name} login`;
}

function explainRedirect(location: string | null, { url, urlSetting }: Config): string {
  const target = location === null ? null : URL.parse(location, url);
  const at = target?.pathname.indexOf(endpoints) ?? -1;
  if (target === null || at < 0) {
    const where =
      target === null ? ', perhaps to' : ` to ${cleanText(target.origin + target.pathname)}, perhaps`;
    return `${url} redirects${where} a log-in. That is not followed; see ${urlSetting}.`;
  }
  const other = target.origin + target.pathname.slice(0, at);
  return other === url
    ? `${url} redirects to itself: something in front of ${names().name} changes addresses. See ${urlSetting}.`
    : `${url} redirects. ${urlSetting} should be ${cleanText(other)}`;
}

function explainNone(why: NoAnswer, { url, urlSetting }: Config): string {
  const { name } = names();
  const see = `See ${urlSetting}.`;
  const isUp = `Is ${name} up? Else see ${urlSetting}.`;
  if (why.what === 'late') return `${url} does not answer in time. Is ${name} well? Else see ${urlSetting}.`;
  if (why.what === 'large')
    return `What answers at ${url} sends more than 8 MiB, as ${name} never does. ${see}`;
  if (why.what === 'other') {
    const what = `${why.status}${why.type === '' ? '' : `, ${cleanText(why.type)}`}`;
    return `Something else than ${name} answers at ${url} (${what}). ${proxyErrors.has(why.status) ? isUp : see}`;
  }
  const code = codeOf(why.cause);
  const { hostname, host, pathname } = new URL(url);
  const behind = pathname === '/' ? '' : pathname;
  const known: readonly (readonly [form: RegExp, text: string])[] = [
    [/^ECONNREFUSED$/, `Nothing answers at ${url}: connection refused. ${isUp}`],
    [/^(?:ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, `There is no host ${hostname} (${url}). ${see}`],
    [/^ERR_TLS_CERT_ALTNAME_INVALID$/, `The certificate at ${url} is for another host. ${see}`],
    [/^CERT_HAS_EXPIRED$/, `The certificate at ${url} has expired. It has to be renewed there.`],
    [
      /CERT|SIGNED|UNABLE_TO_/,
      `The certificate at ${url} is not trusted (${code}). Name the file of its authority in NODE_EXTRA_CA_CERTS.`,
    ],
    [
      /^(?:EPROTO|ERR_SSL_)/,
      `${url} does not speak TLS. ${urlSetting} should perhaps be http://${host}${behind}`,
    ],
    [/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/, `${url} closed the connection before it had answered. ${isUp}`],
    [/^HPE_|HTTP\/1\.1 protocol/, `Something that speaks no HTTP answers at ${url}. ${see}`],
  ];
  const [, text] = known.find(([form]) => form.test(code)) ?? [];
  return text ?? `The connection to ${url} failed (${cleanText(code)}). ${isUp}`;
}

/** What Node calls it; `fetch` hides it in the cause, several addresses of one host in a list. */
function codeOf(error: unknown): string {
  const { code, cause, errors, message } = Object(error) as {
    code?: unknown;
    cause?: unknown;
    errors?: unknown[];
    message?: unknown;
  };
  if (typeof code === 'string') return code;
  const inner = cause ?? errors?.[0];
  if (inner !== undefined) return codeOf(inner);
  return typeof message === 'string' && message !== '' ? message : 'no reason is known';
}
