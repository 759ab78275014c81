import { describe, expect, it } from 'vitest';
import { toContainer, toListedContainer } from '../../../src/engine/objects/container.ts';
import type { Json } from '../../../src/engine/objects/json.ts';
import { addPodmanDefaults, isPodman, toDockerInspection } from '../../../src/engine/objects/podman.ts';
import { parseOwnContainerClues } from '../../../src/engine/self/find-own-container.ts';
import { engineThat } from '../http-engine.ts';

const id = '63e37df2b694da04d9cb172cba83a8f5b28609fc0a1034acb680aec20421d992';
const volume = '96a1ab005597cbe149f392bc37139c9167af2483bb0974ade808b6216eabdd19';

/** Inspection of a worker by podman 5.4.2: the fields that differ from those of Docker's engine. */
const told = {
  Id: id,
  State: { Status: 'running' },
  HostConfig: {
    Binds: ['/opt/svc/data:/data:rw,rprivate,rbind', `${volume}:/cache:rprivate,rw,nodev,exec,nosuid,rbind`],
    NetworkMode: 'bridge',
    PidMode: 'private',
    UTSMode: 'private',
    Runtime: 'oci',
    Ulimits: [{ Name: 'RLIMIT_NOFILE', Soft: 1, Hard: 2 }],
    Annotations: {
      'io.container.manager': 'libpod',
      'org.opencontainers.image.stopSignal': '15',
      'org.systemd.property.KillSignal': '15',
      'org.systemd.property.TimeoutStopUSec': 'uint64 10000000',
    },
  },
  Config: { Hostname: '63e37df2b694', StopSignal: '15', StopTimeout: 10, Env: ['container=podman'] },
  NetworkSettings: { Networks: { svc_internal: {} } },
};

const host = (raw: Json) => toDockerInspection(raw).HostConfig as Json;
const withHost = (more: Json) => ({ ...told, HostConfig: { ...told.HostConfig, ...more } });

describe('a container reported by podman', () => {
  it("is converted to the format of Docker's engine", () => {
    expect(toDockerInspection(told)).toMatchObject({
      Config: { StopSignal: 'SIGTERM', StopTimeout: 10 },
      HostConfig: {
        Binds: ['/opt/svc/data:/data:rw', `${volume}:/cache:rw`],
        NetworkMode: 'svc_internal',
        PidMode: '',
        UTSMode: '',
        Runtime: '',
        Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }],
        Annotations: {},
      },
    });
  });

  it.each<[what: string, more: Json, kept: Json]>([
    ['the host network', { NetworkMode: 'host' }, { NetworkMode: 'host' }],
    ["the host's processes", { PidMode: 'host' }, { PidMode: 'host' }],
    ['a read-only bind', { Binds: ['/a:/b:ro,rprivate,rbind'] }, { Binds: ['/a:/b:ro'] }],
    ['a bind that is shared', { Binds: ['/a:/b:rw,rshared,rbind'] }, { Binds: ['/a:/b:rw,rshared'] }],
    ['a bind without set-uid', { Binds: ['/a:/b:rw,nosuid,rbind'] }, { Binds: ['/a:/b:rw,nosuid'] }],
    ['an annotation', { Annotations: { 'com.example': 'x' } }, { Annotations: { 'com.example': 'x' } }],
  ])('keeps a setting of its owner: %s', (_, more, kept) => {
    expect(host(withHost(more))).toMatchObject(kept);
  });

  it('keeps the stop signal and the stop timeout', () => {
    const config = { ...told.Config, StopSignal: '2', StopTimeout: 60 };
    expect(toDockerInspection({ ...told, Config: config })).toMatchObject({
      Config: { StopSignal: 'SIGINT', StopTimeout: 60 },
    });
    // Podman 4.3 reports 0 for a container without a stop timeout.
    const none = toDockerInspection({ ...told, Config: { ...config, StopTimeout: 0 } });
    expect(toContainer(none).stopTimeout).toBe(10);
  });

  it("is not changed if it comes from Docker's engine", async () => {
    const engine = await engineThat((_, to) => void to.end(JSON.stringify(told)));
    expect(await engine.inspectRaw(['x'])).toEqual([told]);
  });
});

describe('the defaults of podman', () => {
  const running = { Hostname: '63e37df2b694', User: '', StopTimeout: 10 };
  const added = (env: string[], more: Json = {}, planned: Json = { Env: ['A=1'] }) =>
    (addPodmanDefaults(planned, { ...running, ...more, Env: ['A=1', ...env] }).Env as string[]).slice(1);

  it.each<[entry: string, more: Json, isOwn: boolean]>([
    ['container=podman', {}, true],
    ['TERM=xterm', {}, true],
    ['HOSTNAME=63e37df2b694', {}, true],
    ['HOSTNAME=db', {}, false],
    ['HOME=/root', {}, true],
    ['HOME=/srv', {}, false],
    ['B=2', {}, false],
  ])('include %s with %j: %s', (entry, more, isOwn) => {
    expect(added([entry], more)).toEqual(isOwn ? [entry] : []);
  });

  it('do not override the files', () => {
    expect(addPodmanDefaults({ Env: ['TERM=vt100'] }, { ...running, Env: ['TERM=xterm'] }).Env).toEqual([
      'TERM=vt100',
    ]);
  });

  it('include the interval and retries of a health check', () => {
    const health = (Healthcheck: Json) => addPodmanDefaults({ Healthcheck }, running).Healthcheck;
    expect(health({ Test: ['CMD', 'true'], Timeout: 3_000_000_000 })).toEqual({
      Test: ['CMD', 'true'],
      Interval: 30_000_000_000,
      Timeout: 3_000_000_000,
      Retries: 3,
    });
    expect(health({})).toEqual({});
  });

  it('include a stop timeout of ten seconds, unless the files set one', () => {
    const stop = (planned: Json, now: Json) => addPodmanDefaults(planned, { ...running, ...now }).StopTimeout;
    expect(stop({}, {})).toBe(10);
    expect(stop({ StopTimeout: 60 }, {})).toBe(60);
    expect(stop({}, { StopTimeout: 60 })).toBeUndefined();
  });
});

it('isPodman is true if the engine identifies itself as podman', () => {
  expect(isPodman({ Components: [{ Name: 'Podman Engine', Version: '4.3.1' }] })).toBe(true);
  expect(isPodman({ Components: [{ Name: 'Engine', Version: '29.8.1' }] })).toBe(false);
});

it('a container that podman reports as stopped has the status exited', () => {
  expect(toContainer({ ...told, State: { Status: 'stopped' } }).status).toBe('exited');
  expect(toListedContainer({ Id: id, State: 'stopped' })).toMatchObject({
    status: 'exited',
    networkMode: '',
  });
});

it('parseOwnTraces reads the id of the container from a mount table of podman', () => {
  const root = `/containers/storage/overlay-containers/${id}/userdata/hostname`;
  const table = `61 58 0:24 ${root} /etc/hostname rw,nosuid - tmpfs tmpfs rw`;
  expect(parseOwnContainerClues(table, 'chosen', {}).id).toBe(id);
});
