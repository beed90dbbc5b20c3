import { createTokenVerifier, watchTokenState } from "@countersign/access-tokens";
import { asOperation, internalName } from "@countersign/core";
import { exportCertificateExpiry, exportTokenStateAge, runService, watchTls } from "@countersign/runtime";
import { createAsyncApi } from "./asyncapi.ts";
import { createChainProxy } from "./chain-nodes/chain-proxy.ts";
import { createTokenKeysSource, type KeysPath } from "./clients/token-keys.ts";
import { createClients } from "./clients.ts";
import { loadConfig } from "./config.ts";
import { createApp, messageClasses } from "./http/app.ts";
import { listenHttp } from "./http/listen.ts";
import { createHttpMetrics } from "./http/metrics.ts";
import { createDiscoveryPage, createJwksPage, createPages } from "./http/pages.ts";
import { createOpenApi } from "./openapi.ts";
import { createRoutes } from "./routes/index.ts";

await runService({
  name: "gateway",
  isPublic: true,
  async start({ env, logger, metrics, clock, files, drainMs, signal, onClose, dependency }) {
    const config = loadConfig(env, files);
    const tls = watchTls(files, config.tls);
    exportCertificateExpiry(metrics, tls);
    const clients = createClients({ ...config, tls }, metrics);
    onClose("clients", clients.close);

    const tokenState = watchTokenState(clients.tokenState, { logger, clock });
    exportTokenStateAge(metrics, tokenState);
    onClose("token-state", tokenState.close);
    dependency("token-state", () => tokenState.current());
    const tokens = { issuer: config.issuer, clock };
    // The services check a token once more; a chain node does not.
    const verifier = createTokenVerifier(tokenState, { ...tokens, acceptEndedRequests: true });
    const chainVerifier = createTokenVerifier(tokenState, tokens);

    const routes = createRoutes(clients, { requireLoginToken: config.requireLoginToken }).map((row) => ({
      ...row,
      handler: asOperation(row.operationId, row.handler),
    }));
    const openApi = createOpenApi(routes, URL.canParse(config.issuer) ? config.issuer : undefined);
    const upstream = { address: config.authHttpAddress, serverName: internalName("auth"), tls };
    const keysPage = (path: KeysPath) => {
      const source = createTokenKeysSource({ ...upstream, path }, { clock, logger });
      onClose(`keys of ${path}`, source.close);
      return createJwksPage(path, source);
    };
    const { chainNodes: nodes, chainRequestsPerMinute: perMinute } = config;
    const app = createApp({
      chainProxy: nodes && createChainProxy({ nodes, verifier: chainVerifier, clock, logger, perMinute }),
      routes,
      pages: [
        ...createPages({ openApi, asyncApi: createAsyncApi(openApi) }),
        ...createDiscoveryPage(config.issuer),
        keysPage("/.well-known/jwks.json"),
        keysPage("/.well-known/identity-keys.json"),
      ],
      verifier,
      logger,
      heartbeatMs: config.eventsHeartbeatMs,
      stopping: signal,
      observe: createHttpMetrics(metrics, routes),
      allowedOrigins: config.allowedOrigins,
      trustedProxies: config.trustedProxies,
      errorPage: config.errorPage,
    });
    const listener = await listenHttp(app, config.listen, config.errorPage, messageClasses(app));
    onClose("http", () => listener.close(drainMs));
    logger.info({ port: listener.port }, "listening");
  },
});
