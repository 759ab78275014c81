import { type Form, ofRelease, type Product } from './product.ts';

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
