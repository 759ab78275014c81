import { isIP } from 'node:net';
import { isSecretKey } from '../../src/core/compose/secrets/secret-lines.ts';
import { errorCodes } from '../../src/core/errors/update-error.ts';
import { dataKeywords } from '../../src/core/names/product.ts';
import { phases } from '../../src/core/progress/event.ts';
import { outcomes } from '../../src/core/progress/outcome.ts';
import { parseSemverTag } from '../../src/core/release/tag.ts';
import type { MaskRules } from '../../src/updater/run/log/mask.ts';
import { decodeLine, encodeBase64Forms } from '../../src/updater/run/log/matcher.ts';

// The mask by its definition (docs/contract.md 6.6): it compares each text with each position of a line.

type Reading = ReturnType<typeof decodeLine>[number];

const states = 'created,running,paused,restarting,removing,exited,dead,healthy,unhealthy,starting'.split(',');
const keywords = new Set<string>([...outcomes, ...phases, ...errorCodes, ...states, ...dataKeywords]);
const isKeyword = (text: string): boolean => keywords.has(text) || parseSemverTag(text).kind !== 'other';
const isAddress = (text: string): boolean => isIP(text) !== 0 || isIP(text.replace(/[:/]\d+$/, '')) !== 0;

/** The filter for secrets whose values contain no URL, and for lines without credentials in URLs. */
export function createReferenceMask(rules: Required<MaskRules>): (line: string) => string {
  const secrets = [...rules.secrets];
  const isSecretHost = (host: string) =>
    secrets.some(({ key, value }) => isSecretKey(key) && value.toLowerCase() === host);
  const shown = [...rules.shown, ...[...rules.hosts].filter((host) => !isSecretHost(host)), ...keywords];
  const values = secrets.flatMap(({ key, value }) => {
    const isSecret = isSecretKey(key);
    return [value, ...value.split('\n')]
      .map((text) => text.trim())
      .filter((text) => text.length >= (isSecret ? 4 : 8) && !shown.includes(text) && !isKeyword(text))
      .filter((text) => isSecret || !isAddress(text));
  });
  const hidden = [...values, ...rules.hidden].flatMap((value) => [
    ...[value, value.toWellFormed()],
    ...encodeBase64Forms(value),
  ]);
  return (line) => hide(line, hidden, shown);
}

/** Hides each text of `hidden` that is not within a whole word of `shown`. */
function hide(line: string, hidden: readonly string[], shown: readonly string[]): string {
  const readings = decodeLine(line);
  const find = (texts: readonly string[]) => readings.flatMap((reading) => findPlaces(texts, reading));
  const found = find(hidden);
  const exceptions = (found.length > 0 ? find(shown) : []).filter(
    ([start, end]) => !isCut(line, start) && !isCut(line, end),
  );
  const places = found.filter(([start, end]) => !exceptions.some(([from, to]) => from <= start && end <= to));
  const isHidden = (at: number) => places.some(([start, end]) => start <= at && at < end);
  return line
    .split('')
    .map((character, at) => (!isHidden(at) ? character : isHidden(at - 1) ? '' : '***'))
    .join('');
}

/** Every place of the texts in a line, from its first position to the position after it. */
function findPlaces(
  texts: readonly string[],
  { length, charactersAt, after }: Reading,
): [start: number, end: number][] {
  const places: [number, number][] = [];
  for (let start = 0; start < length; start += 1) {
    const ends = [start];
    let decoded = '';
    for (let end = start; end < length; ends.push(end)) {
      decoded += charactersAt(end);
      end = after(end);
      while (ends.length < decoded.length) ends.push(end);
    }
    for (const text of texts)
      if (text !== '' && decoded.startsWith(text)) places.push([start, ends[text.length] as number]);
  }
  return places;
}

const isCut = (line: string, at: number): boolean =>
  [line[at - 1], line[at]].every((character) => /^[A-Za-z0-9]$/.test(character ?? ''));
