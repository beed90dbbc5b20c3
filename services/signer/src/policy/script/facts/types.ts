import type { Imported, TypeFacts, TypeUse } from "../script-facts.ts";
import { child, children, type SyntaxNode, text, walk } from "../syntax.ts";
import { importedAs, ownName } from "./imports.ts";
import { ACCOUNT_ENTITLEMENTS, ACCOUNT_PARTS, isCadenceOwnedAccount, isOfEvm, VALUE_TYPES } from "./language.ts";

/**
 * Returns the entitlements of a reference type, in either form of set. Anything but a plain set gets a name
 * that no list contains.
 */
export function entitlementsOf(reference: SyntaxNode, imports: readonly Imported[]): string[] {
  const authorization = child(reference, "Authorization");
  if (reference.LegacyAuthorized === true && !authorization) return ["auth without entitlements"];
  if (!authorization) return [];
  if (!["ConjunctiveEntitlementSet", "DisjunctiveEntitlementSet"].includes(authorization.node))
    return [authorization.node];
  return children(authorization, "Elements").map((element) => ownName(element, imports));
}

/**
 * Returns why a type is not concrete, or "". `behind`: whether a reference precedes it, so that interfaces
 * are enough.
 */
function vagueness(type: SyntaxNode | undefined, imports: readonly Imported[], behind = false): string {
  const inner = () => vagueness(child(type, "Type"), imports);
  switch (type?.node) {
    case "NominalType": {
      const name = text(type, "Identifier");
      if (type.NestedIdentifiers === undefined) return VALUE_TYPES.has(name) ? "" : name;
      // Without a name in the import, the contract is at least at that address.
      const known = importedAs(name, imports) ?? imports.find((each) => each.name === "");
      return known ? "" : name;
    }
    case "OptionalType":
    case "VariableSizedType":
    case "ConstantSizedType":
      return inner();
    case "DictionaryType":
      return vagueness(child(type, "KeyType"), imports) || vagueness(child(type, "ValueType"), imports);
    case "ReferenceType":
      return vagueness(child(type, "Type"), imports, true);
    case "IntersectionType": {
      const parts = children(type, "Types");
      if (!behind || parts.length === 0 || isTyped(type.LegacyRestrictedType)) return "{…}";
      return parts.map((part) => vagueness(part, imports)).find((each) => each !== "") ?? "";
    }
    case "InstantiationType": {
      const [argument, ...more] = children(type, "TypeArguments");
      const name = text(child(type, "Type", "NominalType"), "Identifier");
      if (name !== "Capability" || !argument || more.length > 0) return name || "?";
      return vagueness(child(argument, "Type"), imports);
    }
    default:
      return type?.node ?? "?";
  }
}

const isTyped = (value: unknown): boolean => value !== undefined && value !== null;

export function describeType(type: SyntaxNode | undefined, imports: readonly Imported[]): TypeFacts | undefined {
  if (!type) return undefined;
  const below = [...walk(type)].map(([node]) => node);
  return {
    vague: vagueness(type, imports),
    interfaces: below.some(({ node }) => node === "IntersectionType"),
    isReference: type.node === "ReferenceType",
    entitlements: type.node === "ReferenceType" ? entitlementsOf(type, imports) : [],
    names: below.filter(({ node }) => node === "NominalType").map((node) => ownName(node, imports)),
  };
}

/** HybridCustody's name for an owned account: a holder of rights over it can revoke every key. */
const isOwnedAccount = (name: string) => /^HybridCustody\.(OwnedAccount|Owner\b)/.test(name);

/** Returns every mention of accounts in types, prepare's own parameters left out. */
export function typeUses(program: SyntaxNode, imports: readonly Imported[]): TypeUse[] {
  const found: TypeUse[] = [];
  const named = (node: SyntaxNode) => [...walk(node)].filter(([each]) => each.node === "NominalType");
  for (const [node, ancestors] of walk(program)) {
    const at = node.at ?? "";
    if (node.node === "NominalType") {
      const name = ownName(node, imports);
      if (name.startsWith("Account.") || ACCOUNT_PARTS.has(name)) found.push({ kind: "account-part", name, at });
      if (isOwnedAccount(name)) found.push({ kind: "owned-account", name, at });
    } else if (node.node === "ReferenceType" && !isPrepareParameter(node, ancestors)) {
      const entitlements = entitlementsOf(node, imports);
      const ofAccount = text(child(node, "Type", "NominalType"), "Identifier") === "Account";
      const name = ofAccount ? entitlements[0] : entitlements.find((each) => ACCOUNT_ENTITLEMENTS.has(each));
      if (name !== undefined) found.push({ kind: "account-entitlement", name, at });
    } else if (node.node === "InstantiationType") {
      const names = named(node).map(([each]) => ownName(each, imports));
      if (names.some((each) => each === "Account")) found.push({ kind: "account-capability", name: "Account", at });
      const argument = child(children(node, "TypeArguments")[0], "Type", "ReferenceType");
      const entitlements = argument ? entitlementsOf(argument, imports) : [];
      if (entitlements.some(isOfEvm) || (entitlements.length > 0 && names.some(isCadenceOwnedAccount)))
        found.push({ kind: "coa-capability", name: "EVM.CadenceOwnedAccount", at });
      else if (entitlements[0] !== undefined) found.push({ kind: "entitled-capability", name: entitlements[0], at });
    }
  }
  return found;
}

/** Parameter → TypeAnnotation → this. The rights in it are prepare's, and have rules of their own. */
function isPrepareParameter(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  const [special, , , parameter, annotation] = ancestors.slice(-5);
  return special?.node === "SpecialFunctionDeclaration" && parameter?.node === "Parameter" && annotation?.Type === node;
}
