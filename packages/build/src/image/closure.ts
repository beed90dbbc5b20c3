/** An entry of package-lock.json, by its path: a workspace such as "services/auth", or below node_modules. */
export interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  /** Of a workspace's link: the workspace. */
  readonly resolved?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export type LockEntries = Readonly<Record<string, LockEntry>>;

/** Packages by their path, each with the paths of those that it depends on. */
export type Closure = ReadonlyMap<string, readonly string[]>;

/**
 * Returns the path at which Node finds a package that a file below `from` imports; undefined: not installed.
 */
function resolve(entries: LockEntries, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (entries[path]) return entries[path].link ? entries[path].resolved : path;
    if (folder === "") return undefined;
  }
}

/**
 * Returns the workspaces that run in production with the given ones, and the packages that they need.
 * Optional dependencies, such as binaries for one platform, belong to it where `isInstalled`; optional peers
 * do not: Prisma's are its command line and TypeScript. Errors: Error where one is missing.
 */
export function productionClosure(
  entries: LockEntries,
  workspaces: readonly string[],
  isInstalled: (path: string) => boolean,
): Closure {
  const found = new Map<string, string[]>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    const needed: string[] = [];
    found.set(path, needed);
    const { dependencies, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta } = entries[path]!;
    const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta?.[name]?.optional);
    for (const name of new Set([...Object.keys(dependencies ?? {}), ...Object.keys(optionalDependencies), ...peers])) {
      const target = resolve(entries, path, name);
      if (target !== undefined && isInstalled(target)) needed.push(target);
      else if (!(name in optionalDependencies)) throw new Error(`${path} needs ${name}, which is not installed`);
    }
    for (const each of needed) visit(each);
  };
  for (const workspace of workspaces) visit(workspace);
  return found;
}
