import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { jsonText } from '../../core/progress/json-text.ts';
import { type Channel, channels } from '../../core/release/channel.ts';
import type { ChannelFile } from '../../provenance/channel-file.ts';
import type { Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost, HostFailure } from '../host/ask-host.ts';
import {
  bootsSchema,
  channelFilesSchema,
  type OpenRun,
  offeredSchema,
  openRunSchema,
  type PastRun,
  pastRunsSchema,
  type RolloutFacts,
  rolloutSchema,
  type ServerBoot,
  skippedSchema,
  storedAutomatic,
} from './open-run.ts';

const keptRuns = 50;
const keptServers = 50;
const keptNotices = 100;
/** Attempts to write a text that another server changes at the same time. */
const tries = 20;

/** The entries of the store: JSON, except for the channel. */
const schemas = {
  channel: z.enum(channels),
  skip: jsonText(skippedSchema),
  offered: jsonText(offeredSchema),
  'channel-files': jsonText(channelFilesSchema),
  notices: jsonText(z.array(z.string())),
  rollout: jsonText(rolloutSchema),
  automatic: jsonText(storedAutomatic),
  run: jsonText(openRunSchema),
  history: jsonText(pastRunsSchema),
  servers: jsonText(bootsSchema),
};
type Key = keyof typeof schemas;
type Stored<K extends Key> = z.output<(typeof schemas)[K]>;
type OfSigners<K extends 'offered' | 'channel-files'> = NonNullable<Stored<K>[Channel]>;

/** Persistent state in the store of the host application. All methods throw HostFailure if the store fails. */
export class Ledger {
  readonly #settings: Pick<Settings, 'store' | 'log'>;
  readonly #timing: Timing;
  readonly #unreadable = new Set<string>();
  #hasAnswered = false;

  constructor(settings: Pick<Settings, 'store' | 'log'>, timing: Timing) {
    this.#settings = settings;
    this.#timing = timing;
  }

  /** Whether the store has answered since this server began. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Null if nothing is stored, or if it cannot be read. */
  async read<K extends Key>(key: K): Promise<Stored<K> | null> {
    return (await this.#find(key)).value;
  }

  /** For each signer, when its last offered release on a channel was published, or its last accepted channel file. */
  async ofSigners<K extends 'offered' | 'channel-files'>(key: K, channel: Channel): Promise<OfSigners<K>> {
    return (await this.read(key))?.[channel] ?? {};
  }

  /** A release that was published earlier than the recorded one changes nothing. */
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

  /** A file that was issued earlier than the stored one changes nothing. */
  async setChannelFile(signer: string, file: ChannelFile): Promise<void> {
    const { channel, issuedAt } = file;
    await this.edit('channel-files', (now) =>
      isLater(now?.[channel]?.[signer]?.issuedAt, issuedAt)
        ? now
        : { ...now, [channel]: { ...now?.[channel], [signer]: file } },
    );
  }

  /** Returns whether this call is the first with this key, of all servers. */
  async claimNotice(key: string): Promise<boolean> {
    let known: readonly string[] = [];
    await this.edit('notices', (now) => {
      known = now ?? [];
      return known.includes(key) ? now : [key, ...known].slice(0, keptNotices);
    });
    return !known.includes(key);
  }

  /** The random id of the instance, made once. Stores the release that an admin asks for, if given. */
  async rollout(asked?: string): Promise<RolloutFacts> {
    const fresh = { instance: crypto.randomUUID(), asked: null };
    const set = await this.edit('rollout', (now) =>
      asked === undefined ? (now ?? fresh) : { ...(now ?? fresh), asked },
    );
    return set ?? fresh;
  }

  /** Whether it is the open run now; not where there is one already. */
  async begin(open: OpenRun): Promise<boolean> {
    const { text, value } = await this.#find('run');
    return value === null && (await this.#set('run', JSON.stringify(open), text));
  }

  /** Makes it the open run in place of the one of that id; says whether it is. */
  async replace(id: string, open: OpenRun): Promise<boolean> {
    const now = await this.edit('run', (was) => (was?.run.id === id ? open : was));
    return now?.run.id === open.run.id;
  }

  /** Changes the open run of that id, or ends it by null. Gives what is there then; null where it is open no longer. */
  async change(id: string, how: (open: OpenRun) => OpenRun | null): Promise<OpenRun | null> {
    const open = await this.edit('run', (now) => (now?.run.id === id ? how(now) : now));
    return open?.run.id === id ? open : null;
  }

  /** The newest first. */
  async pastRuns(): Promise<PastRun[]> {
    return (await this.read('history')) ?? [];
  }

  /** Adds a run that has ended. A run that is there with that end stays: the host may know of it already. */
  async addPast(run: Run, updaterStartedAt: string | null, { told = false } = {}): Promise<void> {
    await this.edit('history', (now) => {
      const past = now ?? [];
      const known = past.find((one) => one.run.id === run.id);
      // A server that only guesses the end has seen no start of the updater.
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

  /** Changes one run of the past. Gives what is there then; null where `how` gave null, or there is none. */
  async changePast(id: string, how: (past: PastRun) => PastRun | null): Promise<PastRun | null> {
    let changed: PastRun | null = null;
    await this.edit('history', (now) => {
      const known = now?.find((one) => one.run.id === id);
      changed = known === undefined ? null : how(known);
      return changed === null ? now : (now?.map((one) => (one === known ? (changed ?? one) : one)) ?? null);
    });
    return changed;
  }

  async addBoot(boot: ServerBoot): Promise<void> {
    await this.edit('servers', (now) => [
      boot,
      ...(now ?? []).filter(({ container }) => container !== boot.container).slice(0, keptServers - 1),
    ]);
  }

  /** Null where the store has none of that container. */
  async lastBootOf(container: string): Promise<ServerBoot | null> {
    return (await this.read('servers'))?.find((boot) => boot.container === container) ?? null;
  }

  /** Gives what is there afterwards. */
  async edit<K extends Key>(
    key: K,
    change: (now: Stored<K> | null) => Stored<K> | null,
  ): Promise<Stored<K> | null> {
    for (let left = tries; left > 0; left--) {
      const { text, value } = await this.#find(key);
      const wanted = change(value);
      // What cannot be read stays as it is where nothing is to be written: it may be a newer server's.
      if (wanted === value) return value;
      const newText = wanted === null ? null : typeof wanted === 'string' ? wanted : JSON.stringify(wanted);
      if (newText === text || (await this.#set(key, newText, text))) return wanted;
      await sleep(Math.random() * 100);
    }
    throw new HostFailure('store.set', `store.set() returned false in all ${tries} attempts to write ${key}`);
  }

  async #find<K extends Key>(key: K): Promise<{ text: string | null; value: Stored<K> | null }> {
    const { store, log } = this.#settings;
    const text = await askHost('store.get', () => store.get(key), this.#timing.host);
    this.#hasAnswered = true;
    if (text === null || text === undefined) return { text: null, value: null };
    const value = (schemas[key].safeParse(text).data ?? null) as Stored<K> | null;
    if (value === null && !this.#unreadable.has(key)) {
      this.#unreadable.add(key);
      log({ level: 'warn', message: `ignoring the store entry ${key}, which cannot be read` });
    }
    return { text, value };
  }

  async #set(key: string, text: string | null, was: string | null): Promise<boolean> {
    const { store } = this.#settings;
    return (await askHost('store.set', () => store.set(key, text, { was }), this.#timing.host)) === true;
  }
}

const isLater = (known: string | undefined, time: string): boolean =>
  Date.parse(known ?? '') > Date.parse(time);
