import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  applyEditsToDraft,
  createDraft,
  describeEdit,
  type ProjectDraft,
  setDraftFileText,
  setDraftVariable,
} from '../../../src/core/compose/draft.ts';
import type { TextEdit } from '../../../src/core/compose/edit.ts';
import type { ProjectFileListKey, ProjectFiles } from '../../../src/core/compose/project-files.ts';
import { at, composeText, projectFiles } from '../../build-plan.ts';

const compose = composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/svc-worker:v1.0.1' });
const files = projectFiles({ 'compose.yaml': compose, '.env': 'A=1\nV=v1.0.0\n' });

/** Changes the first occurrence of a text in a file. */
function edit(name: string, before: string, after: string, from: ProjectFiles = files): TextEdit {
  const text = [...from.composeFiles, ...from.envFiles].find(({ path }) => path === at(name))?.text ?? '';
  const start = text.indexOf(before);
  const line = text.slice(0, start).split('\n').length;
  return { file: at(name), line, start, end: start + before.length, before, after };
}

/** The texts in each list of files, by file name. */
const texts = ({ files: { composeFiles, envFiles, linkedFiles = [] } }: ProjectDraft) =>
  [composeFiles, envFiles, linkedFiles].map((list) =>
    Object.fromEntries(list.map(({ path, text }) => [relative(at(''), path), text])),
  );

describe('applyEditsToDraft', () => {
  it('returns one change per file that combines all edits of the file', () => {
    const edits = [
      edit('compose.yaml', 'v1.0.0', 'v1.1.0'),
      edit('.env', 'v1.0.0', 'v1.1.0'),
      edit('compose.yaml', 'v1.0.1', 'v1.1.1'),
    ];
    const draft = applyEditsToDraft(createDraft(files), edits);
    const after = composeText({ app: 'acme/svc:v1.1.0', worker: 'acme/svc-worker:v1.1.1' });
    const description = 'compose.yaml line 3: v1.0.0 → v1.1.0; compose.yaml line 5: v1.0.1 → v1.1.1';
    expect(draft.changes).toEqual([
      { path: at('compose.yaml'), before: compose, after, description },
      {
        path: at('.env'),
        before: 'A=1\nV=v1.0.0\n',
        after: 'A=1\nV=v1.1.0\n',
        description: '.env line 2: v1.0.0 → v1.1.0',
      },
    ]);
    expect(texts(draft)).toEqual([{ 'compose.yaml': after }, { '.env': 'A=1\nV=v1.1.0\n' }, {}]);
  });

  it('creates an env file that has no previous text', () => {
    const draft = applyEditsToDraft(createDraft(projectFiles({ 'compose.yaml': compose })), [
      { file: at('.env'), line: 1, start: 0, end: 0, before: '', after: 'V=v1\n' },
    ]);
    const description = '.env line 1: added V=v1';
    expect(draft.changes).toEqual([{ path: at('.env'), before: null, after: 'V=v1\n', description }]);
    expect(texts(draft)).toEqual([{ 'compose.yaml': compose }, { '.env': 'V=v1\n' }, {}]);
  });

  it('changes nothing without edits, and rejects an edit that was planned for another text', () => {
    const draft = createDraft(files);
    expect(applyEditsToDraft(draft, [])).toBe(draft);
    expect(() => applyEditsToDraft(draft, [{ ...edit('.env', 'v1.0.0', 'v2'), before: 'v0' }])).toThrow(
      '.env line 2 was changed after the update was planned',
    );
  });
});

describe('setDraftFileText', () => {
  it.each<[string, string, ProjectFileListKey | undefined, number, string | null]>([
    ['a compose file stays one', 'compose.yaml', 'linkedFiles', 0, compose],
    ['a new file is an env file', 'more.env', undefined, 1, null],
    ['a new file goes where it is said to', 'compose.cluster.yaml', 'linkedFiles', 2, null],
  ])('puts a file into the right list: %s', (_, name, list, place, before) => {
    const draft = setDraftFileText(createDraft(files), { path: at(name), text: 'new' }, 'why', list);
    expect(texts(draft).map((found) => found[name])[place]).toBe('new');
    expect(draft.changes).toEqual([{ path: at(name), before, after: 'new', description: 'why' }]);
  });

  it('records that a new file did not exist even if it is written twice', () => {
    const first = setDraftFileText(createDraft(files), { path: at('new.env'), text: 'A=1' }, 'one');
    expect(setDraftFileText(first, { path: at('new.env'), text: 'A=2' }, 'two').changes).toEqual([
      { path: at('new.env'), before: null, after: 'A=2', description: 'one; two' },
    ]);
  });
});

describe('setDraftVariable', () => {
  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    [
      'in the last file that sets it',
      { '.env': 'V=v0', 'b.env': 'V=v1', 'c.env': 'A=1' },
      { 'b.env': 'V=v2' },
      'b.env line 1: v1 → v2',
    ],
    ['in a new file, where there is none', {}, { '.env': 'V=v2\n' }, '.env line 1: added V=v2'],
  ])('sets the variable %s', (_, before, after, description) => {
    const draft = setDraftVariable(
      createDraft(projectFiles({ 'compose.yaml': compose, ...before })),
      'V',
      'v2',
    );
    const [[name, text] = ['', '']] = Object.entries(after);
    expect(draft.changes).toEqual([
      { path: at(name), before: before[name] ?? null, after: text, description },
    ]);
    expect(texts(draft)[1]).toEqual({ ...before, ...after });
  });
});

it.each([
  ['compose.yaml', 'v1', 'v2', 'compose.yaml line 7: v1 → v2'],
  ['parts/worker.yaml', '', ':v2', 'parts/worker.yaml line 7: added :v2'],
  ['../shared.env', '', '\r\nV=v2\r\n', 'shared.env line 7: added V=v2'],
])('describeEdit describes an edit of %s from %j to %j in one line', (name, before, after, expected) => {
  const change = { file: at(name), line: 7, start: 0, end: before.length, before, after };
  expect(describeEdit(files, change)).toBe(expected);
});

it('describeEdit shows the description of an edit instead of its text', () => {
  const change = { file: at('.env'), line: 7, start: 0, end: 3, before: 'old', after: 'new' };
  expect(describeEdit(files, { ...change, words: 'set PIN' })).toBe('.env line 7: set PIN');
});
