import { type Product, productOf } from '../../progress/product.ts';

const variable = 'SVC_UPDATER_PRODUCT';

/**
 * The product that `SVC_UPDATER_PRODUCT` tells of: its name, or its record as JSON. Null where it tells of none, or where
 * it is wrong, which the mistakes then say.
 */
export function readProduct(
  { [variable]: text }: Readonly<Record<string, string | undefined>>,
  mistakes: string[],
): Product | null {
  const given = text?.trim();
  if (!given) return null;
  try {
    return productOf(given.startsWith('{') ? JSON.parse(given) : { name: given });
  } catch (error) {
    const why = error instanceof TypeError ? error.message : 'it is neither a name nor a record as JSON';
    mistakes.push(`${variable} is wrong: ${why.replace(/^wrong product: /, '')}`);
    return null;
  }
}
