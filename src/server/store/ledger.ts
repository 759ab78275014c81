import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { jsonText } from '../../core/progress/json-text.ts';
import { type Channel, channels } from '../../core/release/channel.ts';
import type { ChannelFile } from '../../provenance/channel-file.ts';
import type { Run, Skipped } from '../../wire/status.ts';
import { type AutomaticChoice, type AutomaticSettings, whatIsSaid } from '../contract/automatic.ts';
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

  async channel(): Promise<Channel> {
    return (await this.#read('channel', channelText)).value ?? 'stable';
  }

  async setChannel(channel: Channel): Promise<void> {
    await this.#edit('channel', channelText, () => channel);
  }

  async skipped(): Promise<Skipped | null> {
    return (await this.#read('skip', skippedText)).value;
  }

  async setSkipped(version: string | null): Promise<void> {
    const since = new Date().toISOString();
    await this.#edit('skip', skippedText, (now) =>
      version === null ? null : now?.version === version ? now : { version, since },
    );
  }

  /** For each signer, when its last offered release on a channel was published, ISO 8601. */
  async lastOffered(channel: Channel): Promise<Readonly<Record<string, string>>> {
    return (await this.#read('offered', offeredText)).value?.[channel] ?? {};
  }

  /** A release that was published earlier than the recorded one changes nothing. */
  async setLastOffered(
    channel: Channel,
    { signer, publishedAt }: { signer: string; publishedAt: string },
  ): Promise<void> {
    await this.#edit('offered', offeredText, (now) => {
      const times = now?.[channel] ?? {};
      return Date.parse(times[signer] ?? '') >= Date.parse(publishedAt)
        ? now
        : { ...now, [channel]: { ...times, [signer]: publishedAt } };
    });
  }

  /** For each signer, its last accepted channel file. */
  async channelFiles(channel: Channel): Promise<Readonly<Record<string, ChannelFile>>> {
    return (await this.#read('channel-files', channelFilesText)).value?.[channel] ?? {};
  }

  /** A file that was issued earlier than the stored one changes nothing. */
  async setChannelFile(signer: string, file: ChannelFile): Promise<void> {
    const { channel, issuedAt } = file;
    await this.#edit('channel-files', channelFilesText, (now) => {
      const files = now?.[channel] ?? {};
      return Date.parse(files[signer]?.issuedAt ?? '') > Date.parse(issuedAt)
        ? now
        : { ...now, [channel]: { ...files, [signer]: file } };
    });
  }

  /** Returns whether this call is the first with this key, of all servers. */
  async claimNotice(key: string): Promise<boolean> {
    let known: readonly string[] = [];
    await this.#edit('notices', noticesText, (now) => {
      known = now ?? [];
      return known.includes(key) ? now : [key, ...known].slice(0, keptNotices);
    });
    return !known.includes(key);
  }

  /** The random id of the instance, made once. Stores the release that an admin asks for, if given. */
  async rollout(asked?: string): Promise<RolloutFacts> {
    const fresh = { instance: crypto.randomUUID(), asked: null };
    const set = await this.#edit<RolloutFacts>('rollout', rolloutText, (now) =>
      asked === undefined ? (now ?? fresh) : { ...(now ?? fresh), asked },
    );
    return set ?? fresh;
  }

  /** What holds where nothing was set, or what was set cannot be read, is given. */
  async automatic(usual: AutomaticSettings): Promise<AutomaticSettings> {
    return (await this.#read('automatic', automaticText)).value ?? usual;
  }

  async setAutomatic(usual: AutomaticSettings, said: AutomaticChoice): Promise<AutomaticSettings> {
    const set = await this.#edit<AutomaticSettings>('automatic', automaticText, (now) => ({
      ...(now ?? usual),
      ...whatIsSaid(said),
    }));
    return set ?? usual;
  }

  async openRun(): Promise<OpenRun | null> {
    return (await this.#read('run', openRunText)).value;
  }

  /** Whether it is the open run now; not where there is one already. */
  async begin(open: OpenRun): Promise<boolean> {
    const { text, value } = await this.#read('run', openRunText);
    return value === null && (await this.#set('run', JSON.stringify(open), text));
  }

  /** Makes it the open run in place of the one of that id; says whether it is. */
  async replace(id: string, open: OpenRun): Promise<boolean> {
    const now = await this.#edit('run', openRunText, (was) => (was?.run.id === id ? open : was));
    return now?.run.id === open.run.id;
  }

  /** Changes the open run of that id, or ends it by null. Gives what is there then; null where it is open no longer. */
  async change(id: string, how: (open: OpenRun) => OpenRun | null): Promise<OpenRun | null> {
    const open = await this.#edit('run', openRunText, (now) => (now?.run.id === id ? how(now) : now));
    return open?.run.id === id ? open : null;
  }

  /** The newest first. */
  async pastRuns(): Promise<PastRun[]> {
    return (await this.#read('history', pastRunsText)).value ?? [];
  }

  /** Adds a run that has ended. A run that is there with that end stays: the host may know of it already. */
  async addPast(run: Run, updaterStartedAt: string | null, { told = false } = {}): Promise<void> {
    await this.#edit('history', pastRunsText, (now) => {
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
    await this.#edit('history', pastRunsText, (now) => {
      const known = now?.find((one) => one.run.id === id);
      changed = known === undefined ? null : how(known);
      return changed === null ? now : (now?.map((one) => (one === known ? (changed ?? one) : one)) ?? null);
    });
    return changed;
  }

  async addBoot(boot: ServerBoot): Promise<void> {
    await this.#edit('servers', bootsText, (now) => [
      boot,
      ...(now ?? []).filter(({ container }) => container !== boot.container).slice(0, keptServers - 1),
    ]);
  }

  /** Null where the store has none of that container. */
  async lastBootOf(container: string): Promise<ServerBoot | null> {
    const { value } = await this.#read('servers', bootsText);
    return value?.find((boot) => boot.container === container) ?? null;
  }

  async #read<T>(key: string, form: Form<T>): Promise<{ text: string | null; value: T | null }> {
    const { store } = this.#settings;
    const text = await askHost('store.get', () => store.get(key), this.#timing.host);
    this.#hasAnswered = true;
    if (text === null || text === undefined) return { text: null, value: null };
    const value = typeof text === 'string' ? form.parse(text) : null;
    if (value === null && !this.#unreadable.has(key)) {
      this.#unreadable.add(key);
      this.#settings.log({
        level: 'warn',
        message: `ignoring the store entry ${key}, which cannot be read`,
      });
    }
    return { text, value };
  }

  /** Gives what is there afterwards. */
  async #edit<T>(key: string, form: Form<T>, change: (now: T | null) => T | null): Promise<T | null> {
    for (let left = tries; left > 0; left--) {
      const { text, value } = await this.#read(key, form);
      const wanted = change(value);
      // What cannot be read stays as it is where nothing is to be written: it may be a newer server's.
      if (wanted === value) return value;
      const newText = wanted === null ? null : form.format(wanted);
      if (newText === text || (await this.#set(key, newText, text))) return wanted;
      await sleep(Math.random() * 100);
    }
    throw new HostFailure('store.set', `store.set() returned false in all ${tries} attempts to write ${key}`);
  }

  async #set(key: string, text: string | null, was: string | null): Promise<boolean> {
    const { store } = this.#settings;
    return (await askHost('store.set', () => store.set(key, text, { was }), this.#timing.host)) === true;
  }
}

interface Form<T> {
  /** Null for what cannot be read. */
  parse(text: string): T | null;
  format(value: T): string;
}

const storedAs = <T>(schema: z.ZodMiniType<T>): Form<T> => ({
  parse: (text) => jsonText(schema).safeParse(text).data ?? null,
  format: (value) => JSON.stringify(value),
});

const openRunText = storedAs(openRunSchema);
const pastRunsText = storedAs(pastRunsSchema);
const bootsText = storedAs(bootsSchema);
const skippedText = storedAs(skippedSchema);
const offeredText: Form<z.infer<typeof offeredSchema>> = storedAs(offeredSchema);
const channelFilesText = storedAs(channelFilesSchema);
const noticesText = storedAs(z.array(z.string()));
const rolloutText: Form<RolloutFacts> = storedAs(rolloutSchema);
const automaticText: Form<AutomaticSettings> = storedAs(storedAutomatic);
const channelText: Form<Channel> = {
  parse: (text) => channels.find((channel) => channel === text) ?? null,
  format: (channel) => channel,
};
