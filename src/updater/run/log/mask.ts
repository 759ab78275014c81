import { isIP } from 'node:net';
import { unescape as unescaped } from 'node:querystring';
import { isSecretKey, type SecretText } from '../../../core/compose/secrets/secret-lines.ts';
import { errorCodes } from '../../../core/errors/update-error.ts';
import { dataKeywords } from '../../../core/names/product.ts';
import { phases } from '../../../core/progress/event.ts';
import { outcomes } from '../../../core/progress/outcome.ts';
import { parseSemverTag } from '../../../core/release/tag.ts';
import {
  createTextMatcher,
  decodeLine,
  encodeBase64Forms,
  findMatchEndPosition,
  type TextMatcher,
} from './matcher.ts';

/** Texts to hide, and texts to show even if they contain a secret value. */
export interface MaskRules {
  /** Possible secrets, such as environment values. Short values and log keywords are still shown. */
  secrets?: Iterable<SecretText>;
  /** Image references, paths, and names of projects and services. Secret values within these texts are not masked. */
  shown?: Iterable<string>;
  /** Host names in messages. A host name is shown, unless it is the value of a variable with a secret-looking name. */
  hosts?: Iterable<string>;
  /** Texts that are hidden in any case, such as registry passwords. */
  hidden?: Iterable<string>;
}

