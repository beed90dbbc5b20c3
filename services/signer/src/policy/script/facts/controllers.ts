import { child, children, type SyntaxNode, text, walk } from "../syntax.ts";
import type { AccountUse } from "./account-uses.ts";
import type { Imported } from "./imports.ts";
import { describeType } from "./types.ts";

const GETTERS = new Set(["getController", "getControllers"]);
/** What only passes a value on. */
const TRANSPARENT = new Set(["ForceExpression", "IndexExpression"]);
const CASTS = new Set(["OperationFailableCast", "OperationForceCast"]);

/** `a ?? b`, which is a where there is one. */
const isCoalescing = (node: SyntaxNode) =>
  node.node === "BinaryExpression" && text(node, "Operation") === "OperationNilCoalesce";

/** A call on an account's storage capabilities; rules on escaping accounts see that it is the account's. */
function isGetter(node: SyntaxNode): boolean {
  const invoked =
    node.node === "InvocationExpression" ? child(node, "InvokedExpression", "MemberExpression") : undefined;
  return GETTERS.has(text(invoked, "Identifier"));
}

/** The expression inside of `!`, `[0]` and `??` that gives a controller, if one does. */
function givesController(node: SyntaxNode | undefined, names: ReadonlySet<string>): boolean {
  if (!node) return false;
  if (node.node === "IdentifierExpression") return names.has(text(node, "Identifier"));
  if (node.node === "ForceExpression") return givesController(child(node, "Expression"), names);
  if (node.node === "IndexExpression") return givesController(child(node, "TargetExpression"), names);
  if (isCoalescing(node)) return givesController(child(node, "Left"), names);
  return isGetter(node);
}

/** Names bound to controllers, or to lists of them, by `let`, `if let` and `for`. */
function controllerNames(program: SyntaxNode): Set<string> {
  const names = new Set<string>();
  for (let before = -1; before < names.size; ) {
    before = names.size;
    for (const [node] of walk(program)) {
      if (!["VariableDeclaration", "ForStatement"].includes(node.node)) continue;
      if (givesController(child(node, "Value"), names)) names.add(text(node, "Identifier"));
    }
  }
  for (const [node] of walk(program)) {
    const invoked = node.node === "InvocationExpression" ? child(node, "InvokedExpression") : undefined;
    if (text(invoked, "Identifier") !== "forEachController") continue;
    for (const argument of children(node, "Arguments")) {
      const list = child(child(argument, "Expression", "FunctionExpression"), "ParameterList");
      for (const parameter of children(list, "Parameters")) names.add(text(parameter, "Identifier"));
    }
  }
  return names;
}

/** Whether the controller is used in place: a member of it is read or called, a list is counted through, or it is bound to a name that is watched as well. */
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
  return text(outer, "Identifier") !== "capability" || isNarrowed(outer, ancestors[i - 1], imports);
}

/**
 * `controller.capability` is whatever was issued once: it must be told at once what it is. An interface tells it only together with a right: without one, anything with more rights has
 * that type as well.
 */
function isNarrowed(member: SyntaxNode, outer: SyntaxNode | undefined, imports: readonly Imported[]): boolean {
  if (outer?.node !== "CastingExpression" || outer.Expression !== member) return false;
  if (!CASTS.has(text(outer, "Operation"))) return false;
  const capability = child(child(outer, "TypeAnnotation"), "Type", "InstantiationType");
  const type = describeType(child(children(capability, "TypeArguments")[0], "Type"), imports);
  return type?.vague === "" && type.isReference && (!type.interfaces || type.entitlements.length > 0);
}

/**
 * Where a storage capability controller leaves the script: who has it, has the capability that was issued once. Passing something else than a function literal to
 * `forEachController` lets it leave, too.
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
    const invoked = node.node === "InvocationExpression" ? child(node, "InvokedExpression") : undefined;
    if (text(invoked, "Identifier") !== "forEachController") continue;
    const literal = children(node, "Arguments").some(
      (each) => child(each, "Expression")?.node === "FunctionExpression",
    );
    if (!literal) found.push({ ...use, at: invoked?.at ?? "" });
  }
  return found;
}
