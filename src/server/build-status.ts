import { findDataSavingDowntimeSeconds } from '../wire/derived/rollbackable-run.ts';
import type { Status } from '../wire/status.ts';
import { fetchJobs } from './application/fetch-jobs.ts';
import { listIncludedReleases } from './available-update/choose-update.ts';
import { estimateUpdateSeconds } from './available-update/estimate-seconds.ts';
import { listManualUpdateCommands } from './deployment/manual-commands.ts';
import type { Prefetcher } from './prefetch/prefetcher.ts';
import { fetchBuildServers } from './reasons/build-servers.ts';
import type { Rehearser } from './rehearsal/rehearser.ts';
import type { ServerContextWithRuns } from './run/request/server-context-with-runs.ts';
import { rethrowAsUnavailable } from './run/update-api.ts';
import type { AutomaticUpdateScheduler } from './schedule/automatic-update-scheduler.ts';
import { decideAutomaticUpdate } from './schedule/decide-automatic-update.ts';
import type { UpgradePathRunner } from './schedule/upgrade-path-runner.ts';

interface StatusParts extends ServerContextWithRuns {
  prefetcher: Prefetcher;
  rehearser: Rehearser;
  automatic: AutomaticUpdateScheduler;
  paths: UpgradePathRunner;
}

export async function buildStatus(parts: StatusParts, notes: boolean): Promise<Status> {
  const { settings, timing, observations, history, offers, prefetcher, automatic, paths, rehearser } = parts;
  const [observation, jobs, buildServers] = await Promise.all([
    observations.getRecent(),
    fetchJobs(settings, timing).catch(rethrowAsUnavailable),
    fetchBuildServers(settings, timing, settings.version),
  ]);
  const { last: run, all: past } = await history.read();
  const { known, offer } = await offers.now(run);
  const prefetch = prefetcher.progressOf(offer.next?.version);
  const isReady = prefetch?.state === 'downloaded';
  const automaticSettings = await automatic.readSettings();
  const rehearsals = await rehearser.findFacts().catch(() => ({ running: null, results: [] }));
  const decision = decideAutomaticUpdate({
    settings: automaticSettings,
    offer,
    known,
    past,
    rehearsals,
    hasRestorePoint: settings.restorePoint,
    now: Date.now(),
  });
  const deployment = observation.home ?? observation.noHome?.known;
  const reason = observations.findReasonAgainst(observation, jobs, offer.upToDate?.message ?? null);
  return {
    version: settings.version,
    channel: known.channel,
    ...offer,
    next: offer.next && {
      ...offer.next,
      downloaded: prefetch && isReady,
      estimatedSeconds: estimateUpdateSeconds(past, { isReady }),
    },
    prefetch,
    rehearsal: rehearser.findLast(rehearsals.results),
    automatic: { ...automaticSettings, ...decision },
    pendingStep: paths.after(past[0]),
    canUpdate: reason === null,
    reason,
    checkedAt: known.checkedAt?.toISOString() ?? null,
    preparation: settings.preparation,
    restorePoint: settings.restorePoint ? { downtimeSeconds: findDataSavingDowntimeSeconds(past) } : null,
    buildServers,
    manual: deployment ? listManualUpdateCommands(deployment, settings, offer.next?.version) : [],
    run,
    now: new Date().toISOString(),
    ...(notes && { releases: listIncludedReleases(offer, known) }),
  };
}
