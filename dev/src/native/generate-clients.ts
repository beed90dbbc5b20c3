import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { describeTemplates } from "@countersign/flow";

/** The folders of code that is generated and not in git. */
const KOTLIN_GENERATED = join(root, "clients/kotlin/client/generated");
const SWIFT_GENERATED = join(root, "clients/swift/Sources/CountersignAPI/generated");

const KOTLIN =
  "serializationLibrary=gson,generateOneOfAnyOfWrappers=true,useCoroutines=true,packageName=countersign.api";
const SWIFT = "useJsonEncodable=true,projectName=CountersignAPI";

/**
 * Writes the generated code of both native clients: the API, from an OpenAPI document, and the templates'
 * texts, from packages/flow. `document`: a file or a URL. `generator`: openapi-generator's jar.
 */
export async function generateClients(document: string, generator: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-clients-"));
  try {
    const generate = (name: string, options: string) => {
      const out = ["-i", document, "-g", name, "-o", join(folder, name), `--additional-properties=${options}`];
      return run("java", ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", generator, "generate", ...out]);
    };
    await generate("kotlin", KOTLIN);
    await generate("swift6", SWIFT);
    replace(KOTLIN_GENERATED, (to) => {
      cpSync(join(folder, "kotlin/src/main"), join(to, "src/main"), { recursive: true });
      write(join(to, "src/main/kotlin/countersign/templates/Templates.kt"), kotlinTemplates());
    });
    replace(SWIFT_GENERATED, (to) => {
      cpSync(join(folder, "swift6/Sources/CountersignAPI"), to, { recursive: true });
      write(join(to, "Templates.swift"), swiftTemplates());
      fixSwift(to);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function replace(folder: string, fill: (folder: string) => void): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  fill(folder);
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Each of the generator's mistakes that keeps its Swift from compiling, with its correction. */
const SWIFT_FIXES: [file: RegExp, wrong: string, right: string][] = [
  // It takes every system but macOS for a phone, and forgets where Linux has URLSession.
  [
    /URLSessionImplementations/,
    "#if !os(macOS)\nimport Mobile",
    "#if canImport(FoundationNetworking)\nimport FoundationNetworking\n#endif\n#if canImport(MobileCoreServices)\nimport Mobile",
  ],
  [
    /URLSessionImplementations/,
    "            if let uti",
    "            #if canImport(MobileCoreServices)\n            if let uti",
  ],
  [
    /URLSessionImplementations/,
    "mimetype as String\n            }",
    "mimetype as String\n            }\n            #endif",
  ],
  // Redirects would take tokens to another server. Linux follows them all the same, without asking.
  [
    /URLSessionImplementations/,
    "SessionDelegate: NSObject, URLSessionTaskDelegate {\n",
    `SessionDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void) {
        completionHandler(nil)
    }

`,
  ],
  // A slash of a regular expression stays escaped, which is no escape of Swift's texts.
  [/^Models/, "\\/_-", "/_-"],
];

function fixSwift(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    for (const [file, wrong, right] of SWIFT_FIXES) {
      if (!name.endsWith(".swift") || !file.test(name.replace("Infrastructure/", ""))) continue;
      const text = readFileSync(join(folder, name), "utf8");
      if (text.includes(wrong)) writeFileSync(join(folder, name), text.replaceAll(wrong, right));
    }
  }
}

const templates = describeTemplates(undefined);
/** Returns a text as a literal of Kotlin and Swift, without their interpolations. */
const literal = (text: string): string => JSON.stringify(text);

const kotlinTemplates = (): string => `package countersign.templates

/** The exact texts of the service's templates, by their names. */
object Templates {
    val SCRIPTS: Map<String, String> = mapOf(
${templates.map(({ name, script }) => `        ${literal(name)} to ${literal(script).replaceAll("$", "\\$")},`).join("\n")}
    )

    val ADD_USER_KEY: String = SCRIPTS.getValue("add-user-key")
}
`;

const swiftTemplates = (): string => `/// The exact texts of the service's templates, by their names.
public enum Templates {
    public static let scripts: [String: String] = [
${templates.map(({ name, script }) => `        ${literal(name)}: ${literal(script)},`).join("\n")}
    ]

    public static let addUserKey = scripts["add-user-key"]!
}
`;
