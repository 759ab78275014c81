import { EngineFault } from '../../engine/http/fault.ts';
import type { ContainerDetails } from '../../engine/socket.ts';
import type { Prefetch } from '../../wire/status.ts';
import { isIn, type TimeWindow } from '../contract/time-window.ts';
import { keepLooking } from '../host/keep-looking.ts';
import type { Destination } from '../offer/offer.ts';
import type { Home } from '../place/home.ts';
import { HomeNotFound } from '../place/home-not-found.ts';
import { chooseServices } from '../place/services.ts';
import {
  asideContainer,
  asideName,
  isAbout,
  isUnderWay,
  originOf,
  triesLabel,
} from '../place/updater-container.ts';
import { expectOptions } from './expect-options.ts';
import { followRun } from './follow-run.ts';
import { obtainImage } from './launch.ts';
import { freshRun, RunRecord } from './run-record.ts';
import type { ServerContext } from './server-context.ts';

const hourMs = 3_600_000;
/** The pause grows with the number of failures, up to one day. */
const pauseMs = (tries: number): number => Math.min(24, 2 ** (tries - 1)) * hourMs;

/**
 * Downloads the images of the available release before an update. The only state is the container that downloads, so all
 * servers of the instance see the same, and its name makes sure that only one of them starts it.
 */
export class Prefetcher {
  readonly #context: ServerContext;
  readonly #offered: () => Promise<Destination | null>;
  readonly #isBusy: () => boolean;
  #told: ({ version: string } & Prefetch) | null = null;
  #isLogged = false;
  /** If no container could be created, only this server remembers the failure. */
  #notBefore = 0;

  /** @param offered returns the target of an update; `isBusy` returns whether an update is in progress */
  constructor(
    context: ServerContext,
    { offered, isBusy }: { offered: () => Promise<Destination | null>; isBusy: () => boolean },
  ) {
    this.#context = context;
    this.#offered = offered;
    this.#isBusy = isBusy;
  }

  /** Progress of the prefetch of a version; null if unknown. */
  of(version: string | undefined): Prefetch | null {
    if (this.#told === null || this.#told.version !== version) return null;
    return { state: this.#told.state, percent: this.#told.percent };
  }

  /** Checks regularly until the server closes. */
  async start(): Promise<void> {
    const { settings, timing } = this.#context;
    if (settings.prefetch === false) return;
    const window = settings.prefetch === true ? null : settings.prefetch;
    const failed = (cause: Error) => {
      // A prefetch is retried and never reported as an error.
      const message = 'failed to prefetch the images of the next release';
      if (!this.#isLogged && !(cause instanceof HomeNotFound))
        settings.log({ level: 'info', message, cause });
      this.#isLogged = true;
    };
    await keepLooking(() => this.#look(window), failed, {
      ...this.#context,
      pause: timing.prefetch,
      wakenBy: 'offer',
    });
  }

  async #look(window: TimeWindow | null): Promise<void> {
    const { engine, place, settings } = this.#context;
    const offered = await this.#offered();
    const next = offered?.to ?? null;
    const home = await place.findHome();
    const own = await engine.inspect(asideName('prefetch', settings, home));
    if (own !== null && !isAbout(own, home)) {
      // Another instance's of the same name.
      this.#told = null;
      return;
    }
    const same = own !== null && originOf(own).to === next ? own : null;
    if (same !== null && next !== null && isUnderWay(same)) return this.#follow(same, next);
    const isReady = same?.status === 'exited' && same.exitCode === 0;
    this.#told =
      next === null ? null : { version: next, state: isReady ? 'downloaded' : 'waiting', percent: null };
    if (same !== null && (isReady || Date.now() < endOf(same) + pauseMs(triesOf(same)))) return;
    if (own !== null && same === null) await engine.remove(own.id, { force: true });
    // A running update pulls its images itself.
    if (offered === null || this.#isBusy() || (window !== null && !isIn(window, Date.now()))) return;
    if (performance.now() < this.#notBefore) return;
    this.#notBefore = performance.now() + hourMs;
    if (same !== null) await engine.remove(same.id, { force: true });
    await this.#launch(home, offered, same === null ? 1 : triesOf(same) + 1);
  }

  async #launch(home: Home, { target, to, proof }: Destination, tries: number): Promise<void> {
    const { engine, settings, closing } = this.#context;
    const startedAt = new Date().toISOString();
    const origin = { id: `prefetch-${home.project}`, from: settings.version, to, startedAt };
    const record = new RunRecord(freshRun(origin));
    await obtainImage(record, { ...this.#context, signal: closing });
    const services = await chooseServices(engine, home, settings);
    const command = ['fetch', '--target', target, ...(await expectOptions(proof, engine))] as const;
    const spec = asideContainer('prefetch', home, settings, { command, services, origin });
    const container = { ...spec, Labels: { ...spec.Labels, [triesLabel]: String(tries) } };
    try {
      await engine.start(await engine.create(container));
    } catch (error) {
      // Another server was faster.
      if (!(error instanceof EngineFault) || error.status !== 409) throw error;
    }
    this.#notBefore = 0;
    const made = await engine.inspect(container.name);
    if (made !== null && isUnderWay(made)) await this.#follow(made, to);
  }

  async #follow(container: ContainerDetails, to: string): Promise<void> {
    const record = new RunRecord(freshRun(originOf(container)));
    const tell = () => {
      this.#told = { version: to, state: 'downloading', percent: record.run.percent };
    };
    tell();
    await followRun(container.id, record, this.#context, tell);
    if (!record.hasEnded) return;
    this.#told = {
      version: to,
      state: record.run.outcome === 'unchanged' ? 'downloaded' : 'waiting',
      percent: null,
    };
  }
}

/** A container that could not be started has ended when it was created. */
const endOf = ({ createdAt, finishedAt }: ContainerDetails): number =>
  Date.parse(finishedAt) > 0 ? Date.parse(finishedAt) : Date.parse(createdAt);

const triesOf = ({ labels }: ContainerDetails): number => Math.max(1, Number(labels[triesLabel]) || 1);
