import { type Json, object, parseObject } from './json.ts';

export interface PullProgress {
  /** 0 to 99: a pull is whole only once the command has ended. Null until every layer has told its size. */
  percent: number | null;
  doneBytes: number;
  /** Of the layers that have told their size. */
  totalBytes: number;
}

const announced = /^(Pulling fs layer|Waiting)/;
const afterDownload =
  /^(Already exists|Download complete|Verifying Checksum|Extracting|Pull complete|Extract complete)/;

/**
 * Adds up what a pull says of its layers. Percent is weighted by bytes and never goes back: it waits for the layers
 * that are announced and have not told their size, because a small one that is whole says nothing of the rest.
 */
export class PullMeter {
  /** Bytes by layer; the total is null until the layer begins to come in. */
  readonly #layers = new Map<string, { done: number; total: number | null }>();
  #percent = 0;
  /** Whether the engine has said that the pull is over. */
  #end: 'unknown' | 'awaited' | 'reached' = 'unknown';

  /** Gives the state after a line of `docker compose --progress json pull`, or null if the line says nothing of bytes. */
  read(line: string): PullProgress | null {
    const event = parseObject(line);
    return typeof event?.parent_id === 'string' ? this.add(event) : null;
  }

  /**
   * Whether the pull is over, by what the engine has said. An answer can end early and look whole, as behind a proxy
   * that loses the engine.
   */
  get hasEnded(): boolean {
    return this.#end === 'reached';
  }

  /**
   * Gives the state after an event of the engine or of compose, or null if it says nothing of bytes. Compose has the
   * engine's words in `text` or in `status`, depending on its version.
   */
  add({ id, text, status, progressDetail, ...bytes }: Json): PullProgress | null {
    const words = [String(text ?? ''), String(status ?? '')];
    this.#readEnd(words[1] ?? '');
    if (typeof id !== 'string') return null;
    const { current, total } = object(progressDetail ?? bytes);
    const layer = this.#layers.get(id) ?? { done: 0, total: null };
    const says = (form: RegExp) => words.some((word) => form.test(word));
    if (says(/^Downloading/)) {
      layer.total = Math.max(layer.total ?? 0, Number(total ?? 0));
      layer.done = Math.max(layer.done, Number(current ?? 0));
    } else if (says(afterDownload)) {
      // A layer that was here already, or that came in before it told its size, counts as nothing.
      layer.total ??= 0;
      layer.done = layer.total;
    } else if (!says(announced)) {
      return null;
    }
    this.#layers.set(id, layer);
    return this.#sum();
  }

  /** Docker's pull begins with the first line and ends with the second; another engine's, such as Podman's, has neither. */
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
