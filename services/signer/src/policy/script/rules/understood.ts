import { at, type ScriptRule } from "./rule.ts";

const refuse = (detail: string) => ({ reason: "ScriptNotUnderstood" as const, detail });

/** What Cadence's own parser does not take, or what is too long, too deep or too slow to take, is not signed. */
export const understood: ScriptRule = ({ problem }) => (problem === "" ? undefined : refuse(problem));

/** One transaction and its imports: nothing else has a meaning there, and what it may mean one day is not known. */
export const oneTransaction: ScriptRule = ({ declarations }) => {
  const other = declarations.find(({ kind }) => !["TransactionDeclaration", "ImportDeclaration"].includes(kind));
  if (other) return refuse(`the script declares more than a transaction: ${other.kind}${at(other)}`);
  const transactions = declarations.filter(({ kind }) => kind === "TransactionDeclaration");
  return transactions.length === 1 ? undefined : refuse(`the script has ${transactions.length} transactions`);
};

/** As many accounts as authorizers: who is asked for what must not depend on the chain's patience. */
export const asManyAccounts: ScriptRule = ({ prepare }, { authorizers }) => {
  const stranger = prepare.find(({ isAccount }) => !isAccount);
  if (stranger) return refuse(`${stranger.name} is no reference to Account${at(stranger)}`);
  return prepare.length === authorizers
    ? undefined
    : refuse(`prepare has ${prepare.length} parameters for ${authorizers} authorizers`);
};

/** The other rules know accounts, contracts and entitlements by their names: none of them may stand for something else. */
export const noShadows: ScriptRule = ({ shadows: [shadow] }) =>
  shadow && refuse(`a name with two meanings: ${shadow.name}${at(shadow)}`);
