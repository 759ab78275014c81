/** How a test runs a command that stands in a document. */
export type Proof =
  /** `test/e2e/documents.test.ts` runs it as it stands, but for names that the reader fills in. */
  | { by: 'e2e' }
  /** That file, which is a test or is run by one, runs it in these words. */
  | { in: string; says: string }
  /** The program behind the script is asked whether it takes these words; `in` runs a short form of it. */
  | { faults: readonly string[]; in: string }
  /** Too long for a test: that there is such a section is checked, and that its program is there. */
  | { bench: string | null };

const e2e = { by: 'e2e' } as const;

/** The README's. */
export const updater =
  'docker run --rm --name svc-updater --stop-timeout 120 -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc svc-updater:dev';
/** That of another product, in docs/other-products.md. */
const immich =
  'docker run --rm --name svc-updater --stop-timeout 120 -v /var/run/docker.sock:/var/run/docker.sock -v /opt/immich:/opt/immich svc-updater:dev';
const immichWords = '--service immich-server --service immich-machine-learning --target v2.6.0';
/** That of docs/your-product.md. */
export const byHand =
  'docker run --rm --name larder-updater --stop-timeout 120 -v /var/run/docker.sock:/var/run/docker.sock -v /opt/larder:/opt/larder ghcr.io/acme/larder-updater:1';
/** SECURITY.md's. */
export const leastRights =
  'docker run --rm --name svc-updater --stop-timeout 120 --network none --cap-drop ALL --cap-add CHOWN --cap-add DAC_OVERRIDE --cap-add FOWNER --security-opt no-new-privileges --read-only --tmpfs /tmp -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc svc-updater:dev';
export const bump =
  'docker run --rm --network none -v "$PWD:$PWD" -w "$PWD" svc-updater:dev bump --file compose.prod.yaml --to v1.2.0 --service app --service worker --dry-run';

