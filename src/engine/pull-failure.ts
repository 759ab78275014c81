import type { ErrorCode } from '../progress/update-error.ts';

export interface PullFailure {
  code: Extract<ErrorCode, `pull-${string}`>;
  /** It may pass: worth another try. */
  transient: boolean;
  /** What it comes to, after "repository:tag: ". */
  sentence: string;
}

type Row = readonly [RegExp, PullFailure['code'], transient: boolean, sentence: string];

/** In the words of the engine, containerd and registries; the first row that fits decides. */
const rows: readonly Row[] = [
  [
    /cannot connect to the docker (daemon|api)|error during connect/i,
    'pull-unreachable',
    true,
    'the engine went away',
  ],
  [
    /x509|certificate|http response to https client/i,
    'pull-unreachable',
    false,
    "the registry's certificate is not accepted",
  ],
  [/no space left on device/i, 'pull-space', false, 'no space left on the disk of the engine'],
  [
    /no matching manifest|does not match the specified platform|no match for platform/i,
    'pull-platform',
    false,
    'the release has no image for this platform',
  ],
  [
    /toomanyrequests|too many requests|\b429\b/i,
    'pull-unreachable',
    true,
    'the registry asks for patience (429, too many requests)',
  ],
  [
    /manifest unknown|manifest for .* not found|name unknown|repository .* not found|: not found|not found: manifest/i,
    'pull-unknown',
    false,
    'the registry has no such tag (manifest unknown)',
  ],
  [
    /unauthorized|authentication required|no basic auth credentials|access denied|access to the resource is denied|\bdenied\b|forbidden|\b40[13]\b/i,
    'pull-denied',
    false,
    'the registry refuses access (wrong or missing credentials)',
  ],
  [/invalid reference format/i, 'pull-unknown', false, 'the image reference is not valid'],
  [
    /verification failed|content digest .* mismatch|failed to verify/i,
    'pull-failed',
    true,
    'the registry sent data with a wrong digest',
  ],
  [
    /connection refused|no such host|network is unreachable|no route to host|server misbehaving|temporary failure in name resolution/i,
    'pull-unreachable',
    true,
    'the registry cannot be reached',
  ],
  [
    /timeout|timed out|deadline exceeded|connection reset|unexpected eof|\beof\b|broken pipe|tls handshake/i,
    'pull-unreachable',
    true,
    'the connection to the registry broke off',
  ],
  [
    /unexpected http status: 5\d\d|status code 5\d\d|\b50[0-4]\b|internal server error|bad gateway|service unavailable|unexpected status.* 5\d\d/i,
    'pull-unreachable',
    true,
    'the registry fails (5xx)',
  ],
];

/** What a failed `docker compose pull` comes to, from the text it printed. */
export function classifyPullFailure(text: string): PullFailure {
  for (const [pattern, code, transient, sentence] of rows) {
    if (pattern.test(text)) return { code, transient, sentence };
  }
  return { code: 'pull-failed', transient: false, sentence: 'the pull failed' };
}
