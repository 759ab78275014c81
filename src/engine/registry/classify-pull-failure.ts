import type { ErrorCode } from '../../core/errors/update-error.ts';

/**
 * When to retry a failed pull. `once`: only the first retry can help. `patiently`: the registry limits requests.
 * `often`: the failure is temporary.
 */
export type PullRetryPolicy = 'never' | 'once' | 'patiently' | 'often';

interface PullFailure {
  code: Extract<ErrorCode, `pull-${string}`>;
  retryPolicy: PullRetryPolicy;
  /** Cause of the failure. Messages print it after `repository:tag: `. */
  sentence: string;
  /** Next step for the user, if the general advice for the code does not fit. */
  advice?: string;
}

type Row = readonly [RegExp, PullFailure['code'], PullRetryPolicy, sentence: string, advice?: string];

/** Matches a status code only if the text calls it a status, because a size or a port may be the same number. */
const status = (codes: string): string => String.raw`(?:status(?: code)?:?|\bhttp|…"?:) (?:${codes})\b`;
const refused = 'the registry denied access (wrong or missing credentials)';

/** Causes of failed pulls, with patterns for the error messages. The first match decides. */
const rows: readonly Row[] = [
  [
    /(cannot|failed to) connect to the docker (daemon|api)|error during connect/i,
    'pull-unreachable',
    'often',
    'the engine stopped responding',
  ],
  [
    /x509|certificate|http response to https client/i,
    'pull-unreachable',
    'never',
    'the certificate of the registry is not trusted',
  ],
  [/no space left on device/i, 'pull-space', 'never', 'the disk of the engine is full'],
  [
    /no matching manifest|does not match the specified platform|no match for platform/i,
    'pull-platform',
    'never',
    'the release has no image for this platform',
  ],
  [
    new RegExp(`too[ _]?many[ _]?requests|rate.?limit|pull limit|${status('429')}`, 'i'),
    'pull-unreachable',
    'patiently',
    'the registry limits requests (429, too many requests)',
  ],
  [
    /verification failed|content digest .{1,500} mismatch|failed to verify|unexpected commit digest/i,
    'pull-failed',
    'once',
    'the registry sent data that does not match its digest',
    'Ask the publisher to push the release again, or check the registry and any cache in front of it. Then run {command} again.',
  ],
  [
    /could not fetch content descriptor|content at … not found|unknown blob|blob unknown/i,
    'pull-failed',
    'once',
    'the registry has the tag, but some of its data is missing',
    'Ask the publisher to push the release again, then run {command} again.',
  ],
  [
    /manifest unknown|manifest for .{1,500} not found|name unknown|repository .{1,500} not found|: not found|not found: manifest/i,
    'pull-unknown',
    'never',
    'the registry has no such tag (manifest unknown)',
  ],
  [
    new RegExp(
      `unauthorized|authentication required|no basic auth credentials|access denied|access to the resource is denied|\\bdenied\\b|\\bforbidden\\b|not (?:allowed|permitted|authorized)|${status('401|403')}`,
      'i',
    ),
    'pull-denied',
    'never',
    refused,
  ],
  [/invalid reference format/i, 'pull-unknown', 'never', 'the image reference is invalid'],
  [
    /connection refused|no such host|network is unreachable|no route to host|server misbehaving|temporary failure in name resolution/i,
    'pull-unreachable',
    'often',
    'the registry cannot be reached',
  ],
  [
    /timeout|timed out|deadline exceeded|connection reset|unexpected eof|\beof\b|broken pipe|tls handshake|short read/i,
    'pull-unreachable',
    'often',
    'the connection to the registry was interrupted',
  ],
  [
    new RegExp(`internal server error|bad gateway|service unavailable|${status('5\\d\\d')}`, 'i'),
    'pull-unreachable',
    'often',
    'the registry reported a server error (5xx)',
  ],
  // Unlike an error in the response stream, an error response quotes the registry only if the registry returned 403.
  [/error response from daemon: error from registry: /i, 'pull-denied', 'never', refused],
  [/error from registry: /i, 'pull-failed', 'often', 'the registry returned an error'],
];

/**
 * Finds the cause of a failed pull in compose's output or the engine's response.
 * @param references - references of the pulled images. Their names are ignored, because they may contain any word or
 * number.
 * @param status - HTTP status of the engine's response; null if there was none
 */
export function classifyPullFailure(
  text: string,
  references: Iterable<string> = [],
  status: number | null = null,
): PullFailure {
  const given = removeNamesAndNumbers(text, references);
  for (const [pattern, code, again, sentence, advice] of rows) {
    if (!pattern.test(status === 401 || status === 403 ? `Error response from daemon: ${given}` : given))
      continue;
    return { code, retryPolicy: again, sentence, ...(advice && { advice }) };
  }
  return { code: 'pull-failed', retryPolicy: 'never', sentence: 'the pull failed' };
}

/**
 * Removes names, addresses, digests and sizes, because they do not describe the failure. Examples are
 * `registry.example:403` and `not-found.example`.
 */
function removeNamesAndNumbers(text: string, references: Iterable<string>): string {
  const names = [...references].flatMap((reference) => {
    const repository = reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
    const host = repository.split('/')[0] ?? '';
    return [
      reference,
      ...(repository.includes('/') ? [repository] : []),
      ...(/[.:]/.test(host) ? [host] : []),
    ];
  });
  const longestFirst = names.filter((name) => name !== '').toSorted((a, b) => b.length - a.length);
  return longestFirst
    .reduce((rest, name) => rest.replaceAll(name, '…'), text)
    .replaceAll(/https?:\/\/[^\s"']*[^\s"':,]/g, '…')
    .replaceAll(/\b(ref|reference) \\?"[^"]*"/g, '$1 …')
    .replaceAll(/\b(dial|read|write) (tcp|udp|unix)\d? \S+(?=:)/g, '$1 $2 …')
    .replaceAll(/\blookup \S+( on \S+(?=:))?/g, 'lookup …')
    .replaceAll(/sha256:[0-9a-f]+/g, '…')
    .replaceAll(/\b\d+ bytes?( but got \d+)?/g, '… bytes');
}
