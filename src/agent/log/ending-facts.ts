import { basename } from 'node:path';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import { composeCommand, fileFlags, upCommand } from '../../progress/compose-command.ts';
import type { Product } from '../../progress/product.ts';
import { and } from './wording.ts';

/** What is known of the instance by the time a run ends, for its last line. */
export interface EndingFacts {
  /** `v1.4.2`, once it has been found. */
  version: string | null;
  project: ComposeProject | null;
  services: readonly string[];
  /** A restore point is complete, and the new version has not been rolled back. */
  canRollBack?: boolean;
  /** Covered by a restore point and not updated: stopped while data is restored. */
  dataServices?: readonly string[];
  /** What an earlier run left, as long as it stands. */
  halfDone: string | null;
  /** Containers may have been replaced. */
  touched: boolean;
  /** No container of the app is up, nor is it to be where everything is as it was before the run. */
  isStopped?: boolean;
  /** Written files that were not put back, as somebody has saved them meanwhile. */
  leftAlone?: LeftAlone;
  /** The run is a rollback that was asked for. */
  isRollback?: boolean;
  /** Whose sentences they are to be; default svc. */
  product?: Product;
}

export interface LeftAlone {
  paths: readonly string[];
  /** The images that `docker compose up` starts with the files as they are; null where compose rejects them. */
  next: readonly string[] | null;
}

export const wereSaved = (paths: readonly string[]): string =>
  `${and(paths)} ${paths.length > 1 ? 'were' : 'was'} saved by somebody meanwhile`;

/** What somebody has saved meanwhile is theirs; the next `up` starts what it says. */
export function savedMeanwhile({ paths, next }: LeftAlone): string {
  const then =
    next === null
      ? 'docker compose rejects the files now'
      : `the next docker compose up starts ${next.length > 0 ? and(next) : 'none of the services'}`;
  return `${wereSaved(paths)} and left alone: ${then}`;
}

/** The facts of a run that ends before it knows anything, and of commands that look at no instance. */
export const nothingKnown: EndingFacts = {
  version: null,
  project: null,
  services: [],
  halfDone: null,
  touched: false,
};

const bareCommand = /\bdocker compose (?=(?:config|down|logs|ps|pull|up)\b)/g;
const wholeUp = /\bdocker compose up -d\b(?! --no-deps)/g;

/**
 * A text with its commands as they work in the compose directory: a bare `docker compose up -d` would find other files,
 * or none, or start a second instance beside the one that has a name of its own.
 */
export function withOwnCommands(text: string, project: ComposeProject): string {
  const isFoundByItself =
    fileFlags(project).length === 0 &&
    project.name === defaultName(project.directory) &&
    !project.oldNames?.length;
  if (isFoundByItself) return text;
  return text
    .replaceAll(wholeUp, () => upCommand(project))
    .replaceAll(bareCommand, () => `${composeCommand(project)} `);
}

/** The name that compose gives a project without one (compose-go, loader.NormalizeProjectName). */
const defaultName = (directory: string): string =>
  basename(directory)
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');
