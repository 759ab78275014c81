import { type Judged, judgeData } from '../../src/agent/data/declare.ts';
import type { ModelService } from '../../src/engine/cli/compose.ts';
import { svc } from '../../src/progress/product.ts';
import { type Form, ofRelease, type Product, type Service } from './product.ts';

/** What a row of docs/other-products.md says of a product, but for what is not right for it. */
export function rowOf(product: Product): string[] {
  const { title, origin, forms } = product;
  return [
    `[${title}](${origin})`,
    forms.map((form) => tagOf(product, form)).join(', '),
    `\`${wordsOf(product)}\``,
  ];
}

/** What is typed behind the image to update the product. */
export const wordsOf = ({ moved, releases, isUntargeted }: Product): string =>
  [
    ...moved.map((name) => `--service ${name}`),
    ...(isUntargeted ? [] : [`--target ${releases.next.tag}`]),
  ].join(' ');

function tagOf({ releases: { old } }: Product, { name, pin }: Form): string {
  if (pin === '') return 'no tag';
  return `\`${ofRelease({ floating: '{word}', 'in parts': '{part}', pinned: '{tag}', 'no version': '{tag}' }[name], old)}\``;
}

/** What a restore point keeps of the product, once what is proposed is said, and what it does not. */
export function pointRowOf(product: Product): string[] {
  const { undecided } = judged(product, []);
  const said = undecided.map(({ service, proposal }) => ({ service, word: proposal, where: 'proposed' }));
  const { kept, left } = judged(product, said);
  const named = (services: readonly string[]) => services.map((name) => `\`${name}\``).join(', ');
  const words = undecided.map(({ service, proposal }) => `${service}: ${proposal}`).join(', ');
  return [
    product.title,
    words === '' ? '' : `\`data: {${words}}\``,
    kept
      .map(({ kind, services }) => `${kind === 'files' ? 'files' : 'databases'} of ${named(services)}`)
      .join('; '),
    named(left),
  ];
}

const judged = (
  { services, shared = {}, moved }: Product,
  said: Parameters<typeof judgeData>[0]['said'],
): Judged =>
  judgeData({
    model: {
      name: 'tried',
      services: Object.fromEntries(
        Object.entries(services).map(([name, service]) => [
          name,
          modelOf({ ...(service.like === undefined ? {} : shared[service.like]), ...service }),
        ]),
      ),
    },
    containers: [],
    moved,
    said,
    product: svc,
  });

const modelOf = ({ repository = '', mounts = [] }: Service): ModelService => ({
  image: repository,
  volumes: mounts.map((mount) => {
    const [source = '', target = '', mode] = mount.split(':');
    return {
      type: /^[a-z]/.test(source) ? 'volume' : 'bind',
      source,
      target,
      read_only: mode === 'ro',
    };
  }),
});
