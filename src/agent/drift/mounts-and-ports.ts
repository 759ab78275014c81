import { type Json, list, object, strings } from '../../engine/json.ts';

/** What is given at a mount's target, as the shape's section `volumes` has it in JSON. */
export interface ShapedMount {
  type: string;
  /** A host path, or a volume's name; empty for an anonymous volume, whose data compose takes along. */
  source: string;
  readOnly: boolean;
}

/** The engine gives it 64 hex digits. */
const anonymous = /^[0-9a-f]{64}$/;

/** Named volumes stand in `Binds` or in `Mounts`, by the version of compose. */
export function mounts(host: Json): { target: string; mount: ShapedMount; options: string[] }[] {
  const plain = new Set(['rw', 'ro', '', 'rprivate']);
  const binds = strings(host.Binds).map((bind) => {
    const [first = '', second, mode = ''] = bind.split(':');
    const [source, target] = second === undefined ? ['', first] : [first, second];
    const words = mode.split(',');
    const mount = shaped(source.startsWith('/') ? 'bind' : 'volume', source, words.includes('ro'));
    return { target: clean(target), mount, options: words.filter((word) => !plain.has(word)) };
  });
  const others = (list(host.Mounts) as Json[]).map((each) => {
    const { Type, Source, Target, ReadOnly, BindOptions, VolumeOptions, TmpfsOptions } = each;
    const { Propagation, NonRecursive, ReadOnlyNonRecursive, ReadOnlyForceRecursive } = object(BindOptions);
    const { NoCopy, Subpath } = object(VolumeOptions);
    const { SizeBytes, Mode } = object(TmpfsOptions);
    const options = [
      ...(plain.has(String(Propagation ?? '')) ? [] : [String(Propagation)]),
      ...(NonRecursive ? ['non-recursive'] : []),
      ...(ReadOnlyNonRecursive ? ['writable below'] : []),
      ...(ReadOnlyForceRecursive ? ['read-only below'] : []),
      ...(NoCopy ? ['nocopy'] : []),
      ...(Subpath ? [`subpath ${Subpath}`] : []),
      ...(SizeBytes ? [`size ${SizeBytes}`] : []),
      ...(Mode ? [`mode ${Mode}`] : []),
    ];
    const mount = shaped(String(Type), String(Source ?? ''), Boolean(ReadOnly));
    return { target: clean(String(Target)), mount, options };
  });
  return [...binds, ...others];
}

const clean = (path: string): string => path.replace(/(?<=.)\/+$/, '');

const shaped = (type: string, source: string, readOnly: boolean): ShapedMount => ({
  type,
  source: type === 'volume' && anonymous.test(source) ? '' : clean(source),
  readOnly,
});

const anyAddress = new Set(['', '0.0.0.0', '::']);

/** `127.0.0.1:80:8080/tcp`; a port that the engine chooses is `0`. */
export function publishedPorts(host: Json): string[] {
  return Object.entries(object(host.PortBindings)).flatMap(([target, bindings]) =>
    (list(bindings) as Json[]).map(({ HostIp, HostPort }) => {
      const address = anyAddress.has(String(HostIp ?? '')) ? '' : `${HostIp}:`;
      return `${address}${HostPort || 0}:${target}`;
    }),
  );
}
