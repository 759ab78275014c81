import type { ContainerState } from '../rig/snapshot.ts';
import { differs } from './differs.ts';
import type { Look } from './look.ts';

/** Which services a good update moves to which image. */
export interface MovedTo {
  /** Services that run the new image; the first is the app. */
  moved: readonly string[];
  /** Services whose containers are new; those among them that are not moved keep their image. */
  recreated: readonly string[];
  /** The reference that the update moves to; by default the one that each container was created from. */
  reference?: string | undefined;
}

/** All that are moved run one image, another one than the app did before, and it is the one that their tag names here. */
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
      // Pulled by its digest, an image gets no tag.
      if (tag.includes('@') || after.tags[tag] === state.image) return [];
      return [`${name} runs ${state.image}, and ${tag} is ${after.tags[tag] ?? 'not there'}`];
    }),
    ...followers.flatMap(([name, { image }]) =>
      differs(`the image of ${name}`, image, after.containers[name]?.image),
    ),
  ];
}

/** Every tag names what it named, so that nothing waits for the operator's own next `docker compose up -d`. */
export function judgeTags(before: Look, after: Look, except: readonly string[] = []): string[] {
  const known = Object.entries(before.tags).filter(([tag]) => !except.includes(tag));
  return differs(
    'tags',
    Object.fromEntries(known),
    Object.fromEntries(known.map(([tag]) => [tag, after.tags[tag]])),
  );
}

/** The references that the containers of these services were created from, with their tags. */
export const referencesOf = ({ containers }: Look, services: readonly string[]): string[] =>
  Object.values(containers)
    .filter(({ service }) => services.includes(service))
    .map(tagOf);

/** Without a tag, `latest` is meant. */
function tagOf({ reference }: ContainerState): string {
  return /:[^/]*$/.test(reference) ? reference : `${reference}:latest`;
}
