import { once } from 'node:events';
import { connect, createServer } from 'node:net';

// Stands between an updater and the engine of its node, and lets through one write to a service and nothing after its
// answer: the moment after a write is made here, and not met. Run on the node, with the path of the socket to listen on,
// until its input ends; says `listening` and `held`.

const [path] = process.argv.slice(2);
let written = false;
let held = false;

const server = createServer((updater) => {
  const engine = connect('/var/run/docker.sock');
  let writes = false;
  updater.on('data', (sent) => {
    if (!written) writes = written = /^POST \S+\/services\/[^/]+\/update/.test(sent.toString('latin1'));
    // Its body may come in pieces.
    if (written && !writes) return;
    engine.write(sent);
  });
  engine.on('data', (answer) => {
    if (held) return;
    updater.write(answer);
    if (!writes) return;
    held = true;
    process.stdout.write('held\n');
  });
  engine.on('close', () => held || updater.destroy()).on('error', () => {});
  updater.on('close', () => engine.destroy()).on('error', () => {});
});
server.listen(path);
await once(server, 'listening');
process.stdout.write('listening\n');
await once(process.stdin.resume(), 'end');
process.exit();