export const maskedText = '***';
// The length of the scheme is limited, so that long runs of letters are not scanned from each letter. A user name of 16
// or more characters without a password is treated as a token, as in https://ghp_…@github.com.
const urlCredentials =
  /\b([a-z][a-z0-9+.-]{0,30}:(?:\\{0,3}\/){2})(?:[^\s/?#@:]*:[^\s/?#]*|[^\s/?#@:]{16,})@/gi;

/**
 * Creates the filter for every log line (docs/contract.md 6.6). Secrets of 8 or more characters become `***`, in any
 * encoding. If the key suggests a secret, 4 characters are sufficient. Credentials in URLs are always masked.
 */
export function createMaskFilter({
  secrets = [],
  shown = [],
  hosts = [],
  hidden = [],
}: MaskRules): (text: string) => string {
  const given = [...secrets];
  const secretHosts = given.flatMap(({ key, value }) => (isSecretKey(key) ? [value.toLowerCase()] : []));
  const shownHosts = [...hosts].filter((host) => !secretHosts.includes(host));
  const shownWhole = new Set([...shown, ...shownHosts].filter((text) => text !== ''));
  const values = new Set<string>();
  for (const { key, value } of given) {
    const isSecret = isSecretKey(key);
    const shortest = isSecret ? 4 : 8;
    for (const text of [value, ...value.split('\n'), ...passwordsIn(value)].map((line) => line.trim())) {
      if (text.length < shortest || shownWhole.has(text) || isLogKeyword(text)) continue;
      if (isSecret || !isIpAddress(text)) values.add(text);
    }
  }
  for (const value of hidden) if (value !== '') values.add(value);
  const secretTexts = createTextMatcher(
    [...values].flatMap((value) => [value, value.toWellFormed(), ...encodeBase64Forms(value)]),
  );
  // Most lines contain no secret, and many runs have no other lines.
  let matcher: TextMatcher | undefined;
  const shownTexts: TextMatcher = (line) => {
    matcher ??= createTextMatcher([...shownWhole, ...ownTexts]);
    return matcher(line);
  };

  return (text) => hideSecrets(text, secretTexts, shownTexts).replace(urlCredentials, `$1${maskedText}@`);
}

/** Rules are never removed, because an old password may still be valid. */
export class Mask {
  readonly #secrets = new Map<string, SecretText>();
  readonly #texts = { shown: new Set<string>(), hosts: new Set<string>(), hidden: new Set<string>() };
  #sources: (() => MaskRules)[] = [];
  /** Even without rules, this masks credentials in URLs. */
  #mask = createMaskFilter({});

  /** The source is called only when the next text is masked, because many runs log little and do not need its rules. */
  add(source: () => MaskRules): void {
    this.#sources.push(source);
  }

  apply(text: string): string {
    if (this.#sources.length > 0) {
      const before = this.#size;
      for (const source of this.#sources.splice(0)) {
        const { secrets = [], ...texts } = source();
        for (const secret of secrets) this.#secrets.set(`${secret.key}\n${secret.value}`, secret);
        for (const kind of ['shown', 'hosts', 'hidden'] as const)
          for (const one of texts[kind] ?? []) this.#texts[kind].add(one);
      }
      if (this.#size > before)
        this.#mask = createMaskFilter({ secrets: this.#secrets.values(), ...this.#texts });
    }
    return this.#mask(text);
  }

  get #size(): number {
    const { shown, hosts, hidden } = this.#texts;
    return this.#secrets.size + shown.size + hosts.size + hidden.size;
  }
}

const passwordInUrl = /\b[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#@:]*):([^\s/?#]{8,})@/gi;

/**
 * Finds passwords in URLs, because a database client may print only the password. A password that equals the user name
 * is not secret.
 */
const passwordsIn = (value: string): string[] =>
  [...value.matchAll(passwordInUrl)].flatMap(([, user = '', password = '']) =>
    password === user ? [] : [unescaped(password)],
  );

/** States of containers and health checks that the engine reports. They are never masked. */
const states = 'created,running,paused,restarting,removing,exited,dead,healthy,unhealthy,starting'.split(',');
const logKeywords = new Set<string>([...outcomes, ...phases, ...errorCodes, ...states, ...dataKeywords]);

/** Accepts version tags and log keywords. They are not secret, and the server must be able to read them in the log. */
const isLogKeyword = (text: string): boolean =>
  parseSemverTag(text).kind !== 'other' || logKeywords.has(text);

/** Accepts an IP address, which is not a secret, with or without a port or prefix length. */
const isIpAddress = (text: string): boolean => isIP(text) !== 0 || isIP(text.replace(/[:/]\d+$/, '')) !== 0;

/**
 * Texts that are shown even if they contain a secret value (docs/contract.md 6.7). If `updated` were masked because of
 * the password `update`, the log would reveal the password.
 */
const ownTexts = [
  ...logKeywords,
  ...'compose,run,logs,ps,image,start,restart,network,volume,pull,commit,login,inspect'
    .split(',')
    .map((command) => `docker ${command}`),
  'svc-updater',
];

/** Hides each secret that is not entirely within a shown text. Overlapping or adjacent secrets become one `***`. */
function hideSecrets(text: string, secrets: TextMatcher, shown: TextMatcher): string {
  const readings = decodeLine(text).map((reading) => ({ reading, found: secrets(reading) }));
  if (readings.every(({ found }) => found.length === 0)) return text;
  /** For each position, the farthest end of any text in `shown` that begins there or earlier. */
  const shownUntil = new Int32Array(text.length);
  for (const { reading } of readings) {
    for (const { start, lengths } of shown(reading)) {
      for (const length of lengths) {
        const end = findMatchEndPosition(reading, start, length, text.length);
        if (!isWholeWord(text, start, end)) continue;
        shownUntil[start] = Math.max(end, at(shownUntil, start));
        break;
      }
    }
  }
  for (let position = 1; position < text.length; position += 1)
    shownUntil[position] = Math.max(at(shownUntil, position), at(shownUntil, position - 1));

  const isHidden = new Uint8Array(text.length);
  for (const { reading, found } of readings) {
    /** For each position, the number of characters that must be hidden from that position on. */
    const rest = new Int32Array(text.length + 1);
    for (const { start, lengths } of found) {
      const [longest = 0] = lengths;
      const limit = at(shownUntil, start);
      if (findMatchEndPosition(reading, start, longest, limit) > limit) rest[start] = longest;
    }
    for (let position = 0; position < text.length; position += 1) {
      if (at(rest, position) <= 0) continue;
      const next = reading.after(position);
      isHidden.fill(1, position, next);
      rest[next] = Math.max(at(rest, next), at(rest, position) - reading.charactersAt(position).length);
    }
  }
  let result = '';
  for (let position = 0; position < text.length; position += 1) {
    if (isHidden[position] === 0) result += text.charAt(position);
    else if (position === 0 || isHidden[position - 1] === 0) result += maskedText;
  }
  return result;
}

const at = (numbers: Int32Array, position: number): number => numbers[position] as number;

/**
 * True if a match is not part of a longer word. Even if the project is named acme, the text acme4711 may be a secret.
 */
function isWholeWord(text: string, start: number, end: number): boolean {
  const isLetter = (char: string | undefined) => char !== undefined && /[A-Za-z0-9]/.test(char);
  const isCut = (at: number) => isLetter(text[at - 1]) && isLetter(text[at]);
  return !isCut(start) && !isCut(end);
}
