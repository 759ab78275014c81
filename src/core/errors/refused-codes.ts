import { settingsFileName } from '../names/state-directory-name.ts';
import type { Outcome } from '../progress/outcome.ts';

export type FailureOutcome = Extract<Outcome, 'usage' | 'refused' | 'failed' | 'broken'>;

/** Explanation of an error code. `svc-updater explain` prints all its fields. */
export interface ErrorExplanation {
  outcome: FailureOutcome;
  /** One or two sentences. */
  meaning: string;
  /** Why the updater stops; undefined if `meaning` makes it obvious. */
  why?: string;
  /**
   * Default advice for the operator, with the fields of `formatAdvice`. An error that has details, such as a path, has
   * its own advice.
   */
  advice: string;
}

export type ErrorCodeTable = Readonly<Record<string, Omit<ErrorExplanation, 'outcome'>>>;

/** Codes of runs that were refused before they changed anything. */
export const refusedCodeTable = {
  'no-socket': {
    meaning: 'No engine responds on the socket. The socket is not mounted, or the engine is not running.',
    advice:
      'Add -v /var/run/docker.sock:/var/run/docker.sock to the docker run command, and make sure that the engine is running.',
  },
  'socket-denied': {
    meaning: 'The updater does not have permission to use the engine socket.',
    advice: 'Run the updater without --user, so that it runs as root, the owner of the socket.',
  },
  'engine-version': {
    meaning: 'The engine is too old or too new for this updater, or this command is not supported on Podman.',
    advice: 'Update the engine, or use a {product}-updater image that supports its version.',
  },
  'own-container': {
    meaning: 'The updater cannot find its own container on this engine.',
    why: 'The updater uses the mounts of its own container to determine which directories on the host it can use.',
    advice:
      'Start the updater with docker run, without --hostname or --uts, on the engine whose socket is mounted.',
  },
  'no-compose': {
    meaning: 'The updater cannot run docker compose.',
    advice: 'Use the {product}-updater image, or install docker and its compose plugin.',
  },
  'not-compose': {
    meaning:
      'No running project was started from the mounted directory by docker compose v2. The containers of the instance may have been started from another directory or by another program, such as systemd.',
    why: 'The updater uses docker compose to replace containers, and docker compose only replaces containers that it created itself.',
    advice: 'Update manually: run {compose} pull && {up} in the directory that contains the compose file.',
  },
  'not-mounted': {
    meaning: 'The compose directory is not mounted into the updater container.',
    advice: 'Mount the compose directory at the same path as on the host: -v /opt/{product}:/opt/{product}.',
  },
  'read-only': {
    meaning: 'The updater cannot write to the compose directory or to a file in it.',
    advice: 'Mount the compose directory without :ro, from a writable file system.',
  },
  'several-projects': {
    meaning: 'The updater found several compose projects or stacks that could be the instance to update.',
    why: 'The updater does not guess which instance to update.',
    advice: 'Choose the project with --project and its directory with --dir.',
  },
  'not-manager': {
    meaning:
      'The engine is not a Swarm manager, or a proxy blocks the requests that the updater needs for stacks.',
    why: 'Only a Swarm manager can update the services of a stack.',
    advice:
      'Run the updater on a Swarm manager and mount the engine socket there. To list the managers, run docker node ls.',
  },
  'stack-unsupported': {
    meaning: 'The stack contains a service that the updater cannot update, such as a Swarm job.',
    advice: 'Update the services manually with docker service update --image.',
  },
  'stack-busy': {
    meaning:
      'The stack cannot be updated safely at the moment, for example because a service is being updated or a node is down.',
    advice: 'Fix the problem reported in the log, then run {command} again.',
  },
  'stack-file': {
    meaning: 'The mounted files are not the files that the stack was deployed from.',
    why: 'The next docker stack deploy command will use the stack files, so the updater must write the new version to the correct files.',
    advice:
      'Mount the directory that contains the stack files. Use --file to pass the same files, in the same order, as with docker stack deploy -c.',
  },
  'no-app': {
    meaning: 'The project has no container for the app service.',
    advice: 'Start the instance once with {up}, or pass the name of the app service with --service.',
  },
  'missing-service': {
    meaning: 'An updated service depends on a service without a container.',
    advice: 'Start the service that the log lists, then run {command} again.',
  },
  'settings-invalid': {
    meaning: `The settings file ${settingsFileName} or a value of --set contains a mistake.`,
    advice: 'Correct the mistake that the log lists, then run {command} again.',
  },
  'unrelated-service': {
    meaning:
      'A service passed with --service is not released together with the app, for example because it is a database.',
    why: 'The target is a version of the app. Another product may not have this version, or may use it for a different release.',
    advice: 'Pass --service only for the app and for services that are released with it.',
  },
  'unrelated-container': {
    meaning:
      "Some containers have this instance's labels but were started from other files or from another image.",
    why: 'Anyone who can start a container can set its labels. The updater must not replace a container that belongs to another project.',
    advice: 'Remove the container that the log lists, then run {command} again.',
  },
  'unlisted-services': {
    meaning: 'A service of the app is neither listed with --service nor excluded with --exclude.',
    why: 'Services that belong together may fail if they run different versions.',
    advice: 'List all services of the app with --service, or exclude some of them with --exclude.',
  },
  'update-running': {
    meaning: 'Another update of this instance is in progress.',
    advice: 'Wait until the other update finishes. To follow its log, run docker logs -f {container}.',
  },
  'compose-busy': {
    meaning: 'Another docker compose command or a migration is still using the same containers.',
    advice: 'Wait until the command or the migration finishes, then run {command} again.',
  },
  'journal-pending': {
    meaning: 'An earlier update was interrupted and must first be resumed or undone.',
    advice: 'Run the update command first to resume or undo the interrupted update.',
  },
  downgrade: {
    meaning: 'The target is older than the running version.',
    why: 'The running version may have migrated the data. Migrations cannot be undone, and an older version may damage migrated data.',
    advice: 'Choose a release that is newer than the running version. Downgrades are not supported.',
  },
  'tag-lags': {
    meaning: 'The floating tag in the compose file does not point to the target release yet.',
    why: 'For a floating tag, the updater only pulls the image again, so the target release would not be installed.',
    advice:
      'Run the update without --target to install the release that the tag points to, or pin the target release in the compose file.',
  },
  'upgrade-step': {
    meaning:
      'The target cannot be installed directly over the running version. Another release must be installed first.',
    why: 'The target needs the migrations from the required intermediate release.',
    advice: 'Update to the required intermediate release first, then run {command} again.',
  },
  'preflight-failed': {
    meaning: "The release's preflight checks found a problem, so the update was not started.",
    advice: 'Fix the problem reported in the log, then run {command} again.',
  },
  'volume-moved': {
    meaning: 'The new container would not mount a volume that contains data of the old container.',
    advice: 'Add the lines shown in the log to the compose file, then run {command} again.',
  },
  'no-target': {
    meaning: 'The compose file pins a release, but no target was specified.',
    advice: 'Choose a release with --target vX.Y.Z, or use --target canary.',
  },
  'pin-digest': {
    meaning: 'The image is pinned by digest, but the updater cannot determine the version or the new digest.',
    advice: 'Write the image as repository:vX.Y.Z@sha256:… or repository:vX.Y.Z.',
  },
  'pin-unsupported': {
    meaning:
      'The updater cannot set the target version in the pin. The log reports the file, the line and the reason.',
    why: 'The updater changes only the version in a pin, and only if the result is unambiguous.',
    advice: 'Change the version in the file manually, then run {compose} pull && {up}.',
  },
  'built-from-source': {
    meaning: 'The service image is built locally.',
    why: 'No registry contains releases of this image.',
    advice: 'Change its Dockerfile or build arguments, then run {compose} build && {compose} up -d.',
  },
  'own-build': {
    meaning:
      'The compose files build the running image, and the registry does not have it. The update would replace it.',
    advice:
      'Build the new version yourself, or use --accept-own-build to install the image from the registry.',
  },
  'compose-invalid': {
    meaning: 'The updater cannot read a compose file or .env, or docker compose rejects the file.',
    advice: 'Fix the file until {compose} config accepts it, then run {command} again.',
  },
  drift: {
    meaning:
      'The containers do not match the compose files. Recreating the containers would remove a setting or give a container more privileges on the host.',
    why: 'docker compose creates the new containers only from the compose files. A setting that is not in these files would be lost.',
    advice:
      'Add the missing values to .env or apply your edits with {up}, then run {command} again. To ignore the differences, use --accept-drift.',
  },
  'host-changed': {
    meaning:
      'The host has changed since the containers were started. A new container would fail to start, or would use different files from the running container.',
    why: 'The updater stops a container only if it could be started again with the same files.',
    advice:
      'On the host, fix the problem that the log reports, or change the compose file and run {up}. If a mount was changed on purpose, recreate its container with {up} --force-recreate. Then run {command} again.',
  },
  'outside-mounts': {
    meaning: 'The instance uses a file that is not mounted into the updater container.',
    why: 'Without this file, docker compose would create different containers.',
    advice: 'Add the -v option shown in the log to the docker run command.',
  },
  'shared-definition': {
    meaning: 'The release changes a network or a volume that other running services also use.',
    why: 'docker compose would recreate the network or the volume, and other services would lose their connection or their data.',
    advice: 'Back up the data. When downtime is acceptable, install the new compose file manually.',
  },
  'network-edited': {
    meaning: 'A network was edited in the compose files after the instance was started.',
    why: 'docker compose would recreate the network and disconnect other containers.',
    advice: 'Apply the changes with {up}, then run {command} again.',
  },
  'no-marker': {
    meaning: "The release's compose file does not begin with the product's marker line.",
    why: "An update replaces the whole compose file only if the file begins with the product's marker line.",
    advice: 'Report the missing marker to the publisher of the release.',
  },
  'release-file': {
    meaning: 'A file that this installation needs is missing from the release or is invalid.',
    advice: 'Report the problem to the publisher of the release, and choose another release for now.',
  },
  'not-proven': {
    meaning: 'The release cannot be verified: a signature or a digest does not match or cannot be checked.',
    why: 'An image that does not match its signed release may have been replaced by an attacker.',
    advice:
      'Do not install the release manually until you know the cause. Check where the image comes from and report the problem to the publisher.',
  },
  recalled: {
    meaning: 'The publisher recalled the release. The log reports the reason.',
    why: 'A recalled release may be insecure or may damage the data.',
    advice:
      'Choose another release. To install the recalled release despite the recall, use --accept-recalled.',
  },
  'missing-variable': {
    meaning: 'The release needs a variable that is not set in any file.',
    advice: 'Set the variable in .env, then run {command} again.',
  },
  'not-a-file': {
    meaning: 'A file that the updater must replace is a bind mount or is not a regular file.',
    advice: 'Use a regular file in the compose directory instead, then run {command} again.',
  },
  'rights-lost': {
    meaning: 'The update would not preserve the owner, the mode or the access control list of a file.',
    why: 'The updater replaces the file with a new copy, which must be accessible to the same users.',
    advice:
      'Run the {product}-updater image as root. On NFS or SMB, allow root to set file owners and modes. To remove an access control list, run setfacl -b. Then run {command} again.',
  },
  'unexpected-file': {
    meaning:
      'The state directory contains a file that the updater did not create or that belongs to another user.',
    why: 'The updater runs as root. It does not read or replace files that another user could have placed there.',
    advice: 'Find out who created the file and move it to another directory, then run {command} again.',
  },
  'data-undeclared': {
    meaning:
      'The updater cannot decide whether a restore point must contain the data of a service, a mount or a database host.',
    why: 'Without this data, it might not be possible to restore the old version.',
    advice: `Add the line shown in the log to ${settingsFileName}. Set its value to "save" to include the data, or to "none" to exclude the data. Then run {command} again.`,
  },
  'data-unsupported': {
    meaning:
      'The data cannot be saved in a restore point, for example because it is on a network file system.',
    advice: `Change the mount that the log lists, or set the value of the mount to "none" in ${settingsFileName}. If neither is possible, back up the data yourself and update without --restore-point.`,
  },
  'no-space': {
    meaning:
      'The disk does not have enough free space or inodes for the new images, or to save or restore the data.',
    advice: 'Free up space, or choose another disk with --restore-dir. Then run {command} again.',
  },
  'no-restore-point': {
    meaning: 'No restore point exists, so a rollback is not possible.',
    why: 'Only an update with --restore-point saves the data.',
    advice:
      'Use --restore-point for the next update. If a restore point exists in another directory, pass that directory with --restore-dir.',
  },
  'restore-point-damaged': {
    meaning: 'The files in the restore point do not match their checksums.',
    why: 'Restoring files that do not match their checksums could damage the instance.',
    advice:
      'Find out what changed the files in the restore point. The saved data can only be restored manually.',
  },
  'restore-point-unreadable': {
    meaning: 'The files in the restore point cannot be read.',
    advice:
      'Check the disk that contains the restore point, for example with dmesg and mount. Then run the command again. The restore point itself may be intact.',
  },
  'modified-since': {
    meaning: 'The instance was changed after the update.',
    why: 'A rollback restores the state from before the update, so later changes would be lost.',
    advice: 'Undo the change that the log lists, then run the rollback again.',
  },
  'rehearsal-unsupported': {
    meaning: 'This instance, or this kind of update, cannot be rehearsed. The log contains the reason.',
    why: 'A rehearsal is refused if the updater cannot isolate it, or if there is no running version to compare with.',
    advice: 'Run the update with --restore-point and without --rehearse.',
  },
  'rehearsal-running': {
    meaning: 'Another rehearsal of this instance is running.',
    advice:
      'Wait until the other rehearsal finishes, or stop the container in the log message with docker stop. Then run the rehearsal again.',
  },
  'pause-too-long': {
    meaning: 'The containers that write to the data would have to be suspended for too long.',
    why: 'A suspended container does not respond, and connections to it can time out.',
    advice: `Exclude data that the new version does not need: set the value of its mount to "none" in ${settingsFileName}. Restore points then exclude the data, too. If no health check is the limit, a longer --pause-limit (at most 30) also helps. Then run the rehearsal again.`,
  },
  'rehearsal-inconclusive': {
    meaning: 'The rehearsal ended without a result. It shows nothing about the new version.',
    advice:
      'Fix the cause reported in the log, then run the rehearsal again. If the running version cannot start in isolation, update with --restore-point and without --rehearse.',
  },
  'enable-refused': {
    meaning:
      'The lines that the update button needs cannot be added to these files. The log contains the reason.',
    advice: 'Add the lines manually. The documentation of the product contains them.',
  },
  'path-taken': {
    meaning:
      'The compose directory has the same path as a directory that the updater image already contains.',
    why: 'docker compose needs every file to have the same path inside the container as on the host.',
    advice: 'Mount the compose directory at the same path as on the host.',
  },
} satisfies ErrorCodeTable;
