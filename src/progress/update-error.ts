import type { Outcome } from './outcome.ts';
import type { Product } from './product.ts';
import { settingsName, stateName } from './state-name.ts';

type FailureOutcome = Extract<Outcome, 'usage' | 'refused' | 'failed' | 'broken'>;

/**
 * The one table from a code to how a run ends and what a person does next. An error may carry advice of its own where
 * it knows more (a path, a name); the table's sentence serves everywhere else.
 */
const table = {
  usage: ['usage', 'See --help.'],

  'no-socket': [
    'refused',
    'Add -v /var/run/docker.sock:/var/run/docker.sock to the docker run command and see that the engine runs.',
  ],
  'socket-denied': ['refused', 'Run the updater as root, the owner of the socket, and without --user.'],
  'engine-version': ['refused', 'Update the engine, or use the svc-updater image that fits it.'],
  'own-container': [
    'refused',
    'Start the updater with docker run on the engine whose socket it gets, without --hostname and --uts.',
  ],
  'no-compose': [
    'refused',
    'Install docker with its compose plugin, or run the svc-updater image, which has both.',
  ],
  'not-compose': [
    'refused',
    'Update by hand: docker compose pull && docker compose up -d, from the directory with the file.',
  ],
  'not-mounted': ['refused', 'Mount the compose directory at its own path: -v /opt/svc:/opt/svc.'],
  'read-only': [
    'refused',
    'Mount the compose directory writable: without :ro, from a file system that can be written.',
  ],
  'several-projects': ['refused', 'Name one with --project, and its directory with --dir.'],
  'not-manager': [
    'refused',
    'Run the updater on a manager of the Swarm, with its socket: docker node ls shows them.',
  ],
  'stack-unsupported': ['refused', 'Update its services by hand: docker service update --image.'],
  'stack-busy': ['refused', 'Mend what it names, then run the update again.'],
  'stack-file': [
    'refused',
    'Mount the directory of the stack, and name with --file the files of docker stack deploy -c, in their order.',
  ],
  'no-app': [
    'refused',
    'Start the instance once with docker compose up -d, or name the app service with --service.',
  ],
  'settings-invalid': ['refused', 'Correct the file, or remove it.'],
  'unrelated-service': ['refused', 'Name with --service only the app and what is released with it.'],
  'unrelated-container': ['refused', 'Remove the container that it names, then run the update again.'],
  'unlisted-services': [
    'refused',
    'Name all services that belong together with --service, or what stays behind with --exclude.',
  ],
  'update-running': ['refused', 'Wait until it ends: docker logs -f svc-updater.'],
  'compose-busy': ['refused', 'Let the other compose call end, then run the update again.'],
  'journal-pending': ['refused', 'Run the update first: it finishes that one or puts it back.'],
  downgrade: [
    'refused',
    'There is no downgrade: migrations only run forward. Choose a release that is newer.',
  ],
  'tag-lags': ['refused', 'Run the update without --target, or pin the release by hand.'],
  'upgrade-step': ['refused', 'Go to the release that it names first, then run the update again.'],
  'no-target': ['refused', 'Name the release with --target vX.Y.Z, or --target canary.'],
  'pin-digest': ['refused', 'Write the image as repository:vX.Y.Z@sha256:… or repository:vX.Y.Z.'],
  'pin-unsupported': [
    'refused',
    'Change the version there by hand, then docker compose pull && docker compose up -d.',
  ],
  'built-from-source': [
    'refused',
    'Give the service an image: in its compose file, or update it by building it again.',
  ],
  'compose-invalid': [
    'refused',
    'Mend the file until docker compose config accepts it, then run the update again.',
  ],
  drift: [
    'refused',
    'Put the missing values in .env, or apply your own edits with docker compose up -d first; --accept-drift goes on regardless.',
  ],
  'outside-mounts': ['refused', 'Add the -v above to the docker run command.'],
  'shared-definition': [
    'refused',
    'Take the new file and run docker compose up -d for the whole project in a quiet hour.',
  ],
  'network-edited': ['refused', 'Apply the edit with docker compose up -d, then run the update again.'],
  'no-marker': ['refused', 'The release is not made for generated installs: report it to its publisher.'],
  'release-file': ['refused', 'The release lacks what this install needs: report it to its publisher.'],
  'not-proven': [
    'refused',
    'Do not go on by hand before you know why: see where the image comes from, and tell its publisher.',
  ],
  'missing-variable': ['refused', 'Set the variable in .env, then run the update again.'],
  'not-a-file': ['refused', 'Make it a regular file in the compose directory, then run the update again.'],
  'rights-lost': [
    'refused',
    'Run the svc-updater image as root, which has getfattr and setfattr, or take a list off the file (setfacl -b), or have its server, NFS or SMB, let root set owners and modes; then run it again.',
  ],
  'unexpected-file': ['refused', 'See who has put it there, move it away, then run the update again.'],
  'data-undeclared': [
    'refused',
    `Add the line that it gives to ${settingsName}: save includes the data, none excludes it. Then run the update again.`,
  ],
  'data-unsupported': [
    'refused',
    'Change the mount that it lists, or exclude it with none; or back up the data yourself and update without --restore-point.',
  ],
  'no-space': [
    'refused',
    'Free space on that disk, or save restore points elsewhere with --restore-dir, then run it again.',
  ],
  'no-restore-point': [
    'refused',
    'A rollback needs an update that was made with --restore-point; if it was made with --restore-dir, give the rollback the same.',
  ],
  'restore-point-damaged': [
    'refused',
    'Find out what has changed the files of the restore point. Its data can only be restored by hand.',
  ],
  'restore-point-unreadable': [
    'refused',
    'Check the disk that holds it (dmesg, mount), then run the command again: the restore point may be intact.',
  ],
  'modified-since': ['refused', 'Undo the change that it lists, then run the rollback again.'],
  'path-taken': ['refused', 'Mount the compose directory at its own path.'],

  'engine-unavailable': ['failed', 'See that the engine answers (docker ps), then run the update again.'],
  'pull-denied': [
    'failed',
    'Log in with docker login on the host and mount its config.json (-v ~/.docker/config.json:/root/.docker/config.json:ro), then run the update again.',
  ],
  'pull-unknown': ['failed', 'See that the release is published, then run the update again.'],
  'pull-platform': [
    'failed',
    'The release has no image for this machine: choose another, or ask its publisher.',
  ],
  'pull-space': ['failed', 'Free space (docker image prune), then run the update again.'],
  'pull-unreachable': ['failed', 'See that this machine reaches the registry, then run the update again.'],
  'pull-timeout': ['failed', 'Run the update again with a longer --pull-timeout; what was fetched is kept.'],
  'pull-failed': ['failed', 'See the lines above, then run the update again.'],
  'proof-failed': ['failed', 'Change the version by hand, then docker compose pull && docker compose up -d.'],
  'file-changed': ['failed', 'Let nobody edit the files meanwhile and run the update again.'],
  'containers-changed': ['failed', 'Let nobody replace containers meanwhile and run the update again.'],
  'write-failed': [
    'failed',
    'See that the disk has room, and that the directory and its files can be written (lsattr shows an i where one is immutable), then run the update again.',
  ],
  'killed-repeatedly': [
    'failed',
    'Find out what ends it (docker inspect svc-updater, the log of the kernel), then run the update again.',
  ],
  'save-failed': ['failed', 'Fix the cause in the lines above, then run the update again.'],
  'rolled-back': [
    'failed',
    'Find the cause in the log of the failed version above, and report it to the publisher or fix it. Then run the update again.',
  ],
  'recreate-failed': ['failed', 'See the lines above for the cause, then run the update again.'],

  'files-not-restored': [
    'broken',
    `Copy the files back from ${stateName}/backup, then docker compose up -d.`,
  ],
  'containers-not-restored': ['broken', 'See docker compose ps and docker compose logs app worker.'],
  'data-not-restored': [
    'broken',
    'Do not start the stopped services. Fix the cause in the lines above, such as a full disk, then run the update again: it continues the restore.',
  ],
  'engine-lost': [
    'broken',
    'See that the engine answers (docker ps), then run the update again: it goes on where this one stopped.',
  ],
  unhealthy: ['broken', 'See docker compose logs app worker.'],
  'migration-failed': ['broken', 'See docker compose logs migrate.'],
  broken: ['broken', 'See docker compose logs app worker.'],
} as const satisfies Record<string, readonly [FailureOutcome, string]>;

