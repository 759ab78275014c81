import type { Reason } from '../../wire/status.ts';

/** An archive, or a part of one, that is not taken. */
export class ArchiveRefused extends Error {
  override readonly name = 'ArchiveRefused';
  readonly reason: Reason;

  constructor(code: Reason['code'], message: string, advice?: string) {
    super(message);
    this.reason = { code, message, ...(advice !== undefined && { advice }) };
  }
}

/** A disk that has no room, or takes files of that size. */
const full = ['ENOSPC', 'EDQUOT', 'EFBIG'];

export const isFull = (error: unknown): boolean => full.includes((error as NodeJS.ErrnoException).code ?? '');

export const noRoom = (directory: string, bytes: number, free: number | null): ArchiveRefused =>
  new ArchiveRefused(
    'archive-refused',
    `there is no room for ${inMegabytes(bytes)} more in ${directory}${free === null ? '' : `, where ${inMegabytes(free)} are free`}`,
    'Make room there, then send it again.',
  );

const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1_000_000)} MB`;
