// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { expect, it } from 'vitest';
import { migrationServicesOf } from '../../../../../src/updater/compose/inspect/services/migrations.ts';
import { container } from '../../../../build.ts';
import { composeText, installed, modelOf, projectFiles } from '../../../../build-plan.ts';

/** Migrations if `app` waits for the services in `waits`, and these services wait as specified in `more`. */
function found(
  images: Record<string, string>,
  { waits, more = {}, exclude = [], has = [] }: Case,
  follower?: string,
): string[] {
  const files = projectFiles({
    'compose.yaml': composeText({ app: 'acme/svc:${V}', ...images }),
    '.env': 'V=v1.0.0\n',
  });
  const ends = (names: readonly string[]) => ({
    depends_on: Object.fromEntries(
      names.map((name) => [name, { condition: 'service_completed_successfully' }]),
    ),
  });
  const others = Object.entries(more).map(([name, names]) => [name, ends(names)] as const);
  const model = modelOf(files, { app: ends(waits), ...Object.fromEntries(others) });
  const followers = follower === undefined ? {} : { [follower]: [container(`${follower}-1`)] };
  const from = installed(files, { model, followers });
  const containers = [...from.containers, ...has.map((name) => container(`${name}-1`))];
  return migrationServicesOf({ ...from, exclude, containers });
}

interface Case {
  waits: string[];
  more?: Record<string, string[]>;
  exclude?: string[];
  /** Services that have a container. */
  has?: string[];
}

const own = 'acme/svc:${V}';

it.each<[string, Record<string, string>, Case, string[]]>([
  ['pinned by the same text', { migrate: own }, { waits: ['migrate'], has: ['migrate'] }, ['migrate']],
  ['that nothing waits for', { migrate: own }, { waits: [] }, []],
  ['of another image', { bucket: 'minio/mc:1' }, { waits: ['bucket'], has: ['bucket'] }, []],
  ['of the same image, cleared away', { migrate: 'acme/svc:v1.0.0' }, { waits: ['migrate'] }, ['migrate']],
  ['that is named', { worker: 'acme/svc:v1.0.0' }, { waits: ['worker'], has: ['worker'] }, ['worker']],
  ['that is left behind', { migrate: own }, { waits: ['migrate'], exclude: ['migrate'] }, []],
  ['and what that waits for', { a: own, b: own }, { waits: ['a'], more: { a: ['b'] } }, ['a', 'b']],
  ['behind another', { a: 'mc:1', b: own }, { waits: ['a'], more: { a: ['b'] }, has: ['a'] }, ['b']],
])('finds migrations: a service %s', (_, images, given, expected) => {
  expect(found(images, given)).toEqual(expected);
});

it('omits a migration that is recreated as a follower', () => {
  expect(found({ migrate: own }, { waits: ['migrate'] }, 'migrate')).toEqual([]);
});
