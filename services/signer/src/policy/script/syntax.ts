/** A node of Cadence's syntax tree as cadence-parser/encode.go writes it: its Go type, where it begins, and its children by their Go names. */
export interface SyntaxNode {
  readonly node: string;
  /** "line:column"; lines count from 1, columns from 0. */
  readonly at?: string;
  readonly [child: string]: unknown;
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).node === "string";

/** A child node of one kind, or undefined. */
export function child(node: SyntaxNode | undefined, name: string, kind?: string): SyntaxNode | undefined {
  const value = node?.[name];
  return isNode(value) && (kind === undefined || value.node === kind) ? value : undefined;
}

/** The nodes of a list child. */
export function children(node: SyntaxNode | undefined, name: string): SyntaxNode[] {
  const value = node?.[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** A text child: names are texts. */
export function text(node: SyntaxNode | undefined, name: string): string {
  const value = node?.[name];
  return typeof value === "string" ? value : "";
}

/** Every node below and including `node`, each with its ancestors, the nearest last: a list that is good until the next step. */
export function* walk(
  node: SyntaxNode,
  ancestors: SyntaxNode[] = [],
): Generator<[node: SyntaxNode, ancestors: readonly SyntaxNode[]]> {
  yield [node, ancestors];
  ancestors.push(node);
  for (const value of Object.values(node)) {
    if (isNode(value)) yield* walk(value, ancestors);
    else if (Array.isArray(value)) for (const each of value) if (isNode(each)) yield* walk(each, ancestors);
  }
  ancestors.pop();
}
