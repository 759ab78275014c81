import { describe, expect, it } from 'vitest';
import { isWithin } from '../../../src/core/mounts/host-paths.ts';
import {
  containerDefinitionOf,
  findGainedPrivileges,
} from '../../../src/engine/comparison/find-gained-privileges.ts';
import type { Json } from '../../../src/engine/objects/json.ts';

const volumes: Record<string, Json> = {
  plain: {},
  root: { type: 'none', o: 'bind,ro', device: '/' },
  inside: { type: 'none', o: 'rbind', device: '/srv/app/data/more' },
  disk: { type: 'ext4', device: '/dev/sda1' },
  over: { type: 'overlay', device: 'overlay', o: 'lowerdir=/,upperdir=/x,workdir=/y' },
  share: { type: 'nfs', o: 'addr=10.0.0.1,rw', device: ':/export' },
  memory: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m' },
};

/** Rights gained between two host configurations, which may also contain `User`. */
const gained = ({ User: userNow = '1000', ...now }: Json, { User = '1000', ...then }: Json): string[] =>
  findGainedPrivileges(
    containerDefinitionOf({ Config: { User: userNow }, HostConfig: now }),
    containerDefinitionOf({ User, HostConfig: then }),
    {
      isOwn: (path) => isWithin(path, '/srv/app'),
      volumeOptions: (name) => volumes[name] ?? {},
    },
  ).map(({ section, name }) => `${section} | ${name}`);

const bind = (Source: string, Target: string, ReadOnly = false) => ({
  Type: 'bind',
  Source,
  Target,
  ReadOnly,
});
const volume = (Source: string, more: Json = {}) => ({ Type: 'volume', Source, Target: '/v', ...more });
const disk = { PathOnHost: '/dev/sda', PathInContainer: '/dev/x', CgroupPermissions: 'rw' };
const binds = (bind: string): Json => ({ Binds: [bind] });
const hostPath = (path: string, at: string) => `volumes | host path ${path} mounted at ${at}`;

