import { inspectImages, listContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Changeover } from '../state/changeover.ts';

/** Images that can go, as `docker image rm` takes them. */
export interface Freeable {
  references: readonly string[];
  /** Bytes of all; what they share is counted with each. */
  size: number;
}

/** The old images of the services that moved, the app's first, as far as no container is left of them; null for none. */
export async function freeable(engine: Engine, { moved, containers }: Changeover): Promise<Freeable | null> {
  const old = new Map(
    moved.flatMap(({ name }) =>
      containers
        .filter(({ service }) => service === name)
        .map(({ imageId, reference }) => [imageId, reference] as const),
    ),
  );
  const found = await Promise.all([...old].map(([id, reference]) => look(engine, id, reference)));
  const free = found.filter((each) => each !== null);
  if (free.length === 0) return null;
  return {
    references: free.map(({ reference }) => reference),
    size: free.reduce((sum, { size }) => sum + size, 0),
  };
}

async function look(
  engine: Engine,
  id: string,
  reference: string,
): Promise<{ reference: string; size: number } | null> {
  const [users, [image, named]] = await Promise.all([
    listContainers(engine, { ancestor: [id] }),
    inspectImages(engine, [id, reference]),
  ]);
  if (users.length > 0 || !image) return null;
  return { reference: named?.id === image.id ? reference : id.slice(0, 19), size: image.size };
}

/** `to free 12 MB: docker image rm acme/svc:v1.0.0 acme/svc-learning:v1.0.0` */
export const howToFree = ({ references, size }: Freeable): string =>
  `to free ${Math.round(size / 1_000_000)} MB: docker image rm ${references.join(' ')}`;
