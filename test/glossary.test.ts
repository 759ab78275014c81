import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { exportedNames } from './exported-names.ts';

/** Words that exported names and paths of the source must not contain, with the words to use instead. */
const replacements: Readonly<Record<string, string>> = {
  abandoned: 'interrupted',
  answer: 'response (HTTP), result (a function)',
  ask: 'request, fetch; prompt for a question to a person',
  aside: 'helper container',
  blueprint: 'container snapshot',
  boot: 'server process',
  changeover: 'rollout',
  doors: 'context, dependencies',
  down: 'stopped, not started',
  earlier: 'previous run',
  end: 'outcome, result',
  ending: 'outcome, result',
  fault: 'error',
  foreign: 'unrelated',
  home: 'deployment',
  inner: 'private address',
  judge: 'evaluate, classify',
  judgement: 'evaluation',
  kept: 'retained',
  lag: 'stale tag',
  later: 'recovery',
  layers: 'include tree, sources',
  ledger: 'state store',
  login: 'credentials',
  look: 'inspect (engine), poll (repeatedly), observe (the loop)',
  move: 'update of a service or tag',
  moved: 'updated services',
  offer: 'available update',
  offered: 'available',
  others: 'concurrent compose command, unrelated containers',
  patience: 'timeout',
  place: 'deployment, location, directory, position',
  point: 'restore point',
  proof: 'check, verification',
  prove: 'verify, check',
  proven: 'verified',
  refusal: '…Error, FailedResult',
  refuse: 'reject, require',
  refused: 'rejected',
  retag: 'tag update',
  said: 'printed, requested',
  say: 'print, log',
  scratch: 'helper container',
  settle: 'recover',
  shadow: 'overlay directory',
  shape: 'schema, definition',
  spellings: 'encodings',
  stage: 'phase',
  stations: 'upgrade path',
  stepping: 'required intermediate release',
  strangers: 'unmapped owners',
  surroundings: 'environment',
  tell: 'print, log',
  together: 'related',
  told: 'reported, notified',
  tool: 'helper container',
  tools: 'helper container',
  traced: 'source map',
  undone: 'rolled back',
  well: 'healthy',
  word: 'notice, code, keyword, text, token',
  words: 'notice, code, keyword, text, token',
};

/** Names that use one of the words in its right meaning. Patterns match the whole name, or the path without `src/`. */
const allowed: readonly [word: string, names: RegExp, reason: string][] = [
  ['point', /RestorePoint|restorePoint|restore-point/, 'a restore point'],
  ['end', /^(?:EndState|ScriptedEnd)$/, 'exported by the package'],
  ['end', /EndPosition/, 'the end of a range'],
  ['later', /RetryLater/, 'a response with the header Retry-After'],
  ['look', /^lookUp/, 'to look up a value by its key'],
  ['move', /^moveJournalToBackup$/, 'to move a file'],
  ['offer', /^(?:parse)?(?:R|r)ollbackOffer(?:Schema)?$/, 'exported by the package, and a schema of the API'],
  [
    'proof',
    /^(?:feed\/read-proof|requireProofAssets|readProofFiles|ProofOptions)$/,
    'the signature of a release',
  ],
  [
    'refused',
    /^(?:core\/errors\/refused-codes|refusedCodeTable|createUpdateRefusedError)$/,
    'the outcome of a run',
  ],
  ['stage', /UpdateStage$|^stageOf$/, 'a part of the journal, smaller than a phase of the log'],
  ['told', /^ToldRun$/, 'exported by the package, and a schema of the API'],
];

/** Words of a camelCase name or a kebab-case path. */
const wordsOf = (name: string): string[] =>
  (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => word.toLowerCase());

const namesOf = (file: string): string[] => [
  file.replace(/^src\//, '').replace(/\.tsx?$/, ''),
  ...exportedNames(readFileSync(file, 'utf8')),
];

const isAllowed = (name: string, word: string): boolean =>
  allowed.some(([each, names]) => each === word && names.test(name));

const findWrongWords = (name: string): string[] =>
  wordsOf(name).filter((word) => Object.hasOwn(replacements, word) && !isAllowed(name, word));

it('exported names and paths use the words of the glossary', () => {
  const wrong = globSync('src/**/*.ts').flatMap((file) =>
    namesOf(file).flatMap((name) =>
      findWrongWords(name).map((word) => `${file}: ${name}: instead of "${word}": ${replacements[word]}`),
    ),
  );
  expect(wrong).toEqual([]);
});

it('each exception is used, and has a reason', () => {
  const names = globSync('src/**/*.ts').flatMap(namesOf);
  const unused = allowed.filter(
    ([word, pattern, reason]) =>
      reason === '' || !names.some((name) => pattern.test(name) && wordsOf(name).includes(word)),
  );
  expect(unused).toEqual([]);
});

it.each([
  ['blueprintOf', ['blueprint']],
  ['server/place/find-home', ['place', 'home']],
  ['awaitWell', ['well']],
  ['createRestorePointDirectory', []],
  ['pointer', []],
])('finds the wrong words of %s', (name, words) => {
  expect(findWrongWords(name)).toEqual(words);
});
