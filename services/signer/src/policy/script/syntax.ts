/**
 * A node of Cadence's syntax tree as cadence-parser/encode.go writes it: its Go type, its position, and its
 * children by their Go names.
 */
export interface SyntaxNode {
  readonly node: string;
  /** "line:column"; lines count from 1, columns from 0. */
  readonly at?: string;
  readonly [child: string]: unknown;
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).node === "string";

/** Returns a child node of one kind, or undefined. */
export function child(node: SyntaxNode | undefined, name: string, kind?: string): SyntaxNode | undefined {
  const value = node?.[name];
  return isNode(value) && (kind === undefined || value.node === kind) ? value : undefined;
}

/** Returns the nodes of a list child. */
export function children(node: SyntaxNode | undefined, name: string): SyntaxNode[] {
  const value = node?.[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Returns a text child: names are texts. */
export function text(node: SyntaxNode | undefined, name: string): string {
  const value = node?.[name];
  return typeof value === "string" ? value : "";
}

/**
 * Yields every node of the tree in the order of the source, each with its ancestors, the nearest last. The
 * list of ancestors is valid until the next step. Takes time in proportion to the number of nodes.
 */
export function* walk(root: SyntaxNode): Generator<[node: SyntaxNode, ancestors: readonly SyntaxNode[]]> {
  const ancestors: SyntaxNode[] = [];
  // `undefined` ends the children of the nearest ancestor.
  const pending: (SyntaxNode | undefined)[] = [root];
  while (pending.length > 0) {
    const node = pending.pop();
    if (!node) {
      ancestors.pop();
      continue;
    }
    yield [node, ancestors];
    ancestors.push(node);
    pending.push(undefined);
    const below = Object.values(node).flatMap((value) => (Array.isArray(value) ? value : [value]));
    for (let i = below.length - 1; i >= 0; i -= 1) if (isNode(below[i])) pending.push(below[i]);
  }
}
