import type { InstanceOptions } from '../rig/instance-options.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { InstallName } from './install.ts';
import type { Random } from './random.ts';
import type { Subject } from './subject.ts';

export const groupNames = ['kill', 'engine', 'power', 'registry', 'disk', 'answers', 'people'] as const;
export type GroupName = (typeof groupNames)[number];

/** A deliberate fault; a row of the table. */
export interface Fault {
  group: GroupName;
  name: string;
  /** Used in turn: the seed of a try selects the kind of install. */
  installs: readonly InstallName[];
  /** Number of tries in a long run. */
  tries: number;
  /** Number of tries in the short run. */
  shortTries: number;
  /** One try, including the checks. A try that throws is lost; `Lost` lists the broken promises. */
  run(trial: Trial): Promise<void>;
}

/** One try of a fault. */
export interface Trial {
  host: TestHost;
  install: InstallName;
  /** Determines all random values, including the kind of install. */
  seed: number;
  random: Random;
  short: boolean;
  /** Adds a line to the try's log. */
  note(text: string): void;
  /**
   * A working instance. Without options, it may have survived earlier tries and have a later version; with options, it
   * is new. It is removed after the try.
   */
  subject(options?: InstanceOptions): Promise<Subject>;
  /** Runs after the try, also if it fails; the last work first. */
  finally(work: () => Promise<unknown>): void;
}

/** The promise is broken: one sentence for each error. */
export class Lost extends Error {
  override readonly name = 'Lost';
  readonly facts: readonly string[];

  constructor(facts: readonly string[]) {
    super(facts.join('\n'));
    this.facts = facts;
  }
}

/** Throws `Lost` if there are facts. */
export function survive(facts: readonly string[]): void {
  if (facts.length > 0) throw new Lost(facts);
}

export function expectThat(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Lost([otherwise]);
}

export const factsOf = (error: unknown): readonly string[] =>
  error instanceof Lost ? error.facts : [(error as Error)?.stack ?? String(error)];
