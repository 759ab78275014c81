// The application of the examples: it records its calls.
import { appendFileSync } from 'node:fs';

const note = (call: string) => appendFileSync(`${process.env.DATA}/calls`, `${call}\n`);

export const queue = {
  hold: () => note('hold'),
  resume: () => note('resume'),
  jobs: () => [],
};

export const roleOf = ({ headers }: Request): 'admin' | null =>
  headers.get('authorization') === 'Bearer correct horse' ? 'admin' : null;

export const startJobs = () => note('jobs');