export type ErrorCode = keyof typeof table;
export const errorCodes = Object.keys(table) as readonly ErrorCode[];

/** The sentences of the table that speak of svc. */
const ofSvc: readonly string[] = Object.values(table)
  .map(([, advice]) => advice)
  .filter((advice) => /\bsvc\b/.test(advice.replaceAll(stateName, '')));

/** A text in which the table's sentences speak of another product; what comes from elsewhere stays as it is. */
export const ofProduct = (text: string, { name, containerName }: Product): string =>
  ofSvc.reduce((said, sentence) => {
    const own = sentence
      .replaceAll(/(docker (?:logs -f|inspect) )svc-updater/g, (_, command) => `${command}${containerName}`)
      .replaceAll(/\bsvc(?=-updater image|\b(?!-))/g, name);
    return said.replaceAll(sentence, () => own);
  }, text);

/** The one error of this product: an end of the run that a person can do something about. */
export class UpdateError extends Error {
  override readonly name = 'UpdateError';
  readonly code: ErrorCode;
  readonly outcome: FailureOutcome;
  /** What to do next, one or two sentences. */
  readonly advice: string;
  /** Lines of compose, the engine or a container that explain the error; they go to the log before the outcome. */
  readonly detail: readonly string[];
  /** The release to go to first, `v1.5.0`, where one has to come first; else null. */
  readonly requiredRelease: string | null;
  /** How the instance stands, where no code tells; else null. */
  readonly state: string | null;
  /** The log has its message already: what was done about it came after. */
  readonly isLogged: boolean;
  /** What else the last line says to programs. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: UpdateErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.outcome = table[code][0];
    this.advice = options.advice ?? table[code][1];
    this.detail = options.detail ?? [];
    this.requiredRelease = options.requiredRelease ?? null;
    this.state = options.state ?? null;
    this.isLogged = options.isLogged ?? false;
    this.fields = options.fields ?? {};
  }
}

interface UpdateErrorOptions {
  advice?: string;
  detail?: readonly string[];
  requiredRelease?: string;
  state?: string;
  isLogged?: boolean;
  fields?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}
