/**
 * A product that people host, by the facts of the compose file that it publishes: names of services, images, variables,
 * mounts, what waits for what. The layout is ours, and no text of that file is in it.
 */
export interface Product {
  title: string;
  /** Where its compose file is published, and the day on which that was read. */
  origin: string;
  read: string;
  /** The file's name, as the documentation of the product has it. */
  file: string;
  /** The name of the project in the file's own first line. */
  namesProject?: boolean;
  services: Readonly<Record<string, Service>>;
  /** What several services are alike in, which the file says once, behind an anchor. */
  shared?: Readonly<Record<string, Service>>;
  volumes?: readonly string[];
  /** Networks with their definitions, beside the default one. */
  networks?: Readonly<Record<string, string>>;
  /** Lines of `.env`, besides those of the form; and of other env files. */
  env?: Readonly<Record<string, string>>;
  envFiles?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Those that a release moves; the first is the app. */
  moved: readonly [app: string, ...others: string[]];
  /** Others that an owner might take for the app, as the refusal `no-app` lists them behind it. */
  mayBeApp?: readonly string[];
  /** One that no release of the product may ever move. */
  database?: string;
  /** How the images tell their version: as the tag has it, without its `v` and its suffix, or not at all. */
  label: 'tag' | 'plain' | 'none';
  releases: Readonly<Record<ReleaseName, Release>>;
  /** Its tags are no versions: an update goes where the tag that floats leads, and to no target. */
  isUntargeted?: boolean;
  /** How people pin it; the first as published. */
  forms: readonly [Form, ...Form[]];
}

export interface Service {
  /** Without the registry: `immich-app/immich-server`. */
  repository?: string;
  /** What the file has in place of the repository, whose place is `@`; in place of the tag, too, where `§` is in it. */
  written?: string;
  /** Everything behind the colon: `§` is the pin; without it the file has no tag. */
  tag?: string;
  /** Behind the tag stands the digest. */
  digest?: boolean;
  /** The name behind an anchor of `shared`. */
  like?: string;
  containerName?: string;
  command?: string;
  entrypoint?: string;
  user?: string;
  mounts?: readonly string[];
  /** Lines of the environment; without a `=` the value is that of the project's own environment. */
  environment?: readonly string[];
  envFile?: string;
  needs?: readonly string[];
  needsHealthy?: readonly string[];
  networks?: readonly string[];
  hostNetwork?: boolean;
  /** The command of a health check in the file. */
  health?: string;
  /** The file leaves the health check to the image, by `disable: false`. */
  keepsHealth?: boolean;
  /** The image has a health check. */
  imageHealth?: boolean;
}

/** `missing` is in no registry; the app of `crashing` exits as it starts. */
export type ReleaseName = 'old' | 'next' | 'crashing' | 'missing';

/** One release by its tags: the exact one, the one in parts, the word that floats. */
export interface Release {
  tag: string;
  part?: string;
  word?: string;
}

export interface Form {
  /** Of `no version` nobody can tell which one is newer. */
  name: 'floating' | 'in parts' | 'pinned' | 'no version';
  /** What stands for `§` in the file; `{tag}`, `{part}` and `{word}` are the release's. Empty for no tag at all. */
  pin: string;
  /** Lines of `.env`. */
  env?: Readonly<Record<string, string>>;
}

/** `{tag}`, `{part}` and `{word}` in a text. */
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

/** Where the pin does not move with every release, a release may come without a change of a file. */
export const floats = ({ name }: Form): boolean => name === 'floating';
