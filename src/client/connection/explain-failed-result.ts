import type { FailedResult, NoResponseReason } from '../../wire/api-client/request-result.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { escapeControlCharacters, formatServerMessage } from '../output/text.ts';
import type { ClientConfig } from './client-config.ts';

/** HTTP status codes that a proxy sends if it cannot reach the server. */
const proxyErrors = new Set([502, 503, 504]);
const endpoints = '/api/v1/instance/update';

/** Explains a failed request: the error, the address, and the setting to check. */
export function explainFailedResult(refused: FailedResult, config: ClientConfig): string {
  const { url, token, urlSetting, tokenSetting } = config;
  const { name, token: tokenVariable } = getProductNames();
  if (refused.kind === 'none') return explainNone(refused.why, config);
  if (refused.kind === 'problem') {
    const { status, detail } = refused.problem;
    if (status === 403)
      return `${url} rejected the request (403): ${formatServerMessage(escapeControlCharacters(detail))} Check ${tokenSetting}.`;
    return `${url} responded with ${status}: ${formatServerMessage(escapeControlCharacters(detail))}${status === 404 ? ` Check ${urlSetting}.` : ''}`;
  }
  // Do not advise the user to log in to the proxy: the request's only `Authorization` header contains the server's
  // token.
  if (refused.inFront !== null)
    return `A proxy in front of ${name} at ${url} requires its own login (401, ${refused.inFront}). Configure the proxy to let requests to ${endpoints} through, or check ${urlSetting}.`;
  if (refused.status !== 401) return explainRedirect(refused.location, config);
  return token === null
    ? `${url} requires a login (401). Set ${tokenVariable}, or log in: ${name} login`
    : `${url} does not accept the token (401). Check ${tokenSetting}, or log in again: ${name} login`;
}

function explainRedirect(location: string | null, { url, urlSetting }: ClientConfig): string {
  const target = location === null ? null : URL.parse(location, url);
  const at = target?.pathname.indexOf(endpoints) ?? -1;
  if (target === null || at < 0) {
    const page =
      target === null
        ? 'an unknown address'
        : `${escapeControlCharacters(target.origin + target.pathname)}, possibly a login page`;
    return `${url} redirects to ${page}. Redirects are not followed; check ${urlSetting}.`;
  }
  const other = target.origin + target.pathname.slice(0, at);
  return other === url
    ? `${url} redirects to itself. A proxy in front of ${getProductNames().name} may be rewriting addresses; check ${urlSetting}.`
    : `${url} redirects. Set ${urlSetting} to ${escapeControlCharacters(other)}`;
}

function explainNone(why: NoResponseReason, { url, urlSetting }: ClientConfig): string {
  const { name } = getProductNames();
  const check = `Check ${urlSetting}.`;
  const checkServer = `Check that ${name} is running and that ${urlSetting} is correct.`;
  if (why.what === 'late') return `${url} did not respond before the timeout. ${checkServer}`;
  if (why.what === 'large')
    return `The response from ${url} is larger than 8 MiB, so the server at that address is not ${name}. ${check}`;
  if (why.what === 'other') {
    const what = `${why.status}${why.type === '' ? '' : `, ${escapeControlCharacters(why.type)}`}`;
    return `${url} responded, but the response is not from ${name} (${what}). ${proxyErrors.has(why.status) ? checkServer : check}`;
  }
  const code = codeOf(why.cause);
  const { hostname, host, pathname } = new URL(url);
  const behind = pathname === '/' ? '' : pathname;
  const known: readonly (readonly [form: RegExp, text: string])[] = [
    [/^ECONNREFUSED$/, `${url} refused the connection. ${checkServer}`],
    [/^(?:ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, `The host ${hostname} was not found (${url}). ${check}`],
    [
      /^ERR_TLS_CERT_ALTNAME_INVALID$/,
      `The certificate for ${url} was issued for a different host. ${check}`,
    ],
    [/^CERT_HAS_EXPIRED$/, `The certificate for ${url} has expired. Renew it on the server.`],
    [
      /CERT|SIGNED|UNABLE_TO_/,
      `The certificate for ${url} is not trusted (${code}). Set NODE_EXTRA_CA_CERTS to the path of its CA certificate.`,
    ],
    [
      /^(?:EPROTO|ERR_SSL_)/,
      `${url} does not use TLS. If the server uses plain HTTP, set ${urlSetting} to http://${host}${behind}`,
    ],
    [
      /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/,
      `${url} closed the connection before the response was complete. ${checkServer}`,
    ],
    [/^HPE_|HTTP\/1\.1 protocol/, `The response from ${url} is not valid HTTP. ${check}`],
  ];
  const [, text] = known.find(([form]) => form.test(code)) ?? [];
  return text ?? `The connection to ${url} failed (${escapeControlCharacters(code)}). ${checkServer}`;
}

/**
 * Returns Node's error code, which `fetch` puts into `cause`. If the host has several addresses, `cause` contains a
 * list of errors.
 */
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
  return typeof message === 'string' && message !== '' ? message : 'unknown reason';
}
