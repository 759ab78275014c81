import { type DatabaseKind, databaseOf, isHelper, parseReference } from '../../compose/reference.ts';
import type { Model, ModelMount } from '../../engine/cli/compose.ts';
import { type Container, type Mount, serviceOf } from '../../engine/container.ts';
import { type DataWord, dataLabelOf, isDataWord, type Product } from '../../progress/product.ts';
import { settingsName } from '../../progress/state-name.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { and } from '../log/wording.ts';
import type { DataSaid } from '../process/options.ts';
import type { KindName } from './kinds.ts';
import type { Declared } from './survey-point.ts';

/** In the order in which they are kept. */
const kindNames = ['postgres', 'mariadb', 'files'] as const satisfies readonly KindName[];

export interface DataFacts {
  model: Model;
  /** Of the project; what they have mounted counts more than what the files say. */
  containers: readonly Container[];
  /** The services whose containers the run replaces. */
  moved: readonly string[];
  /** What the settings file says. */
  said: readonly DataSaid[];
  product: Product;
}

/** A service whose data nobody has kept in mind yet. */
export interface Undecided {
  service: string;
  image: string;
  /** What it looks like; `none` where no restore point can keep it. */
  proposal: DataWord;
}

/** What that comes to: the data that a restore point is to hold, and what is in the way. */
export interface Judged extends Declared {
  /** They look like databases, and nobody has said what they are. */
  undecided: readonly Undecided[];
  /** What is said and cannot be, a sentence each. */
  mistakes: readonly string[];
}

/** What becomes of the data of one service; null where it has none. */
type Verdict = DataWord | { image: string; proposal: DataWord } | { mistake: string } | null;

/** What a restore point is to hold. @throws UpdateError data-unfit, data-unsaid */
export function declareData(facts: DataFacts): Declared {
  const { kept, left, undecided, mistakes } = judgeData(facts);
  if (mistakes.length > 0)
    throw new UpdateError('data-unfit', mistakes.at(-1) ?? '', {
      detail: mistakes.slice(0, -1),
      advice: `Mend it in ${settingsName}, or by the label.`,
    });
  if (undecided.length === 0) return { kept, left };
  const names = undecided.map(({ service, image }) => `${service} (${image})`);
  const what = names.length > 1 ? 'look like databases' : 'looks like a database';
  throw new UpdateError('data-unsaid', `${and(names)} ${what}, and nothing says what a restore point keeps`, {
    advice: `Write ${proposalOf(undecided)} in ${settingsName}; none is for what may be left out.`,
  });
}

/** Decides what a restore point keeps: the settings file is believed first, then labels, then the product's record. */
export function judgeData(facts: DataFacts): Judged {
  const { model, said } = facts;
  const verdicts = Object.keys(model.services).map((service) => ({
    service,
    verdict: verdictOf(service, facts),
  }));
  const those = (word: DataWord) =>
    verdicts.flatMap(({ service, verdict }) => (verdict === word ? [service] : []));
  return {
    kept: kindNames
      .map((kind) => ({ kind, services: those(kind) }))
      .filter(({ services }) => services.length > 0),
    left: those('none'),
    undecided: verdicts.flatMap(({ service, verdict }) =>
      isObject(verdict) && 'proposal' in verdict ? [{ service, ...verdict }] : [],
    ),
    mistakes: [
      ...said
        .filter(({ service }) => !Object.hasOwn(model.services, service))
        .map(({ where }) => `${where} is said, and the project has no such service`),
      ...verdicts.flatMap(({ verdict }) =>
        isObject(verdict) && 'mistake' in verdict ? [verdict.mistake] : [],
      ),
    ],
  };
}

const isObject = (verdict: Verdict): verdict is Exclude<Verdict, DataWord | null> =>
  typeof verdict === 'object' && verdict !== null;

