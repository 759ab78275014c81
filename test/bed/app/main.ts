import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { playBad } from './bad.ts';
import { type DatabaseKind, openSession, type Session } from './database.ts';
import { questions } from './texts.ts';
import { serveWitness } from './witness.ts';
import { gate, writeOn } from './writer.ts';

// The program of the bed's images: app, worker, and the witness, which no update replaces.

const { VERSION = '', BAD = '', DB_KIND = '' } = process.env;
const kind = DB_KIND as DatabaseKind;
const [role = ''] = process.argv.slice(2);
const boot = `${role}-${VERSION}-${randomBytes(4).toString('hex')}`;

let isWell = false;
let isStopping = false;
let isWriting = false;

if (role === 'witness') serveWitness();
else await live();

async function live(): Promise<void> {
  process.on('SIGTERM', () => {
    isStopping = true;
    // A process that waits at the gate has nothing to finish.
    if (!isWriting) process.exit(0);
  });
  if (role === 'app') serve();
  if (BAD !== '') return playBad({ name: BAD, role, kind, becomeWell });
  // The restored data is compared before anything writes.
  becomeWell();
  while ((await gate()) !== 'open') await sleep(100);
  isWriting = true;
  await writeOn({ boot, kind, session: await connected(), isOver: () => isStopping });
  process.exit(0);
}

function serve(): void {
  createServer((request, response) => {
    const isFine = request.url === '/version' || isWell;
    response.writeHead(isFine ? 200 : 503).end(`${VERSION}\n`);
  }).listen(8080);
}

function becomeWell(): void {
  isWell = true;
  writeFileSync('/tmp/alive', '');
}

/** The database may be starting, too. */
async function connected(): Promise<Session> {
  for (;;) {
    try {
      const session = openSession(kind);
      await session.run(questions[kind]);
      return session;
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
      await sleep(200);
    }
  }
}
