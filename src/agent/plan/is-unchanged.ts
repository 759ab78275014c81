import { type Image, isUp } from '../../engine/container.ts';
import { keepsContainer } from '../../engine/same-image.ts';
import { type Installation, movedServices } from '../inspect/installation.ts';
import type { FilePlan } from './plan-files.ts';

/** Nothing is to be written, and the containers that run are all that must run, of exactly these images. */
export function isUnchanged(
  installation: Installation,
  { changes, references }: FilePlan,
  images: ReadonlyMap<string, Image>,
): boolean {
  return (
    changes.length === 0 &&
    installation.app.running > 0 &&
    movedServices(installation).every(
      ({ name, containers, running }) =>
        running === containers.filter(isUp).length &&
        containers.every((container) => keepsContainer(container, images.get(references.get(name) ?? ''))),
    )
  );
}
