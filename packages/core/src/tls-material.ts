/** PEM bytes of one mutual TLS identity and of the authority that it trusts. */
export interface TlsMaterial {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
}
