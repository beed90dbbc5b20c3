import type { Declared, Imported, PrepareParameter, Shadow } from "../script-facts.ts";
import { child, children, type SyntaxNode, text, walk } from "../syntax.ts";
import { LANGUAGE_NAMES } from "./language.ts";
import { entitlementsOf } from "./types.ts";

/** Returns the declarations at the top of the script. */
export const declarations = (program: SyntaxNode): Declared[] =>
  children(program, "Declarations").map(({ node, at }) => ({ kind: node, at: at ?? "" }));

/**
 * Yields every name that is declared inside the transaction: parameters, constants, variables, functions,
 * loop variables. Fields are reached through `self` only.
 */
export function* declaredNames(program: SyntaxNode): Generator<Shadow & { readonly declaration: SyntaxNode }> {
  for (const [node, ancestors] of walk(program)) {
    const at = node.at ?? "";
    const own = { at, declaration: node };
    if (["VariableDeclaration", "Parameter", "ForStatement", "TypeParameter"].includes(node.node)) {
      yield { name: text(node, "Identifier"), ...own };
      if (text(node, "Index")) yield { name: text(node, "Index"), ...own };
    } else if (node.node === "FunctionDeclaration" && ancestors.at(-1)?.node !== "SpecialFunctionDeclaration") {
      yield { name: text(node, "Identifier"), ...own };
    }
  }
}

/**
 * Returns names with two meanings: names of the language or of an import that the script declares, imports
 * with a name of the language, and names of prepare's parameters that are declared again. The rules identify
 * things by name.
 */
export function shadows(program: SyntaxNode, imports: readonly Imported[]): Shadow[] {
  const imported = new Set(imports.map(({ as }) => as));
  const found: Shadow[] = imports.filter(({ as }) => LANGUAGE_NAMES.has(as)).map(({ as: name, at }) => ({ name, at }));
  if (imported.size < imports.length) found.push({ name: "two imports of one name", at: "" });
  const accounts = new Set(prepareNodes(program).map((parameter) => text(parameter, "Identifier")));
  const seen = new Set<string>();
  for (const { name, at } of declaredNames(program)) {
    if (LANGUAGE_NAMES.has(name) || imported.has(name) || (accounts.has(name) && seen.has(name)))
      found.push({ name, at });
    seen.add(name);
  }
  return found;
}

/** Returns the prepare parameters, in order. */
function prepareNodes(program: SyntaxNode): SyntaxNode[] {
  for (const transaction of children(program, "Declarations")) {
    const prepare = transaction.Prepare as SyntaxNode | undefined;
    const list = (prepare?.FunctionDeclaration as SyntaxNode | undefined)?.ParameterList as SyntaxNode | undefined;
    if (list) return children(list, "Parameters");
  }
  return [];
}

export const prepareParameters = (program: SyntaxNode, imports: readonly Imported[]): PrepareParameter[] =>
  prepareNodes(program).map((parameter) => {
    const type = child(child(parameter, "TypeAnnotation"), "Type", "ReferenceType");
    const referenced = child(type, "Type", "NominalType");
    return {
      name: text(parameter, "Identifier"),
      isAccount: text(referenced, "Identifier") === "Account" && referenced?.NestedIdentifiers === undefined,
      entitlements: type ? entitlementsOf(type, imports) : [],
      at: parameter.at ?? "",
    };
  });
