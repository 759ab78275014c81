import { joinWithAnd } from '../../run/log/format-values.ts';
import type { ReplacementContext } from '../replace/replacement.ts';

/** Logs the services to be replaced. If the run was killed during verification, logs only the `verify` phase. */
export function logReplacement({ log, journal, changeover: { moved } }: ReplacementContext): void {
  if (journal.data.state.at === 'verifying') {
    log.enterPhase('verify');
    return;
  }
  log.enterPhase('recreate');
  const lasting = moved.filter(({ follows, runsOnce, added }) => !follows && !runsOnce && !added);
  const names = lasting.flatMap(({ name, isRemoved }) => (isRemoved ? [] : [name]));
  const added = moved.flatMap(({ name, added }) => (added ? [name] : []));
  const removed = moved.flatMap(({ name, isRemoved }) => (isRemoved ? [name] : []));
  const workers = lasting.filter(({ isApp }) => !isApp).map(({ name }) => name);
  const migrations = moved.flatMap(({ name, runsOnce }) => (runsOnce ? [name] : []));
  const followers = moved.filter(({ follows }) => follows).map(({ name }) => name);
  // If there is a restore point, the workers were already stopped to save the data.
  const stopping = workers.length > 0 && !journal.data.point ? `stopping ${joinWithAnd(workers)}, then ` : '';
  const running = migrations.length > 0 ? `running ${joinWithAnd(migrations)}, then ` : '';
  const starting = added.length > 0 ? `starting ${joinWithAnd(added)}, then ` : '';
  const removing = removed.length > 0 ? `, then removing ${joinWithAnd(removed)}` : '';
  log.info(`${starting}${stopping}${running}replacing ${joinWithAnd([...names, ...followers])}${removing}`);
  if (followers.length > 0) {
    log.info(
      `also replacing ${joinWithAnd(followers)}, because ${followers.length > 1 ? 'they share' : 'it shares'} a namespace with ${names.join(' or ')}`,
    );
  }
}
