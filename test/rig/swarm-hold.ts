import { once } from 'node:events';
import { connect, createServer } from 'node:net';

// A proxy between an updater and the engine of its node. It forwards one write to a service and nothing after the
// response: this makes the moment after a write reproducible. Run on the node, with the path of the socket to listen
// on, until its input ends; prints `listening` and `held`.

const [path] = process.argv.slice(2);
let written = false;
let held = false;

const server = createServer((updater) => {
  const engine = connect('/var/run/docker.sock');
  let writes = false;
  updater.on('data', (sent) => {
    if (!written) writes = written = /^POST \S+\/services\/[^/]+\/update/.test(sent.toString('latin1'));
    // The body may arrive in several chunks.
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
