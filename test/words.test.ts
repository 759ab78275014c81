import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// Phrases that readers had to read twice. CONTRIBUTING.md lists the words to use instead.

const turns: readonly RegExp[] = [
  /\b(?:somebody|nobody|whoever|anew|meanwhile)\b/i,
  /\bmend(?:s|ed|ing)?\b/i,
  /\b(?:goes?|going|went|puts?|putting|brought|brings?) back\b/i,
  /\bway back\b/i,
  /\bby (?:itself|themselves)\b/i,
  /\b(?:is|are|was|were) not well\b/i,
  /\bas mounted\b/i,
  /\ball the way\b/i,
  /\bcut short\b/i,
  /\bend(?:s|ed)? (?:well|badly)\b/i,
  /\bby hand\b/i,
  /\b(?:left|stays?|stayed) behind\b/i,
  /\b(?:goes|went) on\b/i,
  /\bfetched ahead\b/i,
  /\bleads? to (?:v|another|the release|no release)/i,
  /\b(?:says|said) (?:so|nothing|what|which|who|why|where|whether)\b/i,
  /\bwhat (?:runs|is stuck|is kept)\b/i,
];

/** Exceptions, at most 20: phrases that are correct in their context. */
const allowed: readonly string[] = [
  // A constraint that no node of a Swarm meets.
  'src/updater/swarm/services/specs.ts: node.id==nobody',
];

/** Strings in the code; comments are not checked. */
function stringsOf(text: string): string[] {
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return [...code.matchAll(/(['"`])((?:(?!\1)[^\\]|\\.)*?)\1/gs)].flatMap(([, , inside = '']) =>
    inside.split('\n'),
  );
}

/** Lines of a document without code blocks. */
const linesOf = (text: string): string[] => text.replaceAll(/^```.*?^```/gms, '').split('\n');

const sources = [
  ...globSync('src/**/*.ts').map((file) => ({ file, lines: stringsOf(readFileSync(file, 'utf8')) })),
  ...globSync(['*.md', 'docs/**/*.md']).map((file) => ({ file, lines: linesOf(readFileSync(file, 'utf8')) })),
];

it.each(sources.map(({ file, lines }) => [file, lines] as const))(
  '%s contains no flagged phrase',
  (file, lines) => {
    const found = lines.filter((line) => turns.some((turn) => turn.test(line)));
    expect(found.filter((line) => !allowed.some((part) => `${file}: ${line}`.includes(part)))).toEqual([]);
  },
);

it('allows at most twenty exceptions', () => {
  expect(allowed.length).toBeLessThanOrEqual(20);
});