describe('findGainedRights', () => {
  it.each<[string, Json, Json, ...string[]]>([
    ['privileges', {}, { Privileged: true }, 'privileged | privileged: true'],
    [
      'the network',
      { NetworkMode: 'svc_default' },
      { NetworkMode: 'host' },
      'network_mode | network_mode: host',
    ],
    ['processes', { PidMode: '' }, { PidMode: 'host' }, 'pid | pid: host'],
    ['shared memory', { IpcMode: 'private' }, { IpcMode: 'host' }, 'ipc | ipc: host'],
    ['the name', {}, { UTSMode: 'host' }, 'uts | uts: host'],
    ['users', {}, { UsernsMode: 'host' }, 'userns_mode | userns_mode: host'],
    ['cgroups', { CgroupnsMode: 'private' }, { CgroupnsMode: 'host' }, 'cgroup | cgroup: host'],
    ["another's", {}, { PidMode: 'container:abc' }, 'pid | pid: container:abc'],
    ['a capability', {}, { CapAdd: ['cap_sys_admin'] }, 'cap_add | capability SYS_ADMIN'],
    ['all', { CapAdd: ['SYS_ADMIN'] }, { CapAdd: ['ALL'] }, 'cap_add | capability ALL'],
    ['one of all', { CapAdd: ['ALL'], CapDrop: ['BPF'] }, { CapAdd: ['ALL'] }, 'cap_drop | capability BPF'],
    [
      'a default',
      { CapDrop: ['ALL'] },
      { CapDrop: ['ALL'], CapAdd: ['CHOWN'] },
      'cap_add | capability CHOWN',
    ],
    ['a dropped one', { CapDrop: ['CAP_MKNOD'] }, {}, 'cap_drop | capability MKNOD'],
    ['a device', {}, { Devices: [disk] }, 'devices | device /dev/sda'],
    [
      'more of a device',
      { Devices: [{ ...disk, CgroupPermissions: 'r' }] },
      { Devices: [disk] },
      'devices | device /dev/sda',
    ],
    [
      'a rule',
      {},
      { DeviceCgroupRules: ['b *:* rwm'] },
      'device_cgroup_rules | devices that match the rule b *:*',
    ],
    [
      'a graphics card',
      { DeviceRequests: null },
      { DeviceRequests: [{ Driver: 'nvidia', Count: -1, Capabilities: [['gpu']] }] },
      'gpus | devices of nvidia -1 gpu',
    ],
    ['the root', {}, { Mounts: [bind('/', '/host')] }, hostPath('/', '/host')],
    ['the root in `Binds`', {}, binds('/:/host:ro'), hostPath('/', '/host (read-only)')],
    [
      'the socket',
      {},
      binds('/var/run/docker.sock:/run/docker.sock:rw'),
      hostPath('/var/run/docker.sock', '/run/docker.sock'),
    ],
    ['a way out', {}, binds('/srv/app/../../etc:/etc/x'), hostPath('/etc', '/etc/x')],
    ['what begins alike', {}, binds('/srv/app2:/x'), hostPath('/srv/app2', '/x')],
    ['to write', binds('/etc:/x:ro'), binds('/etc:/x'), hostPath('/etc', '/x')],
    ['what lies in a mount, as a link may', binds('/mnt:/x'), binds('/mnt/a:/x'), hostPath('/mnt/a', '/x')],
    ['what is above', binds('/mnt/a:/x'), binds('/mnt:/x'), hostPath('/mnt', '/x')],
    ['a volume of the root', {}, { Mounts: [volume('root')] }, hostPath('/', '/v')],
    ['a disk', {}, { Mounts: [volume('disk')] }, 'volumes | volume disk (device /dev/sda1) mounted at /v'],
    ['a layer', {}, binds('over:/v'), 'volumes | volume over (device overlay) mounted at /v'],
    [
      'a volume with options of its own',
      {},
      {
        Mounts: [
          volume('new', { VolumeOptions: { DriverConfig: { Options: { o: 'bind', device: '/etc' } } } }),
        ],
      },
      hostPath('/etc', '/v'),
    ],
    ["another's mounts", {}, { VolumesFrom: ['abc:ro'] }, 'volumes_from | the mounts of abc:ro'],
    [
      'no profiles',
      { SecurityOpt: null },
      {
        SecurityOpt: ['seccomp:unconfined', 'apparmor=unconfined', 'label:disable', 'no-new-privileges:true'],
      },
      'security_opt | seccomp=unconfined',
      'security_opt | apparmor=unconfined',
      'security_opt | label=disable',
    ],
    [
      'a profile',
      {},
      { SecurityOpt: ['seccomp={"defaultAction":"SCMP_ACT_ALLOW"}'] },
      'security_opt | seccomp=…',
    ],
    [
      'system paths',
      { MaskedPaths: ['/proc/kcore'] },
      { MaskedPaths: [], ReadonlyPaths: [] },
      'security_opt | systempaths=unconfined',
    ],
    [
      'one of them',
      { MaskedPaths: ['/a', '/b'] },
      { MaskedPaths: ['/b'] },
      'security_opt | systempaths=unconfined',
    ],
    ['root', { User: '1000:1000' }, { User: '' }, 'user | user root'],
    ['a group', {}, { GroupAdd: ['999'] }, 'group_add | group 999'],
    ["root's group", {}, { User: '1000:0' }, 'group_add | group 0'],
  ])('reports %s', (_, now, then, ...expected) => {
    expect(gained(now, then)).toEqual(expected);
    // A right that the container already has is not gained.
    expect(gained(then, then)).toEqual([]);
  });

  const all = {
    NetworkMode: 'host',
    CapAdd: ['SYS_ADMIN'],
    Devices: [disk],
    SecurityOpt: ['seccomp=unconfined'],
    Binds: ['/:/host'],
    VolumesFrom: ['abc'],
    GroupAdd: ['0'],
  };

  it.each<[string, Json, Json]>([
    ['what goes', all, {}],
    ['a network of the project', { NetworkMode: 'host' }, { NetworkMode: 'svc_default' }],
    ['a capability of every container', {}, { CapAdd: ['CHOWN'] }],
    [
      'what privileges give',
      { Privileged: true, MaskedPaths: null },
      { CapAdd: ['ALL'], Devices: [disk], SecurityOpt: ['apparmor=unconfined'], MaskedPaths: [] },
    ],
    ['less of a device', { Devices: [{ ...disk, CgroupPermissions: '' }] }, { Devices: [disk] }],
    ['less by a rule', { DeviceCgroupRules: ['c 1:3 mr'] }, { DeviceCgroupRules: ['c 1:3 r'] }],
    ["the engine's own profiles", {}, { SecurityOpt: ['apparmor=docker-default', 'seccomp:builtin'] }],
    ['a profile for none', { SecurityOpt: ['label=disable'] }, { SecurityOpt: ['label:type:x_t'] }],
    [
      'the same in two spellings',
      { SecurityOpt: ['seccomp:unconfined'] },
      { SecurityOpt: ['seccomp=unconfined'] },
    ],
    ["the instance's own", {}, { Mounts: [bind('/srv/app/data/', '/x'), bind('/srv/app', '/y')] }],
    ['the same mount, read-only', { Binds: ['/mnt/:/a'] }, { Mounts: [bind('/mnt', '/b', true)] }],
    ['what lies in the root', { Binds: ['/:/host'] }, { Binds: ['/etc:/b'] }],
    ['volumes', {}, { Binds: ['plain:/a', 'unknown:/b'], Mounts: [volume('share'), volume('memory')] }],
    ['a volume of its own directory', {}, { Mounts: [volume('inside')] }],
    ['a volume that it has', { Binds: ['disk:/a'] }, { Mounts: [volume('disk')] }],
    ['a group of the user that it is', { User: '1000' }, { User: '1000:1000' }],
    ['groups of root', { User: 'root' }, { User: '0:0', GroupAdd: ['999'] }],
    ['what is only less guarded', { ReadonlyRootfs: true, SecurityOpt: ['no-new-privileges'] }, {}],
  ])('ignores %s', (_, now, then) => {
    expect(gained(now, then)).toEqual([]);
  });
});
