import type { Imported, PathFact, StorageCall } from "../script-facts.ts";
import { child, children, type SyntaxNode, text, walk } from "../syntax.ts";
import { declaredNames } from "./declarations.ts";
import { importedAs } from "./imports.ts";
import { describeType } from "./types.ts";

const METHODS: Readonly<Record<string, string>> = {
  load: "storage",
  copy: "storage",
  borrow: "storage",
  issue: "capabilities.storage",
};

/** Returns "storage.borrow" of `account.storage.borrow`, if it begins with an account. */
function methodOn(invoked: SyntaxNode | undefined, accounts: ReadonlySet<string>): string | undefined {
  const names: string[] = [];
  let inner = invoked;
  for (; inner?.node === "MemberExpression"; inner = child(inner, "Expression"))
    names.unshift(text(inner, "Identifier"));
  if (inner?.node !== "IdentifierExpression" || !accounts.has(text(inner, "Identifier"))) return undefined;
  const method = names.pop() ?? "";
  return METHODS[method] === names.join(".") ? method : undefined;
}

/** Returns the constants that are nothing but a literal path, and declared once: as good as the literal. */
function constantPaths(program: SyntaxNode): Set<string> {
  const constant = new Map<string, boolean>();
  for (const { name, declaration } of declaredNames(program)) {
    const isPath = declaration.IsConstant === true && child(declaration, "Value")?.node === "PathExpression";
    constant.set(name, isPath && !constant.has(name));
  }
  return new Set([...constant].filter(([, isPath]) => isPath).map(([name]) => name));
}

function describePath(
  path: SyntaxNode | undefined,
  constants: ReadonlySet<string>,
  imports: readonly Imported[],
): PathFact {
  if (path?.node === "PathExpression") return { kind: "literal" };
  if (path?.node === "IdentifierExpression" && constants.has(text(path, "Identifier"))) return { kind: "literal" };
  const receiver = path?.node === "MemberExpression" ? child(path, "Expression", "IdentifierExpression") : undefined;
  const from = receiver && importedAs(text(receiver, "Identifier"), imports);
  return from ? { kind: "contract", contract: from.name, address: from.address } : { kind: "computed" };
}

export function storageCalls(
  program: SyntaxNode,
  accounts: ReadonlySet<string>,
  imports: readonly Imported[],
): StorageCall[] {
  const constants = constantPaths(program);
  const found: StorageCall[] = [];
  for (const [node] of walk(program)) {
    if (node.node !== "InvocationExpression") continue;
    const invoked = child(node, "InvokedExpression");
    const retargets = invoked?.node === "MemberExpression" && text(invoked, "Identifier") === "retarget";
    const method = retargets ? "retarget" : methodOn(invoked, accounts);
    if (method === undefined) continue;
    const types = children(node, "TypeArguments");
    const [argument] = children(node, "Arguments");
    found.push({
      method: method as StorageCall["method"],
      type: types.length === 1 ? describeType(child(types[0], "Type"), imports) : undefined,
      path: describePath(child(argument, "Expression"), constants, imports),
      at: invoked?.at ?? "",
    });
  }
  return found;
}
