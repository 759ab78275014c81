// Responses of an engine 26.1.5, with the values of the double; long lists that are not read are shortened.

import type { ContainerDouble } from './container-double.ts';
import type { ImageDouble } from './images.ts';

/** Of the whole engine. */
export const versionAnswer = {
  Components: [
    {
      Name: 'Engine',
      Version: '26.1.5',
      Details: {
        ApiVersion: '1.45',
        Arch: 'amd64',
        MinAPIVersion: '1.24',
        Os: 'linux',
      },
    },
    { Name: 'containerd', Version: '1.6.20', Details: { GitCommit: '1.6.20-1' } },
  ],
  Version: '26.1.5',
  ApiVersion: '1.45',
  MinAPIVersion: '1.24',
  Os: 'linux',
  Arch: 'amd64',
};

function stateOf({ status, isUp, isRunning, exitCode, startedAt, finishedAt }: ContainerDouble) {
  return {
    Status: status,
    Running: isUp,
    Paused: false,
    Restarting: status === 'restarting',
    Pid: isRunning ? 18244 : 0,
    ExitCode: exitCode,
    Error: '',
    StartedAt: startedAt,
    FinishedAt: finishedAt,
  };
}

/** Requested mounts, and those of a server. */
function mountsOf({ spec, mounts }: ContainerDouble) {
  const asked = (spec.HostConfig?.Mounts ?? []).map(({ Source, Target, ReadOnly = false }) => ({
    Source,
    Destination: Target,
    RW: !ReadOnly,
  }));
  return [...asked, ...mounts].map(({ Source, Destination, RW }) => ({
    Type: 'bind',
    Source,
    Destination,
    Mode: '',
    RW,
    Propagation: 'rprivate',
  }));
}

const networkOf = ({ spec, name, id, isRunning }: ContainerDouble, network: string) => ({
  [network]: {
    NetworkID: 'f3429faf9d3ef41f95ccab82d28d6394657386b452903eae164534cea22d5345',
    EndpointID: isRunning ? '8789d3f8fe87fcb76d52322768591b6ab14ea925e518a73df83d1f6403a9e5b9' : '',
    DNSNames: [name, id.slice(0, 12), ...(spec.Labels?.['com.docker.compose.service'] ? ['app'] : [])],
  },
});

const networkModeOf = ({ spec }: ContainerDouble) => String(spec.HostConfig?.NetworkMode ?? 'svc_default');

/** `GET /containers/{id}/json` */
export function inspection(container: ContainerDouble) {
  const { id, name, spec, restartCount, createdAt, imageId } = container;
  const mode = networkModeOf(container);
  const { Mounts, RestartPolicy, ...host } = spec.HostConfig ?? {};
  return {
    Id: id,
    Created: createdAt,
    Args: spec.Cmd ?? [],
    State: stateOf(container),
    Image: imageId,
    Name: `/${name}`,
    RestartCount: restartCount,
    Platform: 'linux',
    HostConfig: {
      Binds: null,
      NetworkMode: mode,
      RestartPolicy: RestartPolicy ?? { Name: 'no', MaximumRetryCount: 0 },
      ...host,
      // A writable mount has no field `ReadOnly`.
      Mounts: Mounts?.map(({ ReadOnly, ...mount }) => (ReadOnly ? { ...mount, ReadOnly } : mount)) ?? null,
    },
    GraphDriver: {
      Data: {
        MergedDir: `/var/lib/docker/overlay2/${id}/merged`,
        UpperDir: `/var/lib/docker/overlay2/${id}/diff`,
      },
      Name: 'overlay2',
    },
    Mounts: mountsOf(container),
    Config: {
      Hostname: id.slice(0, 12),
      Env: [...(spec.Env ?? []), 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      Cmd: spec.Cmd ?? null,
      Image: spec.Image,
      Entrypoint: ['/usr/local/bin/svc-updater'],
      Labels: spec.Labels ?? {},
      ...(spec.StopTimeout !== undefined && { StopTimeout: spec.StopTimeout }),
    },
    NetworkSettings: {
      Networks: networkOf(container, mode),
    },
  };
}

/** An entry of `GET /containers/json` */
export function listed(container: ContainerDouble) {
  const { id, name, spec, status, imageId, createdAt, exitCode } = container;
  const mode = networkModeOf(container);
  const words = { created: 'Created', running: 'Up 2 seconds', restarting: 'Restarting', exited: 'Exited' }[
    status
  ];
  return {
    Id: id,
    Names: [`/${name}`],
    Image: spec.Image,
    ImageID: imageId,
    Created: Math.floor(Date.parse(createdAt) / 1000),
    Labels: spec.Labels ?? {},
    State: status,
    Status: status === 'exited' || status === 'restarting' ? `${words} (${exitCode}) 1 second ago` : words,
    HostConfig: { NetworkMode: mode },
    NetworkSettings: { Networks: networkOf(container, mode) },
    Mounts: mountsOf(container),
  };
}

/** `GET /images/{reference}/json` */
export const imageInspection = ({ id, references, digests, size, entrypoint }: ImageDouble) => ({
  Id: id,
  RepoTags: references,
  RepoDigests: digests,
  Created: '2026-11-22T17:53:11.351142625Z',
  Config: {
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin'],
    Entrypoint: entrypoint,
  },
  Architecture: 'amd64',
  Os: 'linux',
  Size: size,
  GraphDriver: { Data: { MergedDir: '/var/lib/docker/overlay2/a/merged' }, Name: 'overlay2' },
});

/** `GET /distribution/{reference}/json` */
export const distribution = (digest: string) => ({
  Descriptor: { mediaType: 'application/vnd.docker.distribution.manifest.v2+json', digest, size: 736 },
  Platforms: [{ architecture: 'amd64', os: 'linux' }],
});
