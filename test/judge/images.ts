import type { ContainerState } from '../rig/snapshot.ts';
import { differs } from './differs.ts';
import type { Look } from './look.ts';

/** Services that a successful update changes, and their image. */
export interface MovedTo {
  /** Services that run the new image; the first is the app. */
  moved: readonly string[];
  /** Services with new containers; those not in `moved` keep their image. */
  recreated: readonly string[];
  /** The reference of the new image; by default the reference that each container was created from. */
  reference?: string | undefined;
}

/** All updated services run the same new image, and their local tag points to it. */
export function judgeImages(before: Look, after: Look, { moved, recreated, reference }: MovedTo): string[] {
  const those = Object.entries(after.containers).filter(([, { service }]) => moved.includes(service));
  const images = [...new Set(those.map(([, { image }]) => image))];
  const old = Object.values(before.containers).filter(({ service }) => service === moved[0]);
  const followers = Object.entries(before.containers).filter(
    ([, { service }]) => recreated.includes(service) && !moved.includes(service),
  );
  return [
    ...(images.length === 1
      ? []
      : [`${moved.join(' and ')} run ${images.length} images: ${images.join(', ')}`]),
    ...old
      .filter(({ image }) => images.includes(image))
      .map(({ image }) => `the old image still runs: ${image}`),
    ...those.flatMap(([name, state]) => {
      const tag = reference ?? tagOf(state);
      // An image pulled by digest gets no tag.
      if (tag.includes('@') || after.tags[tag] === state.image) return [];
      return [`${name} runs ${state.image}, and ${tag} is ${after.tags[tag] ?? 'not there'}`];
    }),
    ...followers.flatMap(([name, { image }]) =>
      differs(`the image of ${name}`, image, after.containers[name]?.image),
    ),
  ];
}

/** Every tag points to the same image as before, so that the next `docker compose up -d` changes nothing. */
export function judgeTags(before: Look, after: Look, except: readonly string[] = []): string[] {
  const known = Object.entries(before.tags).filter(([tag]) => !except.includes(tag));
  return differs(
    'tags',
    Object.fromEntries(known),
    Object.fromEntries(known.map(([tag]) => [tag, after.tags[tag]])),
  );
}

/** The references of the containers of these services, with tags. */
export const referencesOf = ({ containers }: Look, services: readonly string[]): string[] =>
  Object.values(containers)
    .filter(({ service }) => services.includes(service))
    .map(tagOf);

/** The default tag is `latest`. */
function tagOf({ reference }: ContainerState): string {
  return /:[^/]*$/.test(reference) ? reference : `${reference}:latest`;
}
