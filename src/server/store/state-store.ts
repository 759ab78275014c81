import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { type Channel, channels } from '../../core/release/channel.ts';
import { createJsonTextSchema } from '../../core/text/json-text.ts';
import type { ChannelFile } from '../../provenance/channel-file.ts';
import type { Run } from '../../wire/status.ts';
import { ApplicationError, callApplication } from '../application/call-application.ts';
import type { ServerTiming } from '../contract/timing.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import {
  channelFilesSchema,
  type OpenRun,
  openRunSchema,
  type PastRun,
  pastRunsSchema,
  publicationTimesSchema,
  type ServerProcess,
  type StagedRollout,
  serverProcessesSchema,
  stagedRolloutSchema,
  storedAutomaticUpdatesSchema,
  storedRehearsalsSchema,
  storedSkippedReleaseSchema,
} from './stored-entries.ts';

const keptRuns = 50;
const keptServers = 50;
const keptNotices = 100;
/** Maximum attempts to write an entry that other servers are also changing. */
const maxWriteAttempts = 20;

/** All entries except the channel are JSON. */
const schemas = {
  channel: z.enum(channels),
  skip: createJsonTextSchema(storedSkippedReleaseSchema),
  offered: createJsonTextSchema(publicationTimesSchema),
  'channel-files': createJsonTextSchema(channelFilesSchema),
  notices: createJsonTextSchema(z.array(z.string())),
  rollout: createJsonTextSchema(stagedRolloutSchema),
  automatic: createJsonTextSchema(storedAutomaticUpdatesSchema),
  rehearsals: createJsonTextSchema(storedRehearsalsSchema),
  run: createJsonTextSchema(openRunSchema),
  history: createJsonTextSchema(pastRunsSchema),
  servers: createJsonTextSchema(serverProcessesSchema),
};
type Key = keyof typeof schemas;
type Stored<K extends Key> = z.output<(typeof schemas)[K]>;
type EntriesBySigner<K extends 'offered' | 'channel-files'> = NonNullable<Stored<K>[Channel]>;

/** Persistent state in the application's store. All methods throw ApplicationError if the store fails. */
export class StateStore {
  readonly #settings: Pick<ValidatedInstanceOptions, 'store' | 'log'>;
  readonly #timing: ServerTiming;
  readonly #unreadable = new Set<string>();
  #hasAnswered = false;

  constructor(settings: Pick<ValidatedInstanceOptions, 'store' | 'log'>, timing: ServerTiming) {
    this.#settings = settings;
    this.#timing = timing;
  }

  /** Whether the store has responded since this server started. */
  get hasResponded(): boolean {
    return this.#hasAnswered;
  }

