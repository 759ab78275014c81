import type { FileChange } from '../../../core/compose/draft.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import type { Image } from '../../../engine/container.ts';
import type { PlannedRestorePoint } from '../../data/survey-point.ts';
import type { ReleasePlan } from '../../plan/release-plan.ts';
import type { ExpectedDigests } from '../../run/expectations.ts';
import type { Recalls } from '../../run/recalls.ts';
import type { Installation } from '../inspect/installation.ts';

/**
 * An update as planned before the pull. `plan` prints the plan and `update` executes it. Plain data that never changes.
 */
export interface Plan extends ReleasePlan {
  installation: Installation;
  /** Digests that images and files must have; null if nothing is verified. */
  expected: ExpectedDigests | null;
  /** Recalled releases; null without a channel file. */
  recalls: Recalls | null;
  /** Values for new settings, by name; null for a command that neither checks nor writes settings. */
  given: ReadonlyMap<string, string> | null;
  /** Services with `build:` whose running image the registry did not confirm. */
  unconfirmed: readonly string[];
  /** Restore point to create; null if none was requested. */
  point: PlannedRestorePoint | null;
}

/** The plan after the pull: the new files are drafted and compose has resolved them, but nothing has changed yet. */
export interface PreparedPlan extends Plan {
  /** Local images by the references of the plan. */
  images: ReadonlyMap<string, Image>;
  /** Version label of the new app image, `1.5.0`; null if there is none. */
  version: string | null;
  changes: readonly FileChange[];
  /** Names of the new settings in `changes`. */
  settings: readonly string[];
  /** Compose's model of the new files. */
  model: ComposeModel;
  /** Migrations in the model of the new files. */
  migrations: readonly string[];
  /** Image references of the updated services, migrations and new services, in the model of the new files. */
  references: ReadonlyMap<string, string>;
  /** Services that share a pin and are updated when they are next recreated. */
  alsoMoved: readonly string[];
  /** New services that updated services depend on; they are started first. */
  added: readonly string[];
  /** Other services that are new in the file; they are not started. */
  newServices: readonly string[];
  /** Services that the new files change but the update does not recreate. */
  changedServices: readonly string[];
  /** Warnings about services whose data must be dumped before they are recreated, a sentence for each service. */
  dumpFirst: readonly string[];
  /** Warnings that depend on the images or on the new files. */
  laterWarnings: readonly string[];
}
