// Prints what each published package exports, with its docstrings, as JSON: an array of `Member` of
// examples.ts. The compiler of TypeScript 7 has no stable API yet, so this reads with that of 5.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const [folder, ...names] = process.argv.slice(2);
const scope = join(folder, "node_modules/@countersign");
const entries = names.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(join(scope, name, "package.json"), "utf8"));
  return Object.entries(exports).flatMap(([path, { types }]) =>
    types === undefined
      ? []
      : [{ name, specifier: `@countersign/${name}${path.slice(1)}`, file: join(scope, name, types) }],
  );
});
const program = ts.createProgram(
  entries.map(({ file }) => file),
  {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    types: ["node"],
    typeRoots: [join(folder, "node_modules/@types")],
  },
);
const checker = program.getTypeChecker();
const members = [];
const seen = new Set();

for (const { name, specifier, file } of entries) {
  for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const [declaration] = symbol.declarations;
    // Another package documents its own declarations.
    const isOwn = (node) => node.getSourceFile().fileName.startsWith(join(scope, name, "/"));
    if (!isOwn(declaration) || seen.has(symbol)) continue;
    seen.add(symbol);
    const add = (path, kind, documented) => members.push({ specifier, path, kind, ...docOf(documented) });
    const isType = ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration);
    add(exported.name, isType ? "type" : "value", symbol);
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    if (ts.isClassDeclaration(declaration)) addClassMembers(exported.name, type, add, isOwn);
    if (isType) addTypeMembers(exported.name, declaration, type, add, isOwn);
  }
}
console.log(JSON.stringify(members));

/** The public members of a class besides its constructor, which the class's own example calls. */
function addClassMembers(path, type, add, isOwn) {
  for (const symbol of type.getProperties()) {
    const [member] = symbol.declarations;
    if (!isOwn(member) || !ts.isIdentifier(member.name)) continue;
    if (ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) continue;
    // A property of Error with a value of its own says nothing new.
    if (/Error$/.test(path) && symbol.name === "name") continue;
    add(`${path}.${symbol.name}`, ts.isGetAccessor(member) || isFunction(symbol) ? "called" : "field", symbol);
  }
}

/** The members of an interface or of an object type; those of a union are described above it. */
function addTypeMembers(path, declaration, type, add, isOwn) {
  const literals = ts.isTypeAliasDeclaration(declaration) ? partsOf(declaration.type) : [];
  const symbols = ts.isInterfaceDeclaration(declaration)
    ? type.getProperties()
    : literals.flatMap(({ members = [] }) => members.map(({ name }) => checker.getSymbolAtLocation(name)));
  for (const symbol of symbols.filter(({ declarations }) => isOwn(declarations[0]))) {
    add(`${path}.${symbol.name}`, isFunction(symbol) ? "called" : "field", symbol);
  }
}

function partsOf(node) {
  return ts.isIntersectionTypeNode(node) ? node.types.flatMap(partsOf) : [node];
}

function isFunction(symbol) {
  const type = checker.getNonNullableType(checker.getTypeOfSymbol(symbol));
  return type.getCallSignatures().length > 0;
}

function docOf(symbol) {
  const examples = symbol
    .getJsDocTags(checker)
    .filter(({ name }) => name === "example")
    .map(({ text }) => ts.displayPartsToString(text));
  return { doc: ts.displayPartsToString(symbol.getDocumentationComment(checker)), examples };
}
