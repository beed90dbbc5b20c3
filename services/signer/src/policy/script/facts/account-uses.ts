import type { AccountUse, Imported } from "../script-facts.ts";
import { child, children, type SyntaxNode, text, walk } from "../syntax.ts";
import { importedAs } from "./imports.ts";

/** Values that say something about the account and open nothing. */
const PLAIN = new Set(["address", "balance", "availableBalance"]);
const PLAIN_STORAGE = new Set(["used", "capacity", "publicPaths", "storagePaths"]);
/** A map: the names that it is asked for are the script's. */
const METHODS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["storage", new Set("save load copy borrow check type forEachPublic forEachStored".split(" "))],
  ["capabilities", new Set("get borrow exists publish unpublish".split(" "))],
  ["capabilities.storage", new Set("issue getController getControllers forEachController".split(" "))],
]);

const isFunction = ({ node }: SyntaxNode) => node === "FunctionExpression" || node === "FunctionDeclaration";

/** Returns whether the account is inside a function of the script: a closure outlives its line. */
const inClosure = (ancestors: readonly SyntaxNode[]) =>
  ancestors.some((node, i) => isFunction(node) && ancestors[i - 1]?.node !== "SpecialFunctionDeclaration");

/**
 * Returns the members that are read off the account one after the other, and the nodes around the last one.
 */
function memberChain(identifier: SyntaxNode, ancestors: readonly SyntaxNode[]) {
  const names: string[] = [];
  let inner = identifier;
  let i = ancestors.length - 1;
  for (; ancestors[i]?.node === "MemberExpression" && ancestors[i]?.Expression === inner; i -= 1) {
    inner = ancestors[i] as SyntaxNode;
    names.push(text(inner, "Identifier"));
  }
  const outer = ancestors[i];
  return { names, called: outer?.node === "InvocationExpression" && outer.InvokedExpression === inner };
}

function isDirect(names: readonly string[], called: boolean): boolean {
  const [first = "", second = ""] = names;
  if (PLAIN.has(first)) return true;
  if (first === "storage" && PLAIN_STORAGE.has(second)) return true;
  const method = names.at(-1) ?? "";
  return called && (METHODS.get(names.slice(0, -1).join("."))?.has(method) ?? false);
}

/**
 * Returns the imported contract whose function gets the whole account as an argument:
 * `Contract.function(account)`.
 */
function recipient(ancestors: readonly SyntaxNode[], imports: readonly Imported[]): Imported | undefined {
  const [invocation, argument] = ancestors.slice(-2);
  if (argument?.node !== "Argument" || invocation?.node !== "InvocationExpression") return undefined;
  if (!children(invocation, "Arguments").includes(argument)) return undefined;
  const receiver = child(child(invocation, "InvokedExpression", "MemberExpression"), "Expression");
  if (receiver?.node !== "IdentifierExpression") return undefined;
  return importedAs(text(receiver, "Identifier"), imports);
}

export function accountUses(
  program: SyntaxNode,
  accounts: ReadonlySet<string>,
  imports: readonly Imported[],
): AccountUse[] {
  const found: AccountUse[] = [];
  for (const [node, ancestors] of walk(program)) {
    if (node.node !== "IdentifierExpression" || !accounts.has(text(node, "Identifier"))) continue;
    const use = { contract: "", address: "", at: node.at ?? "" };
    const { names, called } = memberChain(node, ancestors);
    if (inClosure(ancestors)) found.push({ how: "closure", ...use });
    else if (isDirect(names, called)) continue;
    else {
      const to = names.length === 0 ? recipient(ancestors, imports) : undefined;
      if (to) found.push({ how: "argument", contract: to.name, address: to.address, at: use.at });
      else found.push({ how: "value", ...use });
    }
  }
  return found;
}
