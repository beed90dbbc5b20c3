import type { AccountUse, Imported } from "../script-facts.ts";
import { child, children, type SyntaxNode, text, walk } from "../syntax.ts";
import { describeType } from "./types.ts";

const GETTERS = new Set(["getController", "getControllers"]);
/** Expressions that only pass a value on. */
const TRANSPARENT = new Set(["ForceExpression", "IndexExpression"]);
const CASTS = new Set(["OperationFailableCast", "OperationForceCast"]);
/** Members of a controller, or of a list of them, that pass none on; `removeFirst`, `map` and `slice` do. */
const FIELDS = new Set(["borrowType", "capabilityID", "tag", "length"]);
const METHODS = new Set(["delete", "retarget", "setTag", "target"]);

/** Returns whether the node is `a ?? b`. */
const isCoalescing = (node: SyntaxNode) =>
  node.node === "BinaryExpression" && text(node, "Operation") === "OperationNilCoalesce";

/** Returns whether the node gets controllers; the rules on escaping accounts check whose they are. */
function isGetter(node: SyntaxNode): boolean {
  const invoked =
    node.node === "InvocationExpression" ? child(node, "InvokedExpression", "MemberExpression") : undefined;
  return GETTERS.has(text(invoked, "Identifier"));
}

/** Returns the expression inside of `!`, `[0]` and `??` whose value they pass on. */
function innerValue(node: SyntaxNode | undefined): SyntaxNode | undefined {
  if (node?.node === "ForceExpression") return innerValue(child(node, "Expression"));
  if (node?.node === "IndexExpression") return innerValue(child(node, "TargetExpression"));
  return node && isCoalescing(node) ? innerValue(child(node, "Left")) : node;
}

/**
 * Returns the names of the parameters of function literals that `forEachController` calls with controllers.
 */
const parametersOf = (invocation: SyntaxNode): string[] =>
  children(invocation, "Arguments").flatMap((argument) => {
    const list = child(child(argument, "Expression", "FunctionExpression"), "ParameterList");
    return children(list, "Parameters").map((parameter) => text(parameter, "Identifier"));
  });

const callsForEachController = (node: SyntaxNode): boolean =>
  node.node === "InvocationExpression" && text(child(node, "InvokedExpression"), "Identifier") === "forEachController";

/**
 * Returns the names bound to controllers, or to lists of them, by `let`, `if let`, `for` and
 * `forEachController`, directly or through other names. Each declaration is read once: a script of names that
 * are bound to names must not take longer than others.
 */
function controllerNames(program: SyntaxNode): Set<string> {
  const boundTo = new Map<string, string[]>();
  const found: string[] = [];
  for (const [node] of walk(program)) {
    if (callsForEachController(node)) found.push(...parametersOf(node));
    if (!["VariableDeclaration", "ForStatement"].includes(node.node)) continue;
    const value = innerValue(child(node, "Value"));
    const name = text(node, "Identifier");
    if (value?.node === "IdentifierExpression") {
      const source = text(value, "Identifier");
      const others = boundTo.get(source);
      if (others) others.push(name);
      else boundTo.set(source, [name]);
    } else if (value && isGetter(value)) found.push(name);
  }
  const names = new Set<string>();
  for (let name = found.pop(); name !== undefined; name = found.pop()) {
    if (names.has(name)) continue;
    names.add(name);
    for (const other of boundTo.get(name) ?? []) found.push(other);
  }
  return names;
}

/**
 * Returns whether the controller is used in place: a member that is known to pass nothing on is read or
 * called, a list is counted through, or it is bound to a name that is checked as well.
 */
function inPlace(node: SyntaxNode, ancestors: readonly SyntaxNode[], imports: readonly Imported[]): boolean {
  let inner = node;
  let i = ancestors.length - 1;
  for (; i >= 0; i -= 1) {
    const outer = ancestors[i] as SyntaxNode;
    const passes = TRANSPARENT.has(outer.node) || (isCoalescing(outer) && outer.Left === inner);
    if (!passes || outer.IndexingExpression === inner) break;
    inner = outer;
  }
  const outer = ancestors[i];
  if (outer?.node === "ForStatement" || outer?.node === "VariableDeclaration") return outer.Value === inner;
  if (outer?.node === "ExpressionStatement") return true;
  if (outer?.node === "BinaryExpression") return child(outer, "Right")?.node === "NilExpression";
  if (outer?.node !== "MemberExpression" || outer.Expression !== inner) return false;
  const name = text(outer, "Identifier");
  if (name === "capability") return isNarrowed(outer, ancestors[i - 1], imports);
  // As a value, a method could be given away, or called with any path.
  return FIELDS.has(name) || (METHODS.has(name) && ancestors[i - 1]?.InvokedExpression === outer);
}

/**
 * Returns whether a script casts `controller.capability` at once: it may be any capability that was issued
 * before. A cast to an interface is enough only with an entitlement: without one, a capability with more
 * rights has that type as well.
 */
function isNarrowed(member: SyntaxNode, outer: SyntaxNode | undefined, imports: readonly Imported[]): boolean {
  if (outer?.node !== "CastingExpression" || outer.Expression !== member) return false;
  if (!CASTS.has(text(outer, "Operation"))) return false;
  const capability = child(child(outer, "TypeAnnotation"), "Type", "InstantiationType");
  const type = describeType(child(children(capability, "TypeArguments")[0], "Type"), imports);
  return type?.vague === "" && type.isReference && (!type.interfaces || type.entitlements.length > 0);
}

/**
 * Returns where a storage capability controller leaves the script: its holder has the capability that was
 * issued before. Passing anything but a function literal to `forEachController` lets it leave, too.
 */
export function controllerUses(
  program: SyntaxNode,
  accounts: ReadonlySet<string>,
  imports: readonly Imported[],
): AccountUse[] {
  if (accounts.size === 0) return [];
  const names = controllerNames(program);
  const found: AccountUse[] = [];
  for (const [node, ancestors] of walk(program)) {
    const use = { how: "controller" as const, contract: "", address: "", at: node.at ?? "" };
    const named = node.node === "IdentifierExpression" && names.has(text(node, "Identifier"));
    if ((named || isGetter(node)) && !inPlace(node, ancestors, imports)) found.push(use);
    if (!callsForEachController(node)) continue;
    const literal = children(node, "Arguments").some(
      (each) => child(each, "Expression")?.node === "FunctionExpression",
    );
    if (!literal) found.push({ ...use, at: child(node, "InvokedExpression")?.at ?? "" });
  }
  return found;
}
