import type { PastPoint } from '../../wire/back-point.ts';
import { type BackOffer, backOfferShape, type Reason } from '../../wire/status.ts';
import type { Home } from '../place/home.ts';
import { chooseServices } from '../place/services.ts';
import { asideContainer, isAbout } from '../place/updater-container.ts';
import { followRun } from './follow-run.ts';
import { obtainImage } from './launch.ts';
import { freshRun, RunRecord } from './run-record.ts';
import { RunStop } from './run-stop.ts';
import type { ServerContext } from './server-context.ts';

/** Null where the server closes. */
type BackAnswer = { offer: BackOffer } | { reason: Reason } | null;

/** Milliseconds for which an answer is remembered: it costs a look at all data. */
const rememberedMs = 60_000;

/** What going back leads to, as an updater tells that looks and changes nothing. */
export class BackOffers {
  readonly #context: ServerContext;
  #last: { of: string; answer: Promise<BackAnswer>; endedAt: number } | null = null;

  constructor(context: ServerContext) {
    this.#context = context;
  }

  /** Who asks while an updater looks waits for the same answer. @throws EngineFault */
  ask({ id, point }: PastPoint, home: Home): Promise<BackAnswer> {
    const last = this.#last;
    if (last?.of === id && performance.now() - last.endedAt < rememberedMs) return last.answer;
    const asked = { of: id, answer: this.#look(point.version, home), endedAt: Number.POSITIVE_INFINITY };
    this.#last = asked;
    asked.answer.then(
      () => {
        asked.endedAt = performance.now();
      },
      () => this.forget(),
    );
    return asked.answer;
  }

  forget(): void {
    this.#last = null;
  }

  async #look(to: string, home: Home): Promise<BackAnswer> {
    const { engine, settings, timing, closing } = this.#context;
    const told = new Date().toISOString();
    // Nobody is shown this run; it takes the log's end apart like any other.
    const origin = { id: `back-${home.project}`, kind: 'back', from: settings.version, to } as const;
    const record = new RunRecord(freshRun({ ...origin, startedAt: told }));
    const answered = new AbortController();
    const late = AbortSignal.timeout(timing.compare);
    const signal = AbortSignal.any([closing, late, answered.signal]);
    let offer: BackOffer | undefined;
    try {
      await obtainImage(record, { ...this.#context, signal });
      const services = await chooseServices(engine, home, settings);
      const order = { command: ['back'], services, origin: record.run } as const;
      const container = asideContainer('back', home, settings, order);
      const left = await engine.inspect(container.name);
      if (left !== null && isAbout(left, home)) await engine.remove(left.id, { force: true });
      const containerId = await engine.create(container);
      try {
        await engine.start(containerId);
        await followRun(containerId, record, { engine, timing, closing: signal }, (_, fields) => {
          offer ??= backOfferShape.read(fields.back);
          if (offer) answered.abort();
        });
      } finally {
        await engine.remove(containerId, { force: true }).catch(() => {});
      }
    } catch (error) {
      if (closing.aborted) return null;
      if (late.aborted) return { reason: tooLate };
      if (!(error instanceof RunStop)) throw error;
      const { message, why } = error;
      return { reason: refusalOf({ message, cause: null, code: null, advice: null, ...why }) };
    }
    if (offer) return { offer: { ...offer, from: offer.from ?? settings.version } };
    if (record.hasEnded) return { reason: refusalOf(record.run) };
    return closing.aborted ? null : { reason: tooLate };
  }
}

const tooLate: Reason = {
  code: 'back-refused',
  message: 'it takes too long to tell what is lost by going back',
  advice: 'On the machine, svc-updater back tells it.',
};

const refusalOf = ({
  message,
  cause,
  code,
  advice,
}: Pick<RunRecord['run'], 'message' | 'cause' | 'code' | 'advice'>): Reason => ({
  code: 'back-refused',
  message: cause ?? message,
  ...(code !== null && { refusal: code }),
  ...(advice !== null && { advice }),
});
