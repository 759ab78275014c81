import { expect, it } from 'vitest';
import { createComposeError, dryRunRejectionText } from '../../../src/engine/cli/create-compose-error.ts';

const advice = (stderr: string) =>
  createComposeError({ exitCode: 1, stdout: '', stderr, timedOut: false } as never).advice;

it.each([
  ['network proxy_front declared as external, but could not be found', 'docker network create proxy_front'],
  ['external volume "media" not found', 'docker volume create media'],
])('suggests a command that creates the missing network or volume: %s', (message, command) => {
  expect(advice(message)).toContain(`Create it with ${command} or `);
  // docker compose config accepts the file.
  expect(advice(message)).not.toContain('config');
});

it('does not attribute an error of the engine to the file', () => {
  const printed =
    'Error response from daemon: get data: error in driver "nfs": dial unix /run/nfs.sock: connection refused';
  expect(advice(printed)).toBe('Fix the cause that the engine reports, then run {command} again.');
});

it('does not attribute a missing docker-model plugin to the file', () => {
  const stderr = "'models' support requires Docker Model plugin";
  const { code, message, advice } = createComposeError({
    exitCode: 1,
    stdout: '',
    stderr,
    timedOut: false,
  } as never);
  expect(code).toBe('outside-mounts');
  expect(message).toBe(
    'compose needs the docker-model plugin for models, but the updater container does not have it',
  );
  expect(advice).toContain('/docker-model:/usr/local/libexec/docker/cli-plugins/docker-model:ro ');
});

it('does not attribute a response of the recorder to the file', () => {
  const stderr = `Error response from daemon: ${dryRunRejectionText} POST /images/create (acme/assets)`;
  const { code, message } = createComposeError({
    exitCode: 1,
    stdout: '',
    stderr,
    timedOut: false,
  } as never);
  expect(code).toBe('drift');
  expect(message).toBe(
    'docker compose first needs POST /images/create (acme/assets), so the updater cannot compare the containers with the files',
  );
});

it('gives advice if compose cannot merge an included service', () => {
  expect(advice('services.app conflicts with imported resource')).toMatch(
    /^This version of compose cannot merge .* Move its settings to compose\.override\.yaml, /,
  );
});
