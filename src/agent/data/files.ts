import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectWhole, listContainers, listVolumes } from '../../engine/api/query.ts';
import { removeScratches } from '../../engine/api/scratch.ts';
import { type Json, parseObject } from '../../engine/json.ts';
import { composeLabels } from '../../engine/labels.ts';
import { mappedBy } from '../../engine/mapped-users.ts';
import { type ErrorCode, UpdateError } from '../../progress/update-error.ts';
import { counted } from '../log/wording.ts';
import { refuseUnlessRoots } from '../state/state-directory.ts';
import { type Archive, readArchive } from './archive.ts';
import {
  chooseMounts,
  type FileMount,
  type Holder,
  isOfSystem,
  readHolder,
  writersOf,
} from './choose-mounts.ts';
import type { DataKind, DataWork, PointPlace } from './kind.ts';
import { roomAt } from './room-at.ts';
import { runTools } from './tools-container.ts';
import {
  type Asked,
  archiveName,
  dataPath,
  type Look,
  type Progress,
  pointPath,
  type Verb,
} from './tools-protocol.ts';
import type { TreeDifference } from './tree-difference.ts';

export interface FilesSource {
  mounts: readonly FileMount[];
}

/** A tar of each mount, in their order. */
export interface FilesPart {
  archives: readonly Archive[];
}

/** Where the files are not this machine's, others may write them at any moment. By the kernel's numbers. */
const farAway: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
]);
const bytesPerSecond = 200_000_000;
const filesPerSecond = 25_000;
/** Headers of one file in a tar. */
const bytesPerFile = 1_536;

