// svc, a small self-hosted platform in one program: the app (dashboard and updates), the worker, and the agent of a
// build server on another machine. The updater runs `ready` and `preflight`. The first argument selects the role.
import { runAgent } from './agent.ts';
import { runApp } from './app.ts';
import { runPreflight, runReady } from './checks.ts';
import { checkNeeds, readSettings } from './settings.ts';
import { runWorker } from './worker.ts';

const roles = { app: runApp, worker: runWorker, agent: runAgent, ready: runReady, preflight: runPreflight };
const role = process.argv[2] ?? 'app';

try {
  if (!(role in roles)) throw new Error(`unknown role ${role}: use ${Object.keys(roles).join(', ')}`);
  const settings = readSettings();
  checkNeeds(settings, role);
  await roles[role as keyof typeof roles](settings);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
