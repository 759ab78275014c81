import assert from 'node:assert/strict';
import fc from 'fast-check';
import { getParsedComposeFile } from '../../src/core/compose/compose-file.ts';
import { applyEditsToDraft, createDraft } from '../../src/core/compose/draft.ts';
import type { TextEdit } from '../../src/core/compose/edit.ts';
import { isPinShared, requirePin } from '../../src/core/compose/pins/find-pin.ts';
import type { Pin } from '../../src/core/compose/pins/pin.ts';
import { planPinEdits, updatedReferenceOf } from '../../src/core/compose/pins/plan-pin-edits.ts';
import { listProjectFiles, type ProjectFiles } from '../../src/core/compose/project-files.ts';
import {
  findProjectSecrets,
  listPossibleSecretFiles,
  listUnmaskedTexts,
} from '../../src/core/compose/secrets/project-secrets.ts';
import { UpdateError } from '../../src/core/errors/update-error.ts';
import { movedTag, plannedTarget } from '../core/compose/pins/updated-tag.ts';
import { expectTraced } from './env-file.ts';
import {
  bump,
  digestOf,
  type Layout,
  layout,
  mutatedLayout,
  project,
  version,
  type Write,
} from './layouts.ts';
import { attempt, type Target } from './target.ts';

// The pins of a project: found, edited, and read again.

/**
 * In all layouts, an edit changes only the version. A repeated edit changes nothing, and the reverse edit restores the
 * files.
 */
export const pins: Target<[write: Write, from: string, to: string]> = {
  name: 'pins',
  share: 100,
  cases: fc.tuple(layout, version, version),
  check([write, from, to]) {
    const there = bump(write(from), to);
    assert.deepEqual(there, write(to));
    assert.deepEqual(bump(there, to), there);
    assert.deepEqual(bump(there, from), write(from));
  },
};

const target = plannedTarget('v99.9.9');
const isRefusal = (error: Error) => error instanceof UpdateError;

/** The pin of a service in the files; null if it is rejected. */
const pinIn = (files: ProjectFiles, service: string) => attempt(() => requirePin(files, service), isRefusal);

/** The edits of both pins, and the resulting references of the services; null if they are rejected. */
function edited(
  files: ProjectFiles,
  found: readonly Pin[],
): { edits: TextEdit[]; runs: Map<string, string> } | null {
  const moves = found.map((pin) => ({ pin, tag: movedTag(pin.tag, target), digest: digestOf('99.9.9') }));
  const edits = attempt(() => planPinEdits(files, moves), isRefusal);
  return edits && { edits, runs: new Map(moves.map((move) => [move.pin.service, updatedReferenceOf(move)])) };
}

/** Files edited by a user are parsed or rejected, and an edit changes only the requested pin. */
export const composeFiles: Target<Layout> = {
  name: 'compose-files',
  share: 60,
  cases: mutatedLayout,
  check(texts) {
    const files = project(texts);
    findProjectSecrets(files);
    listPossibleSecretFiles(files);
    listUnmaskedTexts(files);
    const found = ['app', 'worker'].flatMap((service) => pinIn(files, service) ?? []);
    for (const { resolved, referenceText } of found) {
      assert.equal(resolved.text, referenceText);
      expectTraced(
        resolved,
        new Map(listProjectFiles(files).map(({ path, text }) => [path, text.replace(/\r(?!\n)/g, '\n')])),
      );
    }
    const change = edited(files, found);
    if (change === null) return;
    const after = applyEditsToDraft(createDraft(files), change.edits).files;
    const services =
      attempt(
        () => files.composeFiles.flatMap((file) => getParsedComposeFile(file).serviceNames),
        isRefusal,
      ) ?? [];
    for (const service of services) {
      const isMoved = change.runs.has(service);
      if (!isMoved && isPinShared(files, service, found)) continue;
      const before = pinIn(files, service)?.referenceText;
      // Values that use the same variable change, too; the plan of an update checks that.
      const runs = pinIn(after, service)?.referenceText;
      if (isMoved) assert.equal(runs, change.runs.get(service));
      else if (before !== runs) assert.match(JSON.stringify(texts), /\$/);
    }
    const again = found.map(({ service }) => requirePin(after, service));
    assert.deepEqual(edited(after, again)?.edits, []);
  },
};
