import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A repository of a registry that images are pushed to: https://github.com/opencontainers/distribution-spec */
export class Registry {
  readonly #base: string;
  readonly #login: string | null;
  #authorization: string | null = null;

  private constructor(base: string, login: string | null) {
    this.#base = base;
    this.#login = login;
  }

  /** With the login that `docker login` has kept for it, where there is one. */
  static async at(host: string, repository: string): Promise<Registry> {
    const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+)(?::|$)/.test(host);
    return new Registry(`${isHere ? 'http' : 'https'}://${host}/v2/${repository}`, await loginFor(host));
  }

  async putBlob(digest: string, size: number, file: string): Promise<void> {
    if ((await this.#ask('HEAD', `${this.#base}/blobs/${digest}`)).ok) return;
    const begun = await this.#expect(202, 'POST', `${this.#base}/blobs/uploads/`);
    const place = new URL(begun.headers.get('location') ?? '', this.#base);
    place.searchParams.set('digest', digest);
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(size) };
    await this.#expect(201, 'PUT', place.href, { headers, body: await openAsBlob(file) });
  }

  async putManifest(name: string, mediaType: string, bytes: Buffer): Promise<void> {
    const headers = { 'content-type': mediaType };
    await this.#expect(201, 'PUT', `${this.#base}/manifests/${name}`, { headers, body: new Blob([bytes]) });
  }

  async #expect(status: number, method: string, url: string, content: Content = {}): Promise<Response> {
    const answer = await this.#ask(method, url, content);
    // What stands behind the `?` may be a key.
    if (answer.status !== status)
      throw new Error(`${method} ${url.replace(/\?.*/, '')}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async #ask(method: string, url: string, { headers, body }: Content = {}): Promise<Response> {
    const send = () => {
      const authorization = this.#authorization === null ? {} : { authorization: this.#authorization };
      return fetch(url, { method, headers: { ...headers, ...authorization }, body: body ?? null });
    };
    const answer = await send();
    if (answer.status !== 401 || !(await this.#logIn(answer.headers.get('www-authenticate') ?? '')))
      return answer;
    await answer.body?.cancel();
    return send();
  }

  /** https://distribution.github.io/distribution/spec/auth/token/ */
  async #logIn(wanted: string): Promise<boolean> {
    const word = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(wanted)?.[1];
    const basic = this.#login === null ? null : `Basic ${this.#login}`;
    const realm = word('realm');
    if (!/^bearer /i.test(wanted) || realm === undefined) {
      this.#authorization = basic;
      return basic !== null;
    }
    const asked = new URL(realm);
    asked.searchParams.set('service', word('service') ?? '');
    asked.searchParams.set(
      'scope',
      `repository:${new URL(this.#base).pathname.slice('/v2/'.length)}:pull,push`,
    );
    const answer = await fetch(asked, { headers: basic === null ? {} : { authorization: basic } });
    if (!answer.ok) return false;
    const { token, access_token } = (await answer.json()) as Record<string, string>;
    this.#authorization = `Bearer ${token ?? access_token}`;
    return true;
  }
}

interface Content {
  headers?: Record<string, string>;
  body?: Blob;
}

async function loginFor(host: string): Promise<string | null> {
  const file = join(process.env.DOCKER_CONFIG ?? join(homedir(), '.docker'), 'config.json');
  const text = await readFile(file, 'utf8').catch(() => '{}');
  return JSON.parse(text).auths?.[host]?.auth ?? null;
}
