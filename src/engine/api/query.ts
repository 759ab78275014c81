import { UpdateError } from '../../progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { type Container, type Image, readContainer, readImage } from '../container.ts';
import { askApi, refusal } from './api.ts';

/** What the engine says of itself. */
export interface EngineFacts {
  version: string;
  /** `linux/amd64` */
  platform: string;
}

/** What a list tells of a container. */
export interface ListedContainer {
  /** 64 hex digits. */
  id: string;
  labels: Readonly<Record<string, string>>;
}

/** A project may have hundreds of containers, and a socket takes so many connections at a time. */
const atATime = 32;

/** @throws UpdateError engine-away */
export async function engineFacts(engine: Engine): Promise<EngineFacts> {
  const { Version, Os, Arch } = (await get(engine, '/version', [])) as Record<string, string>;
  return { version: String(Version), platform: `${Os}/${Arch}` };
}

/**
 * Containers by the engine's filters, stopped ones too.
 * @param filters such as `{ label: ['svc-updater.scratch=svc'] }`
 * @throws UpdateError engine-away
 */
export async function listContainers(
  engine: Engine,
  filters: Readonly<Record<string, readonly string[]>>,
): Promise<ListedContainer[]> {
  const query = new URLSearchParams({ all: '1', filters: JSON.stringify(filters) });
  const list = (await get(engine, `/containers/json?${query}`, [])) as {
    Id: string;
    Labels?: Record<string, string> | null;
  }[];
  return list.map(({ Id, Labels }) => ({ id: Id, labels: Labels ?? {} }));
}

/** Containers by id or name; unknown ones, and those that are just being removed, are left out. @throws UpdateError engine-away */
export async function inspectContainers(engine: Engine, names: readonly string[]): Promise<Container[]> {
  const found: Container[] = [];
  for (let at = 0; at < names.length; at += atATime) {
    const answers = await Promise.all(
      // A 500 stands for a container that is just being removed: the engine knows too little of it for an answer.
      names
        .slice(at, at + atATime)
        .map((name) => get(engine, `/containers/${encodeURIComponent(name)}/json`, [404, 500])),
    );
    found.push(...answers.filter((raw) => raw !== null).map(readContainer));
  }
  return found;
}

/** Local images by reference or id, in the order asked for; null for one that is not here. @throws UpdateError engine-away */
export async function inspectImages(
  engine: Engine,
  references: readonly string[],
): Promise<(Image | null)[]> {
  const answers = await Promise.all(
    references.map((reference) => get(engine, `/images/${encodeURIComponent(reference)}/json`)),
  );
  return answers.map((raw) => (raw === null ? null : readImage(raw)));
}

/** What the engine answers; null where it has no such thing. */
async function get(engine: Engine, path: string, none: readonly number[] = [404]): Promise<unknown> {
  const answer = await askApi(engine, { method: 'GET', path });
  if (answer.status === 200) return JSON.parse(answer.body.toString());
  if (none.includes(answer.status)) return null;
  throw new UpdateError(
    'engine-away',
    `the engine does not answer (GET ${path.replace(/\?.*/, '')}): ${refusal(answer)}`,
  );
}

/** Stops containers, all at a time, each with its own grace period. One that is gone is stopped. @throws UpdateError engine-away */
export async function stopContainers(
  engine: Engine,
  ids: readonly string[],
  deadlineMs: number,
): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const answer = await askApi(engine, { method: 'POST', path: `/containers/${id}/stop`, deadlineMs });
      if (answer.status >= 400 && answer.status !== 404) {
        throw new UpdateError(
          'engine-away',
          `the engine does not stop ${id.slice(0, 12)}: ${refusal(answer)}`,
        );
      }
    }),
  );
}
