import type { FileChange } from '../../../core/compose/draft.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import type { Image } from '../../../engine/objects/container.ts';
import type { PlannedRestorePoint } from '../../data/copies/estimate-restore-point.ts';
import type { ReleasePlan } from '../../plan/release-plan.ts';
import type { ExpectedDigests } from '../../run/release/expected-digests.ts';
import type { Recalls } from '../../run/release/recalls.ts';
import type { Installation } from '../inspect/installation.ts';

/** An update as planned before the pull: `plan` prints it, and `update` executes it. It is never modified. */
export interface ProjectUpdatePlan extends ReleasePlan {
  installation: Installation;
  /** Digests that images and files must have; null if nothing is verified. */
  expected: ExpectedDigests | null;
  /** Recalled releases; null if there is no channel file. */
  recalls: Recalls | null;
  /** Values for new settings, keyed by name; null for a command that neither checks nor writes settings. */
  given: ReadonlyMap<string, string> | null;
  /** Services with `build:` for which the registry did not report whether it has the running image. */
  unconfirmed: readonly string[];
  /** Restore point to create; null if none was requested. */
  point: PlannedRestorePoint | null;
}

/** The plan after the pull. Compose has resolved the new files, but they have not been written. */
export interface PreparedPlan extends ProjectUpdatePlan {
  /** Local images, keyed by the references in the plan. */
  images: ReadonlyMap<string, Image>;
  /** Version label of the new app image, such as `1.5.0`; null if there is none. */
  version: string | null;
  changes: readonly FileChange[];
  /** Names of the new settings in `changes`. */
  settings: readonly string[];
  /** Compose's model of the new files. */
  model: ComposeModel;
  /** Migrations in the model of the new files. */
  migrations: readonly string[];
  /** New image references of updated services, migrations and new services, keyed by service. */
  references: ReadonlyMap<string, string>;
  /** Other services that share an updated service's pin. Their version changes when they are next recreated. */
  alsoMoved: readonly string[];
  /** New services that updated services depend on. They are started first. */
  added: readonly string[];
  /** Other services that are new in the compose files. They are not started. */
  newServices: readonly string[];
  /** Services that the new files change but the update does not recreate. */
  changedServices: readonly string[];
  /** Warnings about services whose data must be dumped before they are recreated; one warning for each service. */
  dumpFirst: readonly string[];
  /** Warnings that depend on the pulled images or on the new files. */
  laterWarnings: readonly string[];
}
