import { endingOf } from '../judge/log.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import type { Product } from './product.ts';

// Texts that the owner of another product must, and must not, read.

/**
 * Checks that every message uses the product's own words: no mention of svc or of services that the product does not
 * have, versions with or without `v` as in its releases, and no message more than twice.
 */
export function judgeOwnWords(product: Product, { log, lines }: UpdateResult): string[] {
  const has = (name: string) => name in product.services;
  const foreign: [RegExp, string][] = [
    [/(?<![\w./-])svc(?![\w-])|\bSVC_[A-Z]+/, 'says svc'],
    ...(has('worker') ? [] : [[/(?<![\w-])workers?(?![\w-])/, 'speaks of a worker'] as [RegExp, string]]),
    ...formsOf(product),
  ];
  const sentences = lines.map(({ message }) => message);
  const said = foreign.flatMap(([form, what]) => {
    const sentence = sentences.find((each) => form.test(each));
    return sentence === undefined ? [] : [`${what}: "${sentence.slice(0, 200)}"`];
  });
  // Indented lines are the output of a container, and may be repeated.
  const loud = lines
    .filter(({ level, message }) => level !== 'info' && !message.startsWith('  '))
    .map(({ message }) => message);
  const repeated = [...new Set(loud)].filter((each) => loud.filter((other) => other === each).length > 2);
  return [
    ...said,
    ...repeated.map(
      (message) => `says it ${loud.filter((each) => each === message).length} times: "${message}"`,
    ),
    ...(/^ +at \S+ \(|node:internal/m.test(log) ? ['has a stack trace'] : []),
  ];
}

/** Patterns of versions that are not written as the product writes them. */
function formsOf({ releases }: Product): [RegExp, string][] {
  const tags = Object.values(releases).map(({ tag }) => tag);
  if (!tags.some((tag) => tag.startsWith('v'))) return [[/(?<![\w.-])v\d+\.\d/, 'writes a v']];
  const plain = tags.map((tag) => tag.slice(1).replace(/-.*$/, '').replaceAll('.', '\\.')).join('|');
  return [[new RegExp(`(?<![\\w.:-])(?:${plain})(?![\\w.])`), 'leaves out the v']];
}

/** Checks the outcome of a run by its last line, and the content of that line. */
export function judgeEnd(
  result: UpdateResult,
  outcomes: readonly string[],
  says: readonly (string | RegExp)[] = [],
): string[] {
  const last = result.lines.at(-1)?.message ?? result.log.trim().split('\n').at(-1) ?? '';
  const outcome = endingOf(result) ?? last.split(/[ :]/)[0] ?? 'nothing';
  const bad = /^(?:refused|failed|broken) \(/.test(last);
  return [
    ...(outcomes.includes(outcome) ? [] : [`ended ${outcome}, not ${outcomes.join(' or ')}: "${last}"`]),
    ...(bad && !/\. Next: \S/.test(last) ? [`the last line has no advice: "${last}"`] : []),
    ...says
      .filter((each) => (typeof each === 'string' ? !last.includes(each) : !each.test(last)))
      .map((each) => `the last line does not say ${each}: "${last}"`),
  ];
}

export const judgeSays = ({ log }: UpdateResult, texts: readonly string[]): string[] =>
  texts.filter((text) => !log.includes(text)).map((text) => `the log does not name ${text}`);
