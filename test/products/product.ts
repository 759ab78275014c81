/**
 * A self-hosted product, described by the facts of its published compose file: names of services, images, variables,
 * mounts and dependencies. The layout is our own, and no text of that file is copied.
 */
export interface Product {
  title: string;
  /** The address of its compose file, and the day on which we read the file. */
  origin: string;
  read: string;
  /** The file's name in the documentation of the product. */
  file: string;
  /** Whether the first line of the file sets the project's name. */
  namesProject?: boolean;
  services: Readonly<Record<string, Service>>;
  /** Definitions shared by several services, behind an anchor. */
  shared?: Readonly<Record<string, Service>>;
  volumes?: readonly string[];
  /** Networks with their definitions, besides the default network. */
  networks?: Readonly<Record<string, string>>;
  /** Lines of `.env`, besides the lines of the form, and of other env files. */
  env?: Readonly<Record<string, string>>;
  envFiles?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Services that a release updates; the first is the app. */
  moved: readonly [app: string, ...others: string[]];
  /** Other services that an owner may take for the app, in the order of the error `no-app`. */
  mayBeApp?: readonly string[];
  /** A database that no release of the product may update. */
  database?: string;
  /** The version label of the images: the tag, the tag without `v` and suffix, or none. */
  label: 'tag' | 'plain' | 'none';
  releases: Readonly<Record<ReleaseName, Release>>;
  /** The tags are not versions: an update follows the floating tag, and has no target. */
  isUntargeted?: boolean;
  /** Usual ways of pinning the product, beginning with the published form. */
  forms: readonly [Form, ...Form[]];
}

export interface Service {
  /** The repository without the registry: `immich-app/immich-server`. */
  repository?: string;
  /** The text of the file in place of the repository (`@`), and also of the tag if the text contains `§`. */
  written?: string;
  /** The text behind the colon, with `§` for the pin; without it, the file has no tag. */
  tag?: string;
  /** Whether the digest follows the tag. */
  digest?: boolean;
  /** The name of the anchor in `shared`. */
  like?: string;
  containerName?: string;
  command?: string;
  entrypoint?: string;
  user?: string;
  mounts?: readonly string[];
  /** Lines of the environment; without a `=`, the value is taken from the project's own environment. */
  environment?: readonly string[];
  envFile?: string;
  needs?: readonly string[];
  needsHealthy?: readonly string[];
  networks?: readonly string[];
  hostNetwork?: boolean;
  /** The command of a health check in the file. */
  health?: string;
  /** Whether the file keeps the health check of the image by `disable: false`. */
  keepsHealth?: boolean;
  /** The image has a health check. */
  imageHealth?: boolean;
}

/** `missing` is in no registry; the app of `crashing` exits at its start. */
export type ReleaseName = 'old' | 'next' | 'crashing' | 'missing';

/** The tags of a release: the exact tag, its parts, and the floating tag. */
export interface Release {
  tag: string;
  part?: string;
  word?: string;
}

export interface Form {
  /** With `no version`, it is unknown which of two tags is newer. */
  name: 'floating' | 'in parts' | 'pinned' | 'no version';
  /**
   * The text for `§` in the file; `{tag}`, `{part}` and `{word}` are replaced with those of the release. Empty for no
   * tag.
   */
  pin: string;
  /** Lines of `.env`. */
  env?: Readonly<Record<string, string>>;
}

/**
 * The tags of the releases `old`, `next`, `crashing` and `missing`, in this order. `parts` is how many numbers a partial
 * tag has, and `word` is the floating tag of all releases that exist.
 */
export function releasesOf(
  tags: string,
  { parts, word }: { parts?: number; word?: string } = {},
): Product['releases'] {
  const shorten = (version: string) => version.split('.').slice(0, parts).join('.');
  const [old, next, crashing, missing] = tags.split(' ').map(
    (tag, index): Release => ({
      tag,
      ...(parts !== undefined && { part: tag.replace(/\d[\d.]*/, shorten) }),
      ...(word !== undefined && index < 3 && { word }),
    }),
  ) as [Release, Release, Release, Release];
  return { old, next, crashing, missing };
}

export const floating: Form = { name: 'floating', pin: '{word}' };
export const inParts: Form = { name: 'in parts', pin: '{part}' };
export const pinned: Form = { name: 'pinned', pin: '{tag}' };

/** Replaces `{tag}`, `{part}` and `{word}` in a text. */
export const ofRelease = (text: string, release: Release): string =>
  text.replace(/\{(tag|part|word)\}/g, (_, key: keyof Release) => {
    const value = release[key];
    if (value === undefined) throw new Error(`${release.tag} has no ${key}`);
    return value;
  });

/** All tags that a release has. */
export const tagsOf = ({ tag, part, word }: Release): string[] => [
  ...new Set([tag, part, word].filter((each) => each !== undefined)),
];

/** Whether a release of the product has an image for it. */
export const isReleased = ({ written = '', tag = '' }: Service): boolean => `${written}${tag}`.includes('§');

/** Whether the pin stays the same for several releases, so that a release may require no change of a file. */
export const floats = ({ name }: Form): boolean => name === 'floating';