  /** Returns null if the entry does not exist or cannot be parsed. */
  async read<K extends Key>(key: K): Promise<Stored<K> | null> {
    return (await this.#find(key)).value;
  }

  /**
   * Returns a channel's stored values, keyed by signer. `offered` has the publication times of the last offered
   * releases; `channel-files` has the last channel files.
   */
  async readBySigner<K extends 'offered' | 'channel-files'>(
    key: K,
    channel: Channel,
  ): Promise<EntriesBySigner<K>> {
    return (await this.read(key))?.[channel] ?? {};
  }

  /** Stores the publication time of an offered release, unless a later time is already stored. */
  async setLastOffered(
    channel: Channel,
    { signer, publishedAt }: { signer: string; publishedAt: string },
  ): Promise<void> {
    await this.edit('offered', (now) =>
      Date.parse(now?.[channel]?.[signer] ?? '') >= Date.parse(publishedAt)
        ? now
        : { ...now, [channel]: { ...now?.[channel], [signer]: publishedAt } },
    );
  }

  /** Stores a channel file, unless a file with a later issue time is already stored. */
  async setChannelFile(signer: string, file: ChannelFile): Promise<void> {
    const { channel, issuedAt } = file;
    await this.edit('channel-files', (now) =>
      isLater(now?.[channel]?.[signer]?.issuedAt, issuedAt)
        ? now
        : { ...now, [channel]: { ...now?.[channel], [signer]: file } },
    );
  }

  /** Claims a notification for this server. Returns false if a server has already claimed it. */
  async claimNotice(key: string): Promise<boolean> {
    let known: readonly string[] = [];
    await this.edit('notices', (now) => {
      known = now ?? [];
      return known.includes(key) ? now : [key, ...known].slice(0, keptNotices);
    });
    return !known.includes(key);
  }

  /**
   * Returns the instance's random id, which is created once. Also returns the release that an admin requested before
   * its rollout to this instance. If `requested` is given, first stores `requested` as this release.
   */
  async readStagedRollout(requested?: string): Promise<StagedRollout> {
    const fresh = { instance: crypto.randomUUID(), asked: null };
    const set = await this.edit('rollout', (now) =>
      requested === undefined ? (now ?? fresh) : { ...(now ?? fresh), asked: requested },
    );
    return set ?? fresh;
  }

  /** Opens a run in the store. Returns false if a run is already open. */
  async openRun(open: OpenRun): Promise<boolean> {
    const { text, value } = await this.#find('run');
    return value === null && (await this.#set('run', JSON.stringify(open), text));
  }

  /** If the open run has this id, replaces it with `open`. Returns whether `open` is now the open run. */
  async replaceOpenRun(id: string, open: OpenRun): Promise<boolean> {
    const now = await this.edit('run', (was) => (was?.run.id === id ? open : was));
    return now?.run.id === open.run.id;
  }

  /**
   * Changes the open run with this id, or removes it if `how` returns null. Returns null if the run is no longer open.
   */
  async changeOpenRun(id: string, how: (open: OpenRun) => OpenRun | null): Promise<OpenRun | null> {
    const open = await this.edit('run', (now) => (now?.run.id === id ? how(now) : now));
    return open?.run.id === id ? open : null;
  }

  /** Returns the finished runs, newest first. */
  async readPastRuns(): Promise<PastRun[]> {
    return (await this.read('history')) ?? [];
  }

  /**
   * Adds a finished run to the history. Replaces a stored run only if its updater was restarted, because the
   * application may already have been notified of the stored run.
   */
  async addPastRun(run: Run, updaterStartedAt: string | null, { told = false } = {}): Promise<void> {
    await this.edit('history', (now) => {
      const past = now ?? [];
      const known = past.find((one) => one.run.id === run.id);
      // If the updater's start time is unknown, the outcome is only assumed, so keep the stored run.
      if (known && (updaterStartedAt === null || known.updaterStartedAt === updaterStartedAt)) {
        if (known.run.downtimeSeconds !== null || run.downtimeSeconds === null) return now;
        const { downtimeSeconds } = run;
        return past.map((one) =>
          one === known ? { ...known, run: { ...known.run, downtimeSeconds } } : one,
        );
      }
      const fresh = { run, updaterStartedAt, told, attempts: 0, teller: null };
      return [fresh, ...past.filter((one) => one !== known)].slice(0, keptRuns);
    });
  }

  /** Changes a finished run and returns it. Returns null if there is no such run or `how` returns null. */
  async changePastRun(id: string, how: (past: PastRun) => PastRun | null): Promise<PastRun | null> {
    let changed: PastRun | null = null;
    await this.edit('history', (now) => {
      const known = now?.find((one) => one.run.id === id);
      changed = known === undefined ? null : how(known);
      return changed === null ? now : (now?.map((one) => (one === known ? (changed ?? one) : one)) ?? null);
    });
    return changed;
  }

  async addServerProcess(boot: ServerProcess): Promise<void> {
    await this.edit('servers', (now) => [
      boot,
      ...(now ?? []).filter(({ container }) => container !== boot.container).slice(0, keptServers - 1),
    ]);
  }

  /** Returns null if no server process of the container is stored. */
  async findServerProcess(container: string): Promise<ServerProcess | null> {
    return (await this.read('servers'))?.find((boot) => boot.container === container) ?? null;
  }

  /** Changes an entry and returns it. Tries again if other servers change the entry at the same time. */
  async edit<K extends Key>(
    key: K,
    change: (now: Stored<K> | null) => Stored<K> | null,
  ): Promise<Stored<K> | null> {
    for (let left = maxWriteAttempts; left > 0; left--) {
      const { text, value } = await this.#find(key);
      const wanted = change(value);
      // Do not write without a change, because this could overwrite a newer server's entry that this server cannot
      // parse.
      if (wanted === value) return value;
      const newText = wanted === null ? null : typeof wanted === 'string' ? wanted : JSON.stringify(wanted);
      if (newText === text || (await this.#set(key, newText, text))) return wanted;
      await sleep(Math.random() * 100);
    }
    throw new ApplicationError(
      'store.set',
      `store.set() returned false in all ${maxWriteAttempts} attempts to write ${key}`,
    );
  }

  async #find<K extends Key>(key: K): Promise<{ text: string | null; value: Stored<K> | null }> {
    const { store, log } = this.#settings;
    const text = await callApplication('store.get', () => store.get(key), this.#timing.host);
    this.#hasAnswered = true;
    if (text === null || text === undefined) return { text: null, value: null };
    const value = (schemas[key].safeParse(text).data ?? null) as Stored<K> | null;
    if (value === null && !this.#unreadable.has(key)) {
      this.#unreadable.add(key);
      log({ level: 'warn', message: `ignoring store entry ${key}, because it cannot be parsed` });
    }
    return { text, value };
  }

  async #set(key: string, text: string | null, was: string | null): Promise<boolean> {
    const { store } = this.#settings;
    return (
      (await callApplication('store.set', () => store.set(key, text, { was }), this.#timing.host)) === true
    );
  }
}

const isLater = (known: string | undefined, time: string): boolean =>
  Date.parse(known ?? '') > Date.parse(time);
