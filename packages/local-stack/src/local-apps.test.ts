import { describe, expect, it } from "vitest";
import { authProviders, developmentClients, providerConfig } from "./identity-provider.ts";
import { clientOfApp, describeApp, localApps } from "./local-apps.ts";
import { developmentPasskeys } from "./passkeys.ts";

const [vite, hosted] = localApps(["http://localhost:5173", "https://wallet.example.com/"]);

describe("--app", () => {
  it("makes a client, redirect URIs and a relying party of an origin", () => {
    expect(vite).toEqual({
      origin: "http://localhost:5173",
      clientId: "app-localhost-5173",
      redirectUris: ["http://localhost:5173/", "http://localhost:5173/callback"],
    });
    expect(hosted).toMatchObject({ origin: "https://wallet.example.com", clientId: "app-wallet-example-com" });
    expect(localApps([])).toEqual([]);
  });

  it("requires logins that are bound to the key, as apps in production should", () => {
    expect(clientOfApp(vite!)).toMatchObject({ keyBinding: "required" });
  });

  it("makes a client of a phone's redirect URI, without an origin", () => {
    const [phone] = localApps(["com.example.wallet:/callback"]);
    expect(phone).toEqual({ clientId: "app-com-example-wallet", redirectUris: ["com.example.wallet:/callback"] });
    expect(describeApp(phone!)).toBe(
      "app on a phone\n  client id app-com-example-wallet, redirect URI com.example.wallet:/callback",
    );
    expect(clientOfApp(phone!)).toMatchObject({ isNative: true, appName: "com.example.wallet:/callback" });
  });

  it.each([
    "",
    "wallet:/callback",
    "com.example.wallet://callback?x",
    "javascript:alert(1)",
    "localhost:5173",
    "http://localhost:5173/app",
    "http://localhost:5173?x",
    "http://LOCALHOST:5173",
    "http://user@localhost:5173",
    "http://127.0.0.1:5173",
    "http://[::1]:5173",
    "http://wallet.example.com",
    "https://wallet.example.com:443/",
    "https://192.168.0.7",
    "https://*.example.com",
    "https://wallet.example.com,https://evil.example",
    "capacitor://localhost",
    "null",
  ])("refuses %j", (origin) => {
    expect(() => localApps([origin])).toThrow(`--app ${origin}: give an origin`);
  });

  it("refuses two apps that would be one client", () => {
    const twice = ["http://localhost:5173", "http://localhost:5173/"];
    expect(() => localApps(twice)).toThrow("--app http://localhost:5173: an app of this host and port");
    expect(() => localApps(["http://localhost", "https://localhost"])).toThrow("registered already");
    expect(localApps(["http://localhost:5173", "http://localhost:5174"])).toHaveLength(2);
  });

  it("says what it registered", () => {
    expect(describeApp(vite!)).toBe(
      [
        "app http://localhost:5173: may call the gateway",
        "  client id app-localhost-5173, redirect URIs http://localhost:5173/ and http://localhost:5173/callback",
        "  passkeys: RP id localhost",
      ].join("\n"),
    );
  });
});

it("auth and the development provider know an app's redirect URIs, and only these", () => {
  const clients = [...developmentClients("http://localhost:8080"), clientOfApp(vite!)];
  const issuer = "http://localhost:9000";
  const { providers } = authProviders(issuer, clients, "/secret") as { providers: { clients: object[] }[] };
  const redirectUris = vite!.redirectUris;
  expect(providers[0]!.clients.at(-1)).toMatchObject({ clientId: "app-localhost-5173", redirectUris });
  const config = providerConfig({ issuer, port: 9000, stateDir: "/state", clients, secretFile: "/secret" });
  const registered = config.clients.find(({ clientId }) => clientId === "app-localhost-5173");
  expect(registered).toEqual({ clientId: "app-localhost-5173", appName: "http://localhost:5173", redirectUris });
});

it("each host has its own relying party", () => {
  const origins = ["http://localhost:8080", ...["http://localhost:5173", "https://wallet.example.com"]];
  expect(developmentPasskeys(origins)).toEqual({
    relyingParties: [
      { rpId: "localhost", origins: ["http://localhost:8080", "http://localhost:5173"] },
      { rpId: "wallet.example.com", origins: ["https://wallet.example.com"] },
    ],
  });
});
