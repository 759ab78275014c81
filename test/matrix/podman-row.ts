import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { survive } from '../faults/fault.ts';
import { unchecked } from '../faults/podman.ts';
import type { Subject } from '../faults/subject.ts';
import { judgeUntouched } from '../judge/judge.ts';
import { judgeOutcome, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { updaterImage } from '../rig/updater-run.ts';

/**
 * Checks that the updater refuses, only once, what Podman does not support (docs/contract.md 12.3 to 12.6).
 * @param subject with a moving tag
 */
export async function tryPodman(subject: Subject): Promise<void> {
  const { instance } = subject;
  const refused = async (
    args: readonly string[],
    { says, ends }: { says: (string | RegExp)[]; ends: RegExp },
  ) => {
    await instance.waitUntilHealthy();
    const before = await look(instance);
    const result = await instance.startUpdate([...args]).done;
    survive([
      ...judgeWords(result, { exitCode: 3, says, ends: [ends] }),
      ...judgeUntouched(before, await look(instance)),
    ]);
  };
  const original = await instance.read('compose.yaml');
  const label = async (service: string, key: string) => {
    const labelled = original.replace(
      `    command: ${service}\n`,
      `$&    labels: { ${key}: ${service}.service }\n`,
    );
    survive(labelled === original ? [`${service} got no label`] : []);
    await instance.write('compose.yaml', labelled);
    await instance.compose('up', '-d', '--no-deps', service);
  };

  await refused(['fetch'], {
    says: ['podman cannot report which image the registry has for '],
    ends: /^refused \(engine-version\): nothing was changed/,
  });
  await refuseOnce(subject);
  await label('worker', 'PODMAN_SYSTEMD_UNIT');
  await refused([], {
    says: ['sed -i ', 'systemctl daemon-reload && systemctl restart worker.service'],
    ends: /^refused \(not-compose\): nothing was changed/,
  });
  await label('worker', 'io.podman.compose.project');
  await refused([], { says: ['by podman-compose'], ends: /^refused \(not-compose\): .*podman-compose pull/ });

  // Like a machine without systemd, where health checks do not run.
  await instance.write('compose.yaml', original);
  await instance.compose('up', '-d', '--no-deps', 'worker');
  await label('app', unchecked);
  survive(judgeOutcome(await subject.update(await subject.publish()), ['updated']));
}

/** Checks that a refused run is not repeated by a restart policy. */
async function refuseOnce(subject: Subject): Promise<void> {
  const options = { keep: true, docker: ['--restart', 'on-failure:3'] };
  const run = subject.start({ args: ['--service', 'none'] }, options);
  await run.done;
  const format = '{{.State.Status}} {{.State.ExitCode}} {{.RestartCount}}';
  const stateOf = async (name: string) =>
    (await execa('docker', ['inspect', '--format', format, name], { timeout: 20_000 })).stdout;
  // Waits until a container that failed later was repeated; the refused run would have been repeated before.
  const other = `${run.name}-other`;
  const fails = ['--restart', 'on-failure:1', '--entrypoint', '/bin/false', updaterImage];
  await execa('docker', ['run', '--detach', '--name', other, ...fails], { timeout: 60_000 });
  while (!/^(?:exited|stopped) 1 1$/.test(await stateOf(other))) await sleep(100);
  await execa('docker', ['rm', '--force', other], { timeout: 60_000 });
  const stdout = await stateOf(run.name);
  const { all } = await execa('docker', ['logs', run.name], { all: true, timeout: 20_000 });
  await subject.forget(run);
  const times = all.split(' done refused (no-app)').length - 1;
  survive([
    ...(/^(?:exited|stopped) 3 0$/.test(stdout) ? [] : [`a refused run was repeated: ${stdout}`]),
    ...(times === 1 ? [] : [`the refusal was said ${times} times`]),
  ]);
}
