import { type Product, roleLabelOf, svc } from '../../progress/product.ts';
import { settingsName } from '../../progress/state-name.ts';

/** What `--help` prints. The variables are of those who make a product, and svc's operators have always had them. */
export function usageOf(product: Product): string {
  const { name, services, versionVariable, containerName } = product;
  if (product === svc) return usage;
  const [app, ...workers] = services;
  const choice = `(${app}, and the services labelled ${roleLabelOf(product)}: worker${workers.length > 0 ? `, else ${workers.join(', ')}` : ''})`;
  return usage
    .replace(/\(app, and the services labelled [^)]*\)/, choice)
    .replace('(SVC_VERSION)', `(${versionVariable})`)
    .replace('--name svc-updater', `--name ${containerName}`)
    .replaceAll(/ \[SVC_UPDATER_\w+(?:=[^\]]*)?\]/g, '')
    .replace(' (environment variable in brackets)', '')
    .replace(/^SVC_UPDATER_TRACE.*\n\n/m, '')
    .replaceAll(/\bsvc\b/g, name);
}

const usage = `svc-updater: replaces the app and the worker of a running svc instance by a new release,
or leaves it exactly as it was.

  svc-updater [update] [options]   update the instance in the mounted directory (the default)
  svc-updater plan [options]       show what update would do; changes nothing
  svc-updater init [options]       write the services to update into ${settingsName}, or list what to choose from
  svc-updater bump [options]       edit version pins in files only; needs no engine
  svc-updater --help | --version

update and plan (environment variable in brackets):
  --target RELEASE          what to move to, as the product writes it: v1.2.3, 2025.8.4, 32.0.1-apache, 2025.8, canary, or a
                            tag that floats, such as stable, by its name [SVC_UPDATER_TARGET]; without it floating tags
                            are pulled again
  --project NAME            compose project [SVC_UPDATER_PROJECT]
  --dir DIR                 the compose directory as mounted [SVC_UPDATER_DIR]
  --container ID            of one of its containers, whose labels alone are believed [SVC_UPDATER_CONTAINER]; without it
                            all containers of a service must agree
  --service NAME            repeatable; the first is the app, the others are workers [SVC_UPDATER_SERVICES=a,b]
                            (app, and the services labelled svc.role: worker, else worker)
  --leave NAME              repeatable; what belongs with the app and stays behind, * for all [SVC_UPDATER_LEAVE=a,b]
  --version-var NAME        the version variable [SVC_UPDATER_VERSION_VAR] (SVC_VERSION)
  --wait-timeout SECONDS    for the new version to become healthy [SVC_UPDATER_WAIT_TIMEOUT] (300)
  --pull-timeout SECONDS    for all pulls together [SVC_UPDATER_PULL_TIMEOUT] (3600)
  --accept-drift            go on where the files no longer say what the containers have [SVC_UPDATER_ACCEPT_DRIFT=1]
  --log line|json           [SVC_UPDATER_LOG] (line)

init: --project, --dir, --log as above; --service, --leave, --version-var, --wait-timeout and --pull-timeout are written down
  --dry-run                 only show the file
  --force                   replace one that is there
update, plan and bump take from that file what no option and no variable says.

bump:
  --to RELEASE              what to move pins to, written as above
  --service NAME            once or more: whose pins (services of ${settingsName})
  --dir DIR                 the compose directory (that of the first --file, else the working directory)
  --file FILE               repeatable; compose files, from DIR on (what compose itself would find)
  --env-file FILE           repeatable (.env)
  --digest sha256:…         of the new release, where a pin has a digest beside the tag
  --dry-run                 print a diff, write nothing
  --log                     as above

Run it with the engine's socket, which gives it root's power over the host, and the compose directory at its own path:
  docker run --rm --name svc-updater --stop-timeout 120 \\
    -v /var/run/docker.sock:/var/run/docker.sock -v /opt/svc:/opt/svc svc-updater --target v1.5.0
For a private registry add the logins of the host: -v ~/.docker/config.json:/root/.docker/config.json:ro

SVC_UPDATER_TRACE=1 tells on standard error what took its time: each child process and each request to the engine.

Exit codes: 0 updated or unchanged, 1 crashed, 2 usage, 3 refused (nothing changed), 4 failed (the old version runs),
5 broken (a person must look), 130 and 143 cancelled.
`;
