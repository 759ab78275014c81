import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApi } from '../../../src/instance/http/openapi.ts';
import { described } from './ask.ts';

const document = (path = '/x') => JSON.parse(JSON.stringify(openApi(path, '1.2.3')));

/** Everything in a document that refers to another part of it. */
const references = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]) =>
        key === '$ref' && typeof inner === 'string' ? [inner] : references(inner),
      );

describe('openApi', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    expect(document().openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(document())).toEqual({ valid: true });
    const broken = document();
    broken.paths['/x'].get.responses = [];
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it('says where, and of which version', () => {
    const { info, paths } = document('/api/v2/update');
    expect(info.version).toBe('1.2.3');
    expect(Object.keys(paths)).toEqual([
      '/api/v2/update',
      '/api/v2/update/progress',
      '/api/v2/update/channel',
    ]);
  });

  it('describes every answer', () => {
    const short = described.map((answer) => answer.replace('/api/v1/instance/update', ''));
    const problem = (way: string, ...statuses: number[]) =>
      statuses.map((status) => `${way} ${status} application/problem+json`);
    expect(short.toSorted()).toEqual(
      [
        'GET  200 application/json',
        ...problem('GET ', 401, 500),
        'POST  202 application/json',
        ...problem('POST ', 400, 401, 403, 409, 413, 415, 500),
        'GET /progress 200 application/json',
        'GET /progress 200 text/event-stream',
        'GET /progress 204',
        ...problem('GET /progress', 401, 403, 404, 500),
        'PUT /channel 200 application/json',
        ...problem('PUT /channel', 400, 401, 403, 413, 415, 500),
      ].toSorted(),
    );
  });

  it('refers to what is in it, and has nothing that nobody refers to', () => {
    const whole = document();
    const used = new Set(references(whole));
    const there = ['schemas', 'responses', 'headers'].flatMap((kind) =>
      Object.keys(whole.components[kind]).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...used].filter((name) => !there.includes(name))).toEqual([]);
    expect(there.filter((name) => !used.has(name))).toEqual([
      // Told of in words.
      '#/components/schemas/Line',
      '#/components/responses/NotFound',
      '#/components/responses/MethodNotAllowed',
    ]);
  });

  it('takes what the server takes, and gives what it gives', () => {
    const { schemas } = document().components;
    expect(schemas.Start).toMatchObject({ type: 'object', additionalProperties: false });
    expect(schemas.Start.required).toBeUndefined();
    expect(schemas.ChannelChoice.properties.channel.enum).toEqual(['stable', 'canary']);
    expect(schemas.Status.required).toContain('reason');
    expect(schemas.Status.properties.latest.anyOf[0]).toEqual({ $ref: '#/components/schemas/Release' });
    expect(schemas.Run.properties.startedAt).toEqual({
      type: 'string',
      format: 'date-time',
      description: 'UTC, ISO 8601',
    });
    expect(JSON.stringify(schemas)).not.toMatch(/\$id|\$schema|\$defs/);
  });

  it("says that authentication is the host's", () => {
    const { security, components } = document();
    expect(security).toEqual([{ host: [] }]);
    expect(components.securitySchemes.host.description).toContain("the host's");
  });
});
