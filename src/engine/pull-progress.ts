import { parseObject } from './compose-output.ts';

interface Layer {
  /** Bytes. */
  done: number;
  total: number;
}

export interface PullProgress {
  /** 0 to 99: a pull is whole only once the command has ended. */
  percent: number;
  doneBytes: number;
  totalBytes: number;
}

const afterDownload = /^(Download complete|Verifying Checksum|Extracting|Pull complete|Extract complete)/;

/**
 * Adds up what `docker compose --progress json pull` says of its layers. The words stand in `text` or in `status`,
 * depending on compose's version; both are read. Percent is weighted by bytes and never goes back.
 */
export class PullMeter {
  readonly #layers = new Map<string, Layer>();
  #percent = 0;

  /** Gives the state after a line of progress, or null where the line says nothing of bytes. */
  read(line: string): PullProgress | null {
    const event = parseObject(line);
    if (!event || typeof event.parent_id !== 'string' || typeof event.id !== 'string') return null;
    const layer = this.#layers.get(event.id) ?? { done: 0, total: 0 };
    const words = [String(event.text ?? ''), String(event.status ?? '')];
    if (words.some((word) => word.startsWith('Downloading'))) {
      layer.total = Math.max(layer.total, Number(event.total ?? 0));
      layer.done = Math.max(layer.done, Number(event.current ?? 0));
    } else if (words.some((word) => afterDownload.test(word))) {
      layer.done = layer.total;
    } else {
      return null;
    }
    this.#layers.set(event.id, layer);
    return this.#sum();
  }

  #sum(): PullProgress | null {
    let doneBytes = 0;
    let totalBytes = 0;
    for (const { done, total } of this.#layers.values()) {
      doneBytes += Math.min(done, total);
      totalBytes += total;
    }
    if (totalBytes === 0) return null;
    this.#percent = Math.max(this.#percent, Math.min(99, Math.floor((100 * doneBytes) / totalBytes)));
    return { percent: this.#percent, doneBytes, totalBytes };
  }
}