/** What app and workers have mounted for writing: one tar of each volume and directory, unpacked in its place. */
export const files: DataKind<FilesSource, FilesPart> = {
  isSource: (value): value is FilesSource =>
    listIn(value, 'mounts').every(
      ({ volume, path, isFile, root, where }) =>
        typeof volume === 'string' &&
        /^(?:[a-zA-Z0-9][\w.-]*)?$/.test(volume) &&
        typeof path === 'string' &&
        /^\/[^/]/.test(path) &&
        !/\/(?:\.{0,2})(?:\/|$)/.test(path) &&
        !isOfSystem({ volume, path }) &&
        typeof isFile === 'boolean' &&
        typeof root === 'string' &&
        typeof where === 'string',
    ) && Array.isArray(Object(value).mounts),

  isPart: (value): value is FilesPart =>
    Array.isArray(Object(value).archives) &&
    listIn(value, 'archives').every(
      ({ bytes, files, seal, tree }) =>
        [bytes, files].every((each) => Number.isSafeInteger(each)) &&
        [seal, tree].every((each) => typeof each === 'string' && /^[0-9a-f]{64}$/.test(each)),
    ),

  async survey(asked, place, work) {
    const holders = await holdersIn(work);
    const own = holders.filter(({ service, ...each }) => isOwn(each, work) && asked.includes(service));
    const volumes = own.flatMap(({ mounts }) => mounts.flatMap(({ volume }) => (volume ? [volume] : [])));
    const options = new Map(
      (await listVolumes(work.engine, volumes)).map(({ name, options }) => [name, options] as const),
    );
    const chosen = chooseMounts(own, { point: place.host, options });
    const unknown = chosen.mounts.map((mount) => ({ ...mount, isFile: false, root: null }));
    const looks =
      unknown.length === 0 ? [] : ((await ask('look', unknown, null, work, 'save-failed')) as Look[]);
    const isMoved = (holder: Holder) =>
      isTools(holder, work) || (isOwn(holder, work) && work.moved.includes(holder.service));
    const found = unknown.flatMap((mount, at) => {
      const look = looks[at];
      return look === undefined || look.type === 'other'
        ? []
        : [{ mount: { ...mount, isFile: look.type === 'file', root: look.root }, look }];
    });
    const mounts = found.map(({ mount }) => mount);
    const refusals = [
      ...asked
        .filter((service) => !work.moved.includes(service))
        .map(
          (service) =>
            `${service} is not stopped for the update, and may write its files meanwhile: say none, or name it with --service`,
        ),
      ...chosen.refusals,
      ...found.flatMap(({ mount, look }) => refusalsOf(mount, look)),
      ...writersOf(mounts, holders, isMoved).map(
        (sentence) => `${sentence}: stop it, or mount it read-only there`,
      ),
    ];
    const [bytes, count] = [
      sum(found.map(({ look }) => look.bytes)),
      sum(found.map(({ look }) => look.files)),
    ];
    const needed = bytes + count * bytesPerFile;
    return {
      source: { mounts },
      words: `${mounts.map(({ where }) => where).join(', ') || 'nothing'} (${counted(count, 'file')}, ${Math.ceil(bytes / 1_000_000)} MB)`,
      bytes,
      seconds: bytes / bytesPerSecond + count / filesPerSecond,
      rooms: mounts.length === 0 ? [] : [await roomAt(place, needed)],
      refusals,
    };
  },

  async close({ mounts }, work) {
    await removeScratches(work.engine, work.project);
    const writers = writersOf(mounts, await holdersIn(work), (holder) => isTools(holder, work));
    if (writers.length > 0) throw new UpdateError('data-busy', writers.join('; '));
  },

  async evict() {},

  async open({ mounts: _ }, work) {
    await removeScratches(work.engine, work.project);
  },

  async save(source, place, work) {
    await files.discard(source, null, place, work);
    if (source.mounts.length === 0) return { archives: [] };
    const archives = (await ask('save', source.mounts, place, work, 'save-failed')) as Archive[];
    // A container that somebody has started meanwhile may have written.
    await files.close(source, work);
    return { archives };
  },

  keep: (source, place, work) => files.save(source, place, work),

  async discard({ mounts }, _part, { here }, work) {
    await removeScratches(work.engine, work.project);
    for (const at of mounts.keys()) await rm(join(here, archiveName(at)), { force: true });
  },

  async check({ mounts }, { archives }, { here }, work) {
    await removeScratches(work.engine, work.project);
    const damaged = (what: string, cause?: unknown) =>
      new UpdateError('point-damaged', `the restore point in ${here} is not as it was made: ${what}`, {
        cause,
      });
    if (archives.length !== mounts.length)
      throw damaged(`${archives.length} tars of ${mounts.length} mounts`);
    let done = 0;
    for (const [at, { bytes, seal }] of archives.entries()) {
      const path = join(here, archiveName(at));
      let found: Archive;
      try {
        if ((await stat(path)).size !== bytes) throw new Error('its size is another');
        const input = createReadStream(path, { highWaterMark: 1 << 20, signal: work.engine.aborted });
        found = await readArchive(input, (more) => {
          done += more;
          work.onProgress?.(done);
        }).finally(() => input.destroy());
      } catch (error) {
        if (work.engine.aborted.aborted) throw work.engine.abortion;
        throw damaged(`${archiveName(at)}: ${(error as Error).message}`, error);
      }
      if (found.seal !== seal) throw damaged(`${archiveName(at)} has another content`);
    }
  },

  async restore(source, { archives }, _kept, place, work) {
    await files.close(source, work);
    if (source.mounts.length === 0) return;
    const now = (await ask('restore', source.mounts, place, work, 'data-not-back')) as Archive[];
    const other = source.mounts.filter((_, at) => now[at]?.tree !== archives[at]?.tree);
    if (other.length === 0) return;
    const names = other.map(({ where }) => where).join(', ');
    throw new UpdateError(
      'data-not-back',
      `${names} was put back, and is not as it was kept in ${place.host}`,
    );
  },

  async compare({ mounts }, _part, place, work) {
    if (mounts.length === 0) return { rows: null, things: 0, words: [] };
    const found = (await ask('compare', mounts, place, work, 'point-damaged')) as TreeDifference[];
    const of = ({ added, gone, changed }: TreeDifference) => added + gone + changed;
    const each = mounts.map(({ where }, at) => ({
      where,
      is: found[at] ?? { added: 0, gone: 0, changed: 0 },
    }));
    return {
      rows: null,
      things: sum(found.map(of)),
      words: each
        .filter(({ is }) => of(is) > 0)
        .toSorted((a, b) => of(b.is) - of(a.is))
        .map(
          ({ where, is }) =>
            `${where}: ${counted(is.added, 'file')} new, ${is.changed} changed, ${is.gone} gone`,
        ),
    };
  },
};