function verdictOf(service: string, facts: DataFacts): Verdict {
  const { model, containers, moved } = facts;
  const { image = '', volumes } = model.services[service] ?? {};
  const own = containers.filter((each) => serviceOf(each) === service);
  const mounts = own.length > 0 ? own.flatMap((each) => each.mounts) : (volumes ?? []).map(asMount);
  const hasData = mounts.some(isData);
  const isMoved = moved.includes(service);
  const { word, where } = wordFor(service, facts);
  if (word !== null && !isDataWord(word))
    return { mistake: `${where} is "${word}": it should be postgres, mariadb, files or none` };
  if (isMoved) {
    // A database is kept while it runs, and this one is stopped.
    if (word === 'postgres' || word === 'mariadb')
      return {
        mistake: `${where} is ${word}, and the update replaces ${service}: it should be files or none`,
      };
    return hasData ? (word ?? 'files') : null;
  }
  if (word === 'files')
    return { mistake: `${where} is files, and ${service} is not stopped by the update: it should be none` };
  if (word !== null) return word;
  // One of a profile that is not used.
  if (own.length === 0 && containers.length > 0) return null;
  const looks = looksLike(image, mounts);
  if (looks === null || looks === 'cache') return hasData || looks !== null ? 'none' : null;
  return { image, proposal: looks === 'other' ? 'none' : looks };
}

/** What is said of a service, and where; null where nobody says anything. */
function wordFor(
  service: string,
  { model, said, product }: DataFacts,
): { word: string | null; where: string } {
  const inFile = said.find((each) => each.service === service);
  if (inFile !== undefined) return inFile;
  const label = dataLabelOf(product);
  const written = model.services[service]?.labels?.[label];
  if (written !== undefined) return { word: written, where: `label ${label} of ${service}` };
  const recorded = Object.hasOwn(product.data ?? {}, service) ? product.data?.[service] : undefined;
  return { word: recorded ?? null, where: `data of ${service} in the record of ${product.name}` };
}

/** By its image, and by what it has mounted where a database has its data. */
function looksLike(image: string, mounts: readonly Mount[]): DatabaseKind | null {
  const repository = parseReference(image)?.repository ?? '';
  const known = databaseOf(repository);
  if (known !== null || isHelper(repository)) return known;
  const isAt = (places: RegExp) => mounts.some((mount) => isData(mount) && places.test(mount.destination));
  return databasePlaces.find(([, places]) => isAt(places))?.[0] ?? null;
}

const databasePlaces: readonly (readonly [DatabaseKind, RegExp])[] = [
  ['postgres', /^\/(?:var\/lib|bitnami)\/(?:postgresql|pgsql)(?:\/|$)/],
  ['mariadb', /^\/(?:var\/lib|bitnami)\/(?:mysql|mariadb)(?:\/|$)/],
  [
    'other',
    /^\/(?:data\/db|bitnami\/mongodb|opt\/couchdb|cockroach|var\/opt\/mssql|var\/lib\/(?:mongodb|clickhouse|couchdb|influxdb2?|cassandra|scylla))(?:\/|$)/,
  ],
];

/** What of the machine itself is mounted is nobody's data. */
const ofMachine =
  /^\/(?:etc\/(?:localtime|timezone|machine-id|hosts|resolv\.conf)|(?:dev|proc|sys)(?:\/.*)?|(?:var\/)?run)$|\.sock$/;

const isData = ({ type, source, writable }: Mount): boolean =>
  writable && (type === 'volume' || (type === 'bind' && !ofMachine.test(source)));

const asMount = ({ type, source = '', target, read_only }: ModelMount): Mount => ({
  type,
  source,
  destination: target,
  writable: read_only !== true,
});

/** `data: {db: postgres}` */
const proposalOf = (undecided: readonly Undecided[]): string =>
  `data: {${undecided.map(({ service, proposal }) => `${service}: ${proposal}`).join(', ')}}`;

/** A line for `plan` where something could be kept and nobody has said so; else null. */
export function proposalLine({ undecided }: Judged): string | null {
  if (undecided.length === 0) return null;
  const [able, unable] = [true, false].map((isAble) =>
    undecided.flatMap(({ service, proposal }) => ((proposal !== 'none') === isAble ? [service] : [])),
  );
  const not = unable?.length ? `, without ${and(unable)}` : '';
  return `${proposalOf(undecided)} in ${settingsName} would let --restore-point keep ${and(able ?? []) || 'the rest'}${not}`;
}