/** Every command of the documents. The end-to-end test runs its own in this order. */
export const commands = {
  // Runs of the updater.
  [bump]: e2e,
  [`${updater} plan --target v1.1.0`]: e2e,
  [`${updater} --target v1.1.0`]: e2e,
  [`${leastRights} --target v1.1.0`]: e2e,
  [`${immich} plan ${immichWords}`]: {
    in: 'test/products/trials.ts',
    says: "installed.run('plan', ...servicesOf(installed), ...target)",
  },
  [`${immich} ${immichWords}`]: {
    in: 'test/products/trials.ts',
    says: 'installed.run(...servicesOf(installed), ...target)',
  },
  'docker run': { in: 'test/rig/updater-run.ts', says: "'run'," },
  'docker stop': { in: 'test/rig/updater-run.ts', says: "['stop', '--time'" },
  'docker kill': { in: 'test/rig/updater-run.ts', says: "['kill', '--signal'" },
  'docker logs svc-updater': e2e,
  'docker logs -f': e2e,
  "docker image inspect --format '{{.RepoDigests}}' IMAGE": e2e,

  // What an operator types beside it.
  'docker compose config': e2e,
  'docker compose ps': e2e,
  'docker compose logs app worker': e2e,
  'docker compose pull': e2e,
  'docker compose up -d': e2e,
  'docker compose pull && docker compose up -d': e2e,
  'docker compose -f compose.prod.yaml pull && docker compose -f compose.prod.yaml up -d': e2e,
  'docker compose pull app worker && docker compose up -d --no-deps --wait app worker': e2e,
  'docker login REGISTRY': e2e,
  'docker login': { in: 'test/documents/commands.ts', says: "'docker login REGISTRY': e2e" },
  'docker image prune': e2e,

  'docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc -v /opt/release:/release:ro svc-updater:dev --from /release/svc-v1.5.0-linux-amd64.tar --trust /release/publisher.pem':
    {
      in: 'test/rig/release-archive.ts',
      says: "['--from', '/release/carried.tar', '--trust', '/release/publisher.pem']",
    },
  'docker run -d --restart on-failure:3 --name svc-updater --stop-timeout 120 -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc svc-updater:dev --target v1.1.0 --restore-point':
    { in: 'test/e2e/restore-point.test.ts', says: "'--target', 'v1.1.0', '--restore-point'" },
  // Of a Swarm.
  'docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc -v /opt/release:/release:ro svc-updater:dev --target v1.5.0 --release /release --trust /release/publisher.pem':
    {
      in: 'test/e2e/proven.test.ts',
      says: "args: ['--release', '/release', '--trust', '/release/publisher.pem']",
    },
  'docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc svc-updater:dev --stack svc --target v1.5.0':
    { in: 'test/rig/swarm-run.ts', says: "'run'," },
  'docker service create --name svc-updater --detach --constraint node.role==manager --restart-condition on-failure --restart-max-attempts 3 --mount type=bind,src=/var/run/docker.sock,dst=/var/run/docker.sock svc-updater:dev --stack svc --target v1.5.0':
    { in: 'test/instance/place/manual-commands.test.ts', says: 'docker service create --name svc-updater' },
  'docker service logs svc-updater': { in: 'src/agent/stack/update.ts', says: "['service', 'logs'," },
  'docker stack deploy': { in: 'test/rig/swarm.ts', says: "['stack', 'deploy'," },
  'docker stack deploy -c': { in: 'test/rig/swarm.ts', says: "'-c', file, this.name]" },
  'docker stack deploy --with-registry-auth': { in: 'test/rig/swarm.ts', says: "'--with-registry-auth'" },
  'docker stack config': { in: 'src/agent/stack/files.ts', says: "['stack', 'config'," },
  'docker service inspect': { in: 'test/rig/swarm.ts', says: "'service', 'inspect'" },
  'docker config rm svc-updater.<stack>': { in: 'test/rig/swarm.ts', says: "'config', 'rm', `svc-updater." },

  // The client's.
  'svc instance status': { in: 'test/client/commands.test.ts', says: "'instance status'" },
  'svc instance rollback': { in: 'test/client/rollback.test.ts', says: "'instance rollback'" },
  'svc instance channel canary': { in: 'test/client/commands.test.ts', says: "'instance channel canary'" },
  'svc instance channel stable': { in: 'test/client/misbehaving.test.ts', says: "'channel stable'" },
  'svc instance skip --undo': { in: 'test/client/commands.test.ts', says: "'instance skip --undo'" },
  'svc instance skip v1.5.0': { in: 'test/client/commands.test.ts', says: "'instance skip v1.5.0'" },
  'svc instance update': { in: 'test/client/commands.test.ts', says: "'instance update'" },
  'svc instance automatic': { in: 'test/client/automatic.test.ts', says: "'instance automatic'" },
  'svc instance automatic --from 02:00 --to 05:00': {
    in: 'test/client/automatic.test.ts',
    says: "'--from 02:00 --to 05:00'",
  },
  'svc instance automatic --off': { in: 'test/client/automatic.test.ts', says: "'--off'" },
  'svc instance update --through': { in: 'test/client/path.test.ts', says: "'instance update --through'" },
  'svc instance follow': { in: 'test/client/commands.test.ts', says: "'instance follow'" },
  'svc instance cancel': { in: 'test/client/commands.test.ts', says: "'instance cancel'" },
  'svc instance history': { in: 'test/client/commands.test.ts', says: "'instance history'" },
  'svc completion bash': { in: 'test/client/completion.test.ts', says: 'completionForBash()' },

  // What the updater calls; the end-to-end test looks for it in the traces of its runs.
  'docker compose pull --policy always': e2e,
  'docker compose up -d --no-deps': e2e,
  'docker compose up --no-deps --no-build --pull never': e2e,
  'docker compose up': { in: 'test/rig/instance.ts', says: "this.compose('up'" },

  'svc update': { in: 'test/client/self-update/rig.ts', says: "[file, 'update', ...args]" },

  // Of docs/checking.md, whose other commands test/provenance/checking.test.ts runs as they stand.
  'npm pack svc-updater@1.0.0': { in: 'test/package/package.test.ts', says: "['pack', ofVersion, '--json']" },

  'node -e 0': { in: 'test/bench/client.ts', says: "node(['-e', '0'])" },
  'svc --version': { in: 'test/bench/client.ts', says: "node([client, '--version'])" },

  // Those of a product of one's own.
  'node build.mjs v1.0.0': { in: 'test/e2e/your-product.test.ts', says: "'node build.mjs v1.0.0'" },
  'docker build --build-arg VERSION=v1.0.0 --tag ghcr.io/acme/larder:v1.0.0 .': {
    in: 'test/e2e/your-product.test.ts',
    says: 'docker build --build-arg VERSION=',
  },
  'docker push ghcr.io/acme/larder:v1.0.0': {
    in: 'test/e2e/your-product.test.ts',
    says: 'docker push ghcr.io/acme/larder:',
  },
  'docker build --tag ghcr.io/acme/larder-updater:1 --file updater.Dockerfile .': {
    in: 'test/e2e/your-product.test.ts',
    says: 'docker build --tag ghcr.io/acme/larder-updater:1 --file updater.Dockerfile .',
  },
  'docker push ghcr.io/acme/larder-updater:1': {
    in: 'test/e2e/your-product.test.ts',
    says: 'docker push ghcr.io/acme/larder-updater:1',
  },
  [`${byHand} plan --target v1.1.0`]: { in: 'test/e2e/your-product.test.ts', says: "'plan --target v1.1.0'" },

  // Scripts and npm scripts.
  'scripts/test': { in: '.ci/run', says: 'scripts/test' },
  'scripts/test --quick': { in: 'scripts/test', says: '--quick) quick' },
  'scripts/test --under-load': { in: 'scripts/test', says: '--under-load) under_load' },
  'scripts/engine up': { in: 'scripts/test', says: 'must engine scripts/engine up' },
  'scripts/engine up --newest': { in: 'scripts/test', says: 'must engine scripts/engine up --newest' },
  'scripts/engine status': e2e,
  'scripts/test swarm': { in: 'scripts/test', says: 'swarm) on_swarm' },
  'scripts/swarm': { in: 'scripts/swarm', says: 'locked up "$@"' },
  'scripts/swarm up': { in: 'scripts/swarm', says: 'up) locked up "$@"' },
  'scripts/swarm up --debian': { in: 'scripts/swarm', says: '--debian) debian=yes' },
  'scripts/swarm up --managers 1': { in: 'scripts/swarm', says: '--managers) managers=' },
  'scripts/swarm image svc-updater:dev': { in: 'scripts/swarm', says: 'image) give_image "$@"' },
  'scripts/swarm down': { in: 'scripts/swarm', says: 'down) locked down' },
  'scripts/publish': { in: '.github/workflows/release.yml', says: '- run: scripts/publish' },
  'scripts/bases': { in: 'scripts/image', says: 'scripts/bases' },
  'scripts/image --release': { in: 'scripts/image', says: '[[ $RELEASE == no ]] || need_digests' },
  'scripts/release': { in: 'test/campaign/release.test.ts', says: "execa('scripts/release', args)" },
  'scripts/release --recipe recipe.json --key publisher-key.pem --bundle --push --out made': {
    in: 'test/campaign/release.test.ts',
    says: "['--recipe', recipe, '--key', join(folder, 'key.pem'), '--bundle', '--out', out, ...more]",
  },
  'scripts/release --dry-run': { in: 'scripts/release', says: '--dry-run) DRY=yes' },
  'scripts/release --dry-run --bundle --twice': { in: 'scripts/release', says: '--twice) TWICE=yes' },
  'docker buildx build --platform linux/amd64,linux/arm64 --provenance=false --output type=oci,tar=false,dest=images/svc .':
    { in: 'scripts/image', says: '--provenance=false --no-cache' },
  'scripts/image': { in: 'scripts/test', says: 'must image scripts/image' },
  'scripts/demo': e2e,
  'scripts/demo --keep': e2e,
  'scripts/demo --remove': e2e,
  'scripts/faults': { faults: [], in: 'test/campaign/faults.test.ts' },
  'scripts/faults kill': { faults: ['kill'], in: 'test/campaign/faults.test.ts' },
  'scripts/faults --tries 1': { faults: ['--tries', '1'], in: 'test/campaign/faults.test.ts' },
  'scripts/faults --short': { faults: ['--short'], in: 'test/campaign/faults.test.ts' },
  'scripts/fuzz': { in: 'scripts/fuzz', says: 'test/fuzz/main.ts "$@"' },
  'scripts/fuzz --cases 20000': { in: 'scripts/test', says: 'step fuzz scripts/fuzz --cases 20000' },
  'scripts/matrix': { in: 'test/campaign/cells.test.ts', says: "execa('scripts/matrix'" },
  'scripts/bed': { in: 'scripts/bed', says: 'test/bed/main.ts "$@"' },
  'scripts/stack-faults': { in: 'scripts/stack-faults', says: 'test/faults/swarm-faults.ts "$@"' },
  'scripts/restore-kills': { in: 'scripts/restore-kills', says: 'test/faults/restore-kills.ts "$@"' },
  'scripts/shares': { in: 'scripts/shares', says: 'init=$ROOT/test/shares/init.sh' },
  'scripts/products': { in: 'scripts/products', says: 'test/products/main.ts "$@"' },
  'scripts/products immich': { in: 'test/products/products.test.ts', says: "['immich']" },
  'scripts/products --form published': {
    in: 'test/products/products.test.ts',
    says: "['--form', 'published']",
  },
  'scripts/bench': { bench: null },
  'scripts/bench update': { bench: 'update' },
  'scripts/bench ahead': { bench: 'ahead' },
  'scripts/bench large': { bench: 'large' },
  'scripts/bench client': { bench: 'client' },
  'scripts/bench restore': { bench: 'restore' },
  'scripts/bench --help': e2e,
  'npm ci': { in: 'scripts/lib/env.sh', says: 'npm ci' },
  'npm run types': { in: 'scripts/test', says: 'step types npm run --silent types' },
  'npm run lint': { in: 'scripts/test', says: 'step lint npm run --silent lint' },
  // The three of them are steps of scripts/test.
  'npm run check': { in: 'package.json', says: '"check": "npm run types && npm run lint && npm run unit"' },
  'npm run build': { in: 'scripts/image', says: 'npm run --silent build' },
  'npm run e2e': { in: 'scripts/test', says: 'step e2e vitest e2e' },
  'npm run swarm': { in: 'package.json', says: '"swarm": ' },
  'npm run e2e -- test/e2e/refusals.test.ts': { in: 'scripts/test', says: 'npm run --silent "$project" -- ' },
} as const satisfies Record<string, Proof>;

type Commands = typeof commands;

/** Those that the end-to-end test has to run. */
export type RunCommand = {
  [Text in keyof Commands]: Commands[Text] extends { by: 'e2e' } ? Text : never;
}[keyof Commands];
