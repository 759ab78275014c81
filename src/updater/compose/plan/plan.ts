import type { Change } from '../../../core/compose/draft.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import type { Image } from '../../../engine/container.ts';
import type { PlannedPoint } from '../../data/survey-point.ts';
import type { ReleasePlan } from '../../plan/release-plan.ts';
import type { Expectations } from '../../run/expectations.ts';
import type { Recalls } from '../../run/recalls.ts';
import type { Installation } from '../inspect/installation.ts';

/** An update as it is known before the pull: `plan` prints it, and `update` carries it out. Plain data, never changed. */
export interface Plan extends ReleasePlan {
  installation: Installation;
  /** The digests that images and files must have; null if nothing is verified. */
  expected: Expectations | null;
  /** The recalled releases; null without a channel file. */
  recalls: Recalls | null;
  /** Values for new settings, by name; null for a command that neither checks nor writes them. */
  given: ReadonlyMap<string, string> | null;
  /** Services with `build:` whose running image the registry did not confirm. */
  unconfirmed: readonly string[];
  /** The restore point; null if none was asked for. */
  point: PlannedPoint | null;
}

/** The plan once the images are here: its files are drafted, and compose has resolved them. Nothing has changed yet. */
export interface PreparedPlan extends Plan {
  /** Local images by the references of the plan. */
  images: ReadonlyMap<string, Image>;
  /** `1.5.0`, from the label of the new app image. */
  version: string | null;
  changes: readonly Change[];
  /** The names of the new settings that they contain. */
  settings: readonly string[];
  /** The model of the new files. */
  model: Model;
  /** The migrations of that model. */
  migrations: readonly string[];
  /** Image references of the moved services, and of the migrations, in that model. */
  references: ReadonlyMap<string, string>;
  /** Services that share a pin and are updated when they are next recreated. */
  alsoMoved: readonly string[];
  /** New services that updated services depend on; they are started first. */
  added: readonly string[];
  /** Other services that are new in the file; they are not started. */
  newServices: readonly string[];
  /** Services that the new files change but the update does not recreate. */
  changedServices: readonly string[];
  /** Services that must not be recreated before their data is dumped, a sentence each. */
  dumpFirst: readonly string[];
  /** Warnings that depend on the images or on the new files. */
  laterWarnings: readonly string[];
}
