import { isIP } from 'node:net';
import { unescape as unescaped } from 'node:querystring';
import { looksSecret, type Secret } from '../../../core/compose/secret-lines.ts';
import { phases } from '../../../core/progress/event.ts';
import { outcomes } from '../../../core/progress/outcome.ts';
import { dataWords } from '../../../core/progress/product.ts';
import { errorCodes } from '../../../core/progress/update-error.ts';
import { parseTag } from '../../../core/release/tag.ts';
import { base64Forms, createMatcher, endOf, type Matcher, readingsOf } from './matcher.ts';

/** What a source says of what must not be printed, and of what must be, whatever else it is. */
export interface MaskRules {
  /** Whatever may hold a secret: env files, environments of services. Words, and what is too short, are shown. */
  secrets?: Iterable<Secret>;
  /** Image references, names of the project and of services, paths: a value that lies wholly inside one is shown there. */
  shown?: Iterable<string>;
  /** Host names that messages contain: shown like these, unless a variable whose name looks secret contains one. */
  hosts?: Iterable<string>;
  /** Hidden whatever they are, such as the passwords of registries. */
  hidden?: Iterable<string>;
}

export const stars = '***';
// The scheme's length is bounded: else the expression tries a long run of letters from each of its letters.
// A name of 16 or more characters without a password is a token, as in https://ghp_…@github.com.
const urlCredentials =
  /\b([a-z][a-z0-9+.-]{0,30}:(?:\\{0,3}\/){2})(?:[^\s/?#@:]*:[^\s/?#]*|[^\s/?#@:]{16,})@/gi;

/**
 * The filter that every line of the log goes through (docs/contract.md 6.6): values of 8 or more characters, or of 4 or more where
 * the key looks secret, become `***` in every encoding.
 * The user name and password of any URL are also masked.
 */
export function createMask({
  secrets = [],
  shown = [],
  hosts = [],
  hidden = [],
}: MaskRules): (text: string) => string {
  const given = [...secrets];
  const secretHosts = given.flatMap(({ key, value }) => (looksSecret(key) ? [value.toLowerCase()] : []));
  const shownHosts = [...hosts].filter((host) => !secretHosts.includes(host));
  const shownWhole = new Set([...shown, ...shownHosts].filter((text) => text !== ''));
  const values = new Set<string>();
  for (const { key, value } of given) {
    const isSecret = looksSecret(key);
    const shortest = isSecret ? 4 : 8;
    for (const text of [value, ...value.split('\n'), ...passwordsIn(value)].map((line) => line.trim())) {
      if (text.length < shortest || shownWhole.has(text) || isWord(text)) continue;
      if (isSecret || !isAddress(text)) values.add(text);
    }
  }
  for (const value of hidden) if (value !== '') values.add(value);
  const secretTexts = createMatcher(
    [...values].flatMap((value) => [value, value.toWellFormed(), ...base64Forms(value)]),
  );
  const shownTexts = createMatcher([...shownWhole, ...ownTexts]);

  return (text) => hide(text, secretTexts, shownTexts).replace(urlCredentials, `$1${stars}@`);
}

/** The mask of a run. No rule is forgotten: an old password may still open something. */
export class Mask {
  readonly #secrets = new Map<string, Secret>();
  readonly #texts = { shown: new Set<string>(), hosts: new Set<string>(), hidden: new Set<string>() };
  #sources: (() => MaskRules)[] = [];
  /** Logins in addresses are hidden from the first line on. */
  #mask = createMask({});

  /** The source is asked at the next text: many runs print little. */
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
      if (this.#size > before) this.#mask = createMask({ secrets: this.#secrets.values(), ...this.#texts });
    }
    return this.#mask(text);
  }

  get #size(): number {
    const { shown, hosts, hidden } = this.#texts;
    return this.#secrets.size + shown.size + hosts.size + hidden.size;
  }
}

const passwordInUrl = /\b[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#@:]*):([^\s/?#]{8,})@/gi;

/** A client of a database says its password without the URL that it had it from. A name that is its own is none. */
const passwordsIn = (value: string): string[] =>
  [...value.matchAll(passwordInUrl)].flatMap(([, user = '', password = '']) =>
    password === user ? [] : [unescaped(password)],
  );

/** States of containers and of their health, as the engine reports them. */
const states = 'created,running,paused,restarting,removing,exited,dead,healthy,unhealthy,starting'.split(',');
const words = new Set<string>([...outcomes, ...phases, ...errorCodes, ...states, ...dataWords]);

/** Words that the log is made of, and that the server reads back from it, are no secrets. */
const isWord = (text: string): boolean => parseTag(text).kind !== 'other' || words.has(text);

/** An IP address, also with a port or a prefix length, is no secret. */
const isAddress = (text: string): boolean => isIP(text) !== 0 || isIP(text.replace(/[:/]\d+$/, '')) !== 0;

/**
 * Texts that are shown even if they contain a secret value (docs/contract.md 6.7). If the password were the word update,
 * masking it would hide the outcome `updated` and reveal the password.
 */
const ownTexts = [
  ...words,
  ...'compose,run,logs,ps,image,start,restart,network,volume,pull,commit,login,inspect'
    .split(',')
    .map((command) => `docker ${command}`),
  'svc-updater',
];

/** Hides every secret, unless a shown text contains all of it. Secrets that overlap or follow each other become one `***`. */
function hide(text: string, secrets: Matcher, shown: Matcher): string {
  const readings = readingsOf(text).map((reading) => ({ reading, found: secrets(reading) }));
  if (readings.every(({ found }) => found.length === 0)) return text;
  /** By position, the farthest end of a shown text that begins there or before. */
  const shownUntil = new Int32Array(text.length);
  for (const { reading } of readings) {
    for (const { start, lengths } of shown(reading)) {
      for (const length of lengths) {
        const end = endOf(reading, start, length, text.length);
        if (!isWhole(text, start, end)) continue;
        shownUntil[start] = Math.max(end, at(shownUntil, start));
        break;
      }
    }
  }
  for (let position = 1; position < text.length; position += 1)
    shownUntil[position] = Math.max(at(shownUntil, position), at(shownUntil, position - 1));

  const isHidden = new Uint8Array(text.length);
  for (const { reading, found } of readings) {
    /** By position, how many more characters must be hidden: the rest of a secret goes to the next position. */
    const rest = new Int32Array(text.length + 1);
    for (const { start, lengths } of found) {
      const [longest = 0] = lengths;
      const limit = at(shownUntil, start);
      if (endOf(reading, start, longest, limit) > limit) rest[start] = longest;
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
    else if (position === 0 || isHidden[position - 1] === 0) result += stars;
  }
  return result;
}

const at = (numbers: Int32Array, position: number): number => numbers[position] as number;

/** Not part of a longer word: if a project is named acme, the text acme4711 may still be a secret. */
function isWhole(text: string, start: number, end: number): boolean {
  const isLetter = (char: string | undefined) => char !== undefined && /[A-Za-z0-9]/.test(char);
  const isCut = (at: number) => isLetter(text[at - 1]) && isLetter(text[at]);
  return !isCut(start) && !isCut(end);
}