const listIn = (value: unknown, key: string): Json[] => {
  const found = Object(value)[key];
  return Array.isArray(found) ? found.map((each) => Object(each)) : [];
};
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

const isOwn = ({ project, isOneOff }: Pick<Holder, 'project' | 'isOneOff'>, work: DataWork): boolean =>
  project === work.project && !isOneOff;
/** The updater itself, which has the compose directory open, and the containers that it makes. */
const isTools = ({ imageId }: Holder, { toolsImage }: DataWork): boolean => imageId === toolsImage;

async function holdersIn({ engine, project }: DataWork): Promise<Holder[]> {
  const [running, own] = await Promise.all([
    listContainers(engine, { status: ['running', 'restarting', 'paused'] }),
    listContainers(engine, { label: [`${composeLabels.project}=${project}`] }),
  ]);
  const ids = new Set([...running, ...own].map(({ id }) => id));
  return (await inspectWhole(engine, [...ids])).map(readHolder);
}

/** Why what is there cannot be kept, a sentence each. */
export function refusalsOf(
  { where, path }: Pick<FileMount, 'where' | 'path'>,
  { fileSystem, inside, strange }: Pick<Look, 'fileSystem' | 'inside' | 'strange'>,
): string[] {
  const far = farAway.get(fileSystem);
  return [
    ...(far
      ? [`${where} is ${path} on ${far}, where others may write: keep it by that machine's own means`]
      : []),
    ...inside.map(
      (name) =>
        `${where} has another file system or subvolume at ${JSON.stringify(name)}, which is not kept with it: move that one out of ${path}, and mount it into the service by itself`,
    ),
    ...strange.map(
      (name) =>
        `${where} has ${JSON.stringify(name)}, whose owner or group this engine does not map into containers, and would be somebody else's when it comes back: give it to the engine's user, or move it out of ${path}`,
    ),
  ];
}

/** The program is `tools.ts`. */
const program = ['/usr/local/bin/node', '--', '/usr/local/lib/svc-updater/tools.mjs'];

/** @param place null where nothing of it is needed @throws UpdateError with that code, no-space, engine-away */
async function ask(
  verb: Verb,
  mounts: readonly (Omit<FileMount, 'root'> & { root: string | null })[],
  place: PointPlace | null,
  work: DataWork,
  code: ErrorCode,
): Promise<readonly unknown[]> {
  const asked: Asked = {
    mounts: mounts.map(({ isFile, root }) => ({ isFile, root })),
    owner: verb === 'restore' && place !== null ? await refuseUnlessRoots(place.here) : null,
  };
  const done = new Map<number, number>();
  const { exitCode, last, errors } = await runTools(work, {
    command: [...program, verb, JSON.stringify(asked)],
    mounts: [
      ...mounts.map(({ volume, path }, at) => ({
        Type: volume === '' ? 'bind' : 'volume',
        Source: volume || path,
        Target: dataPath(at),
        // Whether a file is a stranger's, the kernel tells where it could be given away (`strangerOf`).
        ReadOnly: verb !== 'restore' && (verb !== 'look' || mappedBy() === null),
        ...(volume !== '' && { VolumeOptions: { NoCopy: true } }),
      })),
      ...(place === null
        ? []
        : [{ Type: 'bind', Source: place.host, Target: pointPath, ReadOnly: verb !== 'save' }]),
    ],
    onLine: (line) => {
      const { at, bytes } = (parseObject(line) ?? {}) as Partial<Progress>;
      if (at === undefined || bytes === undefined) return;
      done.set(at, bytes);
      work.onProgress?.(sum([...done.values()]));
    },
  });
  const result: unknown = exitCode === 0 ? parseObject(last) : null;
  if (Array.isArray(result) && result.length === mounts.length) return result;
  // By tar's own words: a disk takes a part of the last piece where there is room for it.
  const isFull = verb === 'save' && errors.some((line) => /No space|quota exceeded|Wrote only/.test(line));
  const why = isFull ? 'the disk is full' : (errors.at(-1) ?? 'nobody says why');
  const names = mounts.map(({ where }) => where).join(', ');
  const what = { look: 'looked at', save: 'kept', restore: 'put back', compare: 'compared' }[verb];
  throw new UpdateError(isFull ? 'no-space' : code, `${names} could not be ${what}: ${why}`, {
    detail: errors,
  });
}
