import type { ComposeText } from './compose-text.ts';
import type { Kind, Layout, LayoutContext } from './layout.ts';
import type { ReleaseOptions } from './releases.ts';

/** Differences of an instance from the default; all are optional. */
export interface InstanceOptions {
  /** Default `variable`. */
  kind?: Kind;
  /** Replaces the kind. */
  layout?: (context: LayoutContext) => Layout;
  /** Additional parts of its compose files. */
  text?: Partial<ComposeText>;
  /** Files that replace those of the layout; null removes a file. */
  files?: (context: LayoutContext) => Record<string, string | null>;
  /** The first tag. Default v1.0.0. */
  tag?: string;
  /** Options of the first image; by default, `latest` is 1.0.0 and `canary` is 1.1.0-canary.1. */
  release?: ReleaseOptions;
  /** Additional published tags. Default v1.1.0. */
  publish?: string[];
  /** Whether its file system stores no owners and modes. */
  keepsNoOwners?: boolean;
  /** The name of its directory and project, instead of a random name. */
  name?: string;
  /** The parent of its directory. */
  folder?: string;
  /** Started with `-p <name>-<this>` instead of the directory's name. */
  project?: string;
  /** Additional flags between `docker compose` and `up`, such as `--profile`. */
  flags?: string[];
  /** Additional arguments of `up`, such as `--scale`. */
  up?: string[];
  /** Its images are pulled by a separate command before the start. */
  pullFirst?: boolean;
  /** Lines added to `.env`. */
  env?: string;
  /** The environment of the shell that starts the instance, besides PATH and HOME. */
  shell?: Record<string, string>;
  /** The last part of the repository of app and worker. Default `svc`, by which the updater detects its own product. */
  repository?: string;
  /** A registry in front of the registry of the test run. */
  registry?: string;
  /** Created by compose of the updater's image, instead of the machine's compose. */
  byImagesCompose?: boolean;
  /** Do not wait until everything is healthy. */
  impatient?: boolean;
}
