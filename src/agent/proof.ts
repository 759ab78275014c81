import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TextFile } from '../compose/text-file.ts';
import type { Compose, Model } from '../engine/compose.ts';
import { castShadow } from './shadow.ts';

/**
 * Compose's model of the project as it will be with these texts in place of the files of the same paths. `linkedFiles`
 * are those that `include` and `extends` lead to, where one of them changes.
 */
export async function modelWith(
  compose: Compose,
  composeFiles: readonly TextFile[],
  envFiles: readonly TextFile[],
  linkedFiles: readonly TextFile[] = [],
): Promise<Model> {
  const stage = await mkdtemp(join(tmpdir(), 'svc-updater-stage-'));
  try {
    if (linkedFiles.length > 0) {
      await castShadow(stage, compose.project.directory, [...composeFiles, ...envFiles, ...linkedFiles]);
      const model = await compose.under(stage).config();
      return JSON.parse(JSON.stringify(model).replaceAll(stage, ''));
    }
    const put = (file: TextFile, index: number, kind: string) => {
      const path = join(stage, `${kind}${index}-${basename(file.path)}`);
      return writeFile(path, file.text, { mode: 0o600 }).then(() => path);
    };
    const [files, envs] = await Promise.all([
      Promise.all(composeFiles.map((file, index) => put(file, index, 'f'))),
      Promise.all(envFiles.map((file, index) => put(file, index, 'e'))),
    ]);
    return await compose.config({ files, envFiles: envs });
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

export interface Planned {
  /** The whole image reference a service must end with. */
  images: ReadonlyMap<string, string>;
  /** Values of variables that change, old to new: other values may come from the same variable. */
  substitutions: readonly { from: string; to: string }[];
}

export interface Proof {
  /** What differs beyond the plan; empty when the edit is proven. */
  unexpected: string[];
  /** Other services whose image moves by the same pin. */
  alsoMoved: string[];
}

/** Compares two models: exactly the planned images may differ, and what comes from the version variable itself. */
export function prove(before: Model, after: Model, planned: Planned): Proof {
  const unexpected: string[] = [];
  const alsoMoved = new Set<string>();
  for (const [service, image] of planned.images) {
    const now = after.services[service]?.image;
    if (now !== image) unexpected.push(`services.${service}.image: ${now ?? 'nothing'} instead of ${image}`);
  }
  for (const { path, from, to } of differences(before, after, [])) {
    const [section, service = '', key] = path;
    const isImage = section === 'services' && key === 'image' && path.length === 3;
    if (isImage && planned.images.has(service)) continue;
    if (comesFromVariable(from, to, planned)) {
      if (isImage) alsoMoved.add(service);
      continue;
    }
    unexpected.push(`${path.join('.')}: ${show(from)} → ${show(to)}`);
  }
  return { unexpected, alsoMoved: [...alsoMoved] };
}

function comesFromVariable(from: unknown, to: unknown, { substitutions }: Planned): boolean {
  if (typeof from !== 'string' || typeof to !== 'string') return false;
  return substitutions.some((change) =>
    // A variable that was not set until now stood for nothing.
    change.from === ''
      ? to.replaceAll(change.to, '') === from
      : from.replaceAll(change.from, change.to) === to,
  );
}

interface Difference {
  path: string[];
  from: unknown;
  to: unknown;
}

function differences(before: unknown, after: unknown, path: string[]): Difference[] {
  if (before === after) return [];
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => differences(before[key], after[key], [...path, key]));
  }
  return [{ path, from: before, to: after }];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
