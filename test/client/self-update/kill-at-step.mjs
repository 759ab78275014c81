// Preloaded into `svc update`: kills the process before disk operation number KILL_AT, counted from 0.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

let left = Number(process.env.KILL_AT);

function kills(object, name) {
  const step = object[name];
  object[name] = function (...args) {
    if (left-- === 0) {
      process.kill(process.pid, 'SIGKILL');
      for (;;);
    }
    return step.apply(this, args);
  };
}

const some = await fs.promises.open(process.execPath);
const handle = Object.getPrototypeOf(some);
await some.close();
for (const name of ['writeFile', 'chown', 'chmod', 'sync', 'close']) kills(handle, name);
for (const name of ['open', 'rename', 'unlink']) kills(fs.promises, name);
syncBuiltinESMExports();
