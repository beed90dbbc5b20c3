import { createHash } from "node:crypto";
import type { Closure, LockEntries } from "./closure.ts";

/** A component of CycloneDX 1.5, as far as it is used here. */
interface Component {
  type: "application" | "library";
  name: string;
  version: string;
  purl: string;
  "bom-ref": string;
  licenses?: { expression: string }[];
  hashes?: { alg: "SHA-512"; content: string }[];
}

interface Package {
  readonly name: string;
  readonly version: string;
}

export interface SbomInput extends Package {
  /** Node's version. */
  readonly node: string;
  readonly created: Date;
  readonly entries: LockEntries;
  readonly closure: Closure;
  readonly debian: readonly (Package & { architecture: string })[];
  readonly go: readonly Package[];
}

/** Reads the packages that /var/lib/dpkg/status lists as installed. */
export function parseDebianPackages(status: string): (Package & { architecture: string })[] {
  return status.split(/\n\n+/).flatMap((entry) => {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(entry)?.[1];
    const [name, version, architecture] = [field("Package"), field("Version"), field("Architecture")];
    const isInstalled = field("Status")?.endsWith(" installed");
    return name && version && architecture && isInstalled ? [{ name, version, architecture }] : [];
  });
}

/** Reads lines of "module version", the output of `go list`. */
export function parseGoModules(lines: string): Package[] {
  return lines.split("\n").flatMap((line) => {
    const [name, version] = line.trim().split(" ");
    return name && version ? [{ name, version }] : [];
  });
}

const component = ({ name, version }: Package, purl: string): Component => ({
  type: "library",
  name,
  version,
  purl,
  "bom-ref": purl,
});

/** Returns the component of a package that npm has installed at `path`, or of a workspace. */
function npmComponent(entries: LockEntries, path: string): Component {
  const { name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length), ...entry } = entries[path]!;
  const { version = "", license, integrity } = entry;
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    ...component({ name, version }, purl),
    // Two copies of one version are two components.
    "bom-ref": path,
    ...(license && { licenses: [{ expression: license }] }),
    ...(integrity?.startsWith("sha512-") && {
      hashes: [{ alg: "SHA-512" as const, content: Buffer.from(integrity.slice(7), "base64").toString("hex") }],
    }),
  };
}

/**
 * Returns the bill of materials of an image (CycloneDX 1.5): npm's packages that are in it, Node, Debian's
 * packages and Go's modules. The same content gives the same bytes.
 */
export function sbomOf({ name, version, node, created, entries, closure, debian, go }: SbomInput) {
  const paths = [...closure.keys()].sort();
  const components: Component[] = [
    ...paths.map((path) => npmComponent(entries, path)),
    { ...component({ name: "node", version: node }, `pkg:generic/node@${node}`), type: "application" },
    ...debian.map((each) => component(each, `pkg:deb/debian/${each.name}@${each.version}?arch=${each.architecture}`)),
    ...go.map((each) => component(each, `pkg:golang/${each.name}@${each.version}`)),
  ];
  const hash = createHash("sha256")
    .update(JSON.stringify([name, version, components]))
    .digest("hex");
  const uuid = hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-5$3-8$4-$5");
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: {
      timestamp: created.toISOString(),
      component: { type: "container", name, version, "bom-ref": name },
    },
    components,
    dependencies: paths.map((ref) => ({ ref, dependsOn: closure.get(ref)?.toSorted() })),
  };
}
