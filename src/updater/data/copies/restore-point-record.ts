import type { DataContext, RestorePointLocation } from '../data-context.ts';
import {
  findRestorePoints,
  isCompleteRestorePoint,
  isUsedRestorePoint,
  type RestorePointProject,
  type RestorePointRecordData,
  readRestorePointRecord,
  writeRestorePointRecord,
} from '../restore-point.ts';
import { hashCopies } from './copy-mounts.ts';

/** Record of a restore point, completed during a run. Only this object writes the record, one write at a time. */
export class RestorePointRecord {
  readonly place: RestorePointLocation;
  #point: RestorePointRecordData;
  #writing: Promise<unknown> = Promise.resolve();
  #hashing: Promise<void> | null = null;
  #stop = new AbortController();

  private constructor(location: RestorePointLocation, point: RestorePointRecordData) {
    this.place = location;
    this.#point = point;
  }

  /** Creates a record and writes it to the disk. @throws UpdateError save-failed */
  static async create(
    location: RestorePointLocation,
    point: RestorePointRecordData,
  ): Promise<RestorePointRecord> {
    return new RestorePointRecord(location, await writeRestorePointRecord(location, point));
  }

  /**
   * Opens an existing record; null if there is none. @throws UpdateError restore-point-damaged,
   * restore-point-unreadable, unexpected-file
   */
  static async open(location: RestorePointLocation): Promise<RestorePointRecord | null> {
    const point = await readRestorePointRecord(location);
    return point && new RestorePointRecord(location, point);
  }

  get point(): RestorePointRecordData {
    return this.#point;
  }

  /** Writes the record with the changed fields. @throws UpdateError save-failed */
  update(changes: Partial<RestorePointRecordData>): Promise<void> {
    const write = this.#writing.then(async () => {
      this.#point = await writeRestorePointRecord(this.place, { ...this.#point, ...changes });
    });
    this.#writing = write.catch(() => {});
    return write;
  }

  /** Starts to hash the copies in the background. Further calls have no effect. */
  startHashing(dataContext: DataContext): void {
    this.#hashing ??= this.#compute(dataContext);
  }

  /**
   * Waits until the record contains the hashes. If hashing was not started or has failed, computes the hashes now.
   * @throws UpdateError
   */
  async waitForHashes(dataContext: DataContext): Promise<void> {
    // If hashing failed in the background, for example because the engine was restarted, it is repeated below.
    await this.#hashing?.catch(() => {});
    if (this.#point.hashes !== null) return;
    this.#hashing = this.#compute(dataContext);
    await this.#hashing;
  }

  #compute(dataContext: DataContext): Promise<void> {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const work = { ...dataContext, engine: dataContext.engine.uncancellable() };
    const hashing = hashCopies(work, this.place, this.#point.mounts, { signal, isIdle: true }).then(
      (hashes) => this.update({ hashes }),
    );
    hashing.catch(() => {});
    return hashing;
  }

  cancelHashing(): void {
    this.#stop.abort(new Error('no longer needed'));
  }
}

/**
 * Finds the newest restore point that a rollback can use, with the journal of the run to undo. Returns null if there is
 * no such restore point. Skips restore points that are incomplete, were used, or contain data that a rollback replaced.
 * @throws UpdateError restore-point-damaged, restore-point-unreadable, unexpected-file
 */
export async function findUsableRestorePoint(directory: string, project: RestorePointProject) {
  for (const location of await findRestorePoints(directory, project)) {
    const record = await RestorePointRecord.open(location);
    const { back, kind } = record?.point ?? {};
    if (
      record === null ||
      kind !== 'update' ||
      !isCompleteRestorePoint(record.point) ||
      (await isUsedRestorePoint(location))
    )
      continue;
    if (back?.changeover) return { record, back, changeover: back.changeover };
  }
  return null;
}
