import { at, type ScriptRule } from "./rule.ts";

const refuse = (detail: string) => ({ reason: "ScriptNotUnderstood" as const, detail });

/** Rejects what Cadence's own parser does not accept, and what is too long, too deep or too slow for it. */
export const understood: ScriptRule = ({ problem }) => (problem === "" ? undefined : refuse(problem));

/** One transaction and its imports: other declarations have no meaning there today, and may get one. */
export const oneTransaction: ScriptRule = ({ declarations }) => {
  const other = declarations.find(({ kind }) => !["TransactionDeclaration", "ImportDeclaration"].includes(kind));
  if (other) return refuse(`the script declares more than a transaction: ${other.kind}${at(other)}`);
  const transactions = declarations.filter(({ kind }) => kind === "TransactionDeclaration");
  return transactions.length === 1 ? undefined : refuse(`the script has ${transactions.length} transactions`);
};

/**
 * As many account parameters as authorizers: which account a script gets must not depend on how lenient the
 * chain is.
 */
export const accountCountMatchesAuthorizers: ScriptRule = ({ prepare }, { authorizers }) => {
  const other = prepare.find(({ isAccount }) => !isAccount);
  if (other) return refuse(`${other.name} is not a reference to Account${at(other)}`);
  return prepare.length === authorizers
    ? undefined
    : refuse(`prepare has ${prepare.length} parameters for ${authorizers} authorizers`);
};

/** The other rules identify accounts, contracts and entitlements by name: no name may have two meanings. */
export const noShadows: ScriptRule = ({ shadows: [shadow] }) =>
  shadow && refuse(`a name with two meanings: ${shadow.name}${at(shadow)}`);
