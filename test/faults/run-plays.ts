import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { linesOf, type Row } from '../judge/report.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { DataKind } from './databases.ts';
import { factsOf } from './fault.ts';
import { RestoreStage } from './restore-stage.ts';

/** One try on a stage. */
export interface Play {
  name: string;
  detail?: string;
  /** Arguments of the campaign that repeat the play. */
  again: string;
  /** Returns the outcome, and whether the stage may be used again. @throws Lost */
  run(stage: RestoreStage, log: (text: string) => void): Promise<{ ended: string; isReusable: boolean }>;
}

export interface Plays {
  campaign: string;
  host: TestHost;
  kinds: readonly DataKind[];
  of: (kind: DataKind) => readonly Play[];
  /** See `RestoreStage`. */
  isLive: boolean;
  /** The directory for the log of each try. */
  directory: string;
}

/**
 * Runs tries one after another, with a separate stage for each kind of data. A stage with a lost try is not used
 * again.
 */
export async function runPlays({ campaign, host, kinds, of, isLive, directory }: Plays): Promise<Row[]> {
  const rows: Row[] = [];
  await mkdir(directory, { recursive: true });
  for (const kind of kinds) {
    let stage: RestoreStage | null = null;
    try {
      for (const [at, play] of of(kind).entries()) {
        const began = performance.now();
        const texts: string[] = [];
        let facts: readonly string[] = [];
        let ended = '';
        let isReusable = false;
        try {
          stage ??= await RestoreStage.start(host, kind, { isLive });
          ({ ended, isReusable } = await play.run(stage, (text) => texts.push(text)));
        } catch (error) {
          facts = factsOf(error);
          const logs = await stage?.instance.compose('logs', '--timestamps').catch(String);
          texts.push(facts.join('\n'), logs ?? '');
        }
        const log = join(directory, `${kind}-${at}.log`);
        await writeFile(log, texts.join('\n'));
        const seconds = (performance.now() - began) / 1000;
        const row: Row = { group: kind, name: play.name, tries: 1, lost: facts.length > 0 ? 1 : 0, seconds };
        row.detail = [play.detail, ended].filter(Boolean).join(': ');
        if (facts.length > 0) {
          row.facts = facts;
          row.log = log;
          row.again = `scripts/campaign ${campaign} ${play.again}`;
        }
        rows.push(row);
        for (const line of linesOf(row)) console.log(line);
        if (isReusable) continue;
        await stage?.dispose();
        stage = null;
      }
    } finally {
      await stage?.dispose();
    }
  }
  return rows;
}
