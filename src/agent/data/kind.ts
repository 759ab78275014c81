import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../log/log.ts';

/** What a kind of data works with. */
export interface DataWork {
  engine: Engine;
  log: Log;
  /** The compose project, whose containers a kind asks the engine for by their service. */
  project: string;
  /** The services whose containers the run replaces: what they have mounted is theirs. */
  moved: readonly string[];
  /** `sha256:…` of the updater's own image, which the containers are made from that read and write files. */
  toolsImage: string;
  /** Bytes of the part that is kept or put back so far. */
  onProgress?: (bytes: number) => void;
}

/** Where a restore point is kept. */
export interface PointPlace {
  /** Lower-case letters, digits and `_`, such as `20261121t104207z`: what databases' names are made with. */
  name: string;
  /** Its directory, mode 0700, as it is mounted here. */
  here: string;
  /** The same as the engine mounts it. */
  host: string;
  /** It is to lie somewhere else (`--restore-dir`): nothing of it may stay beside the data themselves. */
  isElsewhere: boolean;
}

/** Room that is needed on one file system. */
export interface Room {
  /** `st_dev` of that file system in decimal; needs of the same one are added up. */
  device: string;
  /** For people: `the volume of db`. */
  where: string;
  /** Bytes. */
  needed: number;
  free: number;
}

/** What a look at data has found, before anything is stopped; plain JSON. */
export interface Survey<S> {
  source: S;
  /** For people, what is kept: `db (postgres, 2 databases, 325 MB, copied)`. */
  words: string;
  /** Of the data. */
  bytes: number;
  /** How long it takes to keep them, about. */
  seconds: number;
  rooms: readonly Room[];
  /** Why it cannot be kept, a sentence each (docs/contract.md 5.20); empty where it can. */
  refusals: readonly string[];
}

/** How the data of now differ from those of a point. */
export interface Difference {
  /** Rows more or fewer; null for files. */
  rows: number | null;
  /** Tables, or files, that are there in one of both, or not the same. */
  things: number;
  /** For people, the largest first: `orders: 214 rows more`. */
  words: readonly string[];
}

/**
 * One kind of data. What is known of its programs is in one file and nowhere else. `S` tells where data are, `P` what was
 * kept of them; both plain JSON, which is kept on the disk: what comes from there is checked by `isSource` and `isPart`,
 * and may still be a lie, so that nothing of it is believed that the engine can tell.
 *
 * Every method may be called again after a kill at any byte, and begins at its beginning then: first of all it ends what
 * such a kill has left running. Methods that fail throw an UpdateError.
 */
export interface DataKind<S, P> {
  isSource(value: unknown): value is S;
  isPart(value: unknown): value is P;
  /** Looks, and touches nothing. `asked` are the services that were said to have this kind of data. */
  survey(asked: readonly string[], place: PointPlace, work: DataWork): Promise<Survey<S>>;
  /** Keeps everybody out until `open`, and ends nobody: @throws UpdateError data-busy, with the sessions or containers named */
  close(source: S, work: DataWork): Promise<void>;
  /** Keeps everybody out, too, and ends those who are in: nothing of theirs is to be waited for. Before `keep` and `restore`. */
  evict(source: S, work: DataWork): Promise<void>;
  /**
   * Keeps the data of now, synced to the disk. They are closed, and stay so. What an earlier call has left half done of
   * this place is taken away first.
   * @throws UpdateError save-failed, no-space
   */
  save(source: S, place: PointPlace, work: DataWork): Promise<P>;
  /** Lets in again who was let in before `close`; also where nothing was closed, or the data were restored since. */
  open(source: S, work: DataWork): Promise<void>;
  /** Takes away what was kept, whole or half; `part` is null where `save` did not come to its end. */
  discard(source: S, part: P | null, place: PointPlace, work: DataWork): Promise<void>;
  /** Holds what was kept against its hashes, and against the server of now (another major). @throws UpdateError point-damaged, data-unfit */
  check(source: S, part: P, place: PointPlace, work: DataWork): Promise<void>;
  /**
   * Keeps the data of now in `place` for a way forward again, before `restore`; where that costs nothing, as in databases
   * that are put aside by name, it only says how they will be called. Gives what a later `restore` takes.
   * @throws UpdateError save-failed, no-space
   */
  keep(source: S, place: PointPlace, work: DataWork): Promise<P>;
  /**
   * Puts the kept data behind the names that the app uses, whole or not at all where the server can do that, and proves
   * them equal to what was kept. They are still closed. A second call, after all or a part was done, ends the same.
   * `kept` is what `keep` gave for the data that make room; null where there was no room to keep them, and they are lost.
   * @throws UpdateError data-not-back
   */
  restore(source: S, part: P, kept: P | null, place: PointPlace, work: DataWork): Promise<void>;
  /** Looks, and touches nothing. */
  compare(source: S, part: P, place: PointPlace, work: DataWork): Promise<Difference>;
}
