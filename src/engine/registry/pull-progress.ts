import { type Json, parseJsonOrNull, toObject } from '../objects/json.ts';

export interface PullProgress {
  /**
   * Percentage from 0 to 99, because a pull is complete only when the command has finished. Null until the size of
   * every layer is known.
   */
  percent: number | null;
  doneBytes: number;
  /** Total size of the layers with a known size. */
  totalBytes: number;
}

const announced = /^(Pulling fs layer|Waiting)/;
const afterDownload =
  /^(Already exists|Download complete|Verifying Checksum|Extracting|Pull complete|Extract complete)/;

/** Maximum number of layers. Further layers are ignored: the engine's images have at most 127 layers each. */
const maxLayers = 2_000;

/** Adds up the progress of a pull's layers. The percentage is weighted by bytes and never decreases. */
export class PullProgressMeter {
  /** Bytes, keyed by layer id. `total` is null until the layer's size is known. */
  readonly #layers = new Map<string, { done: number; total: number | null }>();
  #percent = 0;
  /** `awaited` after the engine has announced the pull, `reached` after the last line of the pull. */
  #end: 'unknown' | 'awaited' | 'reached' = 'unknown';

  /**
   * Returns the progress after a line of `docker compose --progress json pull`; null if the line contains no layer
   * progress.
   */
  readLine(line: string): PullProgress | null {
    const event = parseJsonOrNull(line);
    return typeof event?.parent_id === 'string' ? this.addEvent(event) : null;
  }

  /**
   * Whether the engine has reported the end of the pull. The end of the response is not sufficient, because a proxy may
   * end it early.
   */
  get hasEnded(): boolean {
    return this.#end === 'reached';
  }

  /**
   * Returns the progress after an event; null if the event contains no layer progress. Depending on its version,
   * compose puts the engine's text in `text` or `status`.
   */
  addEvent({ id, text, status, progressDetail, ...bytes }: Json): PullProgress | null {
    const words = [String(text ?? ''), String(status ?? '')];
    this.#readEnd(words[1] ?? '');
    if (typeof id !== 'string') return null;
    const { current, total } = toObject(progressDetail ?? bytes);
    const known = this.#layers.get(id);
    if (known === undefined && this.#layers.size >= maxLayers) return null;
    const layer = known ?? { done: 0, total: null };
    const says = (form: RegExp) => words.some((word) => form.test(word));
    if (says(/^Downloading/)) {
      layer.total = Math.max(layer.total ?? 0, Number(total ?? 0));
      layer.done = Math.max(layer.done, Number(current ?? 0));
    } else if (says(afterDownload)) {
      // A local layer, or one downloaded before its size was known, counts as 0 bytes.
      layer.total ??= 0;
      layer.done = layer.total;
    } else if (!says(announced)) {
      return null;
    }
    this.#layers.set(id, layer);
    return this.#sum();
  }

  /**
   * Detects the end of a pull. Docker's pull begins with `Pulling from …` and ends with `Status: …`. Other engines,
   * such as Podman, send neither, so any of their lines may be the last.
   */
  #readEnd(status: string): void {
    if (status.startsWith('Pulling from ')) this.#end = 'awaited';
    else if (status.startsWith('Status: ') || (status !== '' && this.#end === 'unknown'))
      this.#end = 'reached';
  }

  #sum(): PullProgress | null {
    const layers = [...this.#layers.values()];
    const totalBytes = layers.reduce((sum, { total }) => sum + (total ?? 0), 0);
    const doneBytes = layers.reduce((sum, { done, total }) => sum + Math.min(done, total ?? 0), 0);
    if (totalBytes === 0) return null;
    if (layers.some(({ total }) => total === null)) return { percent: null, doneBytes, totalBytes };
    this.#percent = Math.max(this.#percent, Math.min(99, Math.floor((100 * doneBytes) / totalBytes)));
    return { percent: this.#percent, doneBytes, totalBytes };
  }
}
