import { UpdateError } from '../../progress/update-error.ts';
import { and, seconds } from '../log/wording.ts';
import type { DataWork, PointPlace, Room } from './kind.ts';
import { type KindName, kindOf } from './kinds.ts';
import type { PointEntry } from './point.ts';

/** What a restore point is to hold: by kind the services whose data it is, and the services that it leaves out. */
export interface Declared {
  kept: readonly { kind: KindName; services: readonly string[] }[];
  left: readonly string[];
}

/** The restore point that a run is to make. */
export interface PlannedPoint {
  declared: Declared;
  /** Where the project's points lie, as the host has it. */
  directory: string;
}

/** What was found of it. */
export interface SurveyedPoint {
  entries: readonly PointEntry[];
  left: readonly string[];
  /** How much longer the product is away for it, about. */
  seconds: number;
  rooms: readonly Room[];
}

/** More than it takes: sizes are of a moment, and a full disk is nobody's friend. */
const spare = 1.2;

/**
 * Looks at what a restore point is to hold, and touches nothing.
 * @throws UpdateError data-unfit, no-space: what cannot be kept, with all reasons
 */
export async function surveyPoint(
  declared: Declared,
  place: PointPlace,
  work: DataWork,
): Promise<SurveyedPoint> {
  const surveys = [];
  for (const { kind, services } of declared.kept) {
    surveys.push({ kind, ...(await kindOf(kind).survey(services, place, work)) });
  }
  const refusals = surveys.flatMap((each) => each.refusals);
  if (refusals.length > 0) {
    throw new UpdateError('data-unfit', refusals.at(-1) ?? '', { detail: refusals.slice(0, -1) });
  }
  const rooms = addedUp(surveys.flatMap((each) => each.rooms));
  const short = rooms.find(({ needed, free }) => free < needed * spare);
  if (short) {
    const message = `a restore point takes about ${size(short.needed)} in ${short.where}, and ${size(short.free)} are free there: it should be ${size(short.needed * spare)}`;
    throw new UpdateError('no-space', message);
  }
  return {
    entries: surveys.map(({ kind, source, words, bytes }) => ({ kind, source, part: null, words, bytes })),
    left: declared.left,
    seconds: Math.ceil(surveys.reduce((sum, each) => sum + each.seconds, 0)),
    rooms,
  };
}

/** Of one file system what all need there; it has as much free as whoever looked last has seen. */
export function addedUp(rooms: readonly Room[]): Room[] {
  const byDevice = new Map<string, Room>();
  for (const room of rooms) {
    const before = byDevice.get(room.device);
    byDevice.set(room.device, {
      ...room,
      where: before && before.where !== room.where ? `${before.where} and ${room.where}` : room.where,
      needed: room.needed + (before?.needed ?? 0),
      free: Math.min(room.free, before?.free ?? room.free),
    });
  }
  return [...byDevice.values()];
}

/** The lines of `plan`, and of a run before it begins. */
export function describePoint({ entries, left, seconds: longer, rooms }: SurveyedPoint): string[] {
  const room = rooms.map(({ needed, free, where }) => `${size(needed)} of ${size(free)} free in ${where}`);
  return [
    `restore point: ${and(entries.map(({ words }) => words)) || 'nothing to keep'}; away for about ${seconds(longer * 1000)} longer, takes ${and(room) || 'no room'}`,
    ...(left.length > 0 ? [`in no restore point: what ${and(left)} keep${left.length > 1 ? '' : 's'}`] : []),
  ];
}

/** `325 MB`, `1.2 GB` */
export const size = (bytes: number): string =>
  bytes < 999_500_000 ? `${Math.ceil(bytes / 1_000_000)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
