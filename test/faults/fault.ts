import type { InstanceOptions } from '../rig/instance-options.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { InstallName } from './install.ts';
import type { Random } from './random.ts';
import type { Subject } from './subject.ts';

export const groupNames = ['kill', 'engine', 'power', 'registry', 'disk', 'answers', 'people'] as const;
export type GroupName = (typeof groupNames)[number];

/** Something that goes wrong on purpose; a row of the table. */
export interface Fault {
  group: GroupName;
  name: string;
  /** Tried in turn: the seed of a try says on which of them. */
  installs: readonly InstallName[];
  /** How often in a long run. */
  tries: number;
  /** How often in the short one. */
  shortTries: number;
  /** One try, the judgement included. Throws `Lost` where the promise is broken; anything else thrown is lost, too. */
  run(trial: Trial): Promise<void>;
}

/** One try of a fault. */
export interface Trial {
  host: TestHost;
  install: InstallName;
  /** Decides everything that is left to chance, the kind of install included. */
  seed: number;
  random: Random;
  short: boolean;
  /** A line in the try's log. */
  note(text: string): void;
  /**
   * A whole instance. Without options it may be one that has survived earlier tries, at a later version; with options
   * it is a fresh one. It is put away when the try has ended.
   */
  subject(options?: InstanceOptions): Promise<Subject>;
  /** Done when the try has ended, however it ended; the last one first. */
  finally(work: () => Promise<unknown>): void;
}

/** The promise is broken: one sentence for each thing that is not as it must be. */
export class Lost extends Error {
  override readonly name = 'Lost';
  readonly facts: readonly string[];

  constructor(facts: readonly string[]) {
    super(facts.join('\n'));
    this.facts = facts;
  }
}

/** A try survives where nothing is told against it. */
export function survive(facts: readonly string[]): void {
  if (facts.length > 0) throw new Lost(facts);
}

export function expectThat(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Lost([otherwise]);
}

export const factsOf = (error: unknown): readonly string[] =>
  error instanceof Lost ? error.facts : [(error as Error)?.stack ?? String(error)];
