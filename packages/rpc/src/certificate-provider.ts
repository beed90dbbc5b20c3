import type { TlsMaterial, Watched } from "@countersign/core";
import type { experimental } from "@grpc/grpc-js";

type Provider = experimental.CertificateProvider;

/** Calls listeners with a part of the material: soon after they were added, as grpc-js expects, and later. */
function follow<Update>(tls: Watched<TlsMaterial>, partOf: (tls: TlsMaterial) => Update) {
  const ends = new Map<(update: Update) => void, () => void>();
  return {
    add(listener: (update: Update) => void): void {
      const end = tls.onChange((material) => listener(partOf(material)));
      ends.set(listener, end);
      process.nextTick(() => void (ends.get(listener) === end && listener(partOf(tls.current()))));
    },
    remove(listener: (update: Update) => void): void {
      ends.get(listener)?.();
      ends.delete(listener);
    },
  };
}

/**
 * Provides grpc-js with the certificates in use. Its own provider, which watches files, takes what it reads:
 * with a key that does not fit the certificate, or while a file is missing, a server drops all connections.
 */
export function certificateProvider(tls: Watched<TlsMaterial>): Provider {
  const authorities = follow(tls, ({ ca }) => ({ caCertificate: ca }));
  const identity = follow(tls, ({ cert, key }) => ({ certificate: cert, privateKey: key }));
  return {
    addCaCertificateListener: authorities.add,
    removeCaCertificateListener: authorities.remove,
    addIdentityCertificateListener: identity.add,
    removeIdentityCertificateListener: identity.remove,
  };
}
