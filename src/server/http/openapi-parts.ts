export const paragraph = (list: readonly string[]): string => list.join(' ');

export const schema = (id: string) => ({ $ref: `#/components/schemas/${id}` });
export const json = (id: string) => ({ 'application/json': { schema: schema(id) } });

export interface ResponseObject {
  description: string;
  headers?: object;
  content?: object;
}

export const problem = (description: string, headers?: object): ResponseObject => ({
  description,
  ...(headers && { headers }),
  content: { 'application/problem+json': { schema: schema('Problem') } },
});
