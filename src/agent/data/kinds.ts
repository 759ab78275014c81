import { files } from './files.ts';
import type { DataKind } from './kind.ts';
import { mariadb } from './mariadb.ts';
import { postgres } from './postgres.ts';

/** Every kind of data that can be kept; a new one is a file of its own, and a row here. */
const kinds = { files, postgres, mariadb };

export type KindName = keyof typeof kinds;

/** Whoever has a source or a part of a kind by its name has had it checked by that kind. */
type AnyKind = DataKind<unknown, unknown>;

export const isKindName = (value: unknown): value is KindName =>
  typeof value === 'string' && Object.hasOwn(kinds, value);

export const kindOf = (name: KindName): AnyKind => (kinds as unknown as Record<KindName, AnyKind>)[name];
