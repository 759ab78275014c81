import { archives } from './archive.ts';
import { engineAnswers } from './engine.ts';
import { env } from './env-file.ts';
import { feedAnswers } from './feed.ts';
import { requests, serverAnswers } from './http.ts';
import { logs } from './line.ts';
import { masks } from './mask.ts';
import { composeFiles, pins } from './pins.ts';
import { proofs, releaseFiles } from './proof.ts';
import { journals, points } from './state-files.ts';
import type { Target } from './target.ts';

/** All parsers of external input. */
export const targets: readonly Target<unknown>[] = [
  ...[env, pins, composeFiles, logs, feedAnswers],
  ...[releaseFiles, proofs, archives, journals, points, requests, serverAnswers, engineAnswers, masks],
];
