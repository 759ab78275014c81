import { AssertionError } from 'node:assert';
import { difference } from '../../rig/difference.ts';
import type { ContainerState, FileState, Snapshot } from '../../rig/snapshot.ts';

/** The exact new text, or how it follows from the old one; null for a file that is gone. */
type NewText = string | null | ((before: string) => string);

export interface ExpectedUpdate {
  /** What app and worker run afterwards, such as `v1.1.0`. */
  version: string;
  /** Every file that differs, by path in the compose directory. */
  changed?: Record<string, NewText>;
  /** The mode of files that are new, in octal. Default 600. */
  newMode?: string;
  /** Services that run the new image. Default app and worker; the first is the app. */
  moved?: string[];
  /** Services whose containers are new. Default those that are moved. */
  recreated?: string[];
}

/**
 * A good update: app and worker answer with the new version from new containers of one new image, as many as before,
 * well and in the same state; every other container is the very same run; the data is there; the compose directory
 * differs in exactly the expected bytes, with modes and owners kept; nothing is left over.
 */
export function expectUpdated(before: Snapshot, after: Snapshot, expected: ExpectedUpdate): void {
  const moved = expected.moved ?? ['app', 'worker'];
  const recreated = new Set(expected.recreated ?? moved);
  const was = Object.entries(before.containers);
  const images = new Set(
    Object.values(after.containers).flatMap(({ service, image }) => (moved.includes(service) ? [image] : [])),
  );
  compare('the update', after, {
    version: expected.version,
    workerVersion: before.workerVersion === null ? null : expected.version,
    kept: before.kept,
    strays: [],
    files: changeFiles(before.files, expected),
    containers: Object.fromEntries(
      was.map(([name, state]) => [
        name,
        recreated.has(state.service) ? successor(state, after.containers[name]) : state,
      ]),
    ),
  });
  const oldImages = was.filter(([, { service }]) => service === moved[0]).map(([, { image }]) => image);
  compare(
    'the images of app and worker',
    { count: images.size, old: oldImages.filter((image) => images.has(image)) },
    {
      count: 1,
      old: [],
    },
  );
}

/** A refusal, or a failure before recreate: every byte and every container is as it was. */
export function expectUntouched(before: Snapshot, after: Snapshot): void {
  compare('an instance that must not change', after, { ...before, strays: [] });
}

/** A failure that was put back: files and other containers as they were, app and worker well on the old image. */
export function expectBroughtBack(before: Snapshot, after: Snapshot): void {
  const containers = Object.entries(before.containers).map(([name, state]) => {
    const now = after.containers[name];
    if (state.service !== 'app' && state.service !== 'worker') return [name, state];
    return [name, { ...state, id: now?.id, startedAt: now?.startedAt, reference: now?.reference }];
  });
  compare('an instance brought back', after, {
    ...before,
    strays: [],
    containers: Object.fromEntries(containers),
  });
}

/** What a recreated container must be, given what is there: taken from `now` where only "not as before" is asked. */
function successor(state: ContainerState, now: ContainerState | undefined): object {
  const differs = (before: string, after: string | undefined) => (after === before ? `not ${before}` : after);
  return {
    ...state,
    id: differs(state.id, now?.id),
    startedAt: differs(state.startedAt, now?.startedAt),
    image: now?.image,
    reference: now?.reference,
    // A stopped worker is left stopped: its new container has never run.
    status: state.status !== 'running' && now?.status === 'created' ? 'created' : state.status,
    restarts: 0,
    ...(state.status === 'running' ? {} : { health: now?.health, startedAt: now?.startedAt }),
  };
}

function changeFiles(before: Record<string, FileState>, expected: ExpectedUpdate): Record<string, FileState> {
  const files = { ...before };
  for (const [path, change] of Object.entries(expected.changed ?? {})) {
    const old = before[path];
    if (change === null) {
      delete files[path];
      continue;
    }
    const text = typeof change === 'function' ? change(old?.text ?? '') : change;
    if (text === old?.text)
      throw new Error(`the test says that ${path} changes, and gives it the text that it had`);
    files[path] = old
      ? { ...old, text }
      : { kind: 'file', mode: expected.newMode ?? '600', owner: '0:0', text };
  }
  return files;
}

function compare(what: string, actual: object, expected: object): void {
  const found = difference(expected, actual);
  if (found === undefined) return;
  const text = (value: unknown) => JSON.stringify(value, (_, each) => each ?? null, 2);
  throw new AssertionError({
    message: `${what} is not as expected\nexpected: ${text(found.expected)}\nactual: ${text(found.actual)}`,
    ...found,
  });
}
