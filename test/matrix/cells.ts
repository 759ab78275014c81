// The dimensions of the table in docs/matrix.md. All combinations are compatible: compose 5 requires an engine with API
// 1.40, and engine 29 requires a client with it; engine 20.10 has API 1.41, and compose 2.26 has 1.45.

import { type EngineName, engineNames, kindOf } from './engines.ts';

export const imageNames = ['2.40', '5.4', '5.5'] as const;
export const makerNames = ['2.20', '2.26', '2.40', '5.4', '5.5'] as const;

export type ImageName = (typeof imageNames)[number];
export type MakerName = (typeof makerNames)[number];

/** A cell of the table: an updater, the compose that created the instance, and the engine that both use. */
export interface Cell {
  /** The compose in the updater image. */
  image: ImageName;
  /** The compose on the machine, which created the instance and is used by its owner afterwards. */
  maker: MakerName;
  engine: EngineName;
}

/** Name of a cell on the command line: `5.4/2.26/29-containerd`. */
export const nameOf = ({ image, maker, engine }: Cell): string => `${image}/${maker}/${engine}`;

/** Newest first, because most users have new versions. */
export const allCells: readonly Cell[] = engineNames.toReversed().flatMap(cellsOf);

/** Name of the updater image that scripts/matrix builds: `5.4`, `5.4-arm64`. */
export const imageOf = ({ image, engine }: Cell): string =>
  [image, kindOf(engine).machine ?? []].flat().join('-');

function cellsOf(engine: EngineName): Cell[] {
  const { maker } = kindOf(engine);
  if (maker !== undefined) return [{ image: '5.4', maker, engine }];
  return imageNames
    .toReversed()
    .flatMap((image) => makerNames.toReversed().map((maker) => ({ image, maker, engine })));
}

/**
 * Cells that match a pattern of three parts. A part is a name, a prefix of a name up to a `-`, or `*`. Omitted parts
 * at the end match everything.
 */
export function matching(pattern: string): readonly Cell[] {
  const parts = pattern.split('/');
  if (parts.length > 3) return [];
  const [image = '*', maker = '*', engine = '*'] = parts;
  const fits = (part: string, name: string) => part === '*' || name === part || name.startsWith(`${part}-`);
  return allCells.filter(
    (cell) => fits(image, cell.image) && fits(maker, cell.maker) && fits(engine, cell.engine),
  );
}
