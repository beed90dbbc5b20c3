import { runInNewContext } from "node:vm";
import type { Plugin } from "vitest/config";

/*
 * The globals of React Native 0.86 with Hermes 1.0. Sources: react-native's set-up of globals
 * (src/private/setup/setUpDefaultReactNativeEnvironment.js and the files of Libraries/Core that it loads),
 * the list in https://reactnative.dev/docs/javascript-environment, and of Hermes lib/VM/GlobalObject.cpp and
 * doc/Features.md. Expo adds TextDecoder, URL, structuredClone, DOMException and streams (expo,
 * src/winter/runtime.native.ts); an app without Expo has none of them.
 */

/** Those of React Native and Hermes that are the same as Node's, as far as the packages use them. */
const SAME = [
  ..."Blob File FormData Headers Request Response TextEncoder WebSocket atob btoa console performance".split(" "),
  ..."clearImmediate clearInterval clearTimeout queueMicrotask setImmediate setInterval setTimeout".split(" "),
];

/** Those that have less than Node's: react-native-phone.ts makes them. */
const LESS = "AbortController AbortSignal Map Object Promise fetch global globalThis navigator process self window";
const LESS_THAN_NODES = LESS.split(" ");

/** Of the language, but not in Hermes 1.0. */
const NOT_IN_HERMES = [
  ..."AsyncDisposableStack Atomics DisposableStack FinalizationRegistry Float16Array Iterator".split(" "),
  ..."SharedArrayBuffer SuppressedError WebAssembly".split(" "),
];

const LANGUAGE: string[] = runInNewContext("Object.getOwnPropertyNames(globalThis)");
const PRESENT = new Set([...LANGUAGE.filter((name) => !NOT_IN_HERMES.includes(name)), ...SAME, ...LESS_THAN_NODES]);

/** Of browsers, and not in every Node. */
const BROWSERS = "EventSource document indexedDB localStorage location sessionStorage".split(" ");

/** The globals of Node and browsers that a phone lacks. */
export const MISSING = [...new Set([...Object.getOwnPropertyNames(globalThis), ...BROWSERS])].filter(
  // Vitest's own begin with underscores.
  (name) => !PRESENT.has(name) && !name.startsWith("__"),
);

const PHONE = "virtual:react-native-globals";
/**
 * The sources that run on a phone: the packages, and in a bundle the libraries that they import; Vitest has
 * Node load those. Tests keep Node's globals, and so does Vitest.
 */
const ON_PHONE =
  /\/packages\/(client|fcl|flow|keys|react-native)\/src\/(?!testing\/).*(?<!\.test)\.ts$|\/node_modules\/(@noble|eventsource-parser)\//;

/**
 * Gives the sources that run on a phone React Native's globals. All others are undefined for them, also as
 * members of `globalThis`.
 */
export const reactNativeGlobals = (): Plugin => ({
  name: "react-native-globals",
  // After the types are gone, and before Vitest makes its own form of imports.
  enforce: "post",
  resolveId: (id) => (id === PHONE ? `\0${PHONE}` : undefined),
  load(id) {
    if (id !== `\0${PHONE}`) return;
    const missing = MISSING.map((name) => `export const ${name} = undefined;\n`).join("");
    const phone = new URL("react-native-phone.ts", import.meta.url).pathname;
    return `import { phoneOf } from ${JSON.stringify(phone)};
const phone = phoneOf(${JSON.stringify(MISSING)});
export const { ${LESS_THAN_NODES.join(", ")} } = phone;
${missing}`;
  },
  transform(code, id) {
    // The entry points for Node import it.
    if (!ON_PHONE.test(id) || /\bfrom "node:/.test(code)) return;
    const named = [...MISSING, ...LESS_THAN_NODES].filter((name) => new RegExp(`\\b${name}\\b`).test(code));
    if (named.length > 0) return { code: `import { ${named.join(", ")} } from "${PHONE}";${code}`, map: null };
    return;
  },
});
