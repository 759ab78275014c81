import { archives } from './archive.ts';
import { engineAnswers } from './engine.ts';
import { env, templates } from './env-file.ts';
import { feedAnswers } from './feed.ts';
import { requests, serverAnswers, streams } from './http.ts';
import { eventLines, logBytes, logs } from './line.ts';
import { composeFiles, composeView, envView, pins } from './pins.ts';
import { proofs, releaseFiles, trusts } from './proof.ts';
import { journals, keptFiles, points } from './state-files.ts';
import type { Target } from './target.ts';

/** All that reads what comes from outside. */
export const targets: readonly Target<unknown>[] = [
  ...[env, templates, pins, composeFiles, composeView, envView, eventLines, logs, logBytes, feedAnswers],
  ...[
    releaseFiles,
    proofs,
    trusts,
    archives,
    journals,
    points,
    keptFiles,
    requests,
    serverAnswers,
    streams,
    engineAnswers,
  ],
];
