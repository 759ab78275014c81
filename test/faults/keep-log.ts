import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { look } from '../judge/look.ts';
import type { Subject } from './subject.ts';

/** Details of a lost try. */
export interface Story {
  facts: readonly string[];
  notes: readonly string[];
  used: readonly Pick<Subject, 'instance' | 'runs'>[];
}

/** Writes all details that may explain the failure, including the current state of the instances. */
export async function keepLog(file: string, { facts, notes, used }: Story): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const sections: [string, string][] = [
    ['lost', facts.join('\n')],
    ['what happened', notes.join('\n')],
  ];
  for (const { instance, runs } of used) {
    for (const { what, name, log } of runs) sections.push([`run ${name}: ${what}`, log()]);
    sections.push([`${instance.name} in the end`, JSON.stringify(await look(instance), null, 2)]);
    sections.push(['its journal', await instance.read('.svc-updater/journal.json').catch(() => 'none')]);
    sections.push(['what has started', (await instance.boots().catch(() => [])).join('\n')]);
    sections.push(['its containers’ own logs', await instance.compose('logs', '--tail', '20').catch(String)]);
  }
  await writeFile(file, sections.map(([title, text]) => `==== ${title}\n${text.trimEnd()}\n`).join('\n'));
}
