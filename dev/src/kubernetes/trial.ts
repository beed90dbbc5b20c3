import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { defaultStateDir } from "@countersign/build/paths.ts";
import { NAMESPACE, startOutside } from "./outside.ts";

/**
 * `npm run trial:kubernetes`: runs Postgres, NATS, the Flow emulator and the development identity provider on
 * this machine, and writes the Secrets and values by which the chart in a cluster uses them, until Ctrl-C.
 */
export async function trialKubernetes(host: string | undefined, tag: string): Promise<void> {
  if (!host) throw new Failure("give --host, this machine's address for pods: with kind, the gateway of its network.");
  const directory = join(defaultStateDir, "kubernetes");
  mkdirSync(directory, { recursive: true });
  const images = { service: "countersign/service", migrate: "countersign/migrate", tag };
  const outside = await startOutside(join(directory, "state"), host, images);
  const [secrets, values] = [join(directory, "secrets.json"), join(directory, "values.json")];
  writeFileSync(secrets, JSON.stringify({ apiVersion: "v1", kind: "List", items: outside.secrets }), { mode: 0o600 });
  writeFileSync(values, JSON.stringify(outside.values, null, 2));
  console.log(`Now, with the images ${images.service}:${tag} and ${images.migrate}:${tag} in the cluster:
  kubectl create namespace ${NAMESPACE}
  kubectl apply --filename ${secrets}
  helm install countersign deploy/helm/countersign --namespace ${NAMESPACE} --values ${values} --wait
  kubectl --namespace ${NAMESPACE} port-forward service/countersign-gateway ${new URL(outside.stack.stack.gateway).port}:80
The gateway is then ${outside.stack.stack.gateway}, the identity provider ${outside.stack.stack.identityProvider.issuer}.`);
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.resolve());
  await stop.promise;
  await outside.stop();
}
