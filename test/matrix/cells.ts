// The dimensions of the table in docs/matrix.md. All of them go together: compose 5 asks for an engine with API 1.40, and
// engine 29 for a client with it; 20.10 has 1.41, and compose 2.26 1.45.

import { type EngineName, engineNames, kindOf } from './engines.ts';

export const imageNames = ['2.40', '5.4', '5.5'] as const;
export const makerNames = ['2.20', '2.26', '2.40', '5.4', '5.5'] as const;

export type ImageName = (typeof imageNames)[number];
export type MakerName = (typeof makerNames)[number];

/** One field of the table: an updater, the compose that made the instance, and the engine that both use. */
export interface Cell {
  /** The compose in the updater's image. */
  image: ImageName;
  /** The compose on the machine, which made the instance and is used by its owner afterwards. */
  maker: MakerName;
  engine: EngineName;
}

/** As it is typed: `5.4/2.26/29-containerd`. */
export const nameOf = ({ image, maker, engine }: Cell): string => `${image}/${maker}/${engine}`;

/** Newest first: what most people have is known soonest. */
export const allCells: readonly Cell[] = engineNames.toReversed().flatMap(cellsOf);

/** As scripts/matrix builds it: `5.4`, `5.4-arm64`. */
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
 * The cells that a pattern means: three parts, each a name, the beginning of one up to a `-`, or `*`. `*` stands for
 * parts that are left out at the end.
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
