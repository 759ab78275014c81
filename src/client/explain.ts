import type { NoAnswer, Refused } from '../wire/reader-answer.ts';
import type { Config } from './config.ts';
import { names } from './names.ts';
import { sentence, shown } from './shown.ts';

/** What a proxy says for a server that it does not reach. */
const proxyErrors = new Set([502, 503, 504]);
const endpoints = '/api/v1/instance/update';

/** Why svc gave no proper answer: one sentence with the address, and what to change. */
export function explain(refused: Refused, config: Config): string {
  const { url, urlSetting, tokenSetting } = config;
  switch (refused.kind) {
    case 'problem': {
      const { status, detail } = refused.problem;
      if (status === 403)
        return `${url} does not allow this (403): ${sentence(shown(detail))} See ${tokenSetting}.`;
      const see = status === 404 ? ` See ${urlSetting}.` : '';
      return `${url} answered ${status}: ${sentence(shown(detail))}${see}`;
    }
    case 'logged-out':
      if (refused.inFront !== null) return explainInFront(refused.inFront, config);
      return refused.status === 401 ? explainLogIn(config) : explainRedirect(refused.location, config);
    case 'none':
      return explainNone(refused.why, config);
  }
}

function explainLogIn({ url, token, tokenSetting }: Config): string {
  const { name } = names();
  return token === null
    ? `${url} wants to know who asks (401). Set ${names().token}, or log in: ${name} login`
    : `${url} does not accept the token (401). See ${tokenSetting}, or log in again: ${name} login`;
}

/** A request has one `Authorization`, which has the token. */
function explainInFront(login: string, { url, urlSetting }: Config): string {
  const { name } = names();
  return `Something in front of ${name} at ${url} wants a login of its own (401, ${login}), and ${name} was not asked. It has to let ${endpoints} pass; else see ${urlSetting}.`;
}

function explainRedirect(location: string | null, { url, urlSetting }: Config): string {
  const target = location === null ? null : URL.parse(location, url);
  if (target === null)
    return `${url} redirects, perhaps to a log-in. That is not followed; see ${urlSetting}.`;
  const at = target.pathname.indexOf(endpoints);
  const other = at < 0 ? null : target.origin + target.pathname.slice(0, at);
  if (other === url) {
    return `${url} redirects to itself: something in front of ${names().name} changes addresses. See ${urlSetting}.`;
  }
  if (other === null) {
    return `${url} redirects to ${shown(target.origin + target.pathname)}, perhaps a log-in. That is not followed; see ${urlSetting}.`;
  }
  return `${url} redirects. ${urlSetting} should be ${shown(other)}`;
}

function explainNone(why: NoAnswer, { url, urlSetting }: Config): string {
  const { name } = names();
  if (why.what === 'late') return `${url} does not answer in time. Is ${name} well? Else see ${urlSetting}.`;
  if (why.what === 'large')
    return `What answers at ${url} sends more than 8 MiB, as ${name} never does. See ${urlSetting}.`;
  if (why.what === 'other') {
    const what = `${why.status}${why.type === '' ? '' : `, ${shown(why.type)}`}`;
    const see = proxyErrors.has(why.status) ? `Is ${name} up? Else see ${urlSetting}.` : `See ${urlSetting}.`;
    return `Something else than ${name} answers at ${url} (${what}). ${see}`;
  }
  const code = codeOf(why.cause);
  const { hostname, host, port, pathname } = new URL(url);
  const behind = pathname === '/' ? '' : pathname;
  if (code === 'ECONNREFUSED')
    return `Nothing answers at ${url}: connection refused. Is ${name} up? Else see ${urlSetting}.`;
  if (/^(?:ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/.test(code))
    return `There is no host ${hostname} (${url}). See ${urlSetting}.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate at ${url} is for another host. See ${urlSetting}.`;
  if (code === 'CERT_HAS_EXPIRED')
    return `The certificate at ${url} has expired. It has to be renewed there.`;
  if (/CERT|SIGNED|UNABLE_TO_/.test(code)) {
    return `The certificate at ${url} is not trusted (${code}). Name the file of its authority in NODE_EXTRA_CA_CERTS.`;
  }
  if (/^(?:EPROTO|ERR_SSL_)/.test(code)) {
    return `${url} does not speak TLS. ${urlSetting} should perhaps be http://${host}${behind}`;
  }
  if (/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(code))
    return `${url} closed the connection before it had answered. Is ${name} up? Else see ${urlSetting}.`;
  if (code === 'bad port') return `Node does not connect to port ${port} (${url}). See ${urlSetting}.`;
  if (/^HPE_|HTTP\/1\.1 protocol/.test(code))
    return `Something that speaks no HTTP answers at ${url}. See ${urlSetting}.`;
  return `The connection to ${url} failed (${shown(code)}). Is ${name} up? Else see ${urlSetting}.`;
}

/** What Node calls it; `fetch` hides it in the cause, several addresses of one host in a list. */
export function codeOf(error: unknown): string {
  const { code, cause, errors, message } = Object(error) as {
    code?: unknown;
    cause?: unknown;
    errors?: unknown[];
    message?: unknown;
  };
  if (typeof code === 'string') return code;
  if (cause !== undefined) return codeOf(cause);
  if (errors?.[0] !== undefined) return codeOf(errors[0]);
  return typeof message === 'string' && message !== '' ? message : 'no reason is known';
}
