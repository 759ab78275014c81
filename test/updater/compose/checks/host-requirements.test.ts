import { expect, it } from 'vitest';
import type { Json } from '../../../../src/engine/objects/json.ts';
import {
  listHostRequirements,
  removeUnpublishedPorts,
} from '../../../../src/updater/compose/checks/host-requirements.ts';

const published = (...addresses: string[]): Json => ({
  '80/tcp': addresses.map((HostIp) => ({ HostIp, HostPort: '8080' })),
  '90/udp': null,
});
const fluentd = { Type: 'fluentd', Config: { tag: 'app', 'fluentd-address': '10.0.0.9:24224' } };
const splunk = { Type: 'splunk', Config: { 'splunk-url': 'https://user:pw@logs.example' } };
const publish = (HostIp: string) => ({ NetworkMode: 'default', PortBindings: { '1/tcp': [{ HostIp }] } });

it.each<[what: string, host: Json, names: Record<string, Json>]>([
  [
    'nothing for an ordinary container',
    {
      ...{ Runtime: 'runc', NetworkMode: 'svc_default', LogConfig: { Type: 'json-file', Config: {} } },
      ...{
        SecurityOpt: ['no-new-privileges:true', 'label=disable'],
        Devices: [],
        NanoCpus: 0,
        Privileged: false,
      },
      PortBindings: published('', '0.0.0.0', '::', '127.0.0.1'),
    },
    {},
  ],
  ['nothing for the default driver of the engine', { LogConfig: { Type: '', Config: {} } }, {}],
  [
    'the log driver with its address',
    { LogConfig: fluentd },
    { 'log driver fluentd (10.0.0.9:24224)': { LogConfig: fluentd } },
  ],
  ['no URL that may have a password', { LogConfig: splunk }, { 'log driver splunk': { LogConfig: splunk } }],
  [
    'no driver whose start writes to the log server',
    { LogConfig: { Type: 'awslogs', Config: { 'awslogs-create-group': 'true' } } },
    {},
  ],
  [
    'each published address once, without its port',
    { PortBindings: { ...published('192.0.2.7', '2001:db8::7'), '81/tcp': [{ HostIp: '192.0.2.7' }] } },
    {
      'published address 192.0.2.7': publish('192.0.2.7'),
      'published address 2001:db8::7': publish('2001:db8::7'),
    },
  ],
  ...['host', 'none', 'container:0123'].map((NetworkMode): [string, Json, Record<string, Json>] => [
    `no address with network mode ${NetworkMode}`,
    { NetworkMode, PortBindings: published('192.0.2.7') },
    {},
  ]),
  [
    'everything else in one helper container',
    {
      ...{ Runtime: 'nvidia', CgroupParent: 'apps.slice', Ulimits: [{ Name: 'nofile', Soft: 9, Hard: 9 }] },
      ...{ Sysctls: { 'net.core.somaxconn': '512', 'net.ipv4.conf.eth0.forwarding': '1' } },
      ...{ SecurityOpt: ['no-new-privileges', 'apparmor=svc'], NanoCpus: 4e9, Memory: 1024, Init: true },
    },
    {
      '': {
        ...{ Runtime: 'nvidia', CgroupParent: 'apps.slice', Ulimits: [{ Name: 'nofile', Soft: 9, Hard: 9 }] },
        ...{ Sysctls: { 'net.core.somaxconn': '512' }, SecurityOpt: ['apparmor=svc'], NanoCpus: 4e9 },
      },
    },
  ],
])('requires %s', (_, host, names) => {
  expect(Object.fromEntries(listHostRequirements(host, 'json-file'))).toEqual(names);
});

it('requires the default log driver of the engine if a definition has none', () => {
  expect(listHostRequirements({ LogConfig: { Type: '' } }, 'syslog')).toEqual([
    ['log driver syslog', { LogConfig: { Type: 'syslog', Config: undefined } }],
  ]);
});

it.each<[what: string, asked: Json, now: Json, ports: Json]>([
  [
    'keeps the ports of a container that publishes some',
    published('10.0.0.1'),
    published('10.0.0.1'),
    published('10.0.0.9'),
  ],
  ['keeps the ports of a container that asked for none', {}, {}, published('10.0.0.9')],
  [
    'drops the ports if the engine publishes none of them',
    published('10.0.0.9'),
    { '80/tcp': null, '90/udp': null },
    {},
  ],
])('%s', (_, asked, now, ports) => {
  const next = { PortBindings: published('10.0.0.9') };
  expect(removeUnpublishedPorts(next, { PortBindings: asked }, now)).toEqual({ PortBindings: ports });
});
