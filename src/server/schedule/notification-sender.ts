import { Notifier } from '../../notify/notifier.ts';
import { automaticCaller } from '../../wire/codes.ts';
import type { Rehearsal, Run } from '../../wire/status.ts';
import type { RepeatedCheck } from '../application/repeat-check.ts';
import type { Rehearser } from '../rehearsal/rehearser.ts';
import type { ServerContextWithRuns } from '../run/request/server-context-with-runs.ts';

/** Notifies users of releases and runs (docs/contract.md 8.43). Only one server sends each notification. */
export class NotificationSender implements RepeatedCheck {
  readonly pauseMs: number;
  readonly wakenBy = 'offer';
  readonly #parts: ServerContextWithRuns;
  readonly #rehearser: Rehearser;
  readonly #notifier: Notifier;
  /** Keys of notifications known to be claimed by this server or another one. */
  readonly #claimed = new Set<string>();

  constructor(parts: ServerContextWithRuns, rehearser: Rehearser) {
    this.#rehearser = rehearser;
    const { settings, timing, listeners } = parts;
    this.#parts = parts;
    this.pauseMs = timing.prefetch;
    this.#notifier = new Notifier(settings.product.name, (message) =>
      settings.log({ level: 'warn', message }),
    );
    this.#notifier.addresses = settings.notify;
    if (settings.notify.length === 0) return;
    // A run counts as started when its updater writes the first log line. Until then, the run may end without any
    // effect.
    listeners.on('line', ({ run }) => this.#tellOf(run));
    listeners.on('end', (run) => this.#tellOf(run));
  }

  async check(): Promise<void> {
    const { history, offers, settings } = this.#parts;
    if (settings.notify.length === 0) return;
    const [last = null] = await history.all();
    const { latest, next, updateAvailable, urgent, recalled } = (await offers.now(last)).offer;
    const { version: from } = settings;
    if (recalled !== null) {
      const message = `the running version ${from} was recalled: ${recalled.why}`;
      await this.#tell(from, { event: 'recalled', version: from, from, url: recalled.url, message });
    }
    if (next === null || !updateAvailable) return;
    const { version } = next;
    const url = latest?.version === version ? latest.url : null;
    const event = urgent === null ? 'offered' : 'urgent';
    const message = [`${version} is available; ${from} is running`, urgent?.why ?? []].flat().join(': ');
    await this.#tell(version, { event, version, from, url, message });
    const { results } = await this.#rehearser.findFacts();
    const result = results.find((each) => each.version === version);
    if (result?.by === automaticCaller) await this.#tellOfRehearsal(result);
  }

  /** Notifies only of rehearsals that no user is waiting for. */
  async #tellOfRehearsal({ version, state, message }: Rehearsal): Promise<void> {
    if (state === 'succeeded') return;
    const { version: from } = this.#parts.settings;
    await this.#tell(`${version} ${state}`, { event: 'rehearsed', version, from, outcome: state, message });
  }

  /** Forgets all claims, so that the next check tries to claim the notifications again. */
  async onFailure(): Promise<void> {
    this.#claimed.clear();
  }

  async close(): Promise<void> {
    await this.#notifier.close(0);
  }

  async #tellOf({ id, kind, from, to: version, phase, outcome, code, ...run }: Run): Promise<void> {
    if (phase === null && (outcome === 'cancelled' || outcome === 'refused')) return;
    const event = outcome === null ? 'started' : 'finished';
    const ended = [run.cause ?? [], run.message].flat().join('; ');
    const message = outcome === null ? `${kind} from ${from} to ${version}` : ended;
    await this.#tell(`${id} ${outcome}`, { event, version, from, outcome, code, message });
  }

  /** @throws ApplicationError if the store fails */
  async #tell(about: string, facts: Parameters<Notifier['send']>[0]): Promise<void> {
    const key = `${facts.event} ${about}`;
    if (this.#claimed.has(key)) return;
    this.#claimed.add(key);
    if (await this.#parts.ledger.claimNotice(key)) this.#notifier.send(facts);
  }
}
