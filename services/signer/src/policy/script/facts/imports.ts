import type { Imported } from "../script-facts.ts";
import { child, children, isNode, type SyntaxNode, text } from "../syntax.ts";

/** Returns every import of the program, also nested ones: rules on names must know what a name means. */
export function importsOf(program: SyntaxNode): Imported[] {
  return children(program, "Declarations")
    .filter(({ node }) => node === "ImportDeclaration")
    .flatMap((declaration) => {
      const location = child(declaration, "Location", "AddressLocation");
      const address = location ? text(location, "address").padStart(16, "0") : "";
      const at = declaration.at ?? "";
      const named = children(declaration, "Imports").map((each) => {
        const name = text(each, "Identifier");
        return { name, as: text(each, "Alias") || name, address, at };
      });
      if (named.length > 0) return named;
      // `import "Name"`, or `import Name`: one contract, by its name alone.
      const bare = isNode(declaration.Location) ? "" : text(declaration, "Location");
      return [{ name: bare, as: bare, address, at }];
    });
}

/** Returns the contract that a name of the script refers to. */
export const importedAs = (name: string, imports: readonly Imported[]): Imported | undefined =>
  imports.find((each) => each.as === name);

/**
 * Returns a qualified name with its contract's own name first: `F.Vault` is `FlowToken.Vault` after `import
 * FlowToken as F`.
 */
export function ownName(type: SyntaxNode, imports: readonly Imported[]): string {
  const first = text(type, "Identifier");
  const nested = Array.isArray(type.NestedIdentifiers) ? type.NestedIdentifiers.map(String) : [];
  return [nested.length > 0 ? (importedAs(first, imports)?.name ?? first) : first, ...nested].join(".");
}
