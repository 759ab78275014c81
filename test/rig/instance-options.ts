import type { ComposeText } from './compose-text.ts';
import type { Kind, Layout, LayoutContext } from './layout.ts';
import type { ReleaseOptions } from './releases.ts';

/** How an instance differs from the plain one; everything may be left out. */
export interface InstanceOptions {
  /** Default `variable`. */
  kind?: Kind;
  /** In place of a kind. */
  layout?: (context: LayoutContext) => Layout;
  /** What its compose files say besides. */
  text?: Partial<ComposeText>;
  /** Files over those of the layout; null leaves one out. */
  files?: (context: LayoutContext) => Record<string, string | null>;
  /** The tag that it starts with. Default v1.0.0. */
  tag?: string;
  /** What is special about the image that it starts with; `latest` is 1.0.0 and `canary` 1.1.0-canary.1 by default. */
  release?: ReleaseOptions;
  /** Tags published beside it. Default v1.1.0. */
  publish?: string[];
  /** Its directory's name, and so the project's, in place of a random one. */
  name?: string;
  /** A directory that its own lies in. */
  folder?: string;
  /** Started with `-p <name>-<this>` instead of the directory's name. */
  project?: string;
  /** Further flags between `docker compose` and `up`, such as `--profile`. */
  flags?: string[];
  /** Further arguments of `up`, such as `--scale`. */
  up?: string[];
  /** Its images are pulled by a call of their own before it is started. */
  pullFirst?: boolean;
  /** Lines added to `.env`. */
  env?: string;
  /** The environment of the shell that starts it, beside PATH and HOME. */
  shell?: Record<string, string>;
  /** The last part of the repository of app and worker. Default `svc`, by which the updater knows its own product. */
  repository?: string;
  /** A registry in front of the run's own. */
  registry?: string;
  /** Composed by the compose of the updater's image, in place of the machine's. */
  byImagesCompose?: boolean;
  /** Do not wait until everything is healthy. */
  impatient?: boolean;
}
